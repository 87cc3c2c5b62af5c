"""Generated facts in files, and the command that writes them."""

from __future__ import annotations

import gzip
import inspect
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import stratalog
from stratalog.cli.main import main
from stratalog.errors import DataError
from stratalog_bench import generate
from stratalog_bench.generate.catalogue import GENERATORS
from stratalog_bench.generate.files import rules_for

DAG = ("dag", "--nodes", "50", "--edges", "120")
EXPRESSIONS = ("expressions", "--expressions", "2", "--sets", "3")


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        status = main(["generate", *arguments])
        return status, capsys.readouterr().err

    return run


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda each: each.name)
def test_the_catalogue_has_each_generator_s_parameters(generator):
    found = inspect.signature(generator.function()).parameters.values()
    listed = [(each.name, each.default) for each in generator.parameters]
    assert [(each.name, each.default) for each in found] == [*listed, ("seed", 0)]


def test_every_public_name_can_be_had():
    assert [name for name in generate.__all__ if not callable(getattr(generate, name))] == []
    assert set(dir(generate)) == set(generate.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        generate.nothing  # noqa: B018


def test_the_help_lists_generators_without_numpy():
    code = (
        "import sys; from stratalog.cli.main import main; main(['generate', '--help']);"
        "print('numpy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.endswith("False\n")
    assert "same-generation --nodes 15000 --layers 12 --parents 2" in run.stdout


@pytest.mark.parametrize("name", ["edge.csv", "edge.tsv", "edge.parquet", "edge.csv.gz"])
def test_a_file_and_its_rules_give_what_the_facts_give(command, name):
    assert command(*DAG, "-o", name, "--rules", "paths.dlog")[0] == 0
    kb = stratalog.materialise(Path("paths.dlog"), name)
    made = generate.dag(50, 120)
    expected = stratalog.materialise(made.rules, made.facts)
    assert set(kb["path"]) == set(expected["path"])


@pytest.mark.parametrize("data_format", ["csv", "tsv", "parquet"])
def test_a_folder_has_a_file_per_predicate(command, data_format):
    assert command(*EXPRESSIONS, "-o", "made", "--format", data_format, "--rules", "r.dlog")[0] == 0
    made = generate.expressions(2, 3)
    assert {file.name for file in Path("made").iterdir()} == {
        f"{n}.{data_format}" for n in made.facts
    }
    kb = stratalog.materialise(Path("r.dlog"), "made")
    assert set(kb["value"]) == set(stratalog.materialise(made.rules, made.facts)["value"])


def test_a_folder_is_parquet_unless_another_format_is_asked_for(command):
    assert command(*EXPRESSIONS, "-o", "made/")[0] == 0
    assert pq.read_table("made/plus.parquet").column_names == ["node", "left", "right"]


@pytest.mark.parametrize("output", ["lubm.nt", "lubm", "lubm.nt.gz"])
def test_universities_as_triples_and_as_tables(command, output):
    status, said = command("lubm", "-o", output, "--rules", "rules.dlog")
    made = generate.lubm(1)
    assert status == 0
    assert f"{made.count:,} facts -> {output}" in said
    stats = stratalog.materialise(Path("rules.dlog"), output).stats
    expected = stratalog.materialise(made.rules, made.tables()).stats
    assert [stats[k] for k in ("explicit", "derived")] == [
        expected[k] for k in ("explicit", "derived")
    ]


def test_compressed_lines_are_the_same_lines(tmp_path):
    generate.write_lubm(tmp_path / "a.nt", 1, seed=4)
    generate.write(generate.lubm(1, seed=4), tmp_path / "b.nt.gz")
    lines = gzip.decompress((tmp_path / "b.nt.gz").read_bytes()).splitlines()
    assert sorted(lines) == sorted((tmp_path / "a.nt").read_bytes().splitlines())


def test_progress_is_told_after_each_university(tmp_path):
    told = []
    count = generate.write_lubm(tmp_path / "a.nt", 3, progress=told.append)
    assert len(told) == 3
    assert told == sorted(told)
    assert told[-1] == count


def test_a_file_of_another_name_than_its_predicate_is_explained(command):
    assert "to the rules this is edge=graph.csv" in command(*DAG, "-o", "graph.csv")[1]
    assert command(*DAG, "-o", "graph.csv", "--quiet") == (0, "")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        ((*EXPRESSIONS, "-o", "made.csv"), 1, "D314"),
        ((*DAG, "-o", "made.nt"), 1, "D312"),
        ((*DAG, "-o", "made.xls"), 1, "D312"),
        ((*DAG, "-o", "edge.csv", "--format", "tsv"), 1, "D312"),
        ((*DAG, "-o", "made", "--format", "nt"), 1, "D312"),
        ((*DAG, "-o", "missing/edge.csv"), 1, "D313"),
        (("dag", "--nodes", "1", "-o", "edge.csv"), 1, "D401"),
        (("dag", "--nodes", "many", "-o", "edge.csv"), 2, "U100"),
        (("dag", "--seed", "-1", "-o", "edge.csv"), 2, "U100"),
        (DAG, 2, "U100"),
        (("nothing", "-o", "edge.csv"), 2, "U100"),
    ],
)
def test_what_cannot_be_written_is_refused(command, arguments, status, code):
    found, said = command(*arguments)
    assert (found, said.partition(":")[0]) == (status, code)
    assert "help:" in said
    assert not list(Path().iterdir())


def test_nothing_is_left_of_a_file_that_cannot_be_finished(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stratalog_bench.generate.files.write_ntriples", fail)
    with pytest.raises(DataError, match=r"D313.*No space left"):
        generate.write_lubm(tmp_path / "a.nt", 1)
    assert not list(tmp_path.iterdir())


def test_rules_for_tables_have_bare_names():
    rules = generate.lubm(1).rules
    assert rules_for(rules, "lubm.nt") == rules
    bare = rules_for(rules, "lubm/")
    assert "Faculty(?x) :- Professor(?x) ." in bare
    assert "ub:" not in bare
