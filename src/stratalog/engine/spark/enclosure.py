"""The closure of one relation in the driver, and which facts are its edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stratalog.closure.closure import GAINED, KEPT, Closure
from stratalog.closure.packed_pairs import (
    NO_PAIRS,
    NO_WORDS,
    Mask,
    Pairs,
    Words,
    is_among,
    replace,
    unpacked,
)
from stratalog.engine.columnar.relation import Ids
from stratalog.lang.syntax import Predicate

PRESENT = KEPT | GAINED


class Enclosure:
    """A closure, and its edges as sorted words."""

    def __init__(
        self, predicate: Predicate, budget: int, *, symmetric: bool, linear: bool = False
    ) -> None:
        self.predicate = predicate
        self.is_symmetric = symmetric
        self.is_linear = linear
        self.budget = budget
        self.closure = Closure(symmetric=symmetric, linear=linear, budget=budget)
        self.steps: Words = NO_WORDS  # if edges do not lead on: those at the start
        self.before: Words = NO_WORDS  # the edges before the last change
        self.edges: Words = NO_WORDS
        self.is_whole = True  # or its edges only connect what the relation's facts connect

    def is_edge(self, words: Words) -> Mask:
        """Return which pairs are edges."""
        return is_among(self.edges, words)

    def start(self, edges: Words, steps: Words) -> None:
        """Have edges, and steps if these are others; all are sorted."""
        self.closure.change(NO_PAIRS, unpacked(edges), NO_PAIRS, unpacked(steps))
        self.edges, self.steps = edges, steps

    def change(
        self,
        lost: Words,
        gained: Words,
        lost_steps: Words = NO_WORDS,
        gained_steps: Words = NO_WORDS,
    ) -> None:
        """Let pairs be edges no longer, and others be edges; all are sorted.

        Regions then tell what that changes. Where the closure becomes too large, nothing has.
        """
        self.closure.commit()
        self.closure.change(*map(unpacked, (lost, gained, lost_steps, gained_steps)))
        self.before = self.edges
        self.edges = replace(self.edges, lost, gained)

    def take_back(self) -> None:
        """Make the closure what it was before the last change."""
        self.closure.roll_back()
        self.edges = self.before

    def regions(self, pairs: Sequence[Ids]) -> npt.NDArray[np.uint8]:
        """Return the region of each pair."""
        first, second = pairs
        return self.closure.regions_of(first, second)

    def listed(self, regions: int) -> list[Pairs]:
        """Return the pairs of some regions in blocks."""
        return list(self.closure.pairs(regions))
