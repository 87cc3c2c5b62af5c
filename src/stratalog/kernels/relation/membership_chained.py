"""Membership of pairs of which one constant tells most: rows by it, on pages, chained.

A pair is found by its key, the constant in the column that chooses segments. Its page has the
newest row of that key, and each row knows the next. Where keys come in order, as they do in most
data, no cache is missed; a hash misses it for every pair. What is stored is inverted, as pages are.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    CAPACITY,
    CHAIN,
    COLUMNS,
    N_SEGMENTS,
    PAGED,
    ROWS,
    SEGMENT_DIRECTORY,
    SEGMENT_N_SLOTS,
    SEGMENT_PAGES,
    SEGMENT_WIDTH,
    SEGMENTED_BY,
    SEGMENTS,
    i64,
    u32,
)
from stratalog.kernels.relation.rows import (
    EMPTY,
    NEIGHBOURS,
    hash_step,
    new_page_slot,
    page_slot,
    page_slots,
    segment_of,
    slot_of,
)
from stratalog.kernels.sizes import sized

LONGEST = sized(64, 2)  # rows of one key; where there are more, their segment is hashed


@kernel
def is_hashed(segments, at):
    """Return whether a segment of a paged relation is hashed after all."""
    return segments[at + np.uint64(SEGMENT_N_SLOTS)] < 0


@kernel
def hashed_slots(segments, at):
    """Return the slots of a segment that is hashed after all."""
    return u32(segments[at], -segments[at + np.uint64(SEGMENT_N_SLOTS)])


@kernel
def hashed_slot(d, segments, at, first, second):
    """Return the slot of a pair in a hashed segment and its row, or a free slot and NULL."""
    columns = u32(d[COLUMNS], d[CAPACITY]), u32(d[COLUMNS + 1], d[CAPACITY])
    slots = hashed_slots(segments, at)
    n_slots = np.uint64(slots.size)
    slot = slot_of(hash_step(hash_step(np.uint64(2), first), second), n_slots)
    row = slots[slot]
    while row != EMPTY and (columns[0][row] != first or columns[1][row] != second):
        slot += np.uint64(1)
        if slot == n_slots:
            slot = np.uint64(0)
        row = slots[slot]
    return slot, row


@kernel
def newest_row(segments, at, key, shift):
    """Return the newest row of a key; NULL if it has none, or its segment is hashed."""
    if is_hashed(segments, at):
        return EMPTY
    slot = page_slot(segments, at, key, shift)
    return ~page_slots(segments, at)[slot] if slot >= 0 else EMPTY


@kernel
def find_chained(d, segments, first, second):
    """Return the row of a pair, or NULL."""
    by_second = d[SEGMENTED_BY] == 1
    key, other = (second, first) if by_second else (first, second)
    at = segment_of(d, np.uint64(0), key)
    if is_hashed(segments, at):
        return hashed_slot(d, segments, at, first, second)[1]
    return follow_chain(d, newest_row(segments, at, key, d[PAGED]), other)


@kernel
def follow_chain(d, row, other):
    """Return the row of a chain that has a constant in the column which is not its key, or NULL."""
    stored = u32(d[COLUMNS + (0 if d[SEGMENTED_BY] == 1 else 1)], d[CAPACITY])
    chain = u32(d[CHAIN], d[CAPACITY])
    while row != EMPTY and stored[row] != other:
        row = ~chain[row]
    return row


@kernel(work=lambda d, *_: d[ROWS])
def enter_chains(d):
    """Enter all rows into paged segments that have room for them and know none."""
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    keys = u32(d[COLUMNS + d[SEGMENTED_BY]], d[CAPACITY])
    chain = u32(d[CHAIN], d[CAPACITY])
    for row in range(np.uint64(d[ROWS])):
        at = segment_of(d, np.uint64(0), keys[row])
        slot = page_slot(segments, at, keys[row], d[PAGED])
        if slot < 0:
            slot = new_page_slot(segments, at, keys[row], d[PAGED])
        slots = page_slots(segments, at)
        chain[row] = slots[slot]
        slots[slot] = ~np.uint32(row)


@kernel
def list_chained(d, segment, listed):
    """List the rows of a paged segment, as many as there is room for; return how many it has."""
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    chain = u32(d[CHAIN], d[CAPACITY])
    at = np.uint64(segment * SEGMENT_WIDTH)
    slots = page_slots(segments, at)
    begin = np.uint64(segments[at + np.uint64(SEGMENT_DIRECTORY)])
    pages = np.uint64(segments[at + np.uint64(SEGMENT_PAGES)])
    n = np.uint64(0)
    for slot in range(begin, begin + (pages << NEIGHBOURS)):
        row = ~slots[slot]
        while row != EMPTY:
            if n < np.uint64(listed.size):
                listed[n] = row
            n += np.uint64(1)
            row = ~chain[row]
    return np.int64(n)
