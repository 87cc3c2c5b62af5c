"""Reading a closure from kernels: by its descriptor, whatever form it has.

A pair that holds before and after is KEPT; one that holds before only is LOST, after only GAINED.
Regions are sums of these.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.closure.bits import u64
from stratalog.kernels.closure.list_rows import (
    END,
    MEETING,
    START,
    WHOLE,
    WITHOUT,
    count_meeting,
    has_column,
    list_columns,
    list_members,
    list_whole_bits,
)
from stratalog.kernels.closure.nodes import node_of
from stratalog.kernels.closure.versions import COUNT, IS_RUNS, records
from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import u32
from stratalog.kernels.relation.rows import EMPTY

LOST, KEPT, GAINED = 1, 2, 4

# Fields of a descriptor.
KIND = 0
KEY_TABLE, KEY_SLOTS = 1, 2  # address and size of uint64: the nodes of first constants
VALUE_TABLE, VALUE_SLOTS = 3, 4  # the same of second constants
N_NODES = 5
CONSTANTS = 6  # address of uint32[nodes]
BEFORE, AFTER = 7, 8  # address of uint32[nodes]: rows
ROWS, ROWS_SIZE = 9, 10  # address of int64[rows * RECORD]
CHANGED, CHANGED_SIZE = 11, 12  # address of uint32: nodes whose rows before and after may differ
COLUMN = 13  # of rows of columns. Address of uint32[nodes]
CONSTANT_AT, N_COLUMNS = 14, 15  # address of uint32[columns]
PART_BEFORE, PART_AFTER, PART_SIZE = 13, 14, 15  # of components. Addresses of uint32[nodes]
DESCRIPTOR = 16

ROWS_OF_COLUMNS, COMPONENTS = 0, 1  # kinds

NEXT_PLACE, CURSOR, SCAN_STATE = 0, 1, 2  # how far all pairs have been read

_SECOND = np.int64(1) << np.int64(33)  # added to cursors in the second of two rows


@kernel
def _node(d, table, constant):
    return node_of(u64(d[table], d[table + 1]), constant)


@kernel
def _part(d, v, which):
    """Return PART_BEFORE, PART_AFTER or PART_SIZE of a node."""
    return np.int64(u32(d[which], d[N_NODES])[v])


@kernel
def closure_contains(d, x, z):
    """Return the region of the pair (x, z), 0 if it holds neither before nor after."""
    u, v = _node(d, KEY_TABLE, x), _node(d, VALUE_TABLE, z)
    if u == EMPTY or v == EMPTY:
        return 0
    before, after = u32(d[BEFORE], d[N_NODES]), u32(d[AFTER], d[N_NODES])
    if d[KIND] == COMPONENTS:
        held = before[u] != EMPTY and before[u] == before[v]
        holds = after[u] != EMPTY and after[u] == after[v]
    else:
        column = np.uint64(u32(d[COLUMN], d[N_NODES])[v])
        if column == np.uint64(EMPTY):
            return 0
        rows = records(d[ROWS], d[ROWS_SIZE])
        held = has_column(rows, before[u], column)
        holds = held if before[u] == after[u] else has_column(rows, after[u], column)
    if held:
        return KEPT if holds else LOST
    return GAINED if holds else 0


@kernel
def _choose_row(regions, before, after, is_second):
    """Return the row to read for some regions, how much of it, and in view of which other.

    Only where LOST and GAINED pairs are both wanted there is a second row to read.
    """
    if before == after:
        return (before if regions & KEPT and not is_second else EMPTY), WHOLE, EMPTY
    if not is_second:
        if regions & LOST:
            return before, WHOLE if regions & KEPT else WITHOUT, after
        if regions & KEPT:
            return after, WHOLE if regions & GAINED else MEETING, before
        return after, WITHOUT, before
    return (after if regions & LOST and regions & GAINED else EMPTY), WITHOUT, before


@kernel
def _is_whole(rows, r, cursor, room):
    """Return whether a row of bits is to be listed from its beginning, and has room."""
    return cursor == START and rows[r, IS_RUNS] == 0 and rows[r, COUNT] <= room


@kernel
def list_node(d, v, cursor, regions, out, n, end):
    """List the second constants of a node into out[n:end]; return the new n and the cursor."""
    b, a = u32(d[BEFORE], d[N_NODES])[v], u32(d[AFTER], d[N_NODES])[v]
    rows = records(d[ROWS], d[ROWS_SIZE])
    while cursor != END:
        is_second = cursor >= _SECOND
        offset = _SECOND if is_second else START
        r, how, other = _choose_row(regions, b, a, is_second)
        if r == EMPTY:
            cursor = END
        elif d[KIND] == COMPONENTS:
            size = _part(d, v, PART_SIZE) if how != WHOLE else 0
            part = _part(d, v, PART_BEFORE if r == b else PART_AFTER) if size else 0
            n, cursor = list_members(rows, r, how, part, size, cursor - offset, out, n, end)
        elif how == WHOLE and _is_whole(rows, r, cursor, end - n):
            n = list_whole_bits(rows, r, u32(d[CONSTANT_AT], d[N_COLUMNS]), out, n)
            cursor = END
        else:
            constant_at = u32(d[CONSTANT_AT], d[N_COLUMNS])
            n, cursor = list_columns(rows, r, how, other, cursor - offset, constant_at, out, n, end)
        if cursor != END:
            return n, cursor + offset
        if not is_second and a != b:
            cursor = _SECOND
    return n, END


@kernel
def closure_list(d, x, cursor, regions, out, n, end):
    """List the second constants of pairs (x, z) of some regions into out[n:end].

    Begins with the cursor START; returns the new n and the cursor, END when there are no more.
    """
    v = _node(d, KEY_TABLE, x)
    if v == EMPTY:
        return n, END
    return list_node(d, v, cursor, regions, out, n, end)


@kernel
def closure_scan(d, regions, state, firsts, seconds, n, end):
    """List pairs of some regions into firsts and seconds, n:end; return the new n.

    Begins with the state all zero. There are no more when n stays below `end`. Pairs that are not
    kept are looked for among changed nodes only.
    """
    constants = u32(d[CONSTANTS], d[N_NODES])
    changed = u32(d[CHANGED], d[CHANGED_SIZE])
    is_all = regions & KEPT != 0
    places = d[N_NODES] if is_all else d[CHANGED_SIZE]
    while state[NEXT_PLACE] < places and n < end:
        v = np.uint32(state[NEXT_PLACE]) if is_all else changed[state[NEXT_PLACE]]
        m, cursor = list_node(d, v, state[CURSOR], regions, seconds, n, end)
        firsts[n:m] = constants[v]
        n = m
        state[CURSOR] = cursor
        if cursor == END:
            state[CURSOR] = START
            state[NEXT_PLACE] += 1
    return n


@kernel
def _count_kept(d, rows, v, before, after):
    """Return how many pairs a node has both before and after."""
    if d[KIND] == COMPONENTS:
        return _part(d, v, PART_SIZE)
    return count_meeting(rows, before, after)


@kernel
def _count(d, rows, v, regions):
    """Return how many pairs of some regions a node has."""
    b, a = u32(d[BEFORE], d[N_NODES])[v], u32(d[AFTER], d[N_NODES])[v]
    held = rows[b, COUNT] if b != EMPTY else 0
    if b == a:
        return held if regions & KEPT else 0
    holds = rows[a, COUNT] if a != EMPTY else 0
    kept = _count_kept(d, rows, v, b, a)
    count = kept if regions & KEPT else 0
    count += held - kept if regions & LOST else 0
    return count + (holds - kept if regions & GAINED else 0)


@kernel(work=lambda d: d[CHANGED_SIZE])
def count_lost(d):
    """Return how many pairs hold before and not after."""
    rows = records(d[ROWS], d[ROWS_SIZE])
    before, after = u32(d[BEFORE], d[N_NODES]), u32(d[AFTER], d[N_NODES])
    lost, here = np.int64(0), np.int64(0)
    last = EMPTY  # nodes of one component follow each other: most have the rows of the last
    for v in u32(d[CHANGED], d[CHANGED_SIZE]):
        if last == EMPTY or before[v] != before[last] or after[v] != after[last]:
            last = v
            here = np.int64(_count(d, rows, v, LOST))
        lost += here
    return lost


@kernel
def count_pairs(d, keys, regions, counts):
    """Write how many pairs of some regions each first constant has."""
    rows = records(d[ROWS], d[ROWS_SIZE])
    for i in range(keys.size):
        v = _node(d, KEY_TABLE, keys[i])
        counts[i] = 0 if v == EMPTY else _count(d, rows, v, regions)


@kernel
def list_pairs(d, keys, regions, counts, origins, out):
    """Write, for each first constant, which it is and its second constants, `counts` of them."""
    n = 0
    for i in range(keys.size):
        if counts[i] > 0:
            m, _ = closure_list(d, keys[i], START, regions, out, n, n + counts[i])
            origins[n:m] = np.uint32(i)
            n = m


@kernel
def find_regions(d, firsts, seconds, regions):
    """Write the region of each pair."""
    for i in range(firsts.size):
        regions[i] = closure_contains(d, firsts[i], seconds[i])
