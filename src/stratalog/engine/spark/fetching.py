"""Facts on their way from segments into the overlay, with marks and counts as they are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.spark.batch import SparkBatch
from stratalog.engine.spark.facts import Facts, arrow_rows
from stratalog.engine.spark.overlay import ABSENT, Overlay, States
from stratalog.engine.spark.segments import Member, Table, columns, width_of
from stratalog.facts.sets import FactSet, Over
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from stratalog.engine.columnar.relation import Ids
    from stratalog.engine.spark.deriving import Deriving

Encoded = tuple[Predicate, Sequence["Ids"], int]

STATES = ", {label} AS label, nr, r"


class Fetching:
    """Brings facts into the overlay."""

    def __init__(self, facts: Facts, overlay: Overlay, deriving: Deriving) -> None:
        self._facts = facts
        self._overlay = overlay
        self._deriving = deriving

    def scan(self, over: Over, labels: FactSet | None) -> None:
        """Fetch all facts of some predicates whose segments say that they are in a set."""
        numbers = [
            self._facts.number(p)
            for p in over.predicates
            if self._facts.is_known(p) and not self._is_here(p, labels)
        ]
        if numbers:
            self._facts.compact_counts()  # segments are others from here on
            chosen = frozenset(numbers)
            member: Member = (
                (lambda p, _: p in chosen) if labels is None else self._facts.member(labels, chosen)
            )
            self._fetch({table.width: table.select(member, STATES) for table in self._tables()})

    def _tables(self) -> Iterable[Table]:
        return self._facts.tables.values()

    def _is_here(self, predicate: Predicate, labels: FactSet | None) -> bool:
        """Return whether the overlay has all that segments have of a predicate in a set."""
        number = self._facts.number(predicate)
        stored = self._facts.rows(number) if labels is None else self._facts.size(number, labels)
        relation = self._overlay.relations.get(predicate)
        if not stored or relation is None:
            return not stored
        base = self._overlay.base(relation)
        there = base != ABSENT
        if labels is not None:
            there &= self._overlay.sets.table(labels, predicate)[np.maximum(base, 0)]
        return int(there.sum()) >= stored

    def _fetch(self, parts: Mapping[int, list[str]]) -> ColumnarBatch:
        """Enter the facts that statements with states give."""
        self._facts.compact_counts()
        texts = {width: " UNION ALL ".join(each) for width, each in parts.items() if each}
        with self._facts.work.described("fetching facts for an update"):
            found = self._deriving.fetched(texts)
        return self._enter(found)

    def _enter(self, found: pa.Table | None) -> ColumnarBatch:
        rows: dict[int, Ids] = {}
        for states, _ in self._deriving.entered(found):
            number = self._overlay.relation(states.predicate).number
            rows[number] = self._overlay.enter(states)
        return self._overlay.united(rows.items())

    def rows(self, batch: SparkBatch) -> ColumnarBatch:
        """Return the facts of a batch as rows, fetched if need be."""
        parts: dict[int, list[str]] = defaultdict(list)
        for table in self._tables():
            key = columns(table.width)
            for segment, cells in batch.cells.items():
                if segment in table.segments:
                    where = segment.where(cells)
                    parts[table.width].append(f"SELECT {key} FROM ({segment.body}) WHERE {where}")  # noqa: S608
            for part in batch.parts:
                if part.table is table:
                    where = f"s = {part.segment.number} AND p = {part.key.predicate}"
                    where += f" AND w = {part.key.word}"
                    parts[table.width].append(f"SELECT {key} FROM {part.view} WHERE {where}")  # noqa: S608
        fetched = [self._keys(texts) for texts in parts.values()]
        self._facts.compact_counts()  # segments are others from here on
        found = [batch.local, *(self.find(each) for each in fetched)]
        return self._overlay.united((n, rows) for each in found for n, rows in each.rows.items())

    def _keys(self, texts: list[str]) -> list[Encoded]:
        found = self._facts.work.fetched(self._facts.work.sql(" UNION ALL ".join(texts)))
        nothing = pa.array(np.zeros(found.num_rows, np.int64))
        for name in ("label", "nr", "r"):
            found = found.append_column(name, nothing)
        return [(s.predicate, s.columns, s.words.size) for s, _ in self._deriving.entered(found)]

    def find(self, given: Iterable[Encoded], *, store: bool = False) -> ColumnarBatch:
        """Return those of the facts that are stored, or all, then new ones without a mark."""
        known = list(given)
        self._look_up(known, store=store)
        rows = [
            (self._overlay.relation(predicate).number, self._found(predicate, constants, size))
            for predicate, constants, size in known
            if predicate in self._overlay.relations
        ]
        return self._overlay.united(rows)

    def _found(self, predicate: Predicate, constants: Sequence[Ids], size: int) -> Ids:
        rows = self._overlay.relation(predicate).find(constants, size)
        found: Ids = rows[rows != np.uint32(0xFFFFFFFF)]
        return found

    def _look_up(self, given: list[Encoded], *, store: bool) -> None:
        """Ask segments for the facts that the overlay does not have."""
        tables: dict[int, list[pa.Table]] = defaultdict(list)
        numbers: set[int] = set()
        for predicate, constants, size in given:
            unknown = self._overlay.unknown(predicate, constants, size)
            if not unknown.any():
                continue
            number = self._facts.number(predicate)
            some = [np.asarray(column)[unknown] for column in constants]
            rows = int(unknown.sum()) if constants else 1
            if not self._facts.rows(number):
                if store:
                    self._overlay.enter(_absent(predicate, some, rows))
                continue
            numbers.add(number)
            width = width_of(predicate.arity)
            tables[width].append(arrow_rows(number, some, rows, width))
        if tables:
            self._ask(tables, numbers, store=store)

    def _ask(self, tables: Mapping[int, list[pa.Table]], numbers: set[int], *, store: bool) -> None:
        self._facts.compact_counts()
        with self._facts.work.described("looking up facts"), self._facts.named(tables) as views:
            texts = {
                width: self._deriving.with_states(width, f"SELECT * FROM {view}", numbers)  # noqa: S608
                for width, view in views.items()
            }
            found = self._deriving.fetched(texts)
        for states, _ in self._deriving.entered(found):
            there = states.words != ABSENT
            if store:
                self._overlay.enter(states)
            elif there.any():
                kept = [column[there] for column in states.columns]
                self._overlay.enter(States(states.predicate, kept, *(s[there] for s in states[2:])))


def _absent(predicate: Predicate, constants: Sequence[Ids], size: int) -> States:
    nothing = np.zeros(size, np.int64)
    return States(predicate, constants, np.full(size, ABSENT, np.int64), nothing, nothing)
