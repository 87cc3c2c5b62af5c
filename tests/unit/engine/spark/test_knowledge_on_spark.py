"""A knowledge base whose facts are in Spark lives like one whose facts are here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stratalog
from stratalog.errors import EngineError

PROGRAM = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
node(?x) :- edge(?x, ?y) . node(?y) :- edge(?x, ?y) .
apart(?x, ?y) :- node(?x), node(?y), NOT path(?x, ?y) .
degree(?x, ?n) :- AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
busy(?x, ?s) :- degree(?x, ?n), ?n > 1, BIND(?n * 10 AS ?s) .
"""
EDGES = [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)]


class Pair:
    """The same knowledge base on both engines."""

    def __init__(self, spark: Any) -> None:
        made = {"facts": {"edge": EDGES}, "progress": False}
        self.spark = stratalog.materialise(PROGRAM, engine="spark", spark=spark, **made)
        self.columnar = stratalog.materialise(PROGRAM, engine="columnar", **made)

    def both(self, ask: Callable[[Any], Any]) -> tuple[Any, Any]:
        return ask(self.spark), ask(self.columnar)

    def check(self) -> None:
        """Fail unless facts, counts and sizes are the same."""
        found, expected = self.both(lambda kb: kb._counts())
        assert found == expected
        found, expected = self.both(lambda kb: kb.sizes())
        assert found == expected


@pytest.fixture(scope="module")
def pair(spark: Any) -> Pair:
    return Pair(spark)


def test_it_says_which_engine_and_why(pair: Pair):
    pair.check()
    assert pair.spark.stats["engine"] == "spark"
    assert pair.spark.stats["engine_why"] == "asked for"
    assert pair.spark.stats["derivations"] == pair.columnar.stats["derivations"]


@pytest.mark.parametrize(
    "query", ["path(0, ?x)", "far(?x) :- path(0, ?x), NOT edge(0, ?x)", "degree(?x, ?n), ?n > 1"]
)
def test_questions_have_the_same_answers(pair: Pair, query: str):
    found, expected = pair.both(lambda kb: sorted(map(str, kb.query(query).to_pylist())))
    assert found == expected != []


def test_updates_are_followed_kept_or_not(pair: Pair):
    insert, delete = {"edge": [(4, 5), (2, 0)]}, {"edge": [(1, 2), (7, 7)]}
    dry, expected = pair.both(lambda kb: kb.what_if(insert, delete).stats["removed"])
    assert dry == expected > 0
    pair.check()
    done = pair.both(lambda kb: kb.update(insert, delete))
    assert done[0].stats["added"] == done[1].stats["added"]
    assert {n: t.num_rows for n, t in done[0].removed.items()} == {
        n: t.num_rows for n, t in done[1].removed.items()
    }
    pair.check()
    pair.both(lambda kb: kb.update(insert={"edge": [(1, 2)]}, maintenance="rematerialise"))
    pair.check()
    found, expected = pair.both(lambda kb: sorted(map(str, kb.query("path(?x, 0)").to_pylist())))
    assert found == expected


def test_a_store_is_opened_by_either_engine(pair: Pair, spark: Any, tmp_path: Path):
    pair.spark.save(tmp_path / "store")
    for engine in ("columnar", "spark"):  # which also updates it
        given = {"spark": spark} if engine == "spark" else {}
        with stratalog.open(tmp_path / "store", engine=engine, **given) as kb:
            assert kb.stats["engine"] == engine
            assert kb._counts() == pair.columnar._counts()
            assert (0, 1) in kb["edge"]
            assert (1, 0) not in kb["edge"]
            if engine == "spark":
                kb.update({"edge": [(8, 9)]}, {"edge": [(0, 1)]})
                assert kb.version == 2


def test_the_users_session_is_left_as_it_was(spark: Any):
    def state():
        description = spark.sparkContext.getLocalProperty("spark.job.description")
        return spark.conf.getAll, description, id(type(spark).getActiveSession())

    before = state()
    kb = stratalog.materialise("b(?x) :- a(?x) . a(1) .", engine="spark", spark=spark)
    assert list(kb["b"]) == [(1,)]
    assert state() == before
    assert [t.name for t in spark.catalog.listTables() if t.name.startswith("stratalog")] == []


def test_a_limit_stops_it_with_a_code(spark: Any):
    program = "p(?x, ?y) :- n(?x), n(?y) ."
    facts = {"n": [(i,) for i in range(20)]}
    with pytest.raises(EngineError) as caught:
        stratalog.materialise(program, facts, engine="spark", spark=spark, max_facts=100)
    assert caught.value.code == "E103"


def test_facts_that_do_not_fit_go_to_spark(spark: Any):
    program = "p(?x, ?y) :- n(?x), n(?y) ."
    facts = {"n": [(i,) for i in range(400)]}
    kb = stratalog.materialise(
        program, facts, engine="auto", spark=spark, memory=40_000, spill="spark"
    )
    assert kb.stats["engine"] == "spark"
    assert "are free" in kb.stats["engine_why"]
    assert kb.count_of("p") == 160_000


def test_a_full_memory_begins_again_on_spark(spark: Any):
    program = "p(?x, ?y) :- n(?x), n(?y) ."
    facts = {"n": [(i,) for i in range(400)]}
    with pytest.warns(stratalog.StratalogWarning, match="W311"):
        kb = stratalog.materialise(
            program, facts, engine="auto", spark=spark, memory=1_000_000, spill="spark"
        )
    assert kb.stats["engine"] == "spark"
    told = [warning for warning in kb.stats["warnings"] if warning.startswith("W311")]
    assert "400 explicit facts, 0 MiB were estimated" in told[0]
    assert kb.count_of("p") == 160_000


def test_a_limit_of_memory_that_is_given_holds_and_does_not_start_spark(spark: Any):
    program = "p(?x, ?y) :- n(?x), n(?y) ."
    facts = {"n": [(i,) for i in range(400)]}
    with pytest.raises(EngineError, match=r"E101.*p\(\?x, \?y\) :- n"):
        stratalog.materialise(program, facts, engine="auto", spark=spark, memory=1_000_000)


def test_answers_count_as_facts(spark: Any):
    facts = {"n": [(i,) for i in range(30)]}
    kb = stratalog.materialise(
        "p(?x) :- n(?x) .", facts, engine="spark", spark=spark, max_facts=100
    )
    with pytest.raises(EngineError, match="E103"):
        kb.query("n(?x), n(?y)")
    assert kb.query("n(?x), p(?x)").num_rows == 30
