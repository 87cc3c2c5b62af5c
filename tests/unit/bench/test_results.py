"""Results: written and read, compared, drawn, and refused if facts differ."""

from __future__ import annotations

from copy import deepcopy
from xml.etree import ElementTree as ET

import pytest

from stratalog_bench.failures import BenchmarkError
from stratalog_bench.harness.compare import compare
from stratalog_bench.harness.plot import draw
from stratalog_bench.harness.results import (
    LEFT_OUT,
    OVER_LIMIT,
    BenchmarkResult,
    Report,
    Result,
    Run,
    SystemResult,
    read_result,
    write_result,
)
from stratalog_bench.harness.run import check_facts
from stratalog_bench.harness.table import table_of
from stratalog_bench.workloads.catalogue import REASONERS


def system(name, cpu=1.0, facts=10):
    runs = [
        Run(cpu * 2, cpu * 3, 0.1, 0.1, 2**20, 3 * 2**20),
        Run(cpu, cpu, 0.2, 0.2, 2**20, 2**21),
    ]
    return SystemResult(name, runs=runs, counts={"path": facts, "edge": 4}, figures={})


@pytest.fixture
def result():
    systems = [system(name, 10.0**place / 100) for place, name in enumerate(REASONERS)]
    systems[0].figures["derivations"] = 25
    systems[-1] = SystemResult("clingo", OVER_LIMIT, "> 300 s")
    benchmarks = [BenchmarkResult("dag", {"nodes": 5}, 4, systems)]
    benchmarks.append(BenchmarkResult("chain", {}, 4, [system("stratalog"), system("duckdb")]))
    benchmarks[1].systems.append(SystemResult("nemo", LEFT_OUT, "built-ins"))
    made = Result("small", 2, 300.0, benchmarks=benchmarks, reports=[Report("r", ["a"], [[1]])])
    made.note_machine()
    return made


def test_a_result_is_read_as_it_was_written(result, tmp_path):
    write_result(result, tmp_path / "r.json")
    assert read_result(tmp_path / "r.json") == result


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 99}'])
def test_another_file_is_no_result(text, tmp_path):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(BenchmarkError, match="B105"):
        read_result(tmp_path / "r.json")


def test_a_file_that_is_not_there_is_no_result(tmp_path):
    with pytest.raises(BenchmarkError, match="No such file"):
        read_result(tmp_path / "none.json")


def test_the_table_has_the_least_of_all_runs_and_the_ratio(result):
    lines = table_of(result.benchmarks).plain().splitlines()
    assert lines[1].split() == ["dag", "stratalog", "14", "0.010", "0.010", "0.100", "3", "2"]
    assert lines[2].split() == ["duckdb", "14", "0.100", "0.100", "0.100", "3", "2", "10x"]
    assert "> 300 s" in lines[6]
    assert lines[9].split() == ["nemo", "-"]


def test_equal_facts_pass(result):
    check_facts(result.benchmarks)


def test_a_wrong_count_is_an_error_that_names_predicate_and_both_counts(result):
    result.benchmarks[0].systems[1].counts["path"] = 11
    with pytest.raises(BenchmarkError) as caught:
        check_facts(result.benchmarks)
    assert caught.value.code == "B102"
    assert "dag: path has 10 facts in stratalog and 11 in duckdb" in str(caught.value)


def test_times_of_different_facts_are_not_shown(result):
    result.benchmarks[0].systems[1].counts["other"] = 1
    lines = table_of(result.benchmarks).plain().splitlines()
    assert lines[1].split() == ["dag", "stratalog", "14", "facts", "differ"]


def test_different_derivations_are_different_results(result):
    result.benchmarks[0].systems[1].figures["derivations"] = 24
    with pytest.raises(BenchmarkError, match="25 derivations in stratalog and 24 in duckdb"):
        check_facts(result.benchmarks)


def test_the_same_result_compares_without_errors(result):
    found = compare(result, result)
    found.check()
    assert [row[1] for row in found.table.rows] == [*REASONERS[:-1], "stratalog", "duckdb"]
    assert {row[4] for row in found.table.rows} == {"1.00"}
    assert not found.warnings


def test_more_derivations_than_before_are_an_error(result):
    after = deepcopy(result)
    after.benchmarks[0].systems[0].figures["derivations"] = 26
    found = compare(result, after)
    with pytest.raises(
        BenchmarkError, match="B106: dag, stratalog: derivations rose from 25 to 26"
    ):
        found.check()
    compare(after, result).check()


def test_other_facts_than_before_are_an_error(result):
    after = deepcopy(result)
    after.benchmarks[0].systems[0].counts["path"] = 9
    with pytest.raises(BenchmarkError, match="path had 10 facts and has 9"):
        compare(result, after).check()


def test_more_time_than_before_is_a_warning(result):
    after = deepcopy(result)
    after.benchmarks[1].systems[0] = system("stratalog", 2.0)
    found = compare(result, after)
    found.check()
    assert found.warnings == ["chain, stratalog takes 2.00 times as long as before"]


def test_other_parameters_are_not_compared(result):
    after = deepcopy(result)
    after.benchmarks[0].parameters = {"nodes": 6}
    found = compare(result, after)
    assert "dag was run with other parameters or rules" in found.warnings
    after.benchmarks.pop()
    with pytest.raises(BenchmarkError, match="B107"):
        compare(result, after)


def test_the_picture_is_xml_and_shows_every_system(result):
    root = ET.fromstring(draw(result))
    texts = [element.text for element in root.iter() if element.text]
    for name in (*REASONERS, "dag", "chain"):
        assert name in texts
    bars = [element for element in root.iter() if element.tag.endswith("title")]
    assert len(bars) == len(REASONERS) + 2
    assert "clingo: > 300 s" in texts


def test_a_picture_of_nothing_is_xml_too():
    ET.fromstring(draw(Result("small", 1, 1.0)))
