"""Rules with built-ins or an aggregate: their bindings go through the driver.

The bindings of all such rules of a call, without repeats, come in one action, and go back as heads.
If they are too many for that, only the distinct values that built-ins read come, slice by slice,
and what they compute is joined to the bindings in Spark; of an aggregate whole groups come.
"""

# ruff: noqa: S608  # statements hold only names and numbers of our own

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stratalog.engine.spark.rules.bindings import Bindings, Calculator, bindings_of
from stratalog.engine.spark.rules.joins import Given, Joined
from stratalog.engine.spark.rules.shapes import Wanted
from stratalog.engine.spark.rules.slices import AT_ONCE, collected, sliced
from stratalog.engine.spark.rules.statements import Statements
from stratalog.engine.spark.rules.units import Unit, results_of
from stratalog.engine.spark.rules.views import Views, local_frame
from stratalog.plan.rules import Grouping
from stratalog.runtime.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Heads = dict[int, list[str]]
"""Queries for heads, by arity."""


class Computed:
    """Evaluates units of one call."""

    def __init__(
        self,
        spark: SparkSession,
        calculator: Calculator,
        limits: Limits,
        statements: Statements,
        views: Views,
    ) -> None:
        self._spark = spark
        self._calculator = calculator
        self._limits = limits
        self._statements = statements
        self._views = views
        self._made: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)

    def heads(self, units: Sequence[Unit]) -> Heads:
        """Return queries for the heads of units, by arity."""
        texts: Heads = defaultdict(list)
        for unit, found in self._bindings(units):
            self._limits.check_time(_text(unit))
            grouping = unit.rule.grouping
            if grouping is None and isinstance(found, Bindings) and not unit.late:
                self._add(unit, found)
            elif grouping is None:
                texts[len(unit.rule.head.args)].append(self.joined(unit, found).heads())
            else:
                for groups in self._groups(unit, grouping, found):
                    self._add(unit, groups)
        for arity, parts in self._made.items():
            columns = {n: np.concatenate([part[n] for part in parts]) for n in parts[0]}
            view = self._views.add(local_frame(self._spark, columns))
            texts[arity].append(f"SELECT * FROM {view}")
        self._made.clear()
        return texts

    def joins(self, units: Sequence[Unit]) -> Iterator[Joined]:
        """Yield the joins that give the instances of units, none of which has an aggregate."""
        for unit, found in self._bindings(units):
            yield self.joined(unit, found)

    def joined(self, unit: Unit, found: Bindings | str) -> Joined:
        """Return the bindings with what is left of the rule's negated atoms checked."""
        table = found if isinstance(found, str) else self._view(unit, found)
        rows = AT_ONCE if isinstance(found, str) else found.counts.size
        wanted = Wanted(unit.version, unit.rule.head, unit.late, unit.rule.index)
        given = Given(table, frozenset(range(len(unit.variables))), rows)
        return self._statements.join_from(given, wanted, unit.variables)

    # -- bindings with all that built-ins compute: here, or the name of a view

    def _bindings(self, units: Sequence[Unit]) -> Iterator[tuple[Unit, Bindings | str]]:
        joins = self._statements.joins(unit.wanted(tag) for tag, unit in enumerate(units))
        if not joins:
            return
        width = max(len(unit.outputs) for unit in units)
        union = " UNION ALL ".join(join.heads(width) for _, join in joins)
        columns = ["rule", *(f"c{i}" for i in range(width))]
        found = self._views.sql(_counted(union, columns))
        table = collected(found)
        if table is not None:
            yield from self._split(units, table)
        elif len(units) > 1:
            for unit in units:
                yield from self._bindings([unit])
        else:
            yield units[0], self._large(units[0], self._views.add(found))

    def _split(self, units: Sequence[Unit], table: Any) -> Iterator[tuple[Unit, Bindings]]:  # noqa: ANN401  # Arrow has no types
        tags = table["rule"].to_numpy()
        order = np.argsort(tags, kind="stable")
        ends = np.searchsorted(tags[order], np.arange(len(units) + 1))
        counts = table["n"].to_numpy()[order]
        columns = [table[f"c{i}"].to_numpy()[order] for i in range(table.num_columns - 2)]
        for tag, unit in enumerate(units):
            part = slice(ends[tag], ends[tag + 1])
            of_unit = {v: column[part] for v, column in zip(unit.outputs, columns, strict=False)}
            if part.start == part.stop:
                continue
            found = bindings_of(of_unit, counts[part])
            yield unit, self._calculator.computed(unit.rule.builtins, found)

    def _large(self, unit: Unit, table: str) -> str:
        """Return a view of bindings that are too many to come to the driver."""
        named = ", ".join(f"c{i} AS v{i}" for i in range(len(unit.outputs)))
        bound = self._views.sql(f"SELECT {named}{', ' * bool(named)}n FROM {table}")
        if not unit.rule.builtins:
            return self._views.add(bound)
        view = self._views.add(bound)
        results = self._views.add(self._results(unit, view))
        places = [f"v{unit.outputs.index(v)}" for v in unit.inputs]
        on = " AND ".join(f"l.{name} = a.{name}" for name in places) or "TRUE"
        added = range(len(unit.outputs), len(unit.variables))
        columns = "".join(f", a.v{i}" for i in added)
        return self._views.add(
            self._views.sql(f"SELECT l.*{columns} FROM {view} l JOIN {results} a ON {on}")
        )

    def _results(self, unit: Unit, view: str) -> DataFrame:
        """Return what built-ins compute of the distinct values that they read."""
        names = {v: f"v{i}" for i, v in enumerate(unit.variables)}
        inputs = [names[v] for v in unit.inputs]
        distinct = self._views.sql(_counted(f"SELECT * FROM {view}", inputs))
        frames = []
        for table in sliced(distinct, inputs):
            columns = {v: table[names[v]].to_numpy() for v in unit.inputs}
            found = bindings_of(columns, np.ones(table.num_rows, np.int64))
            done = self._calculator.computed(unit.rule.builtins, found)
            self._limits.check_time(_text(unit))
            wide = {names[v]: column.astype(np.int64) for v, column in done.columns.items()}
            frames.append(local_frame(self._spark, wide or {"one": done.counts}))
        return _union(frames)

    # -- aggregates

    def _groups(self, unit: Unit, grouping: Grouping, found: Bindings | str) -> Iterator[Bindings]:
        """Yield the groups of bindings, reduced."""
        if isinstance(found, Bindings) and not unit.late:
            yield self._calculator.reduced(grouping, found)
            return
        view = self._views.add(self._views.sql(self.joined(unit, found).bindings()))
        variables = [v for v in unit.variables if v in results_of(unit.rule)]
        names = {v: f"v{unit.variables.index(v)}" for v in variables}
        merged = self._views.sql(_counted(f"SELECT * FROM {view}", list(names.values())))
        for table in sliced(merged, [names[v] for v in grouping.group]):
            columns = {v: table[name].to_numpy() for v, name in names.items()}
            part = bindings_of(columns, table["n"].to_numpy())
            yield self._calculator.reduced(grouping, part)

    # -- to Spark

    def _add(self, unit: Unit, found: Bindings) -> None:
        """Remember heads, to be sent together."""
        head = unit.rule.head
        size = found.counts.size
        filled = found.filled(head.args, self._calculator.terms)
        columns: dict[str, Any] = {
            "p": np.full(size, self._statements.number(head.predicate), np.int32)
        }
        columns |= {f"c{i}": column.astype(np.int64) for i, column in enumerate(filled)}
        columns |= {"n": found.counts, "rule": np.full(size, unit.rule.index, np.int32)}
        self._made[len(head.args)].append(columns)

    def _view(self, unit: Unit, found: Bindings) -> str:
        columns = {f"v{i}": found.columns[v].astype(np.int64) for i, v in enumerate(unit.variables)}
        return self._views.add(local_frame(self._spark, columns | {"n": found.counts}))


def _counted(text: str, columns: Sequence[str]) -> str:
    """Return a query for the distinct values of columns, and the instances they stand for."""
    if not columns:
        return f"SELECT sum(n) AS n FROM ({text}) HAVING count(*) > 0"
    named = ", ".join(columns)
    return f"SELECT {named}, sum(n) AS n FROM ({text}) GROUP BY {named}"


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    union = frames[0]
    for frame in frames[1:]:
        union = union.union(frame)
    return union


def _text(unit: Unit) -> str:
    origin = unit.rule.origin
    return origin.text if origin else str(unit.rule.head.predicate.name)
