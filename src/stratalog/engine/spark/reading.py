"""What rules read: fact sets and deltas as statements over segments and the overlay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stratalog.engine.spark.batch import NOTHING, SparkBatch
from stratalog.engine.spark.facts import Facts, arrow_rows
from stratalog.engine.spark.overlay import Overlay
from stratalog.engine.spark.rules.sources import Reading, Source
from stratalog.engine.spark.segments import Key, Segment, columns, width_of
from stratalog.facts.sets import FactSet
from stratalog.kernels.sizes import sized
from stratalog.plan.delta import Role

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_numbers = count(1)

BROADCAST = sized(200_000, 4)  # facts that are sent to every executor


@dataclass(frozen=True, slots=True)
class Meaning:
    """A set of labels, or none, with facts added to it or taken out of it."""

    described: FactSet | None
    delta: SparkBatch = NOTHING
    sign: int = 1


@dataclass(slots=True)
class _Local:
    """Views of facts in the driver that are to be added and left out, by width."""

    added: str | None = None
    removed: str | None = None
    more: dict[int, int] = field(default_factory=dict)  # facts added, by predicate
    fewer: set[int] = field(default_factory=set)  # predicates of facts that are left out
    left_out: int = 0  # facts


class Reader:
    """Gives rules what the roles of their atoms stand for during one call."""

    def __init__(self, facts: Facts, overlay: Overlay, meanings: dict[Role, Meaning]) -> None:
        self._facts = facts
        self._overlay = overlay
        self._meanings = meanings
        self._locals: dict[tuple[Role, int], _Local] = {}
        self._cells: dict[tuple[Role, Segment], frozenset[Key]] = {}
        self._views: list[str] = []

    @contextmanager
    def closed(self) -> Iterator[Reader]:
        """Let go of all views at the end."""
        try:
            yield self
        finally:
            while self._views:
                self._facts.work.spark.catalog.dropTempView(self._views.pop())
            self._facts.let_go()

    @property
    def reading(self) -> Reading:
        """How rules read facts by this reader."""
        return Reading(self.sources, self.sizes)

    def sources(self, source: Source) -> DataFrame:
        """Return the facts of a source."""
        return self._facts.work.sql(self.text(source))

    def sizes(self, source: Source) -> int:
        """Return about how many facts a source has."""
        width = width_of(source.arity)
        whole = sum(
            segment.rows[key]
            for segment in self._facts.table(width).segments
            for key in self._chosen(source.role, segment)
            if key.predicate in source.predicates
        )
        more = self._local(source.role, width).more
        return whole + sum(more.get(number, 0) for number in source.predicates)

    def text(self, source: Source) -> str:
        """Return the statement for the facts of a source."""
        width = width_of(source.arity)
        local = self._local(source.role, width)
        key = ", ".join(["p", *(f"c{i}" for i in range(source.arity))])
        parts = list(self._stored(source, width, local))
        if local.added and not source.predicates.isdisjoint(local.more):
            chosen = _among(source.predicates, local.more)
            parts.append(f"SELECT {columns(width)} FROM {local.added} WHERE {chosen}")  # noqa: S608
        if not parts:
            empty = "".join(f", 0L AS c{i}" for i in range(source.arity))
            return f"SELECT 0 AS p{empty} WHERE false"
        return f"SELECT {key} FROM ({' UNION ALL '.join(parts)})"  # noqa: S608

    def _stored(self, source: Source, width: int, local: _Local) -> Iterator[str]:
        """Yield statements for the facts of segments that are not left out."""
        parts = []
        for segment in self._facts.table(width).segments:
            chosen = self._chosen(source.role, segment)
            cells = [key for key in chosen if key.predicate in source.predicates]
            if cells:
                where = segment.where(cells)
                parts.append(f"SELECT {columns(width)} FROM ({segment.body}) WHERE {where}")  # noqa: S608
        if not parts:
            return
        text = " UNION ALL ".join(parts)
        if local.removed and not source.predicates.isdisjoint(local.fewer):
            on = " AND ".join(f"a.{name} = x.{name}" for name in columns(width).split(", "))
            hint = "BROADCAST" if local.left_out <= BROADCAST else "SHUFFLE_HASH"
            yield (
                f"SELECT /*+ {hint}(x) */ a.* FROM ({text}) a"  # noqa: S608
                f" LEFT ANTI JOIN {local.removed} x ON {on}"
            )
        else:
            yield text

    def _chosen(self, role: Role, segment: Segment) -> frozenset[Key]:
        """Return the cells of a segment that a role stands for."""
        known = self._cells.get((role, segment))
        if known is None:
            known = self._cells[role, segment] = self._choose(self._meanings[role], segment)
        return known

    def _choose(self, meaning: Meaning, segment: Segment) -> frozenset[Key]:
        described = meaning.described
        delta = meaning.delta.cells.get(segment, frozenset())
        if described is None:
            return delta
        found = segment.chosen(self._facts.member(described))
        return found | delta if meaning.sign > 0 else found - delta

    def _local(self, role: Role, width: int) -> _Local:
        """Return the facts of the overlay that a role adds or leaves out."""
        known = self._locals.get((role, width))
        if known is None:
            known = self._locals[role, width] = self._compare(self._meanings[role], width)
        return known

    def _compare(self, meaning: Meaning, width: int) -> _Local:
        local = _Local()
        added, removed = [], []
        for relation in self._overlay.by_number:
            if width_of(relation.arity) != width or not relation.rows:
                continue
            found = self._overlay.differences(
                relation.predicate, meaning.described, meaning.delta.local, meaning.sign
            )
            number = self._facts.number(relation.predicate)
            if found.added.size:
                local.more[number] = found.added.size
                added.append(self._rows(relation.number, found.added, width))
            if found.removed.size:
                local.fewer.add(number)
                local.left_out += found.removed.size
                removed.append(self._rows(relation.number, found.removed, width))
        local.added, local.removed = self._view(added), self._view(removed)
        return local

    def _rows(self, number: int, rows: np.ndarray, width: int) -> pa.Table:
        relation = self._overlay.by_number[number]
        found = [column[rows] for column in relation.columns]
        return arrow_rows(self._facts.number(relation.predicate), found, rows.size, width)

    def _view(self, tables: list[pa.Table]) -> str | None:
        return self.view(pa.concat_tables(tables)) if tables else None

    def view(self, table: pa.Table) -> str:
        """Return the name of a view of a small table, which lives as long as this reader."""
        return self.named(self.frame(table))

    def frame(self, table: pa.Table) -> DataFrame:
        """Return a small table as a DataFrame, to be used as long as this reader lives."""
        return self._facts.local(table)

    def named(self, frame: DataFrame) -> str:
        """Return the name of a view of a DataFrame, which lives as long as this reader."""
        name = f"stratalog_local_{next(_numbers)}"
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        return name


def _among(wanted: Iterable[int], present: Iterable[int]) -> str:
    """Return the condition for rows of the wanted predicates, of those that are present."""
    found = set(present)
    if found <= set(wanted):
        return "true"
    return f"p IN ({', '.join(map(str, sorted(found & set(wanted))))})"


def deltas(
    pos: FactSet, neg: FactSet, positive: SparkBatch | None, negative: SparkBatch | None
) -> dict[Role, Meaning]:
    """Return what each role stands for in Π[Iᵖ, Iⁿ : Δᵖ, Δⁿ]."""
    plus, minus = positive or NOTHING, negative or NOTHING
    return {
        Role.FULL: Meaning(pos),
        Role.OLD: Meaning(pos, plus, -1),
        Role.DELTA: Meaning(None, plus),
        Role.OUTSIDE: Meaning(neg),
        Role.OUTSIDE_BOTH: Meaning(neg, minus),
        Role.NEGATED_DELTA: Meaning(None, minus),
    }
