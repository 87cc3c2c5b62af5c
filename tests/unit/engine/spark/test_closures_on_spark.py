"""Relations that rules make closures are closed on Spark, and have the columnar engine's counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import stratalog
from stratalog.closure.closure import TooLargeError
from stratalog.engine.spark import bulk, engine
from stratalog.engine.spark.far import contracted
from stratalog.engine.spark.fetching import Fetching
from stratalog.engine.spark.held import Held
from stratalog.engine.spark.near import Encoded
from stratalog.engine.spark.rooms import SETTING
from stratalog.errors import EngineError
from tests.updates import SHAPES

TRANSITIVE = "p(?x, ?z) :- p(?x, ?y), p(?y, ?z) . p(?x, ?y) :- e(?x, ?y) ."
SYMMETRIC = "s(?x, ?y) :- s(?y, ?x) . s(?x, ?z) :- s(?x, ?y), s(?y, ?z) ."
# Both kinds derive each other's edges: rounds of other rules add to closures that have been listed.
MIXED = (
    TRANSITIVE
    + SYMMETRIC
    + """s(?x, ?y) :- p(?x, ?y), f(?x, ?y) . p(?x, ?y) :- s(?x, ?y), g(?x) .
    q(?x, ?y) :- s(?x, ?y), NOT p(?x, ?y) ."""
)
AROUND = """t(?x, ?y) :- e(?x, ?y), g(?x) . r(?x, ?y) :- f(?x, ?y) . own(?x) :- t(?x, ?x) ."""

Facts = dict[str, list[tuple[int, ...]]]


def facts(seed: int, size: int = 7) -> Facts:
    draw = Random(seed)

    def pairs(count: int) -> list[tuple[int, ...]]:
        return [(draw.randrange(size), draw.randrange(size)) for _ in range(count)]

    few = [(x,) for x in range(draw.randrange(size))]
    return {"e": pairs(size), "f": pairs(size - 2), "g": few, "s": pairs(2)}


Both = Callable[[str, Facts], tuple[Any, Any]]


@pytest.fixture
def both(spark: Any) -> Iterator[Both]:
    """Make the same knowledge base on both engines; they must be the same."""
    made = []

    def make(program: str, given: Facts) -> tuple[Any, Any]:
        kb = stratalog.materialise(program, given, engine="spark", spark=spark, progress=False)
        made.append(kb)
        other = stratalog.materialise(program, given, engine="columnar", progress=False)
        assert kb._counts() == other._counts()
        if spark.conf.get(SETTING, None) is None:  # joins have more to look at
            assert kb.stats["derivations"] == other.stats["derivations"]
        assert kb.stats["explicit"] == other.stats["explicit"]
        return kb, other

    yield make
    for kb in made:
        kb.close()


@pytest.fixture
def by_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let executors list all pairs, however few there are."""
    monkeypatch.setattr(bulk, "LISTED_HERE", 0)


@pytest.fixture
def by_joins(spark: Any) -> Iterator[None]:
    """Let no process have room for a closure."""
    spark.conf.set(SETTING, "64")
    yield
    spark.conf.unset(SETTING)


