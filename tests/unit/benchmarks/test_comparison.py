"""benchmarks/against.py: what its table says of two trees, and that all its cases run."""

import json

import pytest

from benchmarks.comparison import cases, run, table
from benchmarks.comparison.run import AFTER, AGAIN, BEFORE, ROOT, Measured


def steps(cpu, **counts):
    return {"join": {"cpu": cpu, "wall": 2 * cpu, "counts": counts}}


def measured(before, after, again, **runs):
    found = Measured("case", {BEFORE: before, AFTER: after, AGAIN: again})
    return table.rows_of(found, **runs)


def test_the_least_of_all_runs_is_compared():
    (row,) = measured([steps(2.0), steps(1.0)], [steps(1.5), steps(3.0)], [steps(1.1), steps(9.0)])
    assert (row.cpu, row.wall, row.ratio) == ((1.0, 1.5, 1.1), (2.0, 3.0, 2.2), 1.5)
    assert row.is_slower


@pytest.mark.parametrize(
    ("after", "again", "is_slower"),
    [(1.02, 1.0, False), (1.05, 1.0, True), (1.05, 1.08, False), (1.05, 0.9, False)],
)
def test_a_step_is_slower_if_the_same_code_does_not_differ_as_much(after, again, is_slower):
    (row,) = measured([steps(1.0)], [steps(after)], [steps(again)])
    assert row.is_slower is is_slower


def test_other_counts_are_told_unless_they_vary_from_run_to_run():
    (row,) = measured([steps(1, rounds=3)], [steps(1, rounds=4)], [steps(1, rounds=3)])
    assert row.differing == "rounds 3 -> 4"
    (row,) = measured([steps(1, rounds=3)], [steps(1, rounds=5)], [steps(1, rounds=4)])
    assert row.differing == ""
    text, is_well = table.verdict([row], [], 1)
    assert is_well
    assert text.startswith("1 steps, the least of 1 runs: 0 slower")


def test_the_table_shows_both_ratios_and_what_is_slower():
    rows = measured([steps(1.0)], [steps(1.5, derivations=1_000)], [steps(1.1)])
    head, line = table.show(rows).splitlines()
    assert head.split()[:4] == ["case", "step", "before", "ms"]
    assert line.split()[1:] == [
        "join", "1000.000", "1500.000", "1.500", "1.100", "1.500", "1.100", "1,000", "slower"
    ]  # fmt: skip
    assert not table.verdict(rows, [], 1)[1]


def test_each_tree_has_each_place_in_a_turn():
    places = [run.order(turn).index(AFTER) for turn in range(6)]
    assert sorted(places) == [0, 0, 1, 1, 2, 2]
    assert {tuple(sorted(run.order(turn))) for turn in range(6)} == {(AFTER, BEFORE, AGAIN)}


@pytest.mark.slow
@pytest.mark.parametrize("task", ["update", "store"])
def test_a_case_runs_with_the_code_of_the_tree_it_is_given(task, tmp_path, monkeypatch):
    small = cases.Case(task, "dag", {"nodes": 40, "edges": 90})
    monkeypatch.setitem(cases.CASES, "small", small)
    monkeypatch.setattr(cases, "SINGLE", 2)
    monkeypatch.setattr(cases, "MANY", 20)
    given = cases.prepare("small", tmp_path)
    assert json.loads((given / "case.json").read_text())["relations"] == ["edge"]
    found = run.run_once("small", given, ROOT)
    assert {"delete 1", "insert 20"} <= {step.removeprefix("commit: ") for step in found}
    assert all(each["cpu"] > 0 for each in found.values())
    with pytest.raises(run.RunError, match="is measured instead of"):
        run.run_once("small", given, tmp_path)
