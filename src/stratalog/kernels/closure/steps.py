"""The steps of a plan that read a closure in place of rows: all pairs, those of a key, or one.

Which pairs are in a set is decided for all that were lost, kept or gained at once: each of these
regions has one label word.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.closure.list_rows import END, START
from stratalog.kernels.closure.read import DESCRIPTOR, closure_contains, closure_list, closure_scan
from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    CLOSURE,
    CLOSURE_BY,
    CLOSURE_TURNED,
    CLOSURE_WORDS,
    INDEX_KEY_COLUMNS,
    i64,
    index_offset,
    u16,
)
from stratalog.kernels.plan.steps import (
    ABSENT,
    BLOCK,
    CHECK_CONSTANT,
    CHECK_VARIABLE,
    EXHAUSTED,
    INDEX,
    LISTS,
    MEMBER,
    N_ACTIVE,
    N_BINDS,
    N_CHECKS,
    N_COPIES,
    N_IN,
    N_KEYS,
    OPERATION,
    POSITION,
    PROBE,
    READY,
    WORK,
    copy_variables,
)

REGIONS = 3  # lost, kept, gained


@kernel
def regions_in(d, member):
    """Return the regions of a relation's closure whose pairs are in a set."""
    words = u16(d[CLOSURE_WORDS], REGIONS)
    regions = 0
    for r in range(REGIONS):
        if member[words[r]]:
            regions |= 1 << r
    return regions


@kernel
def _begin(state, s):
    """Start at the first input binding, if that has not been done."""
    if state[s + READY] == 0:
        state[s + READY] = 1
        state[s + POSITION] = 0
        state[s + N_ACTIVE] = 0
        state[s + N_ACTIVE + 1] = 0


@kernel
def _agrees(plan, at, first, second, bind, source, b):
    """Return whether a pair agrees with the step's checks for input binding b."""
    checks = at + LISTS + 2 * plan[at + N_KEYS] + 2 * plan[at + N_BINDS]
    for k in range(plan[at + N_CHECKS]):
        column, kind = plan[checks + 3 * k], plan[checks + 3 * k + 1]
        value = plan[checks + 3 * k + 2]
        if kind == CHECK_CONSTANT:
            wanted = np.uint32(value)
        elif kind == CHECK_VARIABLE:
            wanted = bind[source + value, b]
        else:
            wanted = second if value else first
        if (second if column else first) != wanted:
            return False
    return True


@kernel
def _bind(plan, at, column, values, bind, target, m):
    """Write the variable that a column binds, if it does."""
    binds = at + LISTS + 2 * plan[at + N_KEYS]
    for k in range(plan[at + N_BINDS]):
        if plan[binds + 2 * k] == column:
            bind[target + plan[binds + 2 * k + 1], :m] = values[:m]


@kernel
def _copies(plan, at):
    return at + LISTS + 2 * plan[at + N_KEYS] + 2 * plan[at + N_BINDS] + 3 * plan[at + N_CHECKS]


@kernel
def scan_closure(plan, at, d, state, s, member, bind, source, target, active, level):
    """Produce a block from all pairs of a set, for one input binding after the other."""
    _begin(state, s)
    firsts, seconds = active[2 * level + 2], active[2 * level + 3]
    b = state[s + POSITION]
    regions = regions_in(d, member)
    cursor = state[s + N_ACTIVE : s + N_ACTIVE + 2]
    found = 0
    if regions != 0:
        closure = i64(d[CLOSURE], DESCRIPTOR)
        found = closure_scan(closure, regions, cursor, firsts, seconds, 0, BLOCK)
    if d[CLOSURE_TURNED] != 0:
        firsts, seconds = seconds, firsts
    if found < BLOCK:
        cursor[:] = 0
        state[s + POSITION] += 1
    m = found
    if plan[at + N_CHECKS] > 0:
        m = 0
        for i in range(found):
            firsts[m], seconds[m] = firsts[i], seconds[i]
            m += _agrees(plan, at, firsts[i], seconds[i], bind, source, b)
    _bind(plan, at, 0, firsts, bind, target, m)
    _bind(plan, at, 1, seconds, bind, target, m)
    copies = _copies(plan, at)
    for k in range(plan[at + N_COPIES]):
        bind[target + plan[copies + k], :m] = bind[source + plan[copies + k], b]
    state[WORK] += found + 1
    state[s + EXHAUSTED] = state[s + POSITION] >= state[s + N_IN]
    return np.int64(m)


