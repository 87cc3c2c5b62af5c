"""The closure of one relation in the driver, and which facts are its edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.closures.closure import GAINED, KEPT, LOST, Closure
from stratalog.engine.columnar.relation import Ids
from stratalog.lang.syntax import Predicate

Words = npt.NDArray[np.uint64]
Pairs = tuple[Ids, Ids]

NO_WORDS: Words = np.empty(0, np.uint64)
NO_PAIRS: Pairs = np.empty(0, np.uint32), np.empty(0, np.uint32)
PRESENT = KEPT | GAINED
BITS = np.uint64(32)


def packed(pairs: Sequence[Ids]) -> Words:
    """Return pairs as words, in whose order they are sorted."""
    first, second = pairs
    words: Words = np.asarray(first).astype(np.uint64) << BITS | np.asarray(second)
    return words


def turned(words: Words) -> Words:
    """Return pairs with both constants exchanged, sorted."""
    first, second = unpacked(words)
    return np.sort(packed((second, first)))


def unpacked(words: Words) -> Pairs:
    """Return the pairs of words."""
    return (words >> BITS).astype(np.uint32), words.astype(np.uint32)


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
        self.steps: Words = NO_WORDS  # if edges do not lead on
        self.before: Words = NO_WORDS  # the edges before the last change
        self.edges: Words = NO_WORDS
        self.is_whole = True  # or its edges only connect what the relation's facts connect

    def is_edge(self, words: Words) -> npt.NDArray[np.bool_]:
        """Return which pairs are edges."""
        if not self.edges.size:
            return np.zeros(words.size, np.bool_)
        places = np.minimum(np.searchsorted(self.edges, words), self.edges.size - 1)
        found: npt.NDArray[np.bool_] = self.edges[places] == words
        return found

    def start(self, edges: Words, steps: Words) -> None:
        """Have edges, and steps if these are others; all are sorted."""
        self.closure.change(NO_PAIRS, unpacked(edges), NO_PAIRS, unpacked(steps))
        self.edges, self.steps = edges, steps

    def change(self, lost: Words, gained: Words) -> None:
        """Let pairs be edges no longer, and others be edges; all are sorted.

        Regions then tell what that changes. Where the closure becomes too large, nothing has.
        """
        self.closure.commit()
        self.closure.change(unpacked(lost), unpacked(gained))
        self.before = self.edges
        left = np.delete(self.edges, np.searchsorted(self.edges, lost)) if lost.size else self.edges
        self.edges = np.insert(left, np.searchsorted(left, gained), gained)

    def regions(self, pairs: Sequence[Ids]) -> npt.NDArray[np.uint8]:
        """Return the region of each pair."""
        first, second = pairs
        return self.closure.regions_of(first, second)

    def listed(self, regions: int) -> list[Pairs]:
        """Return the pairs of some regions in blocks."""
        return list(self.closure.pairs(regions))


__all__ = [
    "GAINED",
    "LOST",
    "NO_PAIRS",
    "NO_WORDS",
    "PRESENT",
    "Enclosure",
    "Pairs",
    "packed",
    "turned",
    "unpacked",
]