def stages(spark: Any, description: str) -> list[int]:
    """Return how many stages each job of a description had."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = (jobs.apply(i) for i in range(jobs.size()))
    return [
        job.stageIds().size()
        for job in found
        if job.description().isDefined() and job.description().get().startswith(description)
    ]


def test_modules_among_other_rules_have_the_same_counts(both: Both):
    both(MIXED, facts(0))


@pytest.mark.usefixtures("by_executors")
def test_executors_list_a_closure_in_one_stage(spark: Any, both: Both):
    draw = Random(3)
    edges = [(draw.randrange(40), draw.randrange(40)) for _ in range(60)]
    kb, _ = both(TRANSITIVE, {"e": edges, "p": edges[:3]})
    told = f"listing {kb.stats['facts'] - len({*edges}) * 2:,} pairs of p"
    assert stages(spark, told) == [1]


@pytest.mark.usefixtures("by_executors")
def test_executors_list_what_later_rounds_add(both: Both):
    both(MIXED, facts(2))


@pytest.mark.usefixtures("by_executors")
@pytest.mark.parametrize("shape", [SHAPES[n] for n in (2, 4, 6, 8)])
def test_closures_of_other_shapes_are_listed_too(both: Both, shape: str):
    both(shape + AROUND, facts(4) | {"t": [(1, 2), (5, 5)]})


def change(draw: Random, size: int = 7) -> dict[str, Facts]:
    """Return an update: some edges go, others come."""
    insert, delete = facts(draw.randrange(1000), size), facts(draw.randrange(1000), size)
    return {"insert": {"e": insert["e"][:2], "f": insert["f"][:1]}, "delete": delete}


@pytest.mark.usefixtures("by_executors")
@pytest.mark.parametrize("shape", SHAPES)
def test_updates_follow_listed_pairs_without_looking_for_them(
    spark: Any, both: Both, shape: str, monkeypatch: pytest.MonkeyPatch
):
    """Only facts that the closure has not derived are looked for; nothing is written again."""
    kb, other = both(shape + AROUND, facts(9, 9) | {"t": [(1, 2), (5, 5)]})
    asked: list[Encoded] = []
    ask = Fetching._question

    def watched(self: Fetching, given: Encoded, part: int) -> Any:
        asked.append(given)
        return ask(self, given, part)

    monkeypatch.setattr(Fetching, "_question", watched)
    rewritten = len(stages(spark, "dividing facts anew"))
    draw = Random(10)
    for _ in range(2):
        step = change(draw, 9)
        done, expected = kb.update(**step), other.update(**step)
        assert (len(done.added), len(done.removed)) == (len(expected.added), len(expected.removed))
        assert kb._counts() == other._counts()
    assert len(stages(spark, "dividing facts anew")) == rewritten
    explicit = sum(len(given) for given in facts(9, 9).values())
    assert sum(size for predicate, _, size in asked if predicate.name in "trq") < explicit


@pytest.mark.parametrize("shape", [SHAPES[n] for n in (0, 1, 2, 5, 7)])
def test_closures_stay_right_when_touched_facts_become_segments(
    both: Both, shape: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "OVERLAY", 0)
    monkeypatch.setattr(engine, "SHARE", 1 << 40)
    given = facts(13) | {"t": [(1, 2), (5, 5)]}
    kb, other = both(shape + AROUND, given)
    edges = given["e"][:3]
    gone: Facts = {"e": edges, "t": [(1, 2)]}
    come: Facts = {"e": edges, "t": [(6, 4)]}
    for step in ({"delete": gone}, {"insert": come}, {"delete": come}, {"insert": gone}):
        kb.update(**step)
        other.update(**step)
        assert kb._counts() == other._counts()


def test_steps_are_known_before_there_is_an_edge(both: Both):
    kb, other = both(MIXED + "t(?x, ?z) :- e(?x, ?y), t(?y, ?z) .", facts(14))
    for step in ({"insert": {"t": [(facts(14)["e"][0][1], 5)]}}, change(Random(15))):
        kb.update(**step)
        other.update(**step)
        assert kb._counts() == other._counts()


def test_what_an_update_undoes_is_held_as_before(both: Both):
    kb, other = both(TRANSITIVE + SYMMETRIC + "q(?x, ?y) :- e(?x, ?y) .", facts(16))
    step = change(Random(17))
    rules = {"remove_rules": "p(?x, ?z) :- p(?x, ?y), p(?y, ?z) ."}
    for asked in (step, rules, step | rules):
        done, expected = kb.what_if(**asked), other.what_if(**asked)
        assert (len(done.added), len(done.removed)) == (len(expected.added), len(expected.removed))
        assert kb._counts() == other._counts()
    held = kb._host.engine._holding._held
    assert {predicate.name for predicate in held} == {"p", "s"}
    kb.update(**step)
    other.update(**step)
    assert kb._counts() == other._counts()


def test_a_closure_that_has_become_too_large_is_joined(both: Both, monkeypatch: pytest.MonkeyPatch):
    def too_large(*_: object) -> None:
        raise TooLargeError

    for program in (TRANSITIVE, SYMMETRIC, SHAPES[7] + AROUND):
        kb, other = both(program, facts(11))
        with monkeypatch.context() as patched:
            patched.setattr(Held, "follow", too_large)
            step = change(Random(12)) | {"maintenance": "dred-c"}
            kb.update(**step)
        other.update(**step)
        assert kb._counts() == other._counts()


@pytest.mark.usefixtures("by_joins")
@pytest.mark.parametrize("program", [TRANSITIVE, SYMMETRIC, SHAPES[7] + AROUND])
def test_what_no_process_can_hold_is_joined(both: Both, program: str):
    """A chain takes more rounds than there may be segments: some are merged meanwhile."""
    chain: Facts = {"e": [(x, x + 1) for x in range(13)], "g": [(2,), (3,)], "s": [(1, 2), (2, 5)]}
    kb, other = both(program, facts(5) | chain)
    change = {"insert": {"e": [(0, 6)]}, "delete": {"e": [(2, 3), (7, 8)], "s": [(2, 5)]}}
    kb.update(**change)
    other.update(**change)
    assert kb._counts() == other._counts()


@pytest.mark.usefixtures("by_joins")
def test_what_no_process_can_hold_is_joined_among_other_rules(both: Both):
    both(MIXED, facts(5))


def test_components_are_found_by_partition_if_edges_are_many(spark: Any, both: Both):
    """The spokes of nine constants have room where twenty edges have not."""
    draw = Random(6)
    edges = [(x, draw.randrange(4) + 4 * (x // 4)) for x in (draw.randrange(8) for _ in range(40))]
    spark.conf.set(SETTING, str(64 * 16))
    try:
        kb, other = both(SYMMETRIC, {"s": [*edges, (9, 9)]})
        kb.update(delete={"s": edges[:5]})
        other.update(delete={"s": edges[:5]})
    finally:
        spark.conf.unset(SETTING)
    assert kb._counts() == other._counts()


def test_stars_are_contracted_to_the_least_constant(spark: Any):
    from stratalog.engine.spark.cuts import Written
    from stratalog.engine.spark.session import Work

    work = Work(spark)
    chain = [(x + 1, x) for x in range(12)] + [(30, 20), (25, 30), (40, 40)]
    columns = [pa.array(each) for each in zip(*chain, strict=True)]
    given = Written(work, work.given(pa.table(columns, ["c0", "c1"])))
    links = contracted(work, given)
    found = {(row.c0, row.c1) for row in work.spark.table(links.view).collect()}
    assert found == {(x, 0) for x in range(1, 13)} | {(30, 20), (25, 20)}
    given.free()
    links.free()


@pytest.mark.parametrize("algorithm", ["dred-c", "bf-c", "rematerialise", "auto"])
def test_a_store_with_modules_is_updated_on_spark(spark: Any, tmp_path: Path, algorithm: str):
    given, draw = facts(7), Random(8)
    expected = stratalog.materialise(MIXED, given, engine="columnar", modules="off")
    stratalog.materialise(MIXED, given, engine="columnar", store=tmp_path / "s").close()
    kb = stratalog.open(tmp_path / "s", engine="spark", spark=spark)
    for _ in range(2):
        insert = {"e": [(draw.randrange(7), draw.randrange(7))], "s": [(1, 6)]}
        delete = {"e": draw.sample(given["e"], 2), "f": given["f"][:1]}
        kb.update(insert=insert, delete=delete, maintenance=algorithm)
        expected.update(insert=insert, delete=delete)
        assert all(sorted(kb[name]) == sorted(expected[name]) for name in "psq")
    kb.close()
    kb = stratalog.open(tmp_path / "s")
    kb.update(delete={"e": given["e"][:3]})
    expected.update(delete={"e": given["e"][:3]})
    assert all(sorted(kb[name]) == sorted(expected[name]) for name in "psq")


@pytest.mark.parametrize("shape", [SHAPES[n] for n in (1, 3, 6, 7)])
def test_a_store_of_closures_is_updated_on_spark(spark: Any, tmp_path: Path, shape: str):
    given, draw = facts(7) | {"t": [(1, 2), (5, 5)]}, Random(8)
    program = shape + AROUND
    expected = stratalog.materialise(program, given, engine="columnar")
    stratalog.materialise(program, given, engine="columnar", store=tmp_path / "s").close()
    kb = stratalog.open(tmp_path / "s", engine="spark", spark=spark)
    for _ in range(2):
        step = change(draw)
        kb.update(**step)
        expected.update(**step)
        assert kb._counts() == expected._counts()
    kb.close()


def test_the_papers_algorithms_are_refused(spark: Any):
    with pytest.raises(EngineError, match="is not supported on Spark"):
        stratalog.materialise(MIXED, facts(0), engine="spark", spark=spark, modules="paper")
