"""Look up the facts of a block of candidates together, so that cache misses overlap."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    CAPACITY,
    COLUMNS,
    N_SEGMENTS,
    PAGED,
    ROWS,
    SEGMENT_N_SLOTS,
    SEGMENT_WIDTH,
    SEGMENTED_BY,
    SEGMENTS,
    i64,
    u32,
)
from stratalog.kernels.relation.find import find, find_paged
from stratalog.kernels.relation.membership_chained import (
    find_chained,
    follow_chain,
    is_hashed,
    newest_row,
)
from stratalog.kernels.relation.rows import EMPTY, hash_step, segment_of, slot_of

# A key is one of these and a variable or constant.
VARIABLE, CONSTANT, MET = 0, 1, 2


@kernel
def _value(kind, value, bind, source, values, origin, k):
    """Return what stands in a column of candidate k's fact."""
    if kind == VARIABLE:
        return bind[source + value, origin[k]]
    if kind == MET:
        return values[k]
    return np.uint32(value)


@kernel
def find_facts(plan, keys, d, bind, source, values, origin, begin, end, found, key):
    """Write the row of the fact of each candidate begin..end to `found`, NULL if it is not stored.

    Candidate k has the variables of input binding origin[k], and values[k] where a key is MET.
    """
    arity = d[ARITY]
    if d[ROWS] == 0:
        for k in range(begin, end):
            found[k] = EMPTY
    elif d[PAGED] != 0 and arity == 2:
        _find_chained(plan, keys, d, bind, source, values, origin, begin, end, found, key)
    elif d[PAGED] != 0:
        segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
        kind, value = plan[keys], plan[keys + 1]
        for k in range(begin, end):
            constant = _value(kind, value, bind, source, values, origin, k)
            found[k] = find_paged(d, segments, constant)
    elif arity == 1 or arity == 2:
        _find_narrow(plan, keys, d, bind, source, values, origin, begin, end, found, key)
    else:
        fact = key.reshape((key.size, 1))
        for k in range(begin, end):
            for c in range(arity):
                kind, value = plan[keys + 2 * c], plan[keys + 2 * c + 1]
                key[c] = _value(kind, value, bind, source, values, origin, k)
            found[k] = find(d, fact, 0)


@kernel
def touch(column, rows, begin, end, key):
    """Read a column of rows ahead: the cache misses of a block overlap."""
    read = np.uint32(0)
    for k in range(begin, end):
        read ^= column[rows[k] if rows[k] != EMPTY else np.uint32(0)]
    key[0] = read  # so that nobody leaves out what nobody uses


@kernel
def _find_narrow(plan, keys, d, bind, source, values, origin, begin, end, found, key):
    """Do the work of `find_facts` for one or two columns."""
    is_pair = d[ARITY] == 2
    last = keys + 2 if is_pair else keys
    kind_1, value_1, kind_2, value_2 = plan[keys], plan[keys + 1], plan[last], plan[last + 1]
    first = u32(d[COLUMNS], d[CAPACITY])
    second = u32(d[COLUMNS + 1], d[CAPACITY]) if is_pair else first
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    seed = np.uint64(d[ARITY])
    by = d[SEGMENTED_BY]
    for k in range(begin, end):
        x = _value(kind_1, value_1, bind, source, values, origin, k)
        z = _value(kind_2, value_2, bind, source, values, origin, k)
        h = hash_step(seed, x)
        if is_pair:
            h = hash_step(h, z)
        at = segment_of(d, h, z if by == 1 else x)
        n_slots = np.uint64(segments[at + np.uint64(SEGMENT_N_SLOTS)])
        found[k] = u32(segments[at], n_slots)[slot_of(h, n_slots)]
    touch(first, found, begin, end, key)
    for k in range(begin, end):
        row = found[k]
        x = _value(kind_1, value_1, bind, source, values, origin, k)
        z = _value(kind_2, value_2, bind, source, values, origin, k)
        some = row if row != EMPTY else np.uint32(0)
        if (row != EMPTY) & ((first[some] != x) | (second[some] != z)):
            h = hash_step(seed, x)
            if is_pair:
                h = hash_step(h, z)
            at = segment_of(d, h, z if by == 1 else x)
            n_slots = np.uint64(segments[at + np.uint64(SEGMENT_N_SLOTS)])
            slots = u32(segments[at], n_slots)
            slot = slot_of(h, n_slots)
            while row != EMPTY and (first[row] != x or second[row] != z):
                slot += np.uint64(1)
                if slot == n_slots:
                    slot = np.uint64(0)
                row = slots[slot]
            found[k] = row


@kernel
def _find_chained(plan, keys, d, bind, source, values, origin, begin, end, found, key):
    """Do the work of `find_facts` for two columns whose segments are paged."""
    by_second = d[SEGMENTED_BY] == 1
    by, to = (keys + 2, keys) if by_second else (keys, keys + 2)
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    for k in range(begin, end):
        x = _value(plan[by], plan[by + 1], bind, source, values, origin, k)
        found[k] = newest_row(segments, segment_of(d, np.uint64(0), x), x, d[PAGED])
    touch(u32(d[COLUMNS + (0 if by_second else 1)], d[CAPACITY]), found, begin, end, key)
    for k in range(begin, end):
        x = _value(plan[by], plan[by + 1], bind, source, values, origin, k)
        z = _value(plan[to], plan[to + 1], bind, source, values, origin, k)
        if found[k] != EMPTY:
            found[k] = follow_chain(d, found[k], z)
        elif is_hashed(segments, segment_of(d, np.uint64(0), x)):
            pair = (z, x) if by_second else (x, z)
            found[k] = find_chained(d, segments, pair[0], pair[1])
