"""benchmarks/against.py: what its table says of two trees, and that all its cases run."""

import importlib
import json

import pytest

from benchmarks.comparison import cases, run, table
from benchmarks.comparison.run import AFTER, AGAIN, BEFORE, ROOT, Measured


def steps(cpu, **counts):
    return {"join": {"cpu": cpu, "wall": 2 * cpu, "counts": counts}}


def measured(before, after, again):
    return table.rows_of(Measured("case", {BEFORE: before, AFTER: after, AGAIN: again}))


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


def test_counts_of_runs_that_only_count_are_shown_and_compared():
    runs = {series: [steps(1.0, rounds=3)] for series in (BEFORE, AFTER, AGAIN)}
    calls = {"kernel calls by dred-c": 1_000, "kernel calls by bf-c": 9, "rounds by dred-c": 5}
    counted = {BEFORE: [steps(1.0, **calls)], AFTER: [steps(1.0, **calls)], AGAIN: []}
    (row,) = table.rows_of(Measured("case", runs, counted))
    assert table.show([row]).split()[-4:] == ["1.000", "1.000", "3", "1,000"]
    assert row.differing == ""
    counted[BEFORE] = [steps(1.0, **calls | {"kernel calls by bf-c": 8})]
    counted[AGAIN] = counted[BEFORE]
    (row,) = table.rows_of(Measured("case", runs, counted))
    assert row.differing == "kernel calls by bf-c 8 -> 9"
    assert not table.verdict([row], [], 1)[1]


@pytest.mark.parametrize(("after", "times"), [(7, 2), (8, 3)])
def test_the_earlier_tree_counts_again_only_where_counts_differ(after, times, monkeypatch):
    trees = {BEFORE: "earlier", AFTER: "this", AGAIN: "earlier"}
    monkeypatch.setitem(cases.CASES, "small", cases.Case("materialise"))
    asked = []

    def counts(_name, _folder, tree, what):
        asked.append((tree, what))
        one = steps(1.0, calls=after if tree == "this" else 7)["join"]
        return {"join": {**one, "made of": {}}}

    monkeypatch.setattr(run, "run_once", counts)
    found = Measured("small")
    run._count(found, ROOT, trees, lambda _: None)
    assert asked == [("earlier", "counts"), ("this", "counts"), ("earlier", "counts")][:times]
    assert len(found.counted[AGAIN]) == times - 2


def test_all_that_was_measured_can_be_written_as_json():
    runs = {series: [steps(1.0, rounds=3)] for series in (BEFORE, AFTER, AGAIN)}
    found = Measured("case", runs)
    content = json.loads(json.dumps(table.as_json(table.rows_of(found), [found])))
    assert content["cases"][0]["runs"] == runs
    (row,) = content["table"]
    assert (row["step"], row["ratio"], row["counts"]) == ("join", 1.0, {"rounds": 3})


def test_cases_on_spark_are_measured_only_if_they_are_asked_for(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    against = importlib.import_module("against")

    def chosen(*words):
        return against.chosen(against.parse(["HEAD", *words]))

    spark = [name for name in cases.CASES if name.startswith("spark-")]
    assert len(spark) > 1
    assert not {"cold", "walk", *spark} & {*chosen()}
    assert (chosen("--spark"), chosen("--only", "dag", "--spark")) == (spark, ["dag", *spark])
    assert chosen("--only", spark[0], "cold") == [spark[0], "cold"]


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


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return what prepares a small case."""
    monkeypatch.setattr(cases, "SINGLE", 2)
    monkeypatch.setattr(cases, "MANY", 20)

    def prepared(task, rules=None, **options):
        case = cases.Case(task, "dag", {"nodes": 40, "edges": 90}, rules, options)
        monkeypatch.setitem(cases.CASES, "small", case)
        return cases.prepare("small", tmp_path)

    return prepared


@pytest.mark.slow
def test_kernel_calls_of_updates_are_counted_by_algorithm(small):
    given = small("update", cases.MODULES)
    counted = run._counted("small", given, ROOT)["delete 1"]
    counts, made = counted["counts"], counted["made of"]
    for algorithm in ("dred-c", "bf-c"):
        calls = f"kernel calls by {algorithm}"
        assert counts[calls] == sum(made[calls].values()) > 0
        assert counts[f"derivations by {algorithm}"] > 0
    assert made["kernel calls by dred-c"] != made["kernel calls by bf-c"]
    assert not any(key.startswith("crossings") for key in counts)


@pytest.mark.slow
def test_calls_between_packages_are_counted(tmp_path):
    given = cases.prepare("walk", tmp_path)
    step = run._counted("walk", given, ROOT)["first update"]
    assert step["counts"]["crossings"] == sum(step["made of"]["crossings"].values())
    assert step["made of"]["crossings"]["knowledge -> reason"] > 0
    assert all(here != there for here, _, there in map(str.split, step["made of"]["crossings"]))


@pytest.mark.spark
def test_jobs_of_spark_are_counted_while_it_is_measured(small):
    found = run.run_once("small", small("spark", engine="spark", master="local[1]"), ROOT)
    assert set(found) == {"materialise", "delete 1", "insert 1", "delete 20", "insert 20"}
    for step in found.values():
        assert step["counts"]["jobs"] == step["made of"].get("jobs", {}).get("jobs", 0)
        assert step["counts"]["kernel calls"] > 0
    assert found["materialise"]["counts"]["jobs"] > 0  # updates of few facts may do without
    assert found["materialise"]["cpu"] > found["materialise"]["wall"] / 100  # Java's, too


@pytest.mark.slow
@pytest.mark.parametrize("task", ["update", "store"])
def test_a_case_runs_with_the_code_of_the_tree_it_is_given(task, small, tmp_path):
    given = small(task)
    assert json.loads((given / "case.json").read_text())["relations"] == ["edge"]
    found = run.run_once("small", given, ROOT)
    assert {"delete 1", "insert 20"} <= {step.removeprefix("commit: ") for step in found}
    assert all(each["cpu"] > 0 for each in found.values())
    with pytest.raises(run.RunError, match="is measured instead of"):
        run.run_once("small", given, tmp_path)
