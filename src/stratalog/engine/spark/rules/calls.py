"""One call: the statements of some versions, written, and their union."""

# ruff: noqa: S608  # statements hold only names and numbers of our own

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from stratalog.engine.spark.rules.bindings import Calculator
from stratalog.engine.spark.rules.computed import Computed
from stratalog.engine.spark.rules.shapes import wanted
from stratalog.engine.spark.rules.sources import Reading, Sizes, Sources
from stratalog.engine.spark.rules.statements import Statements
from stratalog.engine.spark.rules.tables import Tabled
from stratalog.engine.spark.rules.units import needs_driver, results_of, unit_of
from stratalog.engine.spark.rules.views import Views
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Argument, Predicate
from stratalog.plan.delta import Version
from stratalog.plan.lower import variables_of
from stratalog.runtime.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEW_ROWS = sized(1_000_000, 8)  # read by one task per thread
MANY = 4  # tasks per thread, for more rows

Number = Callable[[Predicate], int]


class Tools(NamedTuple):
    """What calls share."""

    spark: SparkSession
    tabled: Tabled
    calculator: Calculator
    limits: Limits
    parallelism: int  # tasks that run at the same time


class Call:
    """Writes statements over views that last as long as the call."""

    def __init__(self, tools: Tools, number: Number, views: Views, reading: Reading) -> None:
        self._tools = tools
        self._views = views
        self._statements = Statements(tools.tabled, number, views, reading)
        self._computed = Computed(
            tools.spark, tools.calculator, tools.limits, self._statements, views
        )

    def heads(self, versions: Sequence[Version], *, keep: bool = False) -> dict[int, DataFrame]:
        """Return the heads of the versions' instances, by arity; shapes may be kept."""
        parts: dict[int, list[str]] = defaultdict(list)
        plain = (wanted(v) for v in versions if not needs_driver(v.rule))
        for shape, join in self._statements.joins(plain, keep=keep):
            parts[len(shape.output)].append(join.heads())
        units = [unit_of(v, results_of(v.rule)) for v in versions if needs_driver(v.rule)]
        for arity, texts in self._computed.heads(units).items():
            parts[arity] += texts
        return {arity: self._union(texts) for arity, texts in parts.items()}

    def atoms(self, versions: Sequence[Version], width: int, limit: int | None) -> DataFrame | None:
        """Return the atoms of the versions' instances: see `Joined.atoms`."""
        plain = (wanted(v) for v in versions if not needs_driver(v.rule))
        texts = [join.atoms(width, limit) for _, join in self._statements.joins(plain)]
        units = [unit_of(v, _arguments(v)) for v in versions if needs_driver(v.rule)]
        texts += [join.atoms(width, limit) for join in self._computed.joins(units)]
        return self._union(texts) if texts else None

    def _union(self, texts: Sequence[str]) -> DataFrame:
        """Return all rows in a few partitions: else every text has as many as its sources."""
        union = " UNION ALL ".join(texts)
        few = self._statements.rows_read() <= FEW_ROWS
        partitions = self._tools.parallelism * (1 if few else MANY)
        return self._views.sql(f"SELECT /*+ COALESCE({partitions}) */ * FROM ({union})")


@contextmanager
def calling(tools: Tools, number: Number, sources: Sources, sizes: Sizes) -> Iterator[Call]:
    """Give a call; the names of what it reads are gone afterwards."""
    with Views(tools.spark).dropped() as views:
        yield Call(tools, number, views, Reading(sources, sizes))


def _arguments(version: Version) -> tuple[Argument, ...]:
    return tuple(v for atom in version.rule.body for v in variables_of(atom))
