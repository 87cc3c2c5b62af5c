"""Rows of columns: each holds the columns of its component's successors, and their rows.

Dense rows are bits, from their first word to their last; rows of a few long runs list these.
Columns are numbered so that successors come before, which makes the first rows short.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.closure.bits import bits_between, lowest, ones, set_range, u64
from stratalog.kernels.closure.versions import (
    ADDRESS,
    COUNT,
    EASE,
    IS_RUNS,
    NEXT,
    SPACE,
    SPACE_LEFT,
    SPACE_WANTED,
    SPAN,
    WORDS,
    give_row,
    take_row,
)
from stratalog.kernels.jit import kernel
from stratalog.kernels.relation.rows import EMPTY
from stratalog.kernels.sizes import sized
from stratalog.kernels.status import DONE, PAUSED, STUCK

PENDING = np.uint32(0xFFFFFFFE)  # the column of a node that is to get one
TOUCHED, FRESH = np.uint8(1), np.uint8(2)  # edges of the node changed; its row did
SPARSE = 8  # words of a row per run, from which runs are merged without bits
RUN_WORDS = 2  # words of a row per run, from which it is kept as runs; not more than SPARSE
LONG = sized(32, 2)  # neighbours that are too many to be sorted one by one
_RUNS_PER_WORD = 32
_0, _1, _6, _32 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(32)
_63, _64 = np.uint64(63), np.uint64(64)
_LOWER = np.uint64(0xFFFFFFFF)


@kernel
def row_span(rows, r):
    """Return the first word of a row among all columns, and the word after the last."""
    span = np.uint64(rows[r, SPAN])
    return span & _LOWER, span >> _32


@kernel
def await_columns(column, nodes, waiting):
    """List the nodes that have no column, each once, and mark that they are to get one."""
    n = 0
    for v in nodes:
        if column[v] == EMPTY:
            column[v] = PENDING
            waiting[n] = v
            n += 1
    return n


@kernel
def number_columns(column, constants, nodes, n_columns, constant_at):
    """Give the next columns to those of the nodes that wait for one; return how many there are."""
    for v in nodes:
        if column[v] == PENDING:
            column[v] = np.uint32(n_columns)
            constant_at[n_columns] = constants[v]
            n_columns += 1
    return n_columns


@kernel
def order_lists(lists, n_nodes, column):
    """Put what is reached by way of others behind these, in all lists that are not long.

    Late columns are those of nodes that reach much: then less rows need to be added.
    """
    begin, size, pool = lists
    for v in range(n_nodes):
        if size[v] > LONG:
            continue
        neighbours = pool[begin[v] : begin[v] + np.int64(size[v])]
        for i in range(1, neighbours.size):
            w = neighbours[i]
            j = i
            while j > 0 and column[neighbours[j - 1]] < column[w]:
                neighbours[j] = neighbours[j - 1]
                j -= 1
            neighbours[j] = w


@kernel
def _is_stale(v, lists, news):
    """Return whether the row of a node that is no part of a cycle may have changed."""
    begin, size, pool = lists
    if news[v] & TOUCHED:
        return True
    for k in range(begin[v], begin[v] + np.int64(size[v])):  # noqa: SIM110  # numba has no any
        if news[pool[k]] & FRESH:
            return True
    return False


@kernel
def _measure(nodes, number, lists, component, column, after, rows):
    """Return the first and last word that the row of a component has, and how many runs at most.

    The row is empty if the first word is not before the last.
    """
    begin, size, pool = lists
    first, end = _LOWER, _0
    runs = _0
    for i in range(nodes.size):
        v = nodes[i]
        if nodes.size > 1 and column[v] != EMPTY:
            first = min(first, np.uint64(column[v]) >> _6)
            end = max(end, (np.uint64(column[v]) >> _6) + _1)
            runs += _1
        for k in range(begin[v], begin[v] + np.int64(size[v])):
            w = pool[k]
            if column[w] != EMPTY:
                first = min(first, np.uint64(column[w]) >> _6)
                end = max(end, (np.uint64(column[w]) >> _6) + _1)
                runs += _1
            r = after[w]
            if r != EMPTY and component[w] != number:
                row_first, row_end = row_span(rows, r)
                first, end = min(first, row_first), max(end, row_end)
                each = _1 if rows[r, IS_RUNS] else np.uint64(_RUNS_PER_WORD)
                runs += each * np.uint64(rows[r, WORDS])
    return first, end, runs


@kernel
def _add_row(rows, r, words, offset):
    """Add a row to the bits from word `offset` on."""
    data = u64(rows[r, ADDRESS], rows[r, WORDS])
    if rows[r, IS_RUNS]:
        begin = offset << _6
        for run in data:
            set_range(words, (run >> _32) - begin, (run & _LOWER) - begin)
        return
    there = words[row_span(rows, r)[0] - offset :]
    for k in range(data.size):
        there[k] |= data[k]


@kernel
def _gather_bits(nodes, number, lists, component, column, after, rows, words, offset):
    """Set the bits of a component's row, from word `offset` on."""
    begin, size, pool = lists
    for i in range(nodes.size):
        v = nodes[i]
        if nodes.size > 1 and column[v] != EMPTY:
            c = np.uint64(column[v])
            words[(c >> _6) - offset] |= _1 << (c & _63)
        for k in range(begin[v], begin[v] + np.int64(size[v])):
            w = pool[k]
            if column[w] != EMPTY:
                c = np.uint64(column[w])
                at = (c >> _6) - offset
                bit = _1 << (c & _63)
                if words[at] & bit:  # reached otherwise already, and with it its row
                    continue
                words[at] |= bit
            if after[w] != EMPTY and component[w] != number:
                _add_row(rows, after[w], words, offset)


