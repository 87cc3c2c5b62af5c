"""Relations held as one closure, which follows the facts that are its edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stratalog.closure.closure import (
    GAINED,
    KEPT,
    LOST,
    Closure,
    TooLargeError,
)
from stratalog.closure.edges import Columns
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.edge_rows import EdgeRows, turned
from stratalog.engine.columnar.relation import NONE, Ids, Relation
from stratalog.engine.columnar.view import CHANGED, SETTLED, View
from stratalog.facts.engine import Reclosed
from stratalog.facts.labels import E, I, X
from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec
from stratalog.facts.sets import FactSet
from stratalog.kernels.preparation import work_time
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

NO_EDGES: Columns = NONE, NONE
EXPLICIT = np.uint16(1 << E.bit)  # on rows; all other marks are those of the closure's regions


class Held:
    """One closure, the relations that are read from it, and its edges."""

    def __init__(self, engine: ColumnarEngine, closing: ClosureSpec, budget: int) -> None:
        self.closing = closing
        self._budget = budget
        self.closure = self._empty()
        self.relations = [engine.relation(side.predicate) for side in closing.sides]
        sides = [side.is_turned for side in closing.sides]
        self.views = [
            View(self.closure, is_turned=is_turned, is_plain=closing.is_plain)
            for is_turned in sides
        ]
        self.edges = EdgeRows(
            self.relations, sides, sources=closing.has_sources, targets=closing.has_targets
        )
        self.charged = 0  # bytes on the engine's account

    def _empty(self) -> Closure:
        closing, is_linear = self.closing, self.closing.steps is not None
        return Closure(symmetric=closing.is_symmetric, linear=is_linear, budget=self._budget)

    def make(self, steps: Columns) -> None:
        """Make the closure of the edges and some steps, whatever it was."""
        self.closure = self._empty()
        for view in self.views:
            view.closure = self.closure
        self.closure.change(NO_EDGES, self.edges.spell(), NO_EDGES, steps)
        self.closure.commit()
        self._label(SETTLED)

    def change(self, rows: Mapping[int, Ids], lost_steps: Columns, gained_steps: Columns) -> None:
        """Let the closure follow rows whose counts have changed, and steps."""
        self.closure.commit()
        lost, gained = self.edges.follow(rows)
        try:
            self.closure.change(lost, gained, lost_steps, gained_steps)
        except BaseException:
            self.edges.take_back()
            raise
        self._label(CHANGED)

    def take_back(self) -> None:
        """Make the closure what it was before the last change."""
        self.edges.take_back()
        self.closure.roll_back()
        self._label(SETTLED)

    def settle(self) -> None:
        """Forget what the closure was before the last change."""
        self.closure.commit()
        self._label(SETTLED)

    def _label(self, words: tuple[int, int, int]) -> None:
        for relation, view in zip(self.relations, self.views, strict=True):
            view.label(words)
            relation.changes += 1
            relation.describe()


class Virtual:
    """The closures that relations of an engine are held as."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._held: dict[Predicate, Held] = {}
        self._changed: list[Held] = []  # since the last commit

    def hold(self, closing: ClosureSpec, edges: ColumnarBatch) -> bool:
        """Read relations from a closure of these facts from now on; False if it is too large."""
        engine, begun = self._engine, work_time()
        held = Held(engine, closing, engine.closure_budget())
        steps = self._pairs(closing.steps, I)
        try:
            held.edges.start(edges.rows)
            held.make(steps)
            for relation, view in zip(held.relations, held.views, strict=True):
                relation.view = view
                relation.describe()
        except TooLargeError:
            self._let_go(held)
            return False
        for relation in held.relations:
            labels = relation.labels[: relation.rows]
            labels &= EXPLICIT
        self._held.update(dict.fromkeys(closing.predicates, held))
        self._charge(held)
        engine.forget_plans(closing.predicates)
        engine.costs.add(closing.rule, 0, len(edges), work_time() - begun)
        engine.check()
        return True

    def __bool__(self) -> bool:
        return bool(self._held)

    def holds(self, closing: ClosureSpec) -> bool:
        """Return whether relations are read from a closure."""
        return any(predicate in self._held for predicate in closing.predicates)

    def reclose(
        self,
        closing: ClosureSpec,
        touched: ColumnarBatch,
        lost: ColumnarBatch,
        gained: ColumnarBatch,
    ) -> Reclosed | None:
        """Let a closure follow facts that were touched; None if it is too large by then."""
        begun, held = work_time(), self._held[self._first(closing)]
        lost_steps, gained_steps = (self._pairs(closing.steps, each) for each in (lost, gained))
        try:
            held.change(touched.rows, lost_steps, gained_steps)
        except TooLargeError:
            return None
        except BaseException:  # memory is full, and nobody knows how far the closure came
            held.make(self._pairs(closing.steps, I))
            raise
        self._engine.remember_edges(held.relations[0], partial(self._take_back, held))
        self._changed.append(held)
        self._charge(held)
        self._engine.directory.growths += 1
        self._engine.costs.add(closing.rule, 0, len(touched), work_time() - begun)
        self._engine.check()
        return Reclosed(self._region(held, LOST), self._region(held, GAINED))

    def _first(self, closing: ClosureSpec) -> Predicate:
        return closing.sides[0].predicate

    def _region(self, held: Held, region: int) -> ColumnarBatch:
        size = held.closure.size(region)
        numbers = [relation.number for relation in held.relations] if size else []
        return ColumnarBatch({}, dict.fromkeys(numbers, (region, size)))

    def _pairs(self, side: ClosureSide | None, described: FactSet) -> Columns:
        """Return the facts of a relation that are in a set, or in a batch."""
        if side is None:
            return NO_EDGES
        first, second = self._engine.columns_in(side.predicate, described)
        return turned((first, second), is_turned=side.is_turned)

    def _take_back(self, held: Held) -> None:
        if self._held.get(self._first(held.closing)) is held:
            held.take_back()
            self._changed.remove(held)
            self._charge(held)

    def changed(self) -> list[int]:
        """Return the numbers of relations whose closure has changed since the last commit."""
        return [relation.number for held in self._changed for relation in held.relations]

    def settle(self) -> None:
        """Forget what closures were before the update that ends now."""
        for held in self._changed:
            held.settle()
            self._charge(held)
        self._changed.clear()

    def spell_out(self, predicates: frozenset[Predicate]) -> None:
        """Store all pairs of closures as facts; from then on, relations are read as others are."""
        for held in {id(h): h for p in predicates if (h := self._held.get(p))}.values():
            pairs = [
                [np.concatenate(ends) for ends in zip(*view.pairs(KEPT | GAINED), strict=True)]
                for view in held.views
            ]
            rows = [relation.rows for relation in held.relations]
            undo = partial(self._take_up, held, rows, was_changed=held in self._changed)
            self._engine.remember_edges(held.relations[0], undo)
            self._let_go(held)
            names = ", ".join(relation.predicate.name for relation in held.relations)
            self._engine.running = f"spelling out the closure {names}"
            for relation, view, columns in zip(held.relations, held.views, pairs, strict=True):
                if columns:
                    self._store(relation, view, columns)

    def _take_up(self, held: Held, rows: Sequence[int], *, was_changed: bool) -> None:
        """Read relations from their closure again, as if they had not been spelled out."""
        for relation, view, first in zip(held.relations, held.views, rows, strict=True):
            relation.keep_first(first)
            relation.labels &= EXPLICIT
            relation.view = view
            relation.describe()
        self._held.update(dict.fromkeys(held.closing.predicates, held))
        self._changed += [held] if was_changed else []
        self._engine.forget_plans(held.closing.predicates)
        self._charge(held)

    def _store(self, relation: Relation, view: View, columns: list[Ids]) -> None:
        """Store pairs of a closure, marked as modules that read facts mark them."""
        engine, size = self._engine, columns[0].size
        relation.expect(size)
        rows = engine.store(relation.predicate, columns, size).rows.get(relation.number, NONE)
        external = rows[view.external(relation.counts[0][rows])]
        relation.labels[rows] |= np.uint16(1 << I.bit)
        relation.labels[external] |= np.uint16(1 << X.bit)
        relation.changes += 1

    def _let_go(self, held: Held) -> None:
        for relation in held.relations:
            relation.view = None
            relation.describe()
            self._held.pop(relation.predicate, None)
        if held in self._changed:
            self._changed.remove(held)
        self._engine.account(-held.charged)
        held.charged = 0
        self._engine.forget_plans(held.closing.predicates)

    def _charge(self, held: Held) -> None:
        """Put the closure on the engine's account."""
        before, held.charged = held.charged, held.closure.nbytes
        self._engine.account(held.charged - before)
