"""Closures of relations, kept in step with the facts that are their edges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.closure.closure import (
    GAINED,
    KEPT,
    LOST,
    Closure,
    TooLargeError,
)
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.relation import NONE, Ids, Relation
from stratalog.facts.labels import X
from stratalog.facts.sets import FactSet
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

Columns = tuple[Ids, Ids]

NO_EDGES: Columns = NONE, NONE
PRESENT = KEPT | GAINED


class ClosureIndex:
    """The closure of one relation, and which rows are its edges."""

    def __init__(self, relation: Relation, budget: int, *, symmetric: bool) -> None:
        self.relation = relation
        self.is_symmetric = symmetric
        self.closure = Closure(symmetric=symmetric, budget=budget)
        self._is_edge: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)

    def flags(self) -> npt.NDArray[np.bool_]:
        """Return for each row whether it is an edge."""
        if self._is_edge.size < self.relation.rows:
            grown = np.zeros(self.relation.rows + self.relation.rows // 2, np.bool_)
            grown[: self._is_edge.size] = self._is_edge
            self._is_edge = grown
        return self._is_edge

    def change(self, lost: Ids, gained: Ids) -> None:
        """Let rows be edges no longer, and others be edges; regions then tell what that changes."""
        self.closure.commit()
        self.closure.change(self.ends(lost), self.ends(gained))
        flags = self.flags()
        flags[lost] = False
        flags[gained] = True

    def ends(self, rows: Ids) -> Columns:
        """Return both columns of rows."""
        sources, targets = self.relation.columns
        return sources[rows], targets[rows]


class ClosureIndexes:
    """The closures of an engine's relations."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._kept: dict[Relation, ClosureIndex] = {}  # not by number: these come again
        self._too_large: set[Relation] = set()

    def keep(self, predicate: Predicate, present: FactSet, *, symmetric: bool) -> bool:
        """Have the closure of a relation, of the facts in a set that some rule or user supports."""
        relation = self._engine.relation(predicate)
        if relation in self._kept or relation in self._too_large:
            return relation in self._kept
        rows = self._engine.rows_of(relation, present)
        supported = (relation.counts[0][rows] > 0) | (relation.counts[1][rows] > 0)
        enclosure = ClosureIndex(relation, self._engine.closure_budget(), symmetric=symmetric)
        try:
            enclosure.change(NONE, rows[supported])
        except TooLargeError:
            self._too_large.add(relation)
            return False
        self._kept[relation] = enclosure
        return True

    def drop(self, predicates: frozenset[Predicate]) -> None:
        """Let go of the closures of some relations; if that is undone, of those made since."""
        relations = (self._engine.relations.get(predicate) for predicate in predicates)
        for relation in [each for each in relations if each is not None]:
            self._drop(relation)
            self._engine.remember_edges(relation, partial(self._drop, relation))

    def _drop(self, relation: Relation) -> None:
        self._kept.pop(relation, None)

    def forget(self, relation: Relation) -> None:
        """Let go of all that is known of a relation that is gone."""
        self._drop(relation)
        self._too_large.discard(relation)

    def _undo(self, enclosure: ClosureIndex, lost: Ids, gained: Ids) -> None:
        """Take a change back, of a closure that is still kept."""
        if self._kept.get(enclosure.relation) is enclosure:
            try:
                enclosure.change(gained, lost)
            except TooLargeError:
                self._drop(enclosure.relation)

    def enclose(self, edges: ColumnarBatch) -> ColumnarBatch | None:
        """Let facts be edges; return the pairs that closures gain, None if one is not kept."""
        found: dict[int, Ids] = {}
        for relation, rows in self._engine.parts(edges):
            enclosure = self._kept.get(relation)
            if enclosure is None:
                return None
            new = rows[~enclosure.flags()[rows]]
            if not self._change(enclosure, NONE, new):
                return None
            found |= self._gained(enclosure).rows
            marked = found.get(relation.number, NONE) if enclosure.is_symmetric else new
            self._engine.mark(ColumnarBatch({relation.number: marked}), X)
        return ColumnarBatch({n: rows for n, rows in found.items() if rows.size})

    def _change(self, enclosure: ClosureIndex, lost: Ids, gained: Ids) -> bool:
        """Change a closure, and remember that; False if it is too large by now, and let go of."""
        try:
            enclosure.change(lost, gained)
        except TooLargeError:
            self._drop(enclosure.relation)
            self._too_large.add(enclosure.relation)
            return False
        except BaseException:  # memory is full: which edges it has is not known
            self._drop(enclosure.relation)
            raise
        undo = partial(self._undo, enclosure, lost, gained)
        self._engine.remember_edges(enclosure.relation, undo)
        return True

    def _gained(self, enclosure: ClosureIndex) -> ColumnarBatch:
        """Return the pairs that the last change has brought, stored."""
        relation, closure = enclosure.relation, enclosure.closure
        size = closure.size(GAINED)
        if size > relation.rows:
            relation.expect(size)
        parts = [
            self._engine.store(relation.predicate, block, block[0].size).rows
            for block in closure.pairs(GAINED)
        ]
        rows = [part[relation.number] for part in parts if part]
        return ColumnarBatch({relation.number: np.concatenate(rows)} if rows else {})

    def disclose(self, edges: ColumnarBatch) -> ColumnarBatch | None:
        """Let facts be edges no longer; return the pairs that closures lose."""
        found: dict[int, Ids] = {}
        for relation, rows in self._engine.parts(edges):
            enclosure = self._kept.get(relation)
            if enclosure is None:
                return None
            gone = rows[enclosure.flags()[rows]]
            if not self._change(enclosure, gone, NONE):
                return None
            blocks = list(enclosure.closure.pairs(LOST))
            lost = [relation.find(block, block[0].size) for block in blocks]
            found[relation.number] = np.concatenate(lost) if lost else NONE
            unmarked = found[relation.number] if enclosure.is_symmetric else gone
            self._engine.unmark(ColumnarBatch({relation.number: unmarked}), X)
        return ColumnarBatch({n: rows for n, rows in found.items() if rows.size})

    def enclosed(self, facts: ColumnarBatch) -> ColumnarBatch | None:
        """Return those of the facts that are in the closure of their relation."""
        found: dict[int, Ids] = {}
        for relation, rows in self._engine.parts(facts):
            enclosure = self._kept.get(relation)
            if enclosure is None:
                return None
            regions = enclosure.closure.regions_of(*enclosure.ends(rows))
            found[relation.number] = rows[(regions & PRESENT) > 0]
        return ColumnarBatch({n: rows for n, rows in found.items() if rows.size})