@kernel
def _summarise(words, n):
    """Return the number of bits and of runs of bits in the first n words."""
    bits, runs, last = _0, _0, _0
    for k in range(n):
        word = words[k]
        bits += ones(word)
        runs += ones(word & ~(word << _1 | last))
        last = word >> _63
    return bits, runs


@kernel
def _write_runs(words, n, offset, out):
    """Write the runs of bits of n words, which begin at word `offset`."""
    m = _0
    is_open = False
    for k in range(n):
        word = words[k]
        base = (k + offset) << _6
        at = _0
        while at < _64:
            # Skips to the next change: of ones to a zero where a run is open, else to a one.
            rest = (~word if is_open else word) >> at
            if rest == _0:
                break
            at += lowest(rest)
            if is_open:
                out[m] |= base + at
                m += _1
            else:
                out[m] = (base + at) << _32
            is_open = not is_open
    if is_open:
        out[m] |= (n + offset) << _6


@kernel
def _list_runs(rows, r, out, m):
    """Append the runs of a row to `out`; return the new size."""
    data = u64(rows[r, ADDRESS], rows[r, WORDS])
    if rows[r, IS_RUNS]:
        for run in data:
            out[m] = run
            m += _1
        return m
    first, _ = row_span(rows, r)
    for k in range(np.uint64(data.size)):
        word = data[k]
        base = (k + first) << _6
        while word != _0:
            low = lowest(word)
            length = min(lowest(~(word >> low)), _64 - low)
            out[m] = (base + low) << _32 | (base + low + length)
            m += _1
            word &= ~bits_between(low, low + length)
    return m


@kernel
def _gather_runs(nodes, number, lists, component, column, after, rows, buffer, out):
    """Write the runs of a component's row; return the number of columns and of runs."""
    begin, size, pool = lists
    m = _0
    for i in range(nodes.size):
        v = nodes[i]
        if nodes.size > 1 and column[v] != EMPTY:
            buffer[m] = np.uint64(column[v]) << _32 | (np.uint64(column[v]) + _1)
            m += _1
        for k in range(begin[v], begin[v] + np.int64(size[v])):
            w = pool[k]
            if column[w] != EMPTY:
                buffer[m] = np.uint64(column[w]) << _32 | (np.uint64(column[w]) + _1)
                m += _1
            if after[w] != EMPTY and component[w] != number:
                m = _list_runs(rows, after[w], buffer, m)
    buffer[:m].sort()
    return _join_runs(buffer, m, out)


