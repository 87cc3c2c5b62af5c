"""A relation that is read from a closure: its rows are the facts that hold without the module.

A pair was lost, kept or gained by the last change of the closure, and all pairs of such a region
have the same labels. What is marked of single facts, that they are explicit, is marked on rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.closure.change import ChangedPairs
from stratalog.closure.closure import GAINED, KEPT, LOST, Closure, TooLargeError
from stratalog.closure.edges import Columns
from stratalog.facts.labels import A, D, I
from stratalog.kernels import memory

Ids = npt.NDArray[np.uint32]
Table = npt.NDArray[np.bool_]

REGIONS = (LOST, KEPT, GAINED)
SETTLED = (0, 1 << I.bit, 0)
CHANGED = (1 << I.bit | 1 << D.bit, 1 << I.bit, 1 << A.bit)


class View:
    """The pairs of a closure as a relation."""

    def __init__(self, closure: Closure, *, is_turned: bool, is_plain: bool) -> None:
        self.closure = closure
        self.is_plain = is_plain
        self.is_turned = is_turned
        self.words = np.array(SETTLED, np.uint16)
        self._is_read_both_ways = False

    def label(self, words: tuple[int, int, int]) -> None:
        """Give all pairs that were lost, kept and gained these label words."""
        self.words[:] = words

    def mark(self, regions: int, bit: int, *, wanted: bool) -> None:
        """Put a mark on all pairs of some regions, or take it off them."""
        for place, region in enumerate(REGIONS):
            if regions & region:
                word = int(self.words[place])
                self.words[place] = word | 1 << bit if wanted else word & ~(1 << bit)

    def regions(self, table: Table) -> int:
        """Return the regions whose pairs are in a set, by its truth table."""
        inside = table[self.words]
        return sum(region for region, is_in in zip(REGIONS, inside, strict=True) if is_in)

    def size(self, regions: int) -> int:
        """Return how many pairs there are in some regions."""
        return self.closure.size(regions) if regions else 0

    def external(self, counts: npt.NDArray[np.signedinteger[Any]]) -> npt.NDArray[np.bool_]:
        """Return which pairs have the mark X once they are rows, given their counts C_nr."""
        if not self.is_plain:
            return np.zeros(counts.size, np.bool_)
        return np.ones(counts.size, np.bool_) if self.closure.is_symmetric else counts > 0

    @property
    def facts(self) -> int:
        """How many pairs the closure has after its last change."""
        return self.closure.size(KEPT | GAINED)

    def columns(self, regions: int) -> Columns:
        """Return all pairs of some regions."""
        return self._turned(self.closure.columns(regions))

    def frozen(self, regions: int) -> ChangedPairs:
        """Return pairs that were lost or gained, to be listed when they are read."""
        pairs = self.closure.frozen(regions)
        return pairs.turned() if self.is_turned else pairs

    def pairs(self, regions: int) -> Iterator[Columns]:
        """Yield all pairs of some regions in blocks."""
        for block in self.closure.pairs(regions):
            yield self._turned(block)

    def regions_of(self, columns: Columns) -> npt.NDArray[np.uint8]:
        """Return the region of each pair, 0 where it is none."""
        return self.closure.regions_of(*self._turned(columns))

    @property
    def distinct(self) -> float:
        """About how many constants stand in either column."""
        return max(1.0, float(self.closure.nodes))

    def can_read_by(self, column: int) -> bool:
        """Return whether pairs can be found by their constant in a column, and see to it.

        A closure finds pairs by its first constants. By the others it does once it has been turned,
        which takes time and room like making it, and like following each change from then on.
        """
        if column == self.is_turned:
            return True
        try:
            self.closure.turn()
        except TooLargeError:
            return False
        self._is_read_both_ways = True
        return True

    def describe(self, d: npt.NDArray[np.int64]) -> None:
        """Write where kernels find the closure into a relation's descriptor."""
        closure, by_first, by_second = self.closure, memory.CLOSURE_BY, memory.CLOSURE_BY + 1
        if self.is_turned:
            by_first, by_second = by_second, by_first
        d[memory.CLOSURE] = d[by_first] = closure.descriptor.ctypes.data
        d[by_second] = closure.backward_descriptor.ctypes.data if self._is_read_both_ways else 0
        d[memory.CLOSURE_TURNED] = self.is_turned
        d[memory.CLOSURE_WORDS] = self.words.ctypes.data

    def _turned(self, columns: Columns) -> Columns:
        return (columns[1], columns[0]) if self.is_turned else columns
