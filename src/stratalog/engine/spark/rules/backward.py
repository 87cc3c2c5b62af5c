"""Rules evaluated from their heads: these are one more atom before the body, read as a delta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stratalog.engine.spark.rules.calls import Number, Tools, calling
from stratalog.engine.spark.rules.sources import Reading, Source
from stratalog.plan.delta import Role, Version
from stratalog.plan.rules import PlannedRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def bodies(
    tools: Tools,
    number: Number,
    rules: Sequence[PlannedRule],
    heads: Reading,
    reading: Reading,
    limit: int | None,
) -> DataFrame | None:
    """Return the heads that instances derive, the facts of their bodies and unfinished heads."""
    starting = [from_head(rule) for rule in rules if rule.grouping is None]
    atoms = (atom for version in starting for atom in version.rule.body)
    width = max((atom.predicate.arity for atom in atoms), default=0)
    with calling(tools, number, *from_delta(heads, reading)) as call:
        return call.atoms(starting, width, limit)


def from_head(rule: PlannedRule) -> Version:
    """Return a rule as a version that begins with its head."""
    return Version(replace(rule, body=(rule.head, *rule.body)), 0)


def from_delta(delta: Reading, reading: Reading) -> Reading:
    """Return sources that read atoms in a delta from `delta`, all others from `reading`."""

    def frame(source: Source) -> DataFrame:
        return (delta if source.role is Role.DELTA else reading).sources(source)

    def size(source: Source) -> int:
        return (delta if source.role is Role.DELTA else reading).sizes(source)

    return Reading(frame, size)


def reading_of(frames: Mapping[int, DataFrame], rows: int) -> Reading:
    """Return the reading of DataFrames by arity, of so many rows together."""
    return Reading(
        lambda source: frames[source.arity],
        lambda source: rows if source.arity in frames else 0,
    )
