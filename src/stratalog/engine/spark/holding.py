"""Strata that are one closure each: the driver follows their edges, and lists what that changes.

All pairs are facts in segments, where nobody needs to look for them: the closure says which there
are. Only external facts have counts, which segments know.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stratalog.closure.closure import GAINED, LOST, TooLargeError
from stratalog.closure.packed_pairs import NO_WORDS, Mask, Words, pack
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.relation import NONE, Ids, Relation
from stratalog.engine.spark.batch import SparkBatch
from stratalog.engine.spark.bulk import Bulk
from stratalog.engine.spark.held import Held
from stratalog.engine.spark.overlay import ABSENT, UNTOLD
from stratalog.engine.spark.rooms import closure_budget, most_edges
from stratalog.facts.engine import Reclosed
from stratalog.facts.labels import A, D, E, I, X
from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec
from stratalog.facts.sets import Over
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from stratalog.engine.spark.engine import SparkEngine
    from stratalog.engine.spark.near import Encoded
    from stratalog.engine.spark.overlay import Integers


class Touched(NamedTuple):
    """Facts of a relation whose counts have changed, and which of them are external now."""

    relation: Relation
    rows: Ids
    words: Words
    is_external: Mask

    def batch(self, *, is_external: bool) -> SparkBatch:
        """Return those that are external, or the others."""
        rows = self.rows[self.is_external == is_external]
        return SparkBatch(local=ColumnarBatch({self.relation.number: rows} if rows.size else {}))


class Holding:
    """The closures that relations of an engine are."""

    def __init__(self, engine: SparkEngine, bulk: Bulk) -> None:
        self._engine = engine
        self._bulk = bulk
        self._held: dict[Predicate, Held] = {}
        self._changed: list[Held] = []  # since the last update ended
        self._too_large: set[Predicate] = set()

    def hold(self, closing: ClosureSpec, edges: SparkBatch) -> bool:
        """Make facts of all pairs that relations have as one closure of these facts."""
        if not all(self._bulk.is_new(predicate, edges) for predicate in closing.predicates):
            return False
        held = self._bulk.held(closing, edges)
        if held is None:
            self._too_large |= closing.predicates
            return False
        held.settle()
        self._keep(held)
        if held.closing.is_plain:
            whole = Over(closing.predicates) & I
            self._engine.mark(self._engine.settle(whole) if closing.is_symmetric else edges, X)
        return True

    def holds(self, closing: ClosureSpec) -> bool:
        """Return whether relations follow a closure; in a store that was opened, it is made now."""
        known = self._held.get(closing.sides[0].predicate)
        if known is not None and known.closing == closing:
            return True
        if not self._too_large.isdisjoint(closing.predicates):
            return False
        try:
            facts = [self._stored(side.predicate, is_external=True) for side in closing.sides]
            steps = NO_WORDS if closing.steps is None else self._stored(closing.steps.predicate)
            held = Held(closing, closure_budget(self._engine.session), facts, steps)
        except TooLargeError:
            self._too_large |= closing.predicates
            return False
        held.settle()
        self._keep(held)
        return True

    def _stored(self, predicate: Predicate, *, is_external: bool = False) -> Words:
        """Return the facts of a relation, or those that hold without the module."""
        most = most_edges(self._engine.session)
        return pack(self._engine.columns_in(predicate, I, most, supported=is_external))

    def drop(self, predicates: frozenset[Predicate]) -> None:
        """Let go of closures; if that is undone, they are back."""
        self._too_large -= predicates
        for held in {id(h): h for p in predicates if (h := self._held.get(p))}.values():
            self._let_go(held)
            if self._engine.is_updating:
                self._remember(held, partial(self._restore, held))

    def _restore(self, held: Held) -> None:
        for other in [h for p in held.closing.predicates if (h := self._held.get(p))]:
            self._let_go(other)
        self._keep(held)

    def _keep(self, held: Held) -> None:
        self._held.update(dict.fromkeys(held.closing.predicates, held))

    def _let_go(self, held: Held) -> None:
        for predicate in held.closing.predicates:
            self._held.pop(predicate, None)

    def _remember(self, held: Held, undo: partial[None]) -> None:
        overlay = self._engine.overlay
        overlay.remember_edges(overlay.relation(held.closing.sides[0].predicate), undo)

    def settle(self) -> None:
        """Let closures be what segments and overlay say, from the end of an update on."""
        while self._changed:
            self._changed.pop().settle()

    # -- changes

    def reclose(
        self, closing: ClosureSpec, touched: SparkBatch, lost: SparkBatch, gained: SparkBatch
    ) -> Reclosed | None:
        """Let a closure follow facts that were touched; None if it is too large by then."""
        begun, engine = time.process_time(), self._engine
        held = self._held[closing.sides[0].predicate]
        known = [self._touched(side, touched) for side in closing.sides]
        steps = [self._steps(closing.steps, batch) for batch in (lost, gained)]
        try:
            held.follow([(each.words, each.is_external) for each in known], *steps)
        except TooLargeError:
            return None
        except BaseException:  # nobody knows how far the closure came: it is made anew
            self._let_go(held)
            raise
        self._remember(held, partial(self._take_back, held))
        self._changed.append(held)
        changed = Reclosed(self._listed(held, LOST), self._listed(held, GAINED))
        engine.mark(changed.lost, D)
        engine.mark(changed.gained, A)
        engine.unmark(changed.lost, X)
        if held.closing.is_plain:
            self._mark_external(known[0], changed, symmetric=closing.is_symmetric)
        engine.costs.add(closing.rule, 0, len(touched), time.process_time() - begun)
        engine.check()
        return changed

    def _take_back(self, held: Held) -> None:
        if self._held.get(held.closing.sides[0].predicate) is held:
            held.take_back()
            self._changed.remove(held)

    def _touched(self, side: ClosureSide, batch: SparkBatch) -> Touched:
        """Return touched facts of a relation, and which of them hold without the module."""
        relation = self._engine.overlay.relation(side.predicate)
        rows = self._rows(relation, batch)
        is_external = np.asarray(relation.counts[0][rows] > 0)
        return Touched(relation, rows, self._words(relation, rows), is_external)

    def _steps(self, side: ClosureSide | None, batch: SparkBatch) -> Words:
        """Return the facts of a batch that are steps."""
        if side is None:
            return NO_WORDS
        relation = self._engine.overlay.relation(side.predicate)
        return self._words(relation, self._rows(relation, batch))

    def _rows(self, relation: Relation, batch: SparkBatch) -> Ids:
        return self._engine.as_rows(batch).rows.get(relation.number, NONE)

    def _words(self, relation: Relation, rows: Ids) -> Words:
        return pack(self._engine.overlay.columns_of(relation.predicate, rows))

    def _listed(self, held: Held, region: int) -> SparkBatch:
        """Return the pairs of a region as rows, of all relations."""
        given = [
            (side.predicate, pairs, pairs[0].size)
            for side in held.closing.sides
            for pairs in held.pairs(side, region)
        ]
        return self._engine.find(given, store=region == GAINED)

    def _mark_external(self, touched: Touched, changed: Reclosed, *, symmetric: bool) -> None:
        """Mark what the paper's algorithms, if they come next, have to know: see `enclose`."""
        if symmetric:
            self._engine.mark(changed.gained, X)
        else:
            self._engine.unmark(touched.batch(is_external=False), X)
            self._engine.mark(touched.batch(is_external=True), X)

    # -- what segments say

    def told(self, facts: Encoded) -> Integers:
        """Return what segments say of facts that no update has touched; UNTOLD if only they know.

        That is the label word, ABSENT for none. No pair has a count that is not an external fact.
        """
        predicate, columns, size = facts
        words = np.full(size, UNTOLD, np.int64)
        held = self._held.get(predicate)
        if held is None or not size or not self._is_clean(predicate):
            return words
        word = self._word(predicate, held)
        was_inside, is_external = held.was_inside(predicate, columns)
        words[~was_inside] = ABSENT
        words[was_inside & ~is_external] = word
        return words

    def _is_clean(self, predicate: Predicate) -> bool:
        """Return whether all facts that segments have hold, but for those of the overlay."""
        facts = self._engine.facts
        number = facts.number(predicate)
        return facts.size(number, I) == facts.rows(number)

    def _word(self, predicate: Predicate, held: Held) -> int:
        """Return the label word of facts that only the closure derives."""
        if not (held.closing.is_plain and held.closing.is_symmetric):
            return 1 << I.bit
        facts, here = self._engine.facts, 1 << I.bit
        number = facts.number(predicate)
        words = {
            segment.labels[cell]
            for segment in facts.table_of(number).segments
            for cell in segment.cells_of(number)
        }
        found = {word for word in words if word & here and not word & (1 << E.bit)}
        return found.pop() if len(found) == 1 else UNTOLD

    def told_of(self) -> frozenset[int]:
        """Return the numbers of predicates whose listed pairs nobody looks for in segments."""
        return frozenset(
            self._engine.facts.number(predicate)
            for predicate, held in self._held.items()
            if self._is_clean(predicate) and self._word(predicate, held) != UNTOLD
        )

    def __bool__(self) -> bool:
        return bool(self._held)
