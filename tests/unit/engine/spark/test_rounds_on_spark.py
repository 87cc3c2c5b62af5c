"""Rounds cost the same from first to last: plans are cut, and what is no longer used is freed."""

from __future__ import annotations

from typing import Any

import numpy as np

from stratalog.engine.spark.deriving import BY_HASH, TOO_MANY
from stratalog.engine.spark.engine import SparkEngine
from stratalog.engine.spark.facts import MOST_SEGMENTS
from stratalog.engine.spark.segments import columns
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.program import plan_program, predicates_of
from stratalog.reason import seminaive

EDGE, PATH = Predicate("edge", 2), Predicate("path", 2)
LENGTH = 24  # edges of a chain: so many rounds


def kept_blocks(spark: Any) -> set[int]:
    """The data sets Spark keeps, by id: those of earlier tests may go at any moment."""
    kept = spark.sparkContext._jsc.getPersistentRDDs()
    return {int(each) for each in kept.keySet()}


def test_what_is_known_stays_in_its_place(spark: Any):
    """Facts of all rounds are brought together by task: nothing is sent, whatever wrote them."""
    program = parse_program(
        "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
        " node(?x) :- path(?x, ?y) . node(?y) :- path(?x, ?y) . seen(?x, 7) :- node(?x) ."
    )
    engine = SparkEngine(spark, Dictionary())
    engine.load(EDGE, [np.array([1, 2], np.uint32), np.array([2, 3], np.uint32)], 2)
    seminaive.materialise(engine, plan_program(program, predicates_of(program)).strata)
    table = engine.facts.table(2)
    assert len(table.segments) > 1
    known = " UNION ALL ".join(table.select(lambda *_: True, ", 1L AS n"))
    frame = engine.session.sql(f"SELECT {columns(2)}, sum(n) FROM ({known}) GROUP BY {columns(2)}")
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    assert "Union" in plan
    assert "Exchange" not in plan
    engine.close()


def test_candidates_that_no_task_can_hold_are_sorted(spark: Any):
    program = parse_program(
        "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
    )
    engine = SparkEngine(spark, Dictionary())
    engine.load(EDGE, [np.array([1, 2], np.uint32), np.array([2, 3], np.uint32)], 2)
    usual, refused = engine.session.sql, []

    def sql(text: str) -> Any:
        if BY_HASH in text:
            refused.append(text)
            raise RuntimeError(f"There is {TOO_MANY}.")
        return usual(text)

    engine.session.sql = sql  # type: ignore[method-assign]
    seminaive.materialise(engine, plan_program(program, predicates_of(program)).strata)
    assert len(refused) == 1  # from then on nobody tries
    assert engine.size(PATH) == 3
    engine.close()


def test_what_is_kept_does_not_grow_with_the_rounds(spark: Any):
    program = parse_program(
        "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
    )
    engine = SparkEngine(spark, Dictionary())
    nodes = np.arange(LENGTH + 1, dtype=np.uint32)
    engine.load(EDGE, [nodes[:-1], nodes[1:]], LENGTH)
    told: list[str] = []
    blocks: list[int] = []
    segments: list[int] = []
    before = kept_blocks(spark)

    def watch(*_: int) -> None:
        told.append(engine.session.doing)
        blocks.append(len(kept_blocks(spark) - before))
        segments.append(len(engine.facts.table(2).segments))

    rounds = seminaive.materialise(
        engine, plan_program(program, predicates_of(program)).strata, watch
    )
    assert rounds == LENGTH + 1
    assert engine.size(PATH) == LENGTH * (LENGTH + 1) // 2
    assert max(segments) <= MOST_SEGMENTS + 1
    assert max(blocks[LENGTH // 2 :]) <= 2 * MOST_SEGMENTS + 4
    assert "level 2, round 3: r1 path" in told
    engine.close()
    assert kept_blocks(spark) <= before
