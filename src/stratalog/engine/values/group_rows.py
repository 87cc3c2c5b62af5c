"""Rows put into groups by the ids they hold; without sorting, since there may be very many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stratalog.engine.values.expression_columns import Ids, Integers, Mask
from stratalog.kernels.numbers import groups as k
from stratalog.kernels.sizes import sized

ROWS = sized(1 << 18, 5)  # handed to a kernel together: what is read of them stays in the cache
TABLE_PER_ROW = 8  # a table with so many places per row is still better than hashing
BITS_PER_ROW = 64
FIRST_SLOTS = sized(1 << 12, 1 << 8)


@dataclass(frozen=True, slots=True)
class Rows:
    """The values of a reduction and the group of each; sizes[g] of them are in group g."""

    values: Ids
    group: Ids
    sizes: Integers

    def parts(self) -> Iterator[tuple[Ids, Ids]]:
        """Yield values and groups of a number of rows at a time."""
        for part in slices(self.values.size, ROWS):
            yield self.values[part], self.group[part]

    def chosen(self, groups: Mask) -> Rows:
        """Return the rows of some groups, which are numbered anew."""
        kept = np.flatnonzero(groups[self.group])
        numbers = np.cumsum(groups, dtype=np.uint32) - np.uint32(1)
        return Rows(self.values[kept], numbers[self.group[kept]], self.sizes[groups])

    def dense(self) -> tuple[Ids, Rows]:
        """Return the distinct values, and the rows with the places of their values in these."""
        firsts, places = numbered(np.zeros(self.values.size, np.uint32), 1, self.values)
        return self.values[firsts], Rows(places, self.group, self.sizes)

    def sorted(self) -> Rows:
        """Return the rows sorted by group."""
        order = np.argsort(self.group, kind="stable")
        return Rows(self.values[order], self.group[order], self.sizes)


def numbered(left: Ids, count: int, right: Ids) -> tuple[Integers, Ids]:
    """Return the first row of each distinct pair, and for each row the number of its pair.

    Numbers are dense, in the order of the first rows; the left ids are below `count`.
    """
    firsts, numbers = np.empty(right.size, np.int64), np.empty(right.size, np.uint32)
    low, span = _range(right)
    known = 0
    if count * span <= TABLE_PER_ROW * right.size + FIRST_SLOTS:
        table = np.zeros(count * span, np.uint32)
        for part in slices(right.size, ROWS):
            pairs = left[part], right[part], low, span, part.start
            known = k.number_by_table(*pairs, table, firsts, known, numbers[part])
    else:
        slots, places = np.zeros(FIRST_SLOTS, np.uint64), np.zeros(FIRST_SLOTS, np.uint32)
        for part in slices(right.size, ROWS):
            hashed = left[part], right[part], part.start, slots, places
            slots, places, known = k.number_by_hash(*hashed, firsts, known, numbers[part])
    return firsts[:known].copy(), numbers


def first_rows(left: Ids, count: int, right: Ids) -> Integers:
    """Return the first row of each distinct pair; the left ids are below `count`."""
    firsts = np.empty(right.size, np.int64)
    low, span = _range(right)
    known = 0
    if count * span <= BITS_PER_ROW * right.size + FIRST_SLOTS:
        bits = np.zeros(count * span // 64 + 1, np.uint64)
        for part in slices(right.size, ROWS):
            pairs = left[part], right[part], low, span, part.start
            known = k.find_new_by_bits(*pairs, bits, firsts, known)
    else:
        slots, places = np.zeros(FIRST_SLOTS, np.uint64), np.zeros(0, np.uint32)
        for part in slices(right.size, ROWS):
            hashed = left[part], right[part], part.start, slots, places
            slots, places, known = k.number_by_hash(*hashed, firsts, known, places)
    return firsts[:known].copy()


def _range(ids: Ids) -> tuple[int, int]:
    low = int(ids.min())
    return low, int(ids.max()) - low + 1


def sizes_of(group: Ids, count: int) -> Integers:
    """Return how many rows each of `count` groups has."""
    sizes = np.zeros(count, np.int64)
    for part in slices(group.size, ROWS):
        k.count_rows(group[part], sizes)
    return sizes


def slices(size: int, step: int) -> Iterator[slice]:
    """Yield `step` of `size` places at a time."""
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))
