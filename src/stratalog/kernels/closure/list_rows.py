"""Listing rows of a closure: whole, or what they share with another row, or what they do not.

What is listed in pieces goes on from a cursor, which begins at START and ends at END.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.closure.bits import ALL_BITS, bits_between, lowest, ones, u64
from stratalog.kernels.closure.rows import row_span
from stratalog.kernels.closure.versions import ADDRESS, COUNT, IS_RUNS, WORDS
from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import u32
from stratalog.kernels.relation.rows import EMPTY

START, END = np.int64(0), np.int64(-1)
WHOLE, MEETING, WITHOUT = 0, 1, 2  # how much of a row is read, in view of another

_0, _1, _6, _32 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(32)
_63, _64 = np.uint64(63), np.uint64(64)
_LOWER = np.uint64(0xFFFFFFFF)


@kernel
def _first_run(data, column):
    """Return the first run that ends after a column."""
    low, high = _0, np.uint64(data.size)
    while low < high:
        middle = (low + high) >> _1
        if data[middle] & _LOWER > column:
            high = middle
        else:
            low = middle + _1
    return low


@kernel
def has_column(rows, r, column):
    """Return whether a row, if there is one, has a column."""
    if r == EMPTY:
        return False
    data = u64(rows[r, ADDRESS], rows[r, WORDS])
    if rows[r, IS_RUNS]:
        at = _first_run(data, column)
        return at < np.uint64(data.size) and data[at] >> _32 <= column
    word = column >> _6
    first, end = row_span(rows, r)
    if word < first or word >= end:
        return False
    return (data[word - first] >> (column & _63)) & _1 != _0


@kernel
def _word_at(rows, r, k):
    """Return word k of a row, if there is one."""
    if r == EMPTY:
        return _0
    data = u64(rows[r, ADDRESS], rows[r, WORDS])
    if not rows[r, IS_RUNS]:
        first, end = row_span(rows, r)
        return data[k - first] if first <= k < end else _0
    word = _0
    begin = k << _6
    at = _first_run(data, begin)
    while at < np.uint64(data.size) and data[at] >> _32 < begin + _64:
        low = max(data[at] >> _32, begin) - begin
        word |= bits_between(low, min((data[at] & _LOWER) - begin, _64))
        at += _1
    return word


@kernel
def _next_word(rows, r, k, end):
    """Return the first word of a row from k on that may not be zero, or `end`."""
    if not rows[r, IS_RUNS]:
        return max(k, row_span(rows, r)[0])
    data = u64(rows[r, ADDRESS], rows[r, WORDS])
    at = _first_run(data, k << _6)
    return max(k, data[at] >> (_32 + _6)) if at < np.uint64(data.size) else end


@kernel
def _count_shared_bits(left, first, right, other_first, begin, end):
    """Return how many bits two rows of bits share in the words begin..end."""
    count = _0
    if begin < end:
        left, right = left[begin - first :], right[begin - other_first :]
        for k in range(end - begin):
            count += ones(left[k] & right[k])
    return count


@kernel
def _count_shared_runs(left, right):
    """Return how many columns are in runs of both rows."""
    count = i = j = _0
    while i < np.uint64(left.size) and j < np.uint64(right.size):
        end, other_end = left[i] & _LOWER, right[j] & _LOWER
        begin = max(left[i] >> _32, right[j] >> _32)
        count += max(min(end, other_end), begin) - begin
        if end <= other_end:
            i += _1
        else:
            j += _1
    return count


@kernel
def _count_bits_in_runs(words, first, end, runs):
    """Return how many bits there are in runs, of words that begin at word `first`."""
    count = _0
    for run in runs:
        begin = max(run >> _32, first << _6)
        stop = min(run & _LOWER, end << _6)
        k = begin >> _6
        while k << _6 < stop:
            low = max(begin, k << _6) & _63
            count += ones(words[k - first] & bits_between(low, min(stop - (k << _6), _64)))
            k += _1
    return count


@kernel
def count_meeting(rows, r, other):
    """Return how many columns two rows share."""
    if r == EMPTY or other == EMPTY:
        return np.int64(0)
    if rows[r, IS_RUNS]:
        r, other = other, r
    left = u64(rows[r, ADDRESS], rows[r, WORDS])
    right = u64(rows[other, ADDRESS], rows[other, WORDS])
    if rows[r, IS_RUNS]:
        return np.int64(_count_shared_runs(left, right))
    first, end = row_span(rows, r)
    if rows[other, IS_RUNS]:
        return np.int64(_count_bits_in_runs(left, first, end, right))
    other_first, other_end = row_span(rows, other)
    begin, end = max(first, other_first), min(end, other_end)
    return np.int64(_count_shared_bits(left, first, right, other_first, begin, end))


@kernel
def _list_runs(data, those, how, cursor, constant_at, out, n, end):
    """List the constants of a row of runs in view of another one, as `list_columns` does."""
    j = _first_run(those, cursor)
    for at in range(_first_run(data, cursor), np.uint64(data.size)):
        begin, stop = max(data[at] >> _32, cursor), data[at] & _LOWER
        while begin < stop:
            while j < np.uint64(those.size) and those[j] & _LOWER <= begin:
                j += _1
            until = stop  # what begins here is all in the other row, or all is not
            is_shared = False
            if j < np.uint64(those.size):
                is_shared = those[j] >> _32 <= begin
                until = min(stop, those[j] & _LOWER if is_shared else those[j] >> _32)
            if is_shared == (how == MEETING):
                length = min(until - begin, np.uint64(end - n))
                found, there = constant_at[begin : begin + length], out[n : n + np.int64(length)]
                for i in range(length):
                    there[i] = found[i]
                n += np.int64(length)
                if begin + length < until:
                    return n, np.int64(begin + length)
            begin = until
    return n, END


@kernel
def _list_bits(rows, r, how, other, cursor, constant_at, out, n, end):
    """List the constants of a row of bits in view of another one, as `list_columns` does."""
    data, those = u64(rows[r, ADDRESS], rows[r, WORDS]), u64(rows[r, ADDRESS], 0)
    first, last = row_span(rows, r)
    other_first = other_last = _0
    if other != EMPTY:
        those = u64(rows[other, ADDRESS], rows[other, WORDS])
        other_first, other_last = row_span(rows, other)
    mask = ALL_BITS << (cursor & _63)
    k = cursor >> _6
    if k < first:
        k, mask = first, ALL_BITS
    while k < last:
        word = data[k - first] & mask
        mask = ALL_BITS
        met = those[k - other_first] if other_first <= k < other_last else _0
        if how == MEETING:
            word &= met
        elif how == WITHOUT:
            word &= ~met
        base = k << _6
        while word != _0:
            if n == end:
                return n, np.int64(base + lowest(word))
            out[n] = constant_at[base + lowest(word)]
            n += 1
            word &= word - _1
        k += _1
    return n, END


@kernel
def list_columns(rows, r, how, other, cursor, constant_at, out, n, end):
    """List the constants of a row, those it shares with another or those it does not.

    They go to out[n:end]. Returns the new n and the cursor.
    """
    data = u64(rows[r, ADDRESS], rows[r, WORDS])
    from_ = np.uint64(cursor)
    if how == WHOLE:
        other = EMPTY
    if rows[r, IS_RUNS] and (other == EMPTY or rows[other, IS_RUNS]):
        those = data[:0] if other == EMPTY else u64(rows[other, ADDRESS], rows[other, WORDS])
        return _list_runs(data, those, how, from_, constant_at, out, n, end)
    if not rows[r, IS_RUNS] and (other == EMPTY or not rows[other, IS_RUNS]):
        return _list_bits(rows, r, how, other, from_, constant_at, out, n, end)
    _, last = row_span(rows, r)
    k = _next_word(rows, r, from_ >> _6, last)
    mask = ALL_BITS << (from_ & _63) if k == from_ >> _6 else ALL_BITS
    while k < last:
        word = _word_at(rows, r, k) & mask
        mask = ALL_BITS
        if how == MEETING:
            word &= _word_at(rows, other, k)
        elif how == WITHOUT:
            word &= ~_word_at(rows, other, k)
        base = k << _6
        while word != _0:
            if n == end:
                return n, np.int64(base + lowest(word))
            out[n] = constant_at[base + lowest(word)]
            n += 1
            word &= word - _1
        k = _next_word(rows, r, k + _1, last)
    return n, END


@kernel
def list_whole_bits(rows, r, constant_at, out, n):
    """List the constants of a row of bits, all of which `out` has room for; return the new n."""
    data = u64(rows[r, ADDRESS], rows[r, WORDS])
    at = np.uint64(n)
    base = row_span(rows, r)[0] << _6
    for k in range(np.uint64(data.size)):
        word = data[k]
        while word != _0:
            out[at] = constant_at[base + lowest(word)]
            at += _1
            word &= word - _1
        base += _64
    return np.int64(at)


@kernel
def list_members(rows, r, how, part, size, cursor, out, n, end):
    """List the members of a component: all, part..part + size, or the others, likewise."""
    count = rows[r, COUNT]
    members = u32(rows[r, ADDRESS], 2 * count)[count:]
    at = cursor
    for turn in range(2):
        begin, stop = (0, count) if turn == 0 else (count, count)
        if how == MEETING and turn == 0:
            begin, stop = part, part + size
        elif how == WITHOUT:
            begin, stop = (0, part) if turn == 0 else (part + size, count)
        at = max(at, begin)
        if at < stop:
            length = min(stop - at, end - n)
            there, found = out[n : n + length], members[at : at + length]
            for i in range(length):
                there[i] = found[i]
            n += length
            at += length
            if at < stop:
                return n, at
    return n, END
