"""The plan interpreter: one kernel evaluates every rule, a block of bindings at a time.

A plan is an int64 array of steps. Step k reads a block of bindings and fills the next block; when
that is full, step k + 1 runs on it before step k goes on, so that memory stays bounded whatever
the size of the join. All cursors live in `state`: the kernel can stop anywhere (buffer full, time
slice over) and resume.

A probe follows the chains of a whole block in passes: each pass advances every chain by one row.
The reads of a pass do not depend on each other, so their cache misses overlap.
"""

from __future__ import annotations

import numpy as np
from numba import types

from stratalog.kernels.index import chain_head
from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    CAPACITY,
    COLUMNS,
    DELTA,
    INDEX_NEXT,
    LABELS,
    NEGATED_DELTA,
    ROWS,
    i64,
    index_offset,
    u16,
    u32,
)
from stratalog.kernels.rows import EMPTY, find, merge
from stratalog.kernels.sizes import sized

clock = types.ExternalFunction("clock", types.int64())  # C's clock(): CPU time in microseconds

BLOCK = sized(1024, 3)  # bindings per block
SCAN_SLICE = sized(1 << 20, 5)  # rows that a scan visits at most before it looks at the clock
DESCRIPTOR = 1 << 16  # upper bound of a descriptor's length; descriptors know their own

# A plan: [steps, variables, head relation, count mode, offset of each step ..., offset of the
# output].
PLAN_STEPS, PLAN_VARIABLES, PLAN_HEAD, PLAN_MODE, PLAN_OFFSETS = 0, 1, 2, 3, 4

# A step: [operation, relation, index, set, keys, binds, checks, copies], then those lists.
OPERATION, RELATION, INDEX, SET, N_KEYS, N_BINDS, N_CHECKS, N_COPIES, LISTS = range(9)
SCAN_DELTA, SCAN_NEGATED_DELTA, SCAN_ALL, SCAN_TABLE, PROBE, MEMBER, ABSENT = range(7)
# keys: (is constant, constant or variable); binds: (column, variable); copies: variable
# checks: (column, kind, value) with these kinds:
CHECK_CONSTANT, CHECK_VARIABLE, CHECK_COLUMN = 0, 1, 2

# The state of a level.
N_IN, POSITION, READY, N_ACTIVE, PASS_POSITION, PASS_KEPT, EXHAUSTED, LEVEL_STATE = range(8)

# The state of a run, before the levels.
LEVEL, N_OUT, WORK, RUN_STATE = 0, 1, 2, 3

DONE, FULL, PAUSED, STUCK = range(4)


@kernel
def start(state):
    """Set the state to the beginning of a plan: one empty binding."""
    state[LEVEL] = 0
    state[N_OUT] = 0
    state[RUN_STATE + N_IN] = 1
    state[RUN_STATE + READY] = 0


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
def _write(plan, at, d, row, bind, source, b, target, m):
    """Write binding m of the next level: copied variables and those the row binds."""
    binds = at + LISTS + 2 * plan[at + N_KEYS]
    n_binds = plan[at + N_BINDS]
    copies = binds + 2 * n_binds + 3 * plan[at + N_CHECKS]
    for k in range(plan[at + N_COPIES]):
        v = plan[copies + k]
        bind[target + v, m] = bind[source + v, b]
    capacity = d[CAPACITY]
    for k in range(n_binds):
        column = u32(d[COLUMNS + plan[binds + 2 * k]], capacity)
        bind[target + plan[binds + 2 * k + 1], m] = column[row]


@kernel
def _fill_key(plan, at, bind, source, b, key):
    for k in range(plan[at + N_KEYS]):
        value = plan[at + LISTS + 2 * k + 1]
        key[k] = np.uint32(value) if plan[at + LISTS + 2 * k] else bind[source + value, b]