@kernel
def _value(plan, at, bind, source, b):
    """Return what the place of a key or an argument stands for."""
    value = plan[at + 1]
    return np.uint32(value) if plan[at] else bind[source + value, b]


@kernel
def list_closure(plan, at, d, state, s, member, bind, source, target, active, level):
    """Produce a block from the pairs of a set that have the input bindings' keys."""
    _begin(state, s)
    column = d[index_offset(d[ARITY], plan[at + INDEX]) + INDEX_KEY_COLUMNS]
    origin, met = active[2 * level + 2], active[2 * level + 3]
    closure = i64(d[CLOSURE_BY + column], DESCRIPTOR)
    regions = regions_in(d, member)
    b, cursor = state[s + POSITION], state[s + N_ACTIVE]
    if regions == 0:
        b = state[s + N_IN]
    is_checked = plan[at + N_CHECKS] > 0
    m = 0
    visited = 0
    while b < state[s + N_IN] and m < BLOCK:
        key = _value(plan, at + LISTS, bind, source, b)
        end, cursor = closure_list(closure, key, cursor, regions, met, m, BLOCK)
        visited += end - m + 1
        for i in range(m, end):
            value = met[i]
            origin[m] = np.uint32(b)
            met[m] = value
            is_met = True
            if is_checked:
                first, second = (value, key) if column else (key, value)
                is_met = _agrees(plan, at, first, second, bind, source, b)
            m += is_met
        if cursor == END:
            cursor = START
            b += 1
    state[s + POSITION], state[s + N_ACTIVE] = b, cursor
    state[s + EXHAUSTED] = b >= state[s + N_IN]
    state[WORK] += visited
    _bind(plan, at, 1 - column, met, bind, target, m)
    copy_variables(
        plan, _copies(plan, at), plan[at + N_COPIES], bind, source, target, origin, np.uint64(m)
    )
    return np.int64(m)


@kernel
def look_up_closure(plan, at, d, state, s, member, bind, source, target, active, level):
    """Produce the input bindings whose pair is in a set, or is not."""
    wanted = plan[at + OPERATION] == MEMBER
    closure = i64(d[CLOSURE], DESCRIPTOR)
    regions = regions_in(d, member)
    origin = active[2 * level + 2]
    n = state[s + N_IN]
    first_at, second_at = at + LISTS, at + LISTS + 2
    if d[CLOSURE_TURNED] != 0:
        first_at, second_at = second_at, first_at
    m = 0
    for b in range(n):
        first = _value(plan, first_at, bind, source, b)
        second = _value(plan, second_at, bind, source, b)
        is_in = closure_contains(closure, first, second) & regions != 0
        origin[m] = np.uint32(b)
        m += is_in == wanted
    copies = at + LISTS + 2 * plan[at + N_KEYS]
    copy_variables(plan, copies, plan[at + N_COPIES], bind, source, target, origin, np.uint64(m))
    state[WORK] += n
    state[s + EXHAUSTED] = 1
    return np.int64(m)


@kernel
def read_closure(plan, at, d, state, s, member, bind, source, target, active, level):
    """Produce a block from a closure, by whichever step reads it."""
    operation = plan[at + OPERATION]
    if operation == PROBE:
        return list_closure(plan, at, d, state, s, member, bind, source, target, active, level)
    if operation in (MEMBER, ABSENT):
        return look_up_closure(plan, at, d, state, s, member, bind, source, target, active, level)
    return scan_closure(plan, at, d, state, s, member, bind, source, target, active, level)


@kernel
def no_closure(_plan, _at, _d, _state, _s, _member, _bind, _source, _target, _active, _level):
    """Stand for `read_closure` where no relation is a closure, so that none is compiled."""
    return np.int64(0)
