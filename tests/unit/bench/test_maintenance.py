"""Maintenance is measured on materialisations that are checked, at sizes that take no time."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stratalog.cli.main import main
from stratalog.facts.counts import Count
from stratalog.facts.labels import E
from stratalog_bench.failures import BenchmarkError
from stratalog_bench.harness import parts, worker
from stratalog_bench.harness.process import Outcome
from stratalog_bench.harness.results import DONE, FAILED, Result
from stratalog_bench.harness.run import Settings
from stratalog_bench.maintenance import large_deletions, run, small_deletions
from stratalog_bench.maintenance.datasets import DATA_SETS, DataSet, chosen_sets
from stratalog_bench.maintenance.digest import digest
from stratalog_bench.maintenance.entries import entries_of
from stratalog_bench.maintenance.prepare import prepare
from stratalog_bench.maintenance.small_deletions import Amounts
from stratalog_bench.maintenance.subject import ALGORITHMS, Subject
from stratalog_bench.maintenance.tables import Tables
from stratalog_bench.workloads.inputs import make_input, read_input

TINY = {"molecules": 30, "reactions": 60, "cells": 2, "given": 20}
AMOUNTS = Amounts(facts=5, subsets=2, turns=1)
PATHWAYS = DataSet("pathways", "pathways", TINY, TINY)
SILENT = {"limit": 60.0, "base_bytes": 1, "peak_bytes": 2}


def quiet(_):
    pass


@pytest.fixture
def subject(tmp_path):
    return Subject(make_input("pathways", TINY, tmp_path), 60.0)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return the figures of a row."""
    subject = Subject(make_input("pathways", TINY, tmp_path_factory.mktemp("row")), 60.0)
    sizes = {**SILENT, **subject.facts_and_rules()}
    small = small_deletions.measure(subject, AMOUNTS, quiet)
    return {
        "small": sizes | small,
        "large": sizes | large_deletions.measure(subject, AMOUNTS, quiet),
    }


@pytest.fixture
def figures(measured):
    return deepcopy(measured)


def test_a_digest_sees_facts_counts_and_what_is_explicit(subject):
    engine, start = subject.engine, subject.start
    fact = subject.batch(np.array([3]))
    engine.change_count(fact, Count.RECURSIVE, 1)
    assert digest(engine) != start
    engine.change_count(fact, Count.RECURSIVE, -1)
    assert digest(engine) == start
    engine.unmark(fact, E)
    assert digest(engine) != start


def test_a_digest_does_not_see_the_order_of_facts(subject, tmp_path):
    given = read_input(tmp_path)
    for relation in given.relations:
        path = tmp_path / relation.ids
        np.save(path, np.load(path)[:, ::-1])
    assert Subject(given, 60.0).start == subject.start


def test_each_algorithm_deletes_what_a_fresh_materialisation_lacks(subject):
    batch = subject.batch(subject.shuffled(7)[:6])
    expected = digest(subject.afresh(batch)[0])
    assert expected.explicit == subject.start.explicit - 6
    for name in ALGORITHMS:
        took = subject.delete(name, batch)
        assert took.work > 0
        assert took.removed == subject.start.facts - expected.facts
        assert subject.digest() == expected
        subject.roll_back()
        assert subject.digest() == subject.start


def test_a_deletion_over_the_limit_changes_nothing(subject):
    subject.limits.timeout = 1e-9
    assert subject.delete("dred", subject.batch(subject.shuffled(1)[:20])) is None
    assert subject.digest() == subject.start


def test_a_row_has_every_algorithm_and_no_problem(figures):
    small, large = figures["small"], figures["large"]
    assert small["problems"] == large["problems"] == []
    assert set(small["algorithms"]) == {*ALGORITHMS, "insertion"}
    assert [len(cell["runs"]) for cell in small["algorithms"].values()] == [2] * 6
    assert 0 < large["share"] < 1
    assert large["quarter"]["auto"]["runs"][0]["chosen"]
    assert (small["levels"], small["nonrecursive"], small["recursive"]) == (1, 1, 2)


def test_a_wrong_materialisation_is_a_problem(subject):
    subject.start = subject.start._replace(value=0)
    found = small_deletions.measure(subject, AMOUNTS, quiet)["problems"]
    assert "dred-c, after inserting again" in found[0]


def test_algorithms_over_the_limit_are_told_apart(subject):
    subject.limits.timeout = 1e-9
    small = small_deletions.measure(subject, replace(AMOUNTS, limit=1e-9), quiet)
    assert all(not cell["runs"] for cell in small["algorithms"].values())


