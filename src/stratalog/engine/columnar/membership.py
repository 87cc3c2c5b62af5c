"""Which facts a relation has: rows by hash, in segments that grow one at a time.

A fact's segment is chosen by one column, so that facts derived together, which mostly share it,
meet a part of the table that fits the cache. Segments fill at different times, so no update pays
for a whole table that grows.

A larger relation with one column needs no hash: its segments have pages of rows by constant, for
those ranges of constants of which it has any (`kernels/memory.py`). Nor does one with two columns,
if one of them is almost a key: rows of the same constant there are chained. A relation is hashed
after all if the pages turn out to be mostly empty, a segment if a constant has too many rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stratalog.kernels import memory
from stratalog.kernels.arrays import zeros
from stratalog.kernels.relation import membership_chained as chains
from stratalog.kernels.relation import rows
from stratalog.kernels.sizes import sized

if TYPE_CHECKING:
    from stratalog.engine.columnar.relation import Relation

Ids = npt.NDArray[np.uint32]

MAX_SEGMENTS = sized(256, 4)  # segments of a relation that is not small
MAX_SINGLE_SEGMENT_ROWS = sized(
    1 << 15, 3
)  # rows of the greatest relation that has a single segment
UNEVEN = sized(1 << 20, 4)  # rows that a segment may have, whatever its share
MANY_FACTS = sized(1 << 20, 8)  # that are worth sorting by segment
SAMPLE = sized(4096, 4)
LOAD = 0.6  # rows per slot at which a segment grows, to half of that
LOAD_TRIMMED = 0.7
MIN_SEGMENT_SLOTS = sized(8, 2)  # slots
FAST = sized(1 << 12, 4)  # slots below which a segment grows fourfold
PAGE = 1 << int(rows.NEIGHBOURS)  # slots
SPARSE = sized(16, 2)  # slots per row above which pages are given up
NONE: Ids = np.empty(0, np.uint32)
_GOLDEN = 0.6180339887498949


class MembershipTable:
    """The membership table of one relation."""

    def __init__(self, account: Callable[[int], None]) -> None:
        self._account = account
        self.by = 0  # the column that chooses a fact's segment, or EVERY_COLUMN
        self.is_paged = False
        self._needs_hash = False  # it had pages, and they were of no use
        self.table = np.zeros((1, memory.SEGMENT_WIDTH), np.int64)
        self._slots: list[Ids] = [NONE]
        self._renew(0, MIN_SEGMENT_SLOTS)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def nbytes(self) -> int:
        return sum(slots.nbytes for slots in self._slots)

    def describe(self, d: npt.NDArray[np.int64]) -> None:
        """Write where the segments are into the relation's descriptor."""
        d[memory.SEGMENTS] = self.table.ctypes.data
        d[memory.N_SEGMENTS] = len(self._slots)
        d[memory.SEGMENTED_BY] = self.by
        d[memory.PAGED] = self._page_shift if self.is_paged else 0

    @property
    def can_be_shared(self) -> bool:
        """Whether threads may merge facts at once, by the first column."""
        return self.by == 0 and not self.is_paged

    @property
    def _page_shift(self) -> int:
        """Bits of a constant that do not choose its page: of its segment and its place there."""
        return int(rows.NEIGHBOURS) + MAX_SEGMENTS.bit_length() - 1

    def _renew(self, segment: int, size: int, load: float = LOAD) -> Ids:
        """Give a segment empty slots; return the old ones."""
        old = self._slots[segment]
        size = max(size, MIN_SEGMENT_SLOTS)
        self._account(4 * (size - old.size))
        slots = self._slots[segment] = np.full(size, memory.NULL, np.uint32)
        self.table[segment] = (
            slots.ctypes.data,
            -size if self.is_paged else size,
            0,
            int(load * size),
        )
        return old

    def grow(self, relation: Relation, segment: int) -> None:
        """Make room in one segment, or divide the table anew where that is too uneven.

        Must not run while another thread uses the relation.
        """
        used = int(self.table[segment, memory.SEGMENT_ROWS])
        if self.is_paged and self.table[segment, memory.SEGMENT_DIRECTORY] > 0:
            self._add_pages(relation, segment)
        elif self.is_paged:
            self.enlarge(relation, segment, growth=0.0)
        elif len(self) == 1 and used >= MAX_SINGLE_SEGMENT_ROWS and relation.arity:
            self.divide(relation, self.by, relation.rows + 1)
        elif self.by >= 0 and used > max(UNEVEN, relation.rows // 4):
            self.divide(relation, memory.EVERY_COLUMN, relation.rows + 1)
        else:
            self.enlarge(relation, segment, growth=0.0)

    def enlarge(self, relation: Relation, segment: int, growth: float, extra: int = 1) -> None:
        """Make room in one segment, which other threads do not use.

        Room is made for `extra` rows at least, and for `growth` times as many as there are.
        """
        used, size = int(self.table[segment, memory.SEGMENT_ROWS]), self._slots[segment].size
        if self.is_paged and self.table[segment, memory.SEGMENT_DIRECTORY] > 0:
            self._add_pages(relation, segment)
            return
        size *= 4 if size < FAST else 2
        size = max(size, int(max(used * (1 + growth) * 1.1, (used + extra) * 1.5) / LOAD))
        self._enter(relation, self._renew(segment, size))

    def _enter(self, relation: Relation, listed: Ids) -> None:
        rows.enter_rows(relation.descriptor, listed, 0, listed.size)

    def expect(self, relation: Relation, extra: int, key: int | None = None) -> None:
        """Make room for rows that are mostly new; a column that is almost a key may be known."""
        total = relation.rows + extra
        if (
            key is not None
            and len(self) == 1
            and total > MAX_SINGLE_SEGMENT_ROWS
            and not self._needs_hash
        ):
            self._divide_into_pages(relation, total, key)
        elif len(self) == 1 and total <= MAX_SINGLE_SEGMENT_ROWS:
            if total > self.table[0, memory.SEGMENT_ROOM]:
                self._enter(relation, self._renew(0, int(total / LOAD * 1.5)))
        elif relation.arity and not self.is_paged and self._room < total:
            self.divide(relation, self.by, total)

    @property
    def _room(self) -> int:
        return int(self.table[:, memory.SEGMENT_ROOM].sum())

    def divide(self, relation: Relation, by: int, total: int) -> None:
        """Enter all rows anew, in segments by this column, with room for `total` rows."""
        n = MAX_SEGMENTS if total > MAX_SINGLE_SEGMENT_ROWS else 1
        if n == MAX_SEGMENTS and relation.arity == 1 and not self._needs_hash:
            self._divide_into_pages(relation, total, 0)
            return
        by = min(by, relation.arity - 1)
        d = relation.descriptor.copy()
        d[memory.N_SEGMENTS], d[memory.SEGMENTED_BY] = n, by
        counts = np.zeros(n, np.int64)
        rows.count_segments(d, counts)
        sizes = _staggered((counts + 1.1 * (total - relation.rows) / n) / LOAD)
        self._replace(sizes, memory.NULL, sizes, [int(LOAD * size) for size in sizes])
        self.by, self.is_paged = by, False
        relation.chain_rows(wanted=False)
        self.describe(relation.descriptor)
        rows.enter_rows(relation.descriptor, NONE, 0, relation.rows)

    def _replace(self, sizes: list[int], empty: int, n_slots: list[int], room: list[int]) -> None:
        """Have new segments, all empty."""
        self._account(4 * sum(sizes) - self.nbytes)
        together = zeros(sum(sizes), np.uint32)
        if empty:
            together.fill(empty)
        ends = np.cumsum(sizes)
        slots = [together[end - n : end] for end, n in zip(ends.tolist(), sizes, strict=True)]
        table = np.zeros((len(sizes), memory.SEGMENT_WIDTH), np.int64)
        table[:, memory.SEGMENT_SLOTS] = together.ctypes.data + 4 * (ends - sizes)
        table[:, memory.SEGMENT_N_SLOTS] = n_slots
        table[:, memory.SEGMENT_ROOM] = room
        self.table, self._slots = table, slots

    def _divide_into_pages(self, relation: Relation, total: int, by: int) -> None:
        """Enter all rows anew, in segments with pages for `total` rows, an eighth full each."""
        constants = relation.columns[by][: relation.rows]
        pages = np.unique(constants // np.uint32(PAGE))
        used = np.bincount(pages % np.uint32(MAX_SEGMENTS), minlength=MAX_SEGMENTS)
        highest = max(relation.constants, int(constants.max(initial=0)) + 1)
        directory = (highest * 5 // 4 >> self._page_shift) + 1
        more = (total - relation.rows) / (MAX_SEGMENTS * PAGE / 8)
        room = [min(n, directory) for n in _staggered(used + more, least=1)]
        self._replace([directory + PAGE * n for n in room], 0, [directory] * MAX_SEGMENTS, room)
        self.by, self.is_paged = by, True
        self.describe(relation.descriptor)
        if relation.arity == 1:
            rows.enter_pages(relation.descriptor)
        else:
            relation.chain_rows(wanted=True)
            chains.enter_chains(relation.descriptor)

    def hash_segment(self, relation: Relation, segment: int) -> None:
        """Hash a segment in which a constant has many rows; the others keep their pages.

        Where there are more such segments the column is no key, and all are hashed; but an update
        must not take that long.
        """
        hashed = int((self.table[:, memory.SEGMENT_DIRECTORY] < 0).sum())
        if hashed >= max(1, MAX_SEGMENTS // 8) and not relation.is_updating:
            self._needs_hash = True
            self.divide(relation, 0, relation.rows + 1)
            return
        size = chains.list_chained(relation.descriptor, segment, NONE)
        listed = np.empty(size, np.uint32)
        chains.list_chained(relation.descriptor, segment, listed)
        self._renew(segment, int(size / LOAD * 1.5))
        self._enter(relation, listed)

    def _add_pages(self, relation: Relation, segment: int) -> None:
        """Make room for more pages in one segment, or give pages up where few rows are on each."""
        paged = self.table[self.table[:, memory.SEGMENT_DIRECTORY] > 0]
        pages = int(paged[:, memory.SEGMENT_PAGES].sum())
        directories = int(paged[:, memory.SEGMENT_DIRECTORY].sum())
        if directories + PAGE * pages > SPARSE * max(relation.rows, MAX_SINGLE_SEGMENT_ROWS):
            self._needs_hash = True
            self.divide(relation, self.by, relation.rows + 1)
            return
        _, known, used, room = self.table[segment].tolist()
        directory = known
        highest = (relation.constants >> self._page_shift) + 1
        if used < room:  # no room in the directory
            directory = max(highest, known * 3 // 2 + 1)
        else:
            room = room * 3 // 2 + 1
        old = self._slots[segment]
        size = directory + PAGE * room
        self._account(4 * (size - old.size))
        slots = self._slots[segment] = np.zeros(size, np.uint32)
        slots[:known] = old[:known]
        slots[directory : directory + PAGE * used] = old[known : known + PAGE * used]
        self.table[segment] = slots.ctypes.data, directory, used, room

    def clustered(self, facts: Ids) -> Ids:
        """Return many facts by segment, so that to merge them meets one segment after the other.

        Facts that come by their leading constants, as in most files, are left as they are.
        """
        if facts.shape[1] < MANY_FACTS or len(self) == 1 or self.by < 0 or self.is_paged:
            return facts
        leading = facts[self.by]
        step = facts.shape[1] // SAMPLE
        if rows.count_changes(leading, step) < SAMPLE // 2:
            return facts
        counts = np.zeros(len(self) * int(rows.CLUSTERS) + 1, np.int64)
        numbers = np.empty(facts.shape[1], np.uint16)
        rows.number_clusters(facts, self.by, len(self), numbers, counts[1:])
        out = np.empty_like(facts)
        rows.cluster(facts, numbers, np.cumsum(counts), out)
        return out

    def trim(self, relation: Relation) -> None:
        """Give back the room for growth; pages have little."""
        if self.is_paged:
            return
        for segment, used in enumerate(self.table[:, memory.SEGMENT_ROWS].tolist()):
            size = int(used / LOAD_TRIMMED) + MIN_SEGMENT_SLOTS
            self._enter(relation, self._renew(segment, size, load=LOAD_TRIMMED))


def _staggered(sizes: npt.NDArray[np.floating[Any]], least: int = MIN_SEGMENT_SLOTS) -> list[int]:
    """Return once to twice the sizes, so that segments are full at different times."""
    shift = np.modf(np.arange(sizes.size) * _GOLDEN)[0]
    staggered: list[int] = np.maximum(least, np.ceil(sizes * 2**shift)).astype(np.int64).tolist()
    return staggered


def segment_of_constants(constants: Ids) -> Ids:
    """Return the segment of facts with each constant in the leading column, of MANY segments."""
    return (constants >> np.uint32(rows.NEIGHBOURS)) & np.uint32(MAX_SEGMENTS - 1)
