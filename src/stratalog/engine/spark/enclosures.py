"""Closures of relations in Spark, kept in the driver in step with the facts that are their edges.

In an update, what a closure gains or loses are rows of the overlay, as all else that is touched.
Before, when all is materialised, the pairs are written by executors and become a segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stratalog.closure.closure import GAINED, LOST, TooLargeError
from stratalog.closure.packed_pairs import NO_WORDS, Mask, Pairs, Words, pack, unpacked
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.spark.batch import NOTHING, SparkBatch
from stratalog.engine.spark.bulk import Bulk
from stratalog.engine.spark.enclosure import PRESENT, Enclosure
from stratalog.engine.spark.rooms import closure_budget, most_edges
from stratalog.facts.labels import I, X
from stratalog.facts.sets import FactSet, Over
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from stratalog.engine.spark.engine import SparkEngine


class Enclosures:
    """The closures of an engine's relations."""

    def __init__(self, engine: SparkEngine, bulk: Bulk) -> None:
        self._engine = engine
        self._bulk = bulk
        self._kept: dict[Predicate, Enclosure] = {}
        self._too_large: dict[Predicate, bool] = {}  # and whether the closure is symmetric

    def keep(self, predicate: Predicate, present: FactSet, *, symmetric: bool) -> bool:
        """Have the closure of a relation, of the facts in a set that some rule or user supports."""
        engine = self._engine
        is_new = not engine.size(predicate, present)  # to be materialised
        known = self._kept.get(predicate)
        if known is not None and (known.is_whole or not engine.is_updating):
            return True
        if predicate in self._too_large:
            return is_new and not engine.is_updating
        enclosure = Enclosure(predicate, closure_budget(engine.session), symmetric=symmetric)
        try:
            enclosure.change(NO_WORDS, NO_WORDS if is_new else self._edges(predicate, present))
        except TooLargeError:
            self._too_large[predicate] = symmetric
            return False
        self._kept[predicate] = enclosure
        return True

    def _edges(self, predicate: Predicate, present: FactSet) -> Words:
        """Return the facts in a set with a count above zero, sorted."""
        engine = self._engine
        most = most_edges(engine.session)
        return np.sort(pack(engine.columns_in(predicate, present, most, supported=True)))

    def drop(self, predicates: frozenset[Predicate]) -> None:
        """Let go of the closures of some relations; if that is undone, of those made since."""
        for predicate in predicates:
            self._drop(predicate)
            if self._engine.is_updating:
                self._remember(predicate, partial(self._drop, predicate))

    def _drop(self, predicate: Predicate) -> None:
        self._kept.pop(predicate, None)

    def forget(self, predicates: Iterable[Predicate]) -> None:
        """Let go of all that is known of relations that are gone."""
        for predicate in predicates:
            self._drop(predicate)
            self._too_large.pop(predicate, None)

    def _remember(self, predicate: Predicate, undo: partial[None]) -> None:
        overlay = self._engine.overlay
        overlay.remember_edges(overlay.relation(predicate), undo)

    def _change(self, enclosure: Enclosure, lost: Words, gained: Words) -> bool:
        """Change a closure, and remember that; False if it is too large by now, and let go of."""
        try:
            enclosure.change(lost, gained)
        except TooLargeError:
            self._drop(enclosure.predicate)
            self._too_large[enclosure.predicate] = enclosure.is_symmetric
            return False
        except BaseException:  # memory is full: which edges it has is not known
            self._drop(enclosure.predicate)
            raise
        self._remember(enclosure.predicate, partial(self._undo, enclosure, lost, gained))
        return True

    def _undo(self, enclosure: Enclosure, lost: Words, gained: Words) -> None:
        """Take a change back, of a closure that is still kept."""
        if self._kept.get(enclosure.predicate) is enclosure:
            try:
                enclosure.change(gained, lost)
            except TooLargeError:
                self._drop(enclosure.predicate)

    # -- changes

    def enclose(self, edges: SparkBatch) -> SparkBatch | None:
        """Let facts be edges; return the pairs that closures gain, None if one is not kept."""
        found: FactSet = NOTHING
        for predicate, some in self._by_predicate(edges):
            gained = self._enclose(predicate, some)
            if gained is None:
                return None
            found = gained if found is NOTHING else found | gained
        return self._engine.settle(found)

    def _enclose(self, predicate: Predicate, edges: SparkBatch) -> SparkBatch | None:
        enclosure = self._kept.get(predicate)
        if self._bulk.is_new(predicate, edges):
            return self._enclose_cells(predicate, edges, enclosure)
        if enclosure is None:
            return None
        rows, words = self._rows(predicate, edges)
        is_new = ~enclosure.is_edge(words)
        if not self._change(enclosure, NO_WORDS, np.sort(words[is_new])):
            return None
        gained = self._stored(predicate, enclosure.listed(GAINED))
        self._engine.mark(gained if enclosure.is_symmetric else _some(rows, is_new), X)
        return gained

    def _enclose_cells(
        self, predicate: Predicate, edges: SparkBatch, enclosure: Enclosure | None
    ) -> SparkBatch:
        """Return the pairs that a closure gains, in segments."""
        is_symmetric = self._too_large[predicate] if enclosure is None else enclosure.is_symmetric
        gained = None if enclosure is None else self._bulk.enclosed(enclosure, edges)
        if gained is None:
            self._drop(predicate)
            self._too_large[predicate] = is_symmetric
            gained = self._bulk.joined(predicate, edges, symmetric=is_symmetric)
        self._engine.mark(edges, X)
        if is_symmetric:
            self._engine.mark(gained, X)
        return gained

    def disclose(self, edges: SparkBatch) -> SparkBatch | None:
        """Let facts be edges no longer; return the pairs that closures lose."""
        found: FactSet = NOTHING
        for predicate, some in self._by_predicate(edges):
            enclosure = self._kept.get(predicate)
            if enclosure is None:
                return None
            rows, words = self._rows(predicate, some)
            is_edge = enclosure.is_edge(words)
            if not self._change(enclosure, np.sort(words[is_edge]), NO_WORDS):
                return None
            lost = self._found(predicate, enclosure.listed(LOST))
            self._engine.unmark(lost if enclosure.is_symmetric else _some(rows, is_edge), X)
            found = lost if found is NOTHING else found | lost
        return self._engine.settle(found)

    def enclosed(self, facts: SparkBatch) -> SparkBatch | None:
        """Return those of the facts that are in the closure of their relation."""
        found: FactSet = NOTHING
        for predicate, some in self._by_predicate(facts):
            enclosure = self._kept.get(predicate)
            if enclosure is None:
                return None
            rows, words = self._rows(predicate, some)
            inside = _some(rows, (enclosure.regions(unpacked(words)) & PRESENT) > 0)
            found = inside if found is NOTHING else found | inside
        return self._engine.settle(found)

    # -- rows

    def _by_predicate(self, batch: SparkBatch) -> list[tuple[Predicate, SparkBatch]]:
        predicates = sorted(self._engine.predicates_of(batch))
        if len(predicates) == 1:
            return [(predicates[0], batch)]
        return [(p, self._engine.settle(batch & Over(frozenset({p})))) for p in predicates]

    def _rows(self, predicate: Predicate, batch: SparkBatch) -> tuple[SparkBatch, Words]:
        """Return facts as rows of the overlay, and as words."""
        overlay = self._engine.overlay
        local = self._engine.as_rows(batch)
        rows = local.rows[overlay.relation(predicate).number]
        return SparkBatch(local=local), pack(overlay.columns_of(predicate, rows))

    def _found(self, predicate: Predicate, blocks: Sequence[Pairs]) -> SparkBatch:
        return self._engine.find((predicate, block, block[0].size) for block in blocks)

    def _stored(self, predicate: Predicate, blocks: Sequence[Pairs]) -> SparkBatch:
        """Return the rows of pairs that were not in a closure.

        Of a relation with a closure, facts of segments that an update has not touched are in it. So
        what is not in the overlay is nowhere, unless segments have facts that do not hold.
        """
        engine = self._engine
        given = [(predicate, block, block[0].size) for block in blocks]
        number = engine.facts.number(predicate)
        if engine.is_updating and engine.facts.size(number, I) == engine.facts.rows(number):
            return SparkBatch(local=engine.fetching.store_new(given))
        return engine.find(given, store=True)


def _some(rows: SparkBatch, kept: Mask) -> SparkBatch:
    """Return some rows of one relation."""
    found = {number: some[kept] for number, some in rows.local.rows.items() if kept.any()}
    return SparkBatch(local=ColumnarBatch(found))
