"""What a round costs when there is next to nothing to do: rules that pass a chain's paths on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import stratalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = 8
RULES_OF_TINY = 2 * KINDS
NODES = 12


class PerRound(NamedTuple):
    """Wall seconds of a round, and of how many they are the mean."""

    seconds: float
    rounds: int


def seconds_per_round(spark: SparkSession) -> PerRound:
    """Return what a round costs once the session has seen the program."""
    found = [_materialised(spark) for _ in range(3)]
    return min(found[1:])


def _materialised(spark: SparkSession) -> PerRound:
    chain = {"e": [(node, node + 1) for node in range(NODES)], "p0": [(0, 0)]}
    with stratalog.materialise(_rules(), chain, engine="spark", spark=spark, progress=False) as kb:
        phases, rounds = kb.stats["phases"], int(kb.stats["rounds"])
        return PerRound((phases["load"] + phases["reason"]) / rounds, rounds)


def _rules() -> str:
    """Return the rules: each kind of path grows by an edge, and is of the next kind too."""
    grow = (f"p{i}(?x, ?z) :- p{i}(?x, ?y), e(?y, ?z) ." for i in range(KINDS))
    turn = (f"p{(i + 1) % KINDS}(?x, ?y) :- p{i}(?x, ?y) ." for i in range(KINDS))
    return "\n".join([*grow, *turn])
