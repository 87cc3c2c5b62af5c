"""What a closure has of two versions: the row of each node before and after, and who uses rows.

A row is a set of nodes that are all related to by the nodes which have it: bits or runs of columns,
or the members of a component. It never changes. Nodes of one component share a row, as do versions.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.closure.bits import u64
from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import i64
from stratalog.kernels.relation.rows import EMPTY

# Fields of a row.
ADDRESS = 0  # of its words
WORDS = 1
COUNT = 2  # of nodes in it
USERS = 3  # nodes that have it before, and nodes that have it after
SPAN = 4  # of columns: first word of them that is not zero | word after the last << 32
IS_RUNS = 5  # whether words are runs of columns, begin << 32 | end, or bits
RECORD = 6

# Fields of the state that kernels share while a closure changes.
NEXT = 0  # component to make the row of
N_ROWS = 1  # records in use, free ones too
N_FREE = 2
SPACE = 3  # address of the words that rows may take next
SPACE_LEFT = 4
SPACE_WANTED = 5
LIVE_WORDS = 6
N_CHANGED = 7  # nodes listed as changed
PAIRS_BEFORE = 8
PAIRS_AFTER = 9
EASE = 10  # words by which a row seems longer when it is asked whether it is kept as runs
STATE = 11


@kernel
def records(address, size):
    return i64(address, size * RECORD).reshape(size, RECORD)


@kernel
def take_row(rows, free, state, words, count, span, is_runs):
    """Make the next words in space a row; return its number."""
    if state[N_FREE] > 0:
        state[N_FREE] -= 1
        r = free[state[N_FREE]]
    else:
        r = np.uint32(state[N_ROWS])
        state[N_ROWS] += 1
    row = rows[r]
    row[ADDRESS] = state[SPACE]
    row[WORDS], row[COUNT], row[USERS] = words, count, 0
    row[SPAN], row[IS_RUNS] = span, is_runs
    state[SPACE] += 8 * words
    state[SPACE_LEFT] -= words
    state[LIVE_WORDS] += words
    return r


@kernel
def _release(rows, free, state, r):
    rows[r, USERS] -= 1
    if rows[r, USERS] == 0:
        state[LIVE_WORDS] -= rows[r, WORDS]
        rows[r, WORDS] = 0
        free[state[N_FREE]] = r
        state[N_FREE] += 1


@kernel
def give_row(rows, free, state, versions, v, r):
    """Make r, or none if NULL, the row of v after; return whether that is another than it was."""
    _, after, is_listed, changed = versions
    old = after[v]
    if old == r:
        return False
    if r != EMPTY:
        rows[r, USERS] += 1
        state[PAIRS_AFTER] += rows[r, COUNT]
    after[v] = r
    if old != EMPTY:
        state[PAIRS_AFTER] -= rows[old, COUNT]
        _release(rows, free, state, old)
    if not is_listed[v]:
        is_listed[v] = True
        changed[state[N_CHANGED]] = v
        state[N_CHANGED] += 1
    return True


@kernel
def settle(rows, free, state, versions, forwards):
    """Make `before` what `after` is, or else `after` what `before` is; nothing has changed then."""
    before, after, is_listed, changed = versions
    kept, dropped = (after, before) if forwards else (before, after)
    for i in range(state[N_CHANGED]):
        v = changed[i]
        is_listed[v] = False
        if before[v] != after[v]:
            if kept[v] != EMPTY:
                rows[kept[v], USERS] += 1
            old = dropped[v]
            dropped[v] = kept[v]
            if old != EMPTY:
                _release(rows, free, state, old)
    state[N_CHANGED] = 0
    if forwards:
        state[PAIRS_BEFORE] = state[PAIRS_AFTER]
    else:
        state[PAIRS_AFTER] = state[PAIRS_BEFORE]


@kernel
def move_rows(rows, state):
    """Copy the words of all rows into space."""
    for r in range(state[N_ROWS]):
        words = rows[r, WORDS]
        if rows[r, USERS] > 0:
            source, target = u64(rows[r, ADDRESS], words), u64(state[SPACE], words)
            for k in range(words):
                target[k] = source[k]
            rows[r, ADDRESS] = state[SPACE]
            state[SPACE] += 8 * words
            state[SPACE_LEFT] -= words