@kernel
def _scan_rows(plan, at, d, state, s, member, bind, source, target):
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
    m = 0
    i, b = state[s + POSITION], state[s + PASS_POSITION]
    visited = 0
    while b < state[s + N_IN] and m < BLOCK and visited < SCAN_SLICE:
        before = i
        end = min(size, i + SCAN_SLICE)
        while i < end and m < BLOCK:
            row = rows[np.uint64(i)] if listed else np.uint32(i)
            if (listed or member[labels[row]]) and _passes(plan, at, d, row, bind, source, b):
                _write(plan, at, d, row, bind, source, b, target, m)
                m += 1
            i += 1
        visited += i - before + 1
        if i >= size:
            i = 0
            b += 1
    state[WORK] += visited
    state[s + POSITION], state[s + PASS_POSITION] = i, b
    state[s + EXHAUSTED] = b >= state[s + N_IN]
    return m


@kernel
def _scan_table(plan, at, state, s, table, n_table, bind, target):
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
def _probe(plan, at, d, state, s, member, bind, source, target, active, level, key, slice_end):
    """Produce a block by following the chains of the input bindings' keys."""
    index = index_offset(d[ARITY], plan[at + INDEX])
    labels = u16(d[LABELS], d[CAPACITY])
    following = u32(d[index + INDEX_NEXT], d[CAPACITY])
    who, where = active[2 * level], active[2 * level + 1]
    if state[s + READY] == 0:
        n = 0
        for b in range(state[s + N_IN]):
            _fill_key(plan, at, bind, source, b, key)
            row = chain_head(d, index, key)
            if row != EMPTY:
                who[n] = np.uint32(b)
                where[n] = row
                n += 1
        state[WORK] += state[s + N_IN]
        state[s + READY] = 1
        state[s + N_ACTIVE] = n
        state[s + PASS_POSITION] = 0
        state[s + PASS_KEPT] = 0
    n_active, p, kept = state[s + N_ACTIVE], state[s + PASS_POSITION], state[s + PASS_KEPT]
    m = 0
    visited = 0
    while n_active > 0 and m < BLOCK and state[WORK] + visited < slice_end:
        before = p
        while p < n_active and m < BLOCK:
            b, row = np.int64(who[p]), where[p]
            if member[labels[row]] and _passes(plan, at, d, row, bind, source, b):
                _write(plan, at, d, row, bind, source, b, target, m)
                m += 1
            row = following[row]
            if row != EMPTY:
                who[kept] = np.uint32(b)
                where[kept] = row
                kept += 1
            p += 1
        visited += p - before
        if p == n_active:
            n_active, p, kept = kept, 0, 0
    state[WORK] += visited
    state[s + N_ACTIVE], state[s + PASS_POSITION], state[s + PASS_KEPT] = n_active, p, kept
    state[s + EXHAUSTED] = n_active == 0
    return m


@kernel
def _look_up(plan, at, d, state, s, member, bind, source, target, key):
    """Produce the input bindings whose fact is in the set, or is not."""
    wanted = plan[at + OPERATION] == MEMBER
    labels = u16(d[LABELS], d[CAPACITY])
    fact = key.reshape((key.size, 1))
    m = 0
    for b in range(state[s + N_IN]):
        _fill_key(plan, at, bind, source, b, key)
        row = find(d, fact, 0)
        if (row != EMPTY and member[labels[row]]) == wanted:
            _write(plan, at, d, np.uint32(0), bind, source, b, target, m)
            m += 1
    state[WORK] += state[s + N_IN]
    state[s + EXHAUSTED] = 1
    return m


@kernel
def _emit(plan, at, state, s, bind, source, out):
    """Append the output of the last level's bindings to `out`."""
    n, begin = state[s + N_IN], state[N_OUT]
    for c in range(plan[at]):
        value = plan[at + 2 + 2 * c]
        if plan[at + 1 + 2 * c]:
            out[c, begin : begin + n] = np.uint32(value)
        else:
            for i in range(n):
                out[c, begin + i] = bind[source + value, i]
    state[N_OUT] = begin + n


