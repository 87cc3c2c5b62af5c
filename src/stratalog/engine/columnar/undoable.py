"""Marks and counts of facts, and how to undo what an update does to them."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from stratalog.engine.columnar.contents import Contents
from stratalog.engine.columnar.journal import Journal
from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.engine.columnar.settle_regions import view_of
from stratalog.facts.counts import Count
from stratalog.facts.labels import DELTA, DELTA_NEGATED
from stratalog.facts.sets import Batch, Label
from stratalog.facts.terms import Terms
from stratalog.kernels.relation import labels as marks
from stratalog.lang.syntax import Predicate
from stratalog.runtime.limits import Limits

SCAFFOLDING = (DELTA, DELTA_NEGATED)  # marks that no call leaves on a fact


class Undoable(Contents):
    """Contents whose changes are remembered while an update runs."""

    def __init__(self, terms: Terms, limits: Limits | None) -> None:
        super().__init__(terms, limits)
        self._journal: Journal | None = None

    @property
    def is_journalled(self) -> bool:
        """Whether changes are remembered."""
        return self._journal is not None

    def begin(self) -> None:
        """Start to remember every change of marks and counts."""
        self._journal = Journal()
        self.directory.is_updating = True

    def savepoint(self) -> int:
        """Return a number for the present moment."""
        return len(self._journal) if self._journal is not None else 0

    def roll_back(self, to: int | None = None) -> None:
        """Undo all changes since a savepoint, or since `begin` and end it."""
        if self._journal is not None:
            memory, self.limits.memory = self.limits.memory, None  # what was there may come back
            try:
                self._journal.undo(to or 0)
            finally:
                self.limits.memory = memory
        if to is None:
            self.commit()

    def commit(self) -> None:
        """Forget how to undo what has changed since `begin`."""
        if self._journal is not None:
            self._journal.end()
            self._journal = None
            self.directory.is_updating = False

    def changed_rows(self) -> dict[Predicate, Ids]:
        """Return the rows whose marks or counts have changed since `begin`."""
        changed = self._journal.changed() if self._journal is not None else {}
        return {self.by_number[number].predicate: rows for number, rows in changed.items()}

    def mark(self, batch: Batch, label: Label) -> None:
        """Put a label on every fact of a batch."""
        if not batch:
            return
        self._mark_regions(batch, label, wanted=True)
        for relation, rows in self.parts(batch):
            if self._journal is not None and label not in SCAFFOLDING:
                self._journal.marks(relation, rows, label.bit, was_set=False)
            marks.set_bits(relation.labels, rows, np.uint16(1 << label.bit))
            relation.changes += 1

    def unmark(self, batch: Batch, label: Label) -> None:
        """Take a label off every fact of a batch."""
        if not batch:
            return
        self._mark_regions(batch, label, wanted=False)
        for relation, rows in self.parts(batch):
            if self._journal is not None and label not in SCAFFOLDING:
                self._journal.marks(relation, rows, label.bit, was_set=True)
            marks.clear_bits(relation.labels, rows, np.uint16(0xFFFF ^ (1 << label.bit)))
            relation.changes += 1

    def _mark_regions(self, batch: Batch, label: Label, *, wanted: bool) -> None:
        """Put a mark on pairs of closures, or take it off; undone with the closure's change."""
        for relation, (regions, _) in self.listed(batch):
            view_of(relation).mark(regions, label.bit, wanted=wanted)
            relation.changes += 1

    def change_count(self, batch: Batch, count: Count, change: int) -> None:
        """Raise or lower the named count of each fact of a batch."""
        if not batch:
            return
        for relation, rows in self.parts(batch):
            most = self._remember_counts(relation, rows, count)
            if not relation.is_wide and most + change > np.iinfo(np.int32).max:
                relation.promote_counts()
            counts = relation.counts[count.value]
            marks.add_to_counts(counts, rows, counts.dtype.type(change))

    def clear_counts(self, batch: Batch) -> None:
        """Set both counts of each fact of a batch to zero."""
        for relation, rows in self.parts(batch):
            for count in Count:
                self._remember_counts(relation, rows, count)
                marks.clear_counts(relation.counts[count.value], rows)

    def _remember_counts(self, relation: Relation, rows: Ids, count: Count) -> int:
        """Let the journal know the counts of rows, if there is one; return the greatest."""
        before = np.empty(rows.size, np.int64)
        most = int(marks.read_counts(relation.counts[count.value], rows, before))
        if self._journal is not None:
            self._journal.counts(relation, rows, count.value, before)
        return most

    def remember(self, heads: Collection[Relation], count: Count | None) -> None:
        """Let relations keep the counts that rows had before rules derive them again."""
        if self._journal is not None:
            self._journal.remember(heads, count)

    def take(self, relation: Relation, count: Count | None) -> Ids:
        """Return the rows that were touched, and remember their counts for `roll_back`."""
        touched, before = relation.lanes.take(relation.labels)
        if self._journal is not None and count is not None:
            self._journal.counts(relation, touched, count.value, before)
        return touched

    def remember_edges(self, relation: Relation, undo: Callable[[], None]) -> None:
        """Let `roll_back` know how to take back a change of a relation's closure."""
        if self._journal is not None:
            self._journal.edges(relation, undo)
