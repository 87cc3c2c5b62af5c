"""Rows of a relation: find, insert with counts, label, filter, rehash."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    CAPACITY,
    COLUMNS,
    COUNT_NONRECURSIVE,
    LABELS,
    N_TOUCHED,
    NSLOTS,
    NULL,
    ROWS,
    SLOTS,
    TOUCHED,
    TOUCHED_CAPACITY,
    WIDE,
    i32,
    i64,
    u16,
    u32,
)

EMPTY = np.uint32(NULL)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
_I32_MAX = np.int64(2**31 - 1)

EXPLICIT_BIT = np.uint16(1 << 0)
SEEN_BIT = np.uint16(1 << 6)

BLOCK = 256  # candidates whose slots are fetched together, so that cache misses overlap

# What `merge` does with each candidate besides storing it.
UNCOUNTED = -1
AS_EXPLICIT = -2


@kernel
def hash_step(h, value):
    h = (h ^ np.uint64(value)) * _MULTIPLIER
    return h ^ (h >> _SHIFT)


@kernel
def slot_of(h, n_slots):
    """Return a slot for a hash: multiply-shift on the upper half, for any table size."""
    return ((h >> _SHIFT) * np.uint64(n_slots)) >> _SHIFT


@kernel
def find(d, key):
    """Return the row of the fact whose constants are `key`, or NULL."""
    arity = d[ARITY]
    h = np.uint64(arity)
    for c in range(arity):
        h = hash_step(h, key[c])
    n_slots = d[NSLOTS]
    slots = u32(d[SLOTS], n_slots)
    slot = slot_of(h, n_slots)
    while True:
        row = slots[slot]
        if row == EMPTY:
            return EMPTY
        same = True
        for c in range(arity):
            if u32(d[COLUMNS + c], d[CAPACITY])[row] != key[c]:
                same = False
                break
        if same:
            return row
        slot += np.uint64(1)
        if slot == np.uint64(n_slots):
            slot = np.uint64(0)


@kernel
def merge(d, out, begin, end, mode, slots_of):
    """Find or insert the candidates out[:, begin:end]; return how many were done.

    `mode` is the count that each candidate raises by one (0 or 1), UNCOUNTED, or AS_EXPLICIT. Rows
    touched for the first time are marked SEEN and listed. Stops early only when a 32-bit count
    would overflow.
    """
    arity = d[ARITY]
    capacity = d[CAPACITY]
    n_slots = d[NSLOTS]
    slots = u32(d[SLOTS], n_slots)
    labels = u16(d[LABELS], capacity)
    touched = u32(d[TOUCHED], d[TOUCHED_CAPACITY])
    counted = max(mode, 0)
    narrow = i32(d[COUNT_NONRECURSIVE + counted], capacity)
    wide = i64(d[COUNT_NONRECURSIVE + counted], capacity)
    is_wide = d[WIDE] != 0
    rows = np.uint64(d[ROWS])
    n_touched = np.uint64(d[N_TOUCHED])
    first = u32(d[COLUMNS], capacity)
    second = u32(d[COLUMNS + 1], capacity) if arity > 1 else first
    i = begin
    stopped = False
    while i < end and not stopped:
        stop = min(i + BLOCK, end)
        for k in range(i, stop):
            h = np.uint64(arity)
            for c in range(arity):
                h = hash_step(h, out[c, k])
            slots_of[k - i] = slot_of(h, n_slots)
        ahead = np.uint32(0)  # independent reads: the misses of a block overlap
        for k in range(i, stop):
            row = slots[slots_of[k - i]]
            if row != EMPTY:
                ahead += np.uint32(labels[row])
                if arity > 0:
                    ahead += first[row]
        slots_of[BLOCK] = np.uint64(ahead)
        for k in range(i, stop):
            slot = slots_of[k - i]
            while True:
                row = slots[slot]
                if row == EMPTY:
                    break
                if arity == 2:
                    if first[row] == out[0, k] and second[row] == out[1, k]:
                        break
                else:
                    same = True
                    for c in range(arity):
                        if u32(d[COLUMNS + c], capacity)[row] != out[c, k]:
                            same = False
                            break
                    if same:
                        break
                slot += np.uint64(1)
                if slot == np.uint64(n_slots):
                    slot = np.uint64(0)
            if row == EMPTY:
                row = np.uint32(rows)
                rows += np.uint64(1)
                slots[slot] = row
                for c in range(arity):
                    u32(d[COLUMNS + c], capacity)[row] = out[c, k]
            if mode == AS_EXPLICIT:
                if labels[row] & EXPLICIT_BIT == 0:
                    labels[row] |= EXPLICIT_BIT
                    if is_wide:
                        wide[row] += 1
                    else:
                        narrow[row] += np.int32(1)
            elif mode >= 0:
                if is_wide:
                    wide[row] += 1
                elif narrow[row] == _I32_MAX:
                    stopped = True
                    i = k
                    break
                else:
                    narrow[row] += np.int32(1)
            if labels[row] & SEEN_BIT == 0:
                labels[row] |= SEEN_BIT
                touched[n_touched] = row
                n_touched += np.uint64(1)
        if not stopped:
            i = stop
    d[ROWS] = np.int64(rows)
    d[N_TOUCHED] = np.int64(n_touched)
    return i


@kernel
def rehash(d):
    """Enter every row into an empty membership table."""
    arity = d[ARITY]
    capacity = d[CAPACITY]
    n_slots = d[NSLOTS]
    slots = u32(d[SLOTS], n_slots)
    for row in range(np.uint64(d[ROWS])):
        h = np.uint64(arity)
        for c in range(arity):
            h = hash_step(h, u32(d[COLUMNS + c], capacity)[row])
        slot = slot_of(h, n_slots)
        while slots[slot] != EMPTY:
            slot += np.uint64(1)
            if slot == np.uint64(n_slots):
                slot = np.uint64(0)
        slots[slot] = np.uint32(row)


@kernel
def find_all(d, columns, size, key, rows):
    """Write the row of each fact columns[:, i] to rows[i], NULL where it is not stored."""
    arity = d[ARITY]
    for i in range(size):
        for c in range(arity):
            key[c] = columns[c, i]
        rows[i] = find(d, key)


@kernel
def filter_rows(labels, rows, member, out):
    """Keep the rows whose label word is in the set; return how many."""
    n = np.uint64(0)
    for i in range(rows.size):
        row = rows[i]
        if member[labels[row]]:
            out[n] = row
            n += np.uint64(1)
    return n


@kernel
def scan_labels(labels, begin, end, member, out):
    """List the rows in begin..end whose label word is in the set; return how many."""
    n = np.uint64(0)
    for row in range(np.uint64(begin), np.uint64(end)):
        if member[labels[row]]:
            out[n] = np.uint32(row)
            n += np.uint64(1)
    return n


@kernel
def count_members(labels, end, member):
    """Count the rows below `end` whose label word is in the set."""
    n = 0
    for row in range(np.uint64(end)):
        if member[labels[row]]:
            n += 1
    return n


@kernel
def set_bits(labels, rows, bits):
    for i in range(rows.size):
        labels[rows[i]] |= bits


@kernel
def clear_bits(labels, rows, keep):
    for i in range(rows.size):
        labels[rows[i]] &= keep
