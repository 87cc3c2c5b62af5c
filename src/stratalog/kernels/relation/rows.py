"""Rows of a relation: where their slots are. `find.py` finds, `merge.py` inserts them."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    CAPACITY,
    COLUMNS,
    COUNT_NONRECURSIVE,
    LABELS,
    N_SEGMENTS,
    NULL,
    PAGED,
    ROWS,
    SEGMENT_DIRECTORY,
    SEGMENT_N_SLOTS,
    SEGMENT_PAGE_ROOM,
    SEGMENT_PAGES,
    SEGMENT_ROWS,
    SEGMENT_WIDTH,
    SEGMENTED_BY,
    SEGMENTS,
    WIDE,
    i32,
    i64,
    u16,
    u32,
)
from stratalog.kernels.sizes import sized
from stratalog.kernels.wrapping import product

EMPTY = np.uint32(NULL)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)

NEIGHBOURS = np.uint64(sized(6, 1))  # bits: so many constants in a row share a segment, or a page
CLUSTERS = np.uint64(sized(8, 2))  # parts of a segment's slots, each a fit for the cache
_IN_PAGE = np.uint64((1 << int(NEIGHBOURS)) - 1)
MAX_SLOT_DISTANCE = np.uint64(
    sized(256, 4)
)  # slots by which no row misses its own in a table as full as ours
_CROWDED = np.uint64(4)  # bits: a segment with 16 slots for each row need not grow


@kernel
def hash_step(h, value):
    h = product(h ^ np.uint64(value), _MULTIPLIER)
    return h ^ (h >> _SHIFT)


@kernel
def slot_of(h, n_slots):
    """Return a slot for a hash: multiply-shift on the upper half, for any table size."""
    return ((h >> _SHIFT) * np.uint64(n_slots)) >> _SHIFT


@kernel
def is_crowded(slot, home, used, n_slots):
    """Return whether an empty slot is so far from a row's own that its segment should grow.

    Facts that come in the order of their hashes, as rows that were clustered once do, fill one
    part of the slots first. If the segment only grew when all of it is full, each of them would
    pass by all before it.
    """
    off = slot - home if slot >= home else slot + n_slots - home
    return off > MAX_SLOT_DISTANCE and np.uint64(used) << _CROWDED > n_slots


@kernel
def segment_of(d, h, leading):
    """Return where the segment of a fact begins, from its hash or its constant in one column.

    Constants that were numbered together come to the same segment: they tend to be read, derived
    and looked up together.
    """
    if d[SEGMENTED_BY] >= 0:
        h = np.uint64(leading) >> NEIGHBOURS
    return (h & np.uint64(d[N_SEGMENTS] - 1)) * np.uint64(SEGMENT_WIDTH)


@kernel
def page_slots(segments, at):
    """Return the slots of a paged segment: its directory, then its pages."""
    room = np.uint64(segments[at + np.uint64(SEGMENT_PAGE_ROOM)]) << NEIGHBOURS
    return u32(segments[at], np.uint64(segments[at + np.uint64(SEGMENT_DIRECTORY)]) + room)


@kernel
def page_slot(segments, at, constant, shift):
    """Return the slot of a constant in its paged segment, or -1 if it has no page."""
    page = np.uint64(constant) >> np.uint64(shift)
    n_pages = np.uint64(segments[at + np.uint64(SEGMENT_DIRECTORY)])
    if page >= n_pages:
        return np.int64(-1)
    number = ~u32(segments[at], n_pages)[page]
    if number == EMPTY:
        return np.int64(-1)
    inside = np.uint64(constant) & _IN_PAGE
    return np.int64(n_pages + (np.uint64(number) << NEIGHBOURS) + inside)


@kernel
def new_page_slot(segments, at, constant, shift):
    """Return the slot of a constant, on a page made for it; -1 if there is no room for one."""
    page = np.uint64(constant) >> np.uint64(shift)
    n_pages = np.uint64(segments[at + np.uint64(SEGMENT_DIRECTORY)])
    used = segments[at + np.uint64(SEGMENT_PAGES)]
    if page >= n_pages or used == segments[at + np.uint64(SEGMENT_PAGE_ROOM)]:
        return np.int64(-1)
    u32(segments[at], n_pages)[page] = ~np.uint32(used)
    segments[at + np.uint64(SEGMENT_PAGES)] = used + 1
    return page_slot(segments, at, constant, shift)


@kernel
def is_same(d, row, facts, k):
    """Return whether a row holds the fact facts[:, k]."""
    for c in range(d[ARITY]):  # noqa: SIM110  # numba has no `all`
        if u32(d[COLUMNS + c], d[CAPACITY])[row] != facts[c, k]:
            return False
    return True


@kernel(work=lambda _, __, ___, moved: moved.size)
def close_gaps(d, begins, ends, moved):
    """Move the last rows into gaps that lanes have left; moved[i] is where row `rows + i` is now.

    The gaps are taken rows that nobody has filled; `rows` is what is left without them.
    """
    arity, capacity = d[ARITY], d[CAPACITY]
    rows = d[ROWS] - moved.size
    labels = u16(d[LABELS], capacity)
    moved[:] = 0
    for g in range(begins.size):
        for p in range(max(begins[g], rows), ends[g]):
            moved[p - rows] = EMPTY
    source = np.int64(0)
    for g in range(begins.size):
        for p in range(begins[g], min(ends[g], rows)):
            while moved[source] == EMPTY:
                source += 1
            row = rows + source
            _renumber_slot(d, row, p)
            for c in range(arity):
                column = u32(d[COLUMNS + c], capacity)
                column[p] = column[row]
            labels[p] = labels[row]
            for count in (COUNT_NONRECURSIVE, COUNT_NONRECURSIVE + 1):
                if d[WIDE] != 0:
                    i64(d[count], capacity)[p] = i64(d[count], capacity)[row]
                else:
                    i32(d[count], capacity)[p] = i32(d[count], capacity)[row]
            moved[source] = np.uint32(p)
            source += 1
    for row in range(rows, d[ROWS]):
        labels[row] = 0
        for count in (COUNT_NONRECURSIVE, COUNT_NONRECURSIVE + 1):
            if d[WIDE] != 0:
                i64(d[count], capacity)[row] = 0
            else:
                i32(d[count], capacity)[row] = 0
    d[ROWS] = rows


@kernel
def _renumber_slot(d, row, other):
    """Let the slot of a row hold another row, which is about to have its fact.

    Threads share no relation with one column: none of these is paged.
    """
    capacity = d[CAPACITY]
    h = np.uint64(d[ARITY])
    for c in range(d[ARITY]):
        h = hash_step(h, u32(d[COLUMNS + c], capacity)[row])
    leading = u32(d[COLUMNS + max(d[SEGMENTED_BY], 0)], capacity)[row]
    at = segment_of(d, h, leading)
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    n_slots = np.uint64(segments[at + np.uint64(SEGMENT_N_SLOTS)])
    slots = u32(segments[at], n_slots)
    slot = slot_of(h, n_slots)
    while slots[slot] != np.uint32(row):
        slot += np.uint64(1)
        if slot == n_slots:
            slot = np.uint64(0)
    slots[slot] = np.uint32(other)


@kernel
def renumber(listed, rows, moved):
    """Write the new numbers of rows that `close_gaps` has moved into a list."""
    for i in range(listed.size):
        if np.int64(listed[i]) >= rows:
            listed[i] = moved[np.int64(listed[i]) - rows]


@kernel
def count_changes(leading, step):
    """Count how often, among every step-th row, the next row belongs to another segment."""
    n = 0
    for i in range(np.uint64(0), np.uint64(leading.size - 1), np.uint64(step)):
        n += (leading[i] >> NEIGHBOURS) != (leading[i + np.uint64(1)] >> NEIGHBOURS)
    return n


@kernel
def number_clusters(facts, by, n_segments, numbers, counts):
    """Give each fact the number of the part of a segment its slot is in; count those of each."""
    mask = np.uint64(n_segments - 1)
    for i in range(np.uint64(facts.shape[1])):
        h = np.uint64(facts.shape[0])
        for c in range(facts.shape[0]):
            h = hash_step(h, facts[c, i])
        segment = (np.uint64(facts[by, i]) >> NEIGHBOURS) & mask
        part = segment * CLUSTERS + slot_of(h, CLUSTERS)
        numbers[i] = part
        counts[part] += 1


@kernel
def cluster(facts, numbers, ends, out):
    """Write facts by their numbers; ends[n] is where those of number n go on."""
    for i in range(np.uint64(facts.shape[1])):
        at = np.uint64(ends[numbers[i]])
        ends[numbers[i]] += 1
        for c in range(facts.shape[0]):
            out[c, at] = facts[c, i]


@kernel(work=lambda _d, _listed, begin, end: end - begin, usual=True)
def enter_rows(d, listed, begin, end):
    """Enter rows into hashed segments that have room for them and do not know them.

    The rows are listed[begin:end], without its empty places, or begin..end where nothing is listed.
    """
    arity = d[ARITY]
    capacity = d[CAPACITY]
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    leading = u32(d[COLUMNS + max(d[SEGMENTED_BY], 0)], capacity)
    for i in range(np.uint64(begin), np.uint64(end)):
        row = listed[i] if listed.size else np.uint32(i)
        if row == EMPTY:
            continue
        h = np.uint64(arity)
        for c in range(arity):
            h = hash_step(h, u32(d[COLUMNS + c], capacity)[row])
        at = segment_of(d, h, leading[row] if arity > 0 else np.uint32(0))
        n_slots = np.uint64(abs(segments[at + np.uint64(SEGMENT_N_SLOTS)]))
        slots = u32(segments[at], n_slots)
        slot = slot_of(h, n_slots)
        while slots[slot] != EMPTY:
            slot += np.uint64(1)
            if slot == n_slots:
                slot = np.uint64(0)
        slots[slot] = row
        segments[at + np.uint64(SEGMENT_ROWS)] += 1


@kernel(work=lambda d: d[ROWS])
def enter_pages(d):
    """Enter all rows into paged segments that have room for them and know none."""
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    constants = u32(d[COLUMNS], d[CAPACITY])
    for row in range(np.uint64(d[ROWS])):
        constant = constants[row]
        at = segment_of(d, np.uint64(0), constant)
        slot = page_slot(segments, at, constant, d[PAGED])
        if slot < 0:
            slot = new_page_slot(segments, at, constant, d[PAGED])
        page_slots(segments, at)[slot] = ~np.uint32(row)


@kernel(work=lambda d, _: d[ROWS])
def count_segments(d, counts):
    """Count how many rows belong to each segment."""
    arity = d[ARITY]
    capacity = d[CAPACITY]
    leading = u32(d[COLUMNS + max(d[SEGMENTED_BY], 0)], capacity)
    for row in range(np.uint64(d[ROWS])):
        h = np.uint64(arity)
        for c in range(arity):
            h = hash_step(h, u32(d[COLUMNS + c], capacity)[row])
        at = segment_of(d, h, leading[row] if arity > 0 else np.uint32(0))
        counts[at // np.uint64(SEGMENT_WIDTH)] += 1
