"""The steps of a plan: each turns a block of bindings into the next.

A step first lists, for the bindings it produces, which input binding each comes from and which row
it has met; then it writes them variable by variable. Both lists lie in the `active` buffers of the
next level, which is idle while this one runs.

A probe follows the chains of a whole block in passes: each pass advances every chain by one row.
The reads of a pass do not depend on each other, so their cache misses overlap; facts are looked up
a block at a time for the same reason.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    CAPACITY,
    COLUMNS,
    DELTA,
    DIRECT,
    HASHED,
    INDEX_HEADS,
    INDEX_KEY_COLUMNS,
    INDEX_KIND,
    INDEX_N_HEADS,
    INDEX_NEXT,
    LABELS,
    N_SEGMENTS,
    NEGATED_DELTA,
    PAGED,
    ROWS,
    SEGMENT_WIDTH,
    SEGMENTS,
    i64,
    index_offset,
    u16,
    u32,
)
from stratalog.kernels.relation.find import find_paged
from stratalog.kernels.relation.index import chain_head, first_slot
from stratalog.kernels.relation.lookups import VARIABLE, find_facts, touch
from stratalog.kernels.relation.rows import EMPTY
from stratalog.kernels.sizes import sized

BLOCK = sized(1024, 3)  # bindings per block
SCAN_SLICE = sized(1 << 20, 5)  # rows that a scan visits at most before it looks at the clock
DESCRIPTOR = 1 << 16  # upper bound of a descriptor's length; descriptors know their own

# A step: [operation, relation, index, set, keys, binds, checks, copies], then those lists.
OPERATION, RELATION, INDEX, SET, N_KEYS, N_BINDS, N_CHECKS, N_COPIES, LISTS = range(9)
SCAN_DELTA, SCAN_NEGATED_DELTA, SCAN_ALL, SCAN_TABLE, PROBE, MEMBER, ABSENT, MEET = range(8)
# A bind is a column and a variable; a copy is a variable; a check is a column, a kind and a value.
CHECK_CONSTANT, CHECK_VARIABLE, CHECK_COLUMN = 0, 1, 2

# The state of a level.
N_IN, POSITION, READY, N_ACTIVE, PASS_POSITION, PASS_KEPT, EXHAUSTED, LEVEL_STATE = range(8)

# The state of a run, before the levels.
LEVEL, N_OUT, WORK, RUN_STATE = 0, 1, 2, 3


@kernel
def _passes(plan, at, d, row, bind, source, b):
    """Return whether the row's columns agree with the step's checks for input binding b."""
    checks = at + LISTS + 2 * plan[at + N_KEYS] + 2 * plan[at + N_BINDS]
    capacity = d[CAPACITY]
    for k in range(plan[at + N_CHECKS]):
        column = plan[checks + 3 * k]
        kind = plan[checks + 3 * k + 1]
        value = plan[checks + 3 * k + 2]
        constant = u32(d[COLUMNS + column], capacity)[row]
        if kind == CHECK_CONSTANT:
            wanted = np.uint32(value)
        elif kind == CHECK_VARIABLE:
            wanted = bind[source + value, b]
        else:
            wanted = u32(d[COLUMNS + value], capacity)[row]
        if constant != wanted:
            return False
    return True


@kernel
def _write(plan, at, d, bind, source, target, origin, met, m):
    """Write the first m bindings of the next level: copied variables and those that rows bind."""
    binds = at + LISTS + 2 * plan[at + N_KEYS]
    copies = binds + 2 * plan[at + N_BINDS] + 3 * plan[at + N_CHECKS]
    copy_variables(plan, copies, plan[at + N_COPIES], bind, source, target, origin, m)
    for k in range(plan[at + N_BINDS]):
        column = u32(d[COLUMNS + plan[binds + 2 * k]], d[CAPACITY])
        into = bind[target + plan[binds + 2 * k + 1]]
        for i in range(m):
            into[i] = column[met[i]]


@kernel
def copy_variables(plan, copies, n_copies, bind, source, target, origin, m):
    for k in range(n_copies):
        given, into = bind[source + plan[copies + k]], bind[target + plan[copies + k]]
        for i in range(m):
            into[i] = given[origin[i]]


@kernel
def _fill_key(plan, keys, n_keys, bind, source, b, key):
    for k in range(n_keys):
        value = plan[keys + 2 * k + 1]
        key[k] = np.uint32(value) if plan[keys + 2 * k] else bind[source + value, b]


@kernel
def scan_rows(plan, at, d, state, s, member, bind, source, target, active, level, slice_end):
    """Produce a block from a delta's rows, or all rows of a relation, for each input binding."""
    operation = plan[at + OPERATION]
    listed = operation != SCAN_ALL
    field = DELTA if operation != SCAN_NEGATED_DELTA else NEGATED_DELTA
    if state[s + READY] == 0:
        state[s + READY] = 1
        state[s + POSITION] = 0
        state[s + PASS_POSITION] = 0
        # Rows inserted from now on carry no label: no need to see them.
        state[s + N_ACTIVE] = d[field + 1] if listed else d[ROWS]
    size = state[s + N_ACTIVE]
    rows = u32(d[field], size)
    labels = u16(d[LABELS], d[CAPACITY])
    origin, met = active[2 * level + 2], active[2 * level + 3]
    is_checked = plan[at + N_CHECKS] > 0
    m = np.uint64(0)
    i, b = state[s + POSITION], state[s + PASS_POSITION]
    visited = 0
    most = min(SCAN_SLICE, slice_end - state[WORK])
    while b < state[s + N_IN] and m < BLOCK and visited < most:
        end = min(size, i + np.int64(np.uint64(BLOCK) - m))
        visited += end - i + 1
        for k in range(np.uint64(i), np.uint64(end)):
            row = rows[k] if listed else np.uint32(k)
            is_met = listed or member[labels[row]]
            if is_checked:
                is_met = is_met and _passes(plan, at, d, row, bind, source, np.uint64(b))
            origin[m] = np.uint32(b)
            met[m] = row
            m += np.uint64(is_met)
        i = end
        if i >= size:
            i = 0
            b += 1
    state[WORK] += visited
    state[s + POSITION], state[s + PASS_POSITION] = i, b
    state[s + EXHAUSTED] = b >= state[s + N_IN]
    _write(plan, at, d, bind, source, target, origin, met, m)
    return np.int64(m)


