"""Rules evaluated by Spark: which heads follow, and by how many instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from stratalog.engine.spark.rules.backward import bodies, reading_of
from stratalog.engine.spark.rules.bindings import Calculator
from stratalog.engine.spark.rules.calls import Tools, calling
from stratalog.engine.spark.rules.groups import Groups, groups
from stratalog.engine.spark.rules.sources import Reading, Sizes, Sources
from stratalog.engine.spark.rules.tables import Tabled
from stratalog.facts.terms import Terms
from stratalog.lang.syntax import Predicate
from stratalog.lang.terms import Term
from stratalog.plan.delta import Version
from stratalog.plan.rules import PlannedRule
from stratalog.runtime.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Rules:
    """Planned rules over facts of a session; all DataFrames returned are lazy."""

    def __init__(
        self,
        spark: SparkSession,
        terms: Terms,
        number: Callable[[Predicate], int],
        limits: Limits | None = None,
    ) -> None:
        limits = limits or Limits()
        self._number = number
        self._tools = Tools(
            spark,
            Tabled(spark, terms),
            Calculator(terms, limits),
            limits,
            spark.sparkContext.defaultParallelism,
        )

    def constant(self, term: Term) -> int:
        """Return the id of a constant of a rule."""
        return self._tools.tabled.constant(term)

    def forget(self, size: int) -> None:
        """Let go of ids from `size` on: the dictionary has taken them back."""
        self._tools.tabled.forget(size)
        self._tools.calculator.forget(size)

    def heads(
        self, versions: Sequence[Version], sources: Sources, sizes: Sizes
    ) -> dict[int, DataFrame]:
        """Return the heads of the versions' instances by arity: p, c0, ..., n BIGINT, rule INT.

        `n` instances of the rule derive the head; a head may come in several rows. Rules with an
        aggregate are passed over in versions that begin with a delta.
        """
        asked = [v for v in versions if v.start is None or v.rule.grouping is None]
        with calling(self._tools, self._number, sources, sizes) as call:
            return call.heads(asked, keep=True)

    def bodies(
        self,
        rules: Sequence[PlannedRule],
        heads: Mapping[int, DataFrame],
        reading: Reading,
        count: int,
        limit: int | None = None,
    ) -> DataFrame | None:
        """Return what the rules, evaluated from `count` heads by arity, meet: part, p, c0, ...

        In part 0 are heads that an instance derives, in part 1 the facts of its body, in part 2
        heads with more than `limit` instances, of one rule, of which only so many are in parts 0
        and 1. Facts repeat; columns beyond their arity are null. None stands for no rows.
        """
        given = reading_of(heads, count)
        return bodies(self._tools, self._number, rules, given, reading, limit)

    def groups(self, rules: Sequence[PlannedRule], old: Reading, new: Reading) -> dict[int, Groups]:
        """Return the facts of aggregates' groups with changed input, before and after, by arity.

        `old` reads Π[old : lost, gained] and `new` reads Π[new : gained, lost].
        """
        return groups(self._tools, self._number, rules, old, new)
