"""Find the rows of facts, by hash or by page."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    N_SEGMENTS,
    PAGED,
    SEGMENT_N_SLOTS,
    SEGMENT_SLOTS,
    SEGMENT_WIDTH,
    SEGMENTED_BY,
    SEGMENTS,
    i64,
    u32,
)
from stratalog.kernels.relation.membership_chained import find_chained
from stratalog.kernels.relation.rows import (
    EMPTY,
    hash_step,
    is_same,
    page_slot,
    page_slots,
    segment_of,
    slot_of,
)


@kernel
def find_paged(d, segments, constant):
    """Return the row of a constant in a relation with one column, or NULL."""
    at = segment_of(d, np.uint64(0), constant)
    slot = page_slot(segments, at, constant, d[PAGED])
    return ~page_slots(segments, at)[slot] if slot >= 0 else EMPTY


@kernel
def find(d, facts, k):
    """Return the row of the fact facts[:, k], or NULL."""
    arity = d[ARITY]
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    if d[PAGED] != 0 and arity == 1:
        return find_paged(d, segments, facts[0, k])
    if d[PAGED] != 0:
        return find_chained(d, segments, facts[0, k], facts[1, k])
    h = np.uint64(arity)
    for c in range(arity):
        h = hash_step(h, facts[c, k])
    leading = facts[max(d[SEGMENTED_BY], 0), k] if arity > 0 else np.uint32(0)
    at = segment_of(d, h, leading)
    n_slots = np.uint64(segments[at + np.uint64(SEGMENT_N_SLOTS)])
    slots = u32(segments[at + np.uint64(SEGMENT_SLOTS)], n_slots)
    slot = slot_of(h, n_slots)
    while True:
        row = slots[slot]
        if row == EMPTY or is_same(d, row, facts, k):
            return row
        slot += np.uint64(1)
        if slot == n_slots:
            slot = np.uint64(0)


@kernel
def find_all(d, columns, size, rows):
    """Write the row of each fact columns[:, i] to rows[i], NULL where it is not stored."""
    for i in range(size):
        rows[i] = find(d, columns, i)