@kernel
def scan_table(plan, at, state, s, table, n_table, bind, target):
    """Produce a block from bindings that were computed outside."""
    if state[s + READY] == 0:
        state[s + READY] = 1
        state[s + POSITION] = 0
    begin = state[s + POSITION]
    end = min(begin + BLOCK, n_table)
    binds = at + LISTS
    for k in range(plan[at + N_BINDS]):
        column = plan[binds + 2 * k]
        v = target + plan[binds + 2 * k + 1]
        for i in range(begin, end):
            bind[v, i - begin] = table[column, i]
    state[s + POSITION] = end
    state[s + EXHAUSTED] = end >= n_table
    return end - begin


@kernel
def _find_heads(plan, at, d, n, bind, source, key, who, where):
    """List the input bindings whose key has rows, each with the first of its chain."""
    index = index_offset(d[ARITY], plan[at + INDEX])
    keys, n_keys = at + LISTS, plan[at + N_KEYS]
    found = np.uint64(0)
    if d[index + INDEX_KIND] == DIRECT and plan[keys] == VARIABLE:
        n_heads = np.uint64(d[index + INDEX_N_HEADS])
        heads = u32(d[index + INDEX_HEADS], n_heads)
        given = bind[source + plan[keys + 1]]
        for b in range(np.uint64(n)):
            constant = np.uint64(given[b])
            row = heads[constant] if constant < n_heads else EMPTY
            who[found] = np.uint32(b)
            where[found] = row
            found += np.uint64(row != EMPTY)
        return np.int64(found)
    if d[ROWS] == 0:
        return 0
    if d[index + INDEX_KIND] == HASHED:
        for b in range(n):
            _fill_key(plan, keys, n_keys, bind, source, b, key)
            where[b] = first_slot(d, index, key)
        column = u32(d[COLUMNS + d[index + INDEX_KEY_COLUMNS]], d[CAPACITY])
        touch(column, where, np.uint64(0), np.uint64(n), key)
    for b in range(n):
        _fill_key(plan, keys, n_keys, bind, source, b, key)
        row = chain_head(d, index, key)
        who[found] = np.uint32(b)
        where[found] = row
        found += np.uint64(row != EMPTY)
    return np.int64(found)


