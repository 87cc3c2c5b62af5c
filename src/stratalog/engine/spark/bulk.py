"""Closures at materialisation: edges are gathered from segments, and pairs become segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stratalog.closure.closure import GAINED, TooLargeError
from stratalog.closure.packed_pairs import NO_WORDS, Words, pack, unpacked
from stratalog.engine.spark.batch import NOTHING, SparkBatch
from stratalog.engine.spark.cuts import Written
from stratalog.engine.spark.enclosure import Enclosure
from stratalog.engine.spark.facts import ids, integers
from stratalog.engine.spark.far import Far
from stratalog.engine.spark.held import Held
from stratalog.engine.spark.listing import Listing, gained_pairs, listed, rows_of, spelled_out
from stratalog.engine.spark.reading import Reader
from stratalog.engine.spark.rooms import closure_budget, most_edges
from stratalog.engine.spark.segments import NARROWEST, Key
from stratalog.engine.spark.side_edges import directed
from stratalog.facts.labels import I
from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec
from stratalog.facts.sets import Over
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from stratalog.engine.spark.engine import SparkEngine

LISTED_HERE = sized(100_000, 8)  # pairs that the driver hands over sooner than executors list them


class Bulk:
    """Closes edges of segments."""

    def __init__(self, engine: SparkEngine) -> None:
        self._engine = engine
        self._far = Far(engine)

    def enclosed(self, enclosure: Enclosure, edges: SparkBatch) -> SparkBatch | None:
        """Return the new facts among the pairs that a closure gains, None if it is too large."""
        unmarked = self._unmarked(enclosure.predicate)
        if len(edges) + len(unmarked) > most_edges(self._engine.session):
            return self._connected(enclosure, edges) if enclosure.is_symmetric else None
        words, others = self._keys(edges, unmarked)
        try:
            enclosure.change(NO_WORDS, words[~enclosure.is_edge(words)])
        except TooLargeError:
            return None
        known = np.concatenate([words, others])
        known = known[enclosure.regions(unpacked(known)) == GAINED]
        return self._written(enclosure, known, ClosureSide(enclosure.predicate))

    def is_new(self, predicate: Predicate, batch: SparkBatch) -> bool:
        """Return whether facts are materialised: none of their kind is in the overlay."""
        if self._engine.is_updating or batch.parts or batch.local:
            return False
        relation = self._engine.overlay.relations.get(predicate)
        return relation is None or not relation.rows

    def held(self, closing: ClosureSpec, edges: SparkBatch) -> Held | None:
        """Return the closure that relations are, whose pairs are facts then, None if too large."""
        engine = self._engine
        of_side = [engine.settle(edges & Over(frozenset({s.predicate}))) for s in closing.sides]
        of_steps = self._steps(closing)
        if len(edges) + len(of_steps) > most_edges(engine.session):
            return None
        *facts, steps = self._keys(*of_side, of_steps)
        try:
            held = Held(closing, closure_budget(engine.session), facts, steps)
        except TooLargeError:
            return None
        engine.mark(edges, I)
        for side, words in zip(closing.sides, held.sides.facts, strict=True):
            engine.mark(self._written(held.enclosure, words, side), I)
        return held

    def _steps(self, closing: ClosureSpec) -> SparkBatch:
        if closing.steps is None:
            return NOTHING
        return self._engine.settle(Over(frozenset({closing.steps.predicate})) & I)

    def joined(self, predicate: Predicate, edges: SparkBatch, *, symmetric: bool) -> SparkBatch:
        """Return the new facts among the pairs of a closure that no process can hold."""
        close = self._far.connected if symmetric else self._far.closed
        return close(predicate, edges)

    def _connected(self, enclosure: Enclosure, edges: SparkBatch) -> SparkBatch | None:
        """Return what components gain by edges that are too many for the driver."""
        found = self._far.spokes(edges)
        if found is None:
            return None
        enclosure.is_whole = False
        try:
            enclosure.change(NO_WORDS, found[~enclosure.is_edge(found)])
        except TooLargeError:
            return None
        if not enclosure.closure.size(GAINED):
            return NOTHING
        engine = self._engine
        with (
            listed(engine.session, gained_pairs(enclosure, NO_WORDS)) as lists,
            Reader(engine.facts, engine.overlay, {}).closed() as reader,
        ):
            pairs = engine.session.sql(spelled_out(reader.named(lists)))
            return self._far.entered(enclosure.predicate, pairs)

    def _unmarked(self, predicate: Predicate) -> SparkBatch:
        """Return the facts that rules have derived just now: no round has marked them yet."""
        number, bit = self._engine.facts.number(predicate), 1 << I.bit
        return SparkBatch(
            {
                segment: cells
                for segment in self._engine.facts.table_of(number).segments
                if (cells := segment.chosen(lambda p, label: p == number and not label & bit))
            }
        )

    def _keys(self, *batches: SparkBatch) -> list[Words]:
        """Return facts of segments as words, those of each batch sorted: one action."""
        texts = [
            f"SELECT c0, c1, {place} AS place FROM ({segment.body}) WHERE {segment.where(cells)}"  # noqa: S608
            for place, batch in enumerate(batches)
            for segment, cells in batch.cells.items()
        ]
        touched = [self._touched(batch) for batch in batches]
        if not texts:
            return [np.sort(words) for words in touched]
        work = self._engine.session
        with work.described(f"gathering {sum(map(len, batches)):,} edges"):
            found = work.fetched(work.sql(" UNION ALL ".join(texts)))
        words, places = pack([ids(found, "c0"), ids(found, "c1")]), integers(found, "place")
        return [
            np.sort(np.concatenate([words[places == place], more]))
            for place, more in enumerate(touched)
        ]

    def _touched(self, batch: SparkBatch) -> Words:
        """Return facts of a batch that are in the overlay."""
        overlay = self._engine.overlay
        parts = (
            pack(overlay.columns_of(overlay.by_number[number].predicate, rows))
            for number, rows in batch.local.rows.items()
        )
        return np.concatenate([NO_WORDS, *parts])

    def _written(self, enclosure: Enclosure, known: Words, side: ClosureSide) -> SparkBatch:
        """Return a segment of the pairs that a closure has gained and nobody knows."""
        size = enclosure.closure.size(GAINED) - known.size
        if not size:
            return NOTHING
        if size <= LISTED_HERE:
            return self._handed_over(enclosure, known, side)
        kept = self._listed(
            gained_pairs(enclosure, known), f"{size:,} pairs of {side.predicate.name}"
        )
        kept.rows = size  # as statements see them
        number = self._engine.facts.number(side.predicate)
        pairs = spelled_out(kept.view, is_turned=side.is_turned)
        body = f"SELECT {number} AS p, c0, c1, 0 AS w, 0L AS nr, 0L AS r FROM ({pairs})"  # noqa: S608
        table = self._engine.facts.table(NARROWEST)
        cell = Key(number)
        segment = table.add(kept, body, {cell: size}, is_divided=False)
        return SparkBatch({segment: frozenset({cell})})

    def _listed(self, listing: Listing, told: str) -> Written:
        """Return lists that executors have written: one stage."""
        work = self._engine.session
        with work.described(f"listing {told}"), listed(work, listing) as lists:
            kept = Written(work, lists)
            try:
                kept.fill()
                kept.check(rows_of(listing))
            except BaseException:
                kept.free()
                raise
        return kept

    def _handed_over(self, enclosure: Enclosure, known: Words, side: ClosureSide) -> SparkBatch:
        """Return a segment of pairs that the driver lists."""
        listed_here = np.concatenate([pack(block) for block in enclosure.listed(GAINED)])
        words = np.setdiff1d(listed_here, known, assume_unique=True)
        pairs = unpacked(directed(words, side))
        segment = self._engine.facts.add_new(side.predicate, pairs, words.size)
        return SparkBatch({segment: frozenset(segment.labels)})