def test_counting_is_measured_where_no_rule_is_recursive(tmp_path):
    given = make_input("triangles", {"nodes": 50, "edges": 200}, tmp_path)
    small = small_deletions.measure(Subject(given, 60.0), AMOUNTS, quiet)
    assert "counting" in small["algorithms"]
    assert small["problems"] == []


def test_tables_have_a_cell_for_each_column(figures):
    result = Result("small", 1, 60.0)
    tables = Tables(
        "maintenance", {"facts": 5, "subsets": 2, "turns": 1, "limit": 60.0}, result.reports
    )
    figures["small"]["algorithms"]["bf"] = {"over": True, "runs": []}
    tables.add("pathways", figures)
    tables.add("pathways", {part: each | {"problems": ["x"]} for part, each in figures.items()})
    assert len(result.reports) == 4
    for report in result.reports:
        assert [len(row) for row in report.rows] == [len(report.columns)] * 2
    times = result.reports[0]
    assert times.rows[0][times.columns.index("bf")] == "> 60 s"
    assert times.rows[1][1] == "wrong"


def test_entries_are_results_of_algorithms(figures):
    entries = entries_of(PATHWAYS, "small", figures)
    assert [entry.name for entry in entries] == [
        "pathways",
        "pathways, from scratch",
        "pathways, 25 %",
        "pathways, equilibrium",
    ]
    assert entries[0].parameters["deleted"] == 5
    assert entries[0].of("dred-c").figures["work"] > 0


def test_files_become_the_same_input_as_a_generator_s(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "r.dlog").write_text("<u:p>(?x, ?y) :- <u:e>(?x, ?y) .")
    (tmp_path / "e.nt").write_text('<u:a> <u:e> <u:b> .\n<u:b> <u:e> "c"@en .\n')
    wanted = DataSet("mine", rules="r", files=("e.nt",))
    given = prepare(wanted, "full", tmp_path / "made", tmp_path)
    assert read_input(tmp_path / "made") == given
    start = Subject(given, 60.0).start
    assert (start.facts, start.explicit) == (4, 2)


def test_data_sets_without_their_folder_are_left_out(tmp_path):
    found, missing = chosen_sets([], None)
    assert {"SSPE", "pathways", "LUBM"} <= {each.name for each in found}
    assert len(found) + len(missing) == len(DATA_SETS)
    with pytest.raises(BenchmarkError, match="B108"):
        chosen_sets(["GO"], tmp_path)


@pytest.fixture
def in_process(monkeypatch):
    """Do tasks in this process."""

    def run_task(task, *_):
        _, place, folder, settings = task.arguments
        found = worker.function_at(place)(Path(folder), quiet, **json.loads(settings))
        return Outcome(DONE, json.loads(json.dumps(found)))

    monkeypatch.setattr(parts, "run_task", run_task)


@pytest.mark.usefixtures("in_process")
def test_the_command_prints_four_tables_and_writes_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "chosen_sets", lambda *_: ([PATHWAYS], ["GO"]))
    files = ["--json", "r.json", "--plot", "r.svg"]
    assert main(["bench", "maintenance", "--scale", "small", *files]) == 0
    out = capsys.readouterr().out
    assert out.count("\npathways ") == 4
    assert "left out: GO; --data FOLDER" in out
    assert "dred-c" in (tmp_path / "r.svg").read_text()
    assert main(["bench", "--compare", "r.json", "r.json"]) == 0
    assert "pathways, 25 %" in capsys.readouterr().out


def test_a_problem_ends_with_status_1_after_all_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "chosen_sets", lambda *_: ([PATHWAYS], []))
    monkeypatch.setattr(parts, "run_task", lambda *_: Outcome(FAILED, {}, "no luck"))
    assert main(["bench", "maintenance", "--scale", "small"]) == 1
    shown = capsys.readouterr()
    assert "B109" in shown.err
    assert "no luck" in shown.err
    assert len(re.findall(r"pathways +failed", shown.out)) == 4


@pytest.mark.usefixtures("in_process")
def test_updates_of_a_knowledge_base_are_timed_and_checked(monkeypatch):
    monkeypatch.setattr(run, "UPDATES", {"small": {"facts": 10, "turns": 1, "single": 2}})
    result = Result("small", 1, 60.0)
    run.run_updates("updates", Settings(scale="small"), result)
    (report,) = result.reports
    figures = {row[0]: row[1] for row in report.rows}
    assert figures["facts"] > figures["explicit facts"] > 100_000
    assert figures["delete 10 facts, median ms"] > 0
    assert 0 < figures["written by deleting 10 facts, MB"] < figures["store, MB"]
    (entry,) = result.maintenance
    assert {"many delete", "one insert", "quarter scratch"} <= {s.system for s in entry.systems}