@kernel
def evaluate(plan, relations, sets, state, bind, active, key, table, n_table, out, slice_end):
    """Run a plan until it is done, `out` cannot take another block, or the time slice is over."""
    steps, variables = plan[PLAN_STEPS], plan[PLAN_VARIABLES]
    level = state[LEVEL]
    while level >= 0:
        s = RUN_STATE + level * LEVEL_STATE
        at = plan[PLAN_OFFSETS + level]
        source = level * variables
        if level == steps:
            if state[N_OUT] + state[s + N_IN] > out.shape[1]:
                state[LEVEL] = level
                return FULL
            _emit(plan, at, state, s, bind, source, out)
            level -= 1
            if level >= 0 and state[s - LEVEL_STATE + EXHAUSTED] != 0:
                level = _climb(state, level)
            continue
        operation = plan[at + OPERATION]
        target = source + variables
        if operation == SCAN_TABLE:
            m = _scan_table(plan, at, state, s, table, n_table, bind, target)
        else:
            d = i64(relations[plan[at + RELATION]], DESCRIPTOR)
            member = sets[plan[at + SET]]
            if operation == PROBE:
                m = _probe(
                    plan,
                    at,
                    d,
                    state,
                    s,
                    member,
                    bind,
                    source,
                    target,
                    active,
                    level,
                    key,
                    slice_end,
                )
            elif operation in (MEMBER, ABSENT):
                m = _look_up(plan, at, d, state, s, member, bind, source, target, key)
            else:
                m = _scan_rows(plan, at, d, state, s, member, bind, source, target)
        if m > 0:
            level += 1
            state[s + LEVEL_STATE + N_IN] = m
            state[s + LEVEL_STATE + READY] = 0
        elif state[s + EXHAUSTED] != 0:
            level = _climb(state, level)
        if state[WORK] >= slice_end:
            state[LEVEL] = level
            return PAUSED if level >= 0 else DONE
    state[LEVEL] = level
    return DONE


@kernel
def _climb(state, level):
    """Return the nearest level, from `level` up, whose input is not used up, or -1."""
    while level >= 0 and state[RUN_STATE + level * LEVEL_STATE + EXHAUSTED] != 0:
        level -= 1
    return level


# The state of a run over several plans.
PLAN_NUMBER, PENDING, LAST_STATUS, MERGED, SINCE, BATCH_STATE = range(6)


@kernel
def evaluate_all(
    plans,
    offsets,
    relations,
    sets,
    batch,
    state,
    bind,
    active,
    key,
    out,
    ahead,
    profile,
    stop,
    work,
):
    """Run plans one after the other and merge what they derive into their head relations.

    Returns DONE, PAUSED, or that a merge into the head relation of plan batch[PLAN_NUMBER] is
    STUCK. profile[p] gains the derivations, rows visited and microseconds of plan p.
    """
    nothing = out[:, :0]
    weights = profile[0, :0]
    slice_end = state[WORK] + work
    while batch[PLAN_NUMBER] < offsets.size - 1:
        p = batch[PLAN_NUMBER]
        plan = plans[offsets[p] : offsets[p + 1]]
        if batch[PENDING] == 0:
            if stop[0] != 0:
                return PAUSED
            before = state[WORK]
            batch[LAST_STATUS] = evaluate(
                plan, relations, sets, state, bind, active, key, nothing, 0, out, slice_end
            )
            profile[p, 1] += state[WORK] - before
            batch[PENDING] = 1
            batch[MERGED] = 0
        n = state[N_OUT]
        if n > batch[MERGED]:
            d = i64(relations[plan[PLAN_HEAD]], DESCRIPTOR)
            batch[MERGED] = merge(d, 0, out, weights, batch[MERGED], n, plan[PLAN_MODE], ahead)
            if batch[MERGED] < n:
                return STUCK
            profile[p, 0] += n
        state[N_OUT] = 0
        batch[PENDING] = 0
        now = clock()
        profile[p, 2] += now - batch[SINCE]
        batch[SINCE] = now
        if batch[LAST_STATUS] == DONE:
            batch[PLAN_NUMBER] += 1
            start(state)
        elif batch[LAST_STATUS] == PAUSED:
            return PAUSED
    return DONE
