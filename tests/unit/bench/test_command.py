"""The command `stratalog bench` as people use it, at small scale, in processes of its own."""

from __future__ import annotations

import json

import pytest

from stratalog.cli.main import main
from stratalog_bench.harness import process, run
from stratalog_bench.harness.results import DONE
from stratalog_bench.harness.task import run_task
from stratalog_bench.systems.registry import SYSTEMS, Entry
from stratalog_bench.workloads.catalogue import BENCHMARKS

SMALL = ("--scale", "small", "--system", "stratalog", "--system", "duckdb")


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        status = main(["bench", *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_the_list_has_all_benchmarks_and_systems(command):
    status, out, _ = command("--list")
    assert status == 0
    assert all(f"\n{each.name} " in f"\n{out}" for each in (*BENCHMARKS, *SYSTEMS))


@pytest.mark.slow
def test_a_run_prints_a_table_and_writes_figures_and_picture(command, tmp_path):
    files = ("--json", "r.json", "--plot", "r.svg")
    status, out, err = command("dag", *SMALL, *files, "--runs", 2)
    assert (status, len(out.splitlines())) == (0, 3)
    assert "dag, duckdb" in err
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["versions"]["stratalog"]
    assert found["machine"]["cores"] > 0
    (dag,) = found["benchmarks"]
    own, _ = dag["systems"]
    assert [len(each["runs"]) for each in dag["systems"]] == [2, 2]
    assert own["counts"]["path"] > own["counts"]["edge"] == 1600
    assert own["figures"]["derivations"] > own["counts"]["path"]
    assert "duckdb" in (tmp_path / "r.svg").read_text()
    status, out, _ = command("--compare", "r.json", "r.json")
    assert (status, len(out.splitlines())) == (0, 3)


def test_rules_and_size_of_lubm_can_be_chosen(command, tmp_path):
    (tmp_path / "rules.dlog").write_text(
        "@prefix ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#> .\n"
        "colleague(?x, ?y) :- ub:worksFor(?x, ?d), ub:worksFor(?y, ?d) .\n"
    )
    chosen = ("--universities", 2, "--rules", "rules.dlog", "--json", "r.json", "-q")
    status, _, err = command("lubm", "--scale", "small", "--system", "stratalog", *chosen)
    assert (status, err) == (0, "")
    (lubm,) = json.loads((tmp_path / "r.json").read_text())["benchmarks"]
    assert lubm["parameters"] == {"universities": 2, "rules": "rules.dlog"}
    assert lubm["systems"][0]["counts"]["colleague"] > 0


@pytest.mark.slow
def test_figures_of_stratalog_alone_are_tables_of_their_own(command):
    status, out, _ = command(
        "tiny-delta", "counts", "lubm-large", "--scale", "small", "-q", "--runs", 1
    )
    assert status == 0
    assert "us per rule" in out
    assert "without, CPU s" in out
    assert "bytes per binary fact" in out


@pytest.mark.slow
def test_what_comes_first_is_measured_with_and_without_compiled_kernels(command, tmp_path):
    status, _, err = command("start", "--scale", "small", "--json", "start.json", "-q")
    assert (status, err) == (0, "")
    (report,) = json.loads((tmp_path / "start.json").read_text())["reports"]
    seconds = {name: (cold, warm) for name, cold, warm, _ in report["rows"]}
    assert "command: update" in seconds
    assert min(seconds["command: update"]) > 0


def test_a_wrong_count_ends_with_status_1_and_shows_no_times(command, monkeypatch):
    def with_one_fact_more(task, *others):
        outcome = run_task(task, *others)
        if task.settings["system"] == "duckdb":
            outcome.answer["counts"]["path"] += 1
        return outcome

    monkeypatch.setattr(run, "run_task", with_one_fact_more)
    status, out, err = command("dag", *SMALL)
    assert status == 1
    assert "B102" in err
    assert "path" in err
    assert out.count("facts differ") == 2
    assert "0." not in out


def test_control_c_shows_what_is_done_so_far(command, monkeypatch):
    def interrupted(task, *others):
        if task.settings["system"] == "duckdb":
            raise KeyboardInterrupt
        return run_task(task, *others)

    monkeypatch.setattr(run, "run_task", interrupted)
    status, out, err = command("dag", *SMALL)
    assert status == 4
    assert "dag        stratalog" in out
    assert "E105: cancelled; what was done before is shown above" in err


def test_a_peer_that_fails_is_told_and_the_others_are_shown(command, monkeypatch):
    def failing(task, *others):
        if task.settings["system"] == "duckdb":
            return process.Outcome("failed", {}, "no luck")
        return run_task(task, *others)

    monkeypatch.setattr(run, "run_task", failing)
    status, out, err = command("dag", *SMALL)
    assert status == 0
    assert "failed" in out
    assert "duckdb: failed (no luck) in dag" in err


def test_a_failure_of_stratalog_is_an_error(command, monkeypatch):
    outcome = process.Outcome("failed", {}, "no luck")
    monkeypatch.setattr(run, "run_task", lambda *_: outcome)
    status, _, err = command("dag", *SMALL)
    assert status == 1
    assert "B103" in err


def test_a_peer_that_is_not_installed_is_left_out_with_advice(command, monkeypatch):
    monkeypatch.setattr(Entry, "is_installed", property(lambda each: each.name == "stratalog"))
    answer = dict.fromkeys(run.Run.__dataclass_fields__, 1) | {"counts": {"path": 1}, "figures": {}}
    monkeypatch.setattr(run, "run_task", lambda *_: process.Outcome(DONE, dict(answer)))
    status, out, err = command("dag", "--scale", "small")
    assert (status, len(out.splitlines())) == (0, 2)
    assert (
        'duckdb-recursion, polars, nemo, clingo, polars-memory; pip install "stratalog[bench]"'
        in err
    )
    status, _, err = command("dag", "--system", "nemo")
    assert status == 1
    assert "B101" in err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nothing"], "'nothing' is not one of dag"),
        (["--system", "nothing"], "'nothing' is not one of stratalog"),
        (["--scale", "huge"], "'huge' is not one of full, small"),
        (["--compare", "one.json"], "two files"),
    ],
)
def test_a_mistake_in_the_command_is_explained(command, arguments, word):
    status, _, err = command(*arguments)
    assert status == 2
    assert word in err


def test_rules_with_facts_are_refused(command, tmp_path):
    (tmp_path / "rules.dlog").write_text("p(1) . q(?x) :- p(?x) .")
    status, _, err = command("lubm", "--rules", "rules.dlog")
    assert status == 1
    assert "B104" in err