@kernel
def _join_runs(buffer, m, out):
    """Write m ascending runs with those joined that overlap or touch, likewise."""
    bits, n = _0, _0
    from_, to = buffer[0] >> _32, buffer[0] & _LOWER
    for i in range(_1, m):
        run = buffer[i]
        if run >> _32 > to:
            out[n] = from_ << _32 | to
            bits += to - from_
            n += _1
            from_, to = run >> _32, run & _LOWER
        else:
            to = max(to, run & _LOWER)
    out[n] = from_ << _32 | to
    return bits + to - from_, n + _1


@kernel
def _is_same(rows, r, words, count, span, is_runs, data):
    """Return whether row r has exactly these words."""
    if r == EMPTY or rows[r, COUNT] != count or rows[r, WORDS] != words:
        return False
    if rows[r, SPAN] != span or rows[r, IS_RUNS] != is_runs:
        return False
    old = u64(rows[r, ADDRESS], rows[r, WORDS])
    for k in range(old.size):  # noqa: SIM110  # nor all
        if old[k] != data[k]:
            return False
    return True


@kernel
def _make_row(nodes, number, lists, component, column, versions, rows, free, scratch, state):
    """Return the row of a component, an old one if that is the same; if it has no room, False."""
    words, buffer = scratch  # words that stay in the cache, unlike those a row is kept in
    before, after = versions[0], versions[1]
    first, end, runs = _measure(nodes, number, lists, component, column, after, rows)
    if first >= end:
        return EMPTY, True
    width = end - first
    ease = np.uint64(state[EASE])
    is_sparse = np.uint64(SPARSE) * runs <= width + ease
    state[SPACE_WANTED] = np.int64(max(width, (width + ease) // np.uint64(RUN_WORDS)))
    if is_sparse:
        state[SPACE_WANTED] = np.int64(runs)
    if state[SPACE_WANTED] > state[SPACE_LEFT]:
        return EMPTY, False
    data = u64(state[SPACE], state[SPACE_WANTED])
    is_runs = is_sparse
    if is_sparse:
        bits, width = _gather_runs(
            nodes, number, lists, component, column, after, rows, buffer, data
        )
    else:
        for k in range(width):
            words[k] = _0
        _gather_bits(nodes, number, lists, component, column, after, rows, words, first)
        bits, runs = _summarise(words, width)
        is_runs = np.uint64(RUN_WORDS) * runs <= width + ease
        if is_runs:
            _write_runs(words, width, first, data)
            width = runs
        else:
            for k in range(width):
                data[k] = words[k]
    span = first | end << _32
    description = np.int64(width), np.int64(bits), np.int64(span), np.int64(is_runs)
    for r in (after[nodes[0]], before[nodes[0]]):
        if _is_same(rows, r, *description, data):
            return r, True
    return take_row(rows, free, state, *description), True


@kernel(resumes=True)
def fill_rows(
    members, ends, lists, component, column, versions, rows, free, news, scratch, state, work
):
    """Make the rows of components, each after those it reaches, from number state[NEXT] on.

    Returns DONE, PAUSED after about `work` words, or STUCK if there is no space for a row.
    """
    done = np.int64(0)
    while state[NEXT] < ends.size:
        if done > work:
            return PAUSED
        c = state[NEXT]
        nodes = members[(ends[c - 1] if c > 0 else 0) : ends[c]]
        done += 8
        if nodes.size > 1 or _is_stale(nodes[0], lists, news):
            r, has_room = _make_row(
                nodes, c + 1, lists, component, column, versions, rows, free, scratch, state
            )
            if not has_room:
                return STUCK
            done += state[SPACE_WANTED] * np.int64(lists[1][nodes[0]])
            for v in nodes:
                if give_row(rows, free, state, versions, v, r):
                    news[v] |= FRESH
        state[NEXT] = c + 1
    return DONE
