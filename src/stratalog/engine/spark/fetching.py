"""Facts on their way from segments into the overlay, with marks and counts as they are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.spark.ahead import Ahead
from stratalog.engine.spark.batch import SparkBatch
from stratalog.engine.spark.facts import Facts, arrow_rows
from stratalog.engine.spark.near import Encoded, Paths
from stratalog.engine.spark.overlay import ABSENT, UNKNOWN, UNTOLD, Mask, Overlay, States
from stratalog.engine.spark.segments import Member, Table, columns, width_of
from stratalog.facts.sets import FactSet, Over
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from stratalog.engine.columnar.relation import Ids
    from stratalog.engine.spark.deriving import Deriving
    from stratalog.engine.spark.overlay import Integers

STATES = ", {label} AS label, nr, r"
ASKED, LATER = 0, 1  # facts that are asked for now, and those that may be next


class Told(Protocol):
    """Who knows what segments say of facts that the overlay does not have."""

    def told(self, facts: Encoded) -> Integers:
        """Return the label word that segments have for facts, UNTOLD where only they know."""

    def told_of(self) -> frozenset[int]:
        """Return the numbers of predicates of which segments are not asked for what is told."""


class Fetching:
    """Brings facts into the overlay; in updates, others that may be next are fetched along."""

    def __init__(
        self, facts: Facts, overlay: Overlay, deriving: Deriving, paths: Paths, told: Told
    ) -> None:
        self._facts = facts
        self._told = told
        self._overlay = overlay
        self._deriving = deriving
        self._paths = paths
        self.is_updating = False
        self.ahead = Ahead(overlay.terms)

    def look_ahead(self, *, is_updating: bool) -> None:
        """Begin, or end, to fetch what may be next; segments stay as they are meanwhile."""
        self.is_updating = is_updating
        self.ahead.clear()

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
        return self._rows_of(known)

    def store_new(self, given: Iterable[Encoded]) -> ColumnarBatch:
        """Return facts, of which no segment has those that are not here."""
        known = list(given)
        for facts in known:
            missing = _chosen(facts, self._overlay.unknown(*facts))
            self._take(_stated(missing, np.full(missing[2], ABSENT, np.int64)), store=True)
        return self._rows_of(known)

    def _rows_of(self, known: Sequence[Encoded]) -> ColumnarBatch:
        """Return the rows of those facts that are here."""
        rows = [
            (self._overlay.relation(predicate).number, self._found(predicate, constants, size))
            for predicate, constants, size in known
            if predicate in self._overlay.relations
        ]
        return self._overlay.united(rows)

    def _found(self, predicate: Predicate, constants: Sequence[Ids], size: int) -> Ids:
        rows = self._overlay.relation(predicate).find(constants, size)
        found: Ids = rows[rows != UNKNOWN]
        return found

    def _look_up(self, given: Iterable[Encoded], *, store: bool) -> None:
        """Ask segments for the facts that the overlay does not have."""
        asked = []
        for facts in given:
            missing = _chosen(facts, self._overlay.unknown(*facts))
            if not missing[2]:
                continue
            if not self._facts.rows(self._facts.number(facts[0])):
                self._take(_stated(missing, np.full(missing[2], ABSENT, np.int64)), store=store)
                continue
            words = self._told.told(missing)
            is_told = words != UNTOLD
            self._take(_stated(_chosen(missing, is_told), words[is_told]), store=store)
            missing = _chosen(missing, ~is_told)
            unknown = self.ahead.unknown(missing)
            self._take(self.ahead.states(_chosen(missing, ~unknown)), store=store)
            asked.append(_chosen(missing, unknown))
        self._ask(asked, ASKED, store=store)

    def words(self, facts: Encoded) -> Integers:
        """Return the label words of known facts that are not here, ABSENT if no segment has one."""
        told = self._told.told(facts)
        return np.where(told == UNTOLD, self.ahead.words(facts), told)

    def know(self, given: Iterable[Encoded]) -> None:
        """See to it that what segments say of facts is known, here or ahead of an update."""
        self._ask(self._unheard(given), LATER)

    def _unheard(self, given: Iterable[Encoded]) -> list[Encoded]:
        """Return the facts that segments may have, but nobody has asked for."""
        return [
            _chosen(
                facts,
                self._overlay.unknown(*facts)
                & self.ahead.unknown(facts)
                & (self._told.told(facts) == UNTOLD),
            )
            for facts in given
            if self._facts.is_known(facts[0]) and self._facts.rows(self._facts.number(facts[0]))
        ]

    def _ask(self, given: Iterable[Encoded], part: int, *, store: bool = False) -> None:
        """Take what segments say of facts, and of those that rules may name after them."""
        asked = [facts for facts in given if facts[2]]
        if not asked:
            return
        self._facts.compact_counts()
        later = self._unheard(self._paths.reached(asked)) if self.is_updating else []
        tables: dict[int, list[pa.Table]] = defaultdict(list)
        for facts, of in (*((each, part) for each in asked), *((each, LATER) for each in later)):
            tables[width_of(facts[0].arity)].append(self._question(facts, of))
        numbers = {self._facts.number(facts[0]) for facts in (*asked, *later)}
        for states, (parts,) in self._answers(tables, numbers):
            self._take(states.chosen(parts == ASKED), store=store)
            self.ahead.enter(states.chosen(parts == LATER))

    def _question(self, facts: Encoded, part: int) -> pa.Table:
        predicate, constants, size = facts
        rows = arrow_rows(self._facts.number(predicate), constants, size, width_of(predicate.arity))
        return rows.append_column("part", pa.array(np.full(size, part, np.int32)))

    def _answers(
        self, tables: Mapping[int, list[pa.Table]], numbers: set[int]
    ) -> Iterable[tuple[States, list[Integers]]]:
        with self._facts.work.described("looking up facts"), self._facts.named(tables) as views:
            apart = self._told.told_of()
            texts = {
                width: self._deriving.with_states(
                    width,
                    f"SELECT * FROM {view}",  # noqa: S608
                    numbers,
                    "part",
                    apart=apart,
                )
                for width, view in views.items()
            }
            found = self._deriving.fetched(texts, "part")
        return self._deriving.entered(found, ("part",))

    def _take(self, states: States, *, store: bool) -> None:
        """Enter facts that segments have, or all."""
        kept = states if store else states.chosen(states.words != ABSENT)
        if kept.words.size:
            self._overlay.enter(kept)


def _chosen(facts: Encoded, kept: Mask) -> Encoded:
    predicate, columns, _ = facts
    return predicate, [np.asarray(column)[kept] for column in columns], int(kept.sum())


def _stated(facts: Encoded, words: Integers) -> States:
    """Return facts without derivations."""
    predicate, constants, size = facts
    nothing = np.zeros(size, np.int64)
    return States(predicate, constants, words, nothing, nothing)
