"""What rounds cost when there is next to nothing to do: rules that pass a chain's paths on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import stratalog
from stratalog.engine.spark.engine import SparkEngine
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.program import plan_program, predicates_of
from stratalog.reason import seminaive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = 8
RULES_OF_TINY = 2 * KINDS
NODES = 12
ROUNDS = 100
SOME = 10  # rounds: the second to the eleventh, and the last


class PerRound(NamedTuple):
    """Wall seconds of a round, and of how many they are the mean."""

    seconds: float
    rounds: int


def seconds_per_round(spark: SparkSession) -> PerRound:
    """Return what a round costs once the session has seen the program."""
    found = [_materialised(spark) for _ in range(3)]
    return min(found[1:])


def rounds_of_a_chain(spark: SparkSession) -> dict[str, float]:
    """Return what early and late ones of a hundred rounds take, and how much is kept at the end.

    Disk and memory are those of all blocks in the end; there is next to nothing to keep.
    """
    moments: list[float] = []
    engine = SparkEngine(spark, Dictionary())
    nodes = np.arange(ROUNDS, dtype=np.uint32)
    engine.load(Predicate("e", 2), [nodes[:-1], nodes[1:]], ROUNDS - 1)
    program = parse_program("p(?x, ?y) :- e(?x, ?y) . p(?x, ?z) :- p(?x, ?y), e(?y, ?z) .")
    plan = plan_program(program, predicates_of(program))
    seminaive.materialise(engine, plan.strata, lambda *_: moments.append(time.perf_counter()))
    taken = np.diff(moments)
    kept = len(engine.facts.table(2).segments) + len(engine.facts.table(2).contributions)
    engine.close()
    return {
        "early": float(np.median(taken[1 : 1 + SOME])),
        "late": float(np.median(taken[-SOME:])),
        "kept": kept,
    }


def _materialised(spark: SparkSession) -> PerRound:
    chain = {"e": [(node, node + 1) for node in range(NODES)], "p0": [(0, 0)]}
    with stratalog.materialise(
        _rules(), chain, engine="spark", spark=spark, modules="off", progress=False
    ) as kb:
        phases, rounds = kb.stats["phases"], int(kb.stats["rounds"])
        return PerRound((phases["load"] + phases["reason"]) / rounds, rounds)


def _rules() -> str:
    """Return the rules: each kind of path grows by an edge, and is of the next kind too."""
    grow = (f"p{i}(?x, ?z) :- p{i}(?x, ?y), e(?y, ?z) ." for i in range(KINDS))
    turn = (f"p{(i + 1) % KINDS}(?x, ?y) :- p{i}(?x, ?y) ." for i in range(KINDS))
    return "\n".join([*grow, *turn])
