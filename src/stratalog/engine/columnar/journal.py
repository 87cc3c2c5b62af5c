"""The undo log of an update: what marks and counts were before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.relation import NONE, Ids, Relation
from stratalog.facts.counts import Count
from stratalog.kernels.relation import labels as marks

Counts = npt.NDArray[np.int64]


@dataclass(slots=True)
class _Counts:
    """Counts of some rows, as they were."""

    relation: Relation
    rows: Ids
    count: int
    before: Counts

    def undo(self) -> None:
        self.relation.counts[self.count][self.rows] = self.before


@dataclass(slots=True)
class _Marks:
    """Rows that were given a mark, or lost one."""

    relation: Relation
    rows: Ids
    bit: int
    was_set: bool

    def undo(self) -> None:
        if self.was_set:
            marks.set_bits(self.relation.labels, self.rows, np.uint16(1 << self.bit))
        else:
            keep = np.uint16(0xFFFF ^ (1 << self.bit))
            marks.clear_bits(self.relation.labels, self.rows, keep)


@dataclass(slots=True)
class _Edges:
    """A change of the edges of a relation's closure."""

    relation: Relation
    taken_back: Callable[[], None]
    rows: Ids  # none: marks and counts stay as they are

    def undo(self) -> None:
        self.taken_back()


class Journal:
    """Every change of marks and counts since it was begun.

    Facts stored in between stay where they are: undone, they have no mark and no count, so they
    belong to no fact set, and a later update that derives them finds them.
    """

    def __init__(self) -> None:
        self._entries: list[_Counts | _Marks | _Edges] = []
        self._remembering: set[Relation] = set()
        self._touched: tuple[Collection[Relation], Count | None] = (), None

    def remember(self, relations: Collection[Relation], count: Count | None) -> None:
        """Let relations keep the counts that rows had before an `apply` touches them."""
        self._touched = relations, count
        for relation in relations:
            if relation not in self._remembering:
                self._remembering.add(relation)
                relation.lanes.remember(wanted=True)

    def end(self) -> None:
        """Let relations forget again."""
        for relation in self._remembering:
            relation.lanes.remember(wanted=False)

    def counts(self, relation: Relation, rows: Ids, count: int, before: Counts) -> None:
        """Remember the counts that rows had."""
        if rows.size:
            self._entries.append(_Counts(relation, rows, count, before))

    def marks(self, relation: Relation, rows: Ids, bit: int, *, was_set: bool) -> None:
        """Remember which of the rows are about to change a mark."""
        changing = np.empty(rows.size, np.uint32)
        bits = np.uint16(1 << bit)
        n = int(marks.rows_with(relation.labels, rows, bits, was_set, changing))
        if n:
            self._entries.append(_Marks(relation, changing[:n], bit, was_set))

    def edges(self, relation: Relation, taken_back: Callable[[], None]) -> None:
        """Remember how to take back a change of a closure's edges."""
        self._entries.append(_Edges(relation, taken_back, NONE))

    def __len__(self) -> int:
        return len(self._entries)

    def undo(self, to: int = 0) -> None:
        """Set all marks and counts to what they were when the journal had so many entries."""
        self._take_left_over()
        while len(self._entries) > to:
            entry = self._entries.pop()
            entry.undo()
            entry.relation.changes += 1

    def _take_left_over(self) -> None:
        """Remember what the last `apply` touched, if it failed before it could tell."""
        relations, count = self._touched
        for relation in relations:
            touched, before = relation.lanes.take(relation.labels)
            if count is not None:
                self.counts(relation, touched, count.value, before)

    def changed(self) -> dict[int, Ids]:
        """Return the rows whose marks or counts have changed in between, by relation number."""
        rows: defaultdict[int, list[Ids]] = defaultdict(list)
        for entry in self._entries:
            rows[entry.relation.number].append(entry.rows)
        return {number: np.unique(np.concatenate(parts)) for number, parts in rows.items()}