@kernel
def probe(plan, at, d, state, s, member, bind, source, target, active, level, key, slice_end):
    """Produce a block by following the chains of the input bindings' keys."""
    index = index_offset(d[ARITY], plan[at + INDEX])
    who, where = active[2 * level], active[2 * level + 1]
    origin, met = active[2 * level + 2], active[2 * level + 3]
    if state[s + READY] == 0:
        n = _find_heads(plan, at, d, state[s + N_IN], bind, source, key, who, where)
        state[WORK] += state[s + N_IN]
        state[s + READY] = 1
        state[s + N_ACTIVE] = n
        state[s + PASS_POSITION] = 0
        state[s + PASS_KEPT] = 0
    labels = u16(d[LABELS], d[CAPACITY])
    following = u32(d[index + INDEX_NEXT], d[CAPACITY])
    is_checked = plan[at + N_CHECKS] > 0
    n_active = np.uint64(state[s + N_ACTIVE])
    p, kept = np.uint64(state[s + PASS_POSITION]), np.uint64(state[s + PASS_KEPT])
    m = np.uint64(0)
    visited = 0
    while n_active > 0 and m < BLOCK and state[WORK] + visited < slice_end:
        end = min(n_active, p + np.uint64(BLOCK) - m)
        visited += np.int64(end - p)
        for k in range(p, end):
            b, row = who[k], where[k]
            is_met = member[labels[row]]
            if is_checked:
                is_met = is_met and _passes(plan, at, d, row, bind, source, np.uint64(b))
            origin[m] = b
            met[m] = row
            m += np.uint64(is_met)
            row = following[row]
            who[kept] = b
            where[kept] = row
            kept += np.uint64(row != EMPTY)
        p = end
        if p == n_active:
            n_active, p, kept = kept, np.uint64(0), np.uint64(0)
    state[WORK] += visited
    state[s + N_ACTIVE], state[s + PASS_POSITION] = np.int64(n_active), np.int64(p)
    state[s + PASS_KEPT] = np.int64(kept)
    state[s + EXHAUSTED] = n_active == 0
    _write(plan, at, d, bind, source, target, origin, met, m)
    return np.int64(m)


@kernel
def _look_up_paged(d, given, n, member, wanted, origin):
    """List the input bindings whose constant is in the set, or is not, of a paged relation."""
    segments = i64(d[SEGMENTS], d[N_SEGMENTS] * SEGMENT_WIDTH)
    labels = u16(d[LABELS], d[CAPACITY])
    m = np.uint64(0)
    for b in range(np.uint64(n)):
        row = find_paged(d, segments, given[b])
        some = row if row != EMPTY else np.uint32(0)
        is_in = (row != EMPTY) & member[labels[some]]
        origin[m] = np.uint32(b)
        m += np.uint64(is_in == wanted)
    return m


@kernel
def look_up(plan, at, d, state, s, member, bind, source, target, active, level, key):
    """Produce the input bindings whose fact is in the set, or is not."""
    wanted = plan[at + OPERATION] == MEMBER
    labels = u16(d[LABELS], d[CAPACITY])
    origin, found = active[2 * level + 2], active[2 * level + 3]
    n = state[s + N_IN]
    keys = at + LISTS
    if d[PAGED] != 0 and d[ARITY] == 1 and plan[keys] == VARIABLE and d[ROWS] > 0:
        m = _look_up_paged(d, bind[source + plan[keys + 1]], n, member, wanted, origin)
    else:
        for b in range(n):
            origin[b] = np.uint32(b)
        begin, end = np.uint64(0), np.uint64(n)
        values = bind[target]
        find_facts(plan, keys, d, bind, source, values, origin, begin, end, found, key)
        m = np.uint64(0)
        if d[ROWS] == 0:
            m = np.uint64(0 if wanted else n)
        else:
            for b in range(np.uint64(n)):
                row = found[b]
                some = row if row != EMPTY else np.uint32(0)
                is_in = (row != EMPTY) & member[labels[some]]
                origin[m] = np.uint32(b)
                m += np.uint64(is_in == wanted)
    copies = at + LISTS + 2 * plan[at + N_KEYS]
    copy_variables(plan, copies, plan[at + N_COPIES], bind, source, target, origin, m)
    state[WORK] += n
    state[s + EXHAUSTED] = 1
    return np.int64(m)
