"""Relations that are one closure: the closure in the driver, and the facts that are its edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stratalog.closure.closure import KEPT, LOST
from stratalog.closure.packed_pairs import NO_WORDS, Mask, Words, is_among, pack, unpacked
from stratalog.engine.columnar.relation import Ids
from stratalog.engine.spark.enclosure import Enclosure
from stratalog.engine.spark.side_edges import SideEdges, directed
from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec
from stratalog.lang.syntax import Predicate


class Held:
    """One closure, and which facts of each of its relations are external."""

    def __init__(
        self, closing: ClosureSpec, budget: int, facts: Sequence[Words], steps: Words
    ) -> None:
        self.closing = closing
        self.sides = SideEdges.of(
            closing, [np.sort(directed(w, s)) for w, s in zip(facts, closing.sides, strict=True)]
        )
        self._before = self.sides
        self.enclosure = Enclosure(
            closing.sides[0].predicate,
            budget,
            symmetric=closing.is_symmetric,
            linear=closing.steps is not None,
        )
        self.enclosure.start(self.sides.edges(), np.sort(directed(steps, closing.steps)))

    def settle(self) -> None:
        """Forget what the closure was before the last change: its pairs are facts, and no others.

        Steps are in the closure; only who lists its pairs for the first time asks for them.
        """
        self.enclosure.closure.commit()
        self.enclosure.steps = NO_WORDS

    def follow(self, touched: Sequence[tuple[Words, Mask]], lost: Words, gained: Words) -> None:
        """Let the closure follow touched facts of each side, and steps that are lost and gained.

        Of touched facts it is told which are external now. If it would be too large, nothing has
        changed.
        """
        closing = self.closing
        known = [(directed(w, s), m) for (w, m), s in zip(touched, closing.sides, strict=True)]
        after = self.sides.followed(self.enclosure.edges, known)
        steps = (np.sort(directed(words, closing.steps)) for words in (lost, gained))
        self.enclosure.change(after.lost, after.gained, *steps)
        self._before, self.sides = self.sides, after.sides

    def take_back(self) -> None:
        """Make all what it was before the last change."""
        self.enclosure.take_back()
        self.sides = self._before

    def pairs(self, side: ClosureSide, regions: int) -> list[tuple[Ids, Ids]]:
        """Return the pairs of a relation that are in some regions, in blocks."""
        blocks = self.enclosure.listed(regions)
        return [(second, first) for first, second in blocks] if side.is_turned else blocks

    def was_inside(self, predicate: Predicate, columns: Sequence[Ids]) -> tuple[Mask, Mask]:
        """Return which pairs were in the closure before, and which are external facts now.

        Until an update ends, segments are as before; what it changes is in the overlay.
        """
        place = [side.predicate for side in self.closing.sides].index(predicate)
        words = directed(pack(columns), self.closing.sides[place])
        inside = (self.enclosure.regions(unpacked(words)) & (LOST | KEPT)) > 0
        return np.asarray(inside), is_among(self.sides.facts[place], words)
