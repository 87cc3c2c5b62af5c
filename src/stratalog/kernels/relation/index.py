"""Chains of rows with the same key: a head per key, a `next` per row, newest row first.

An index that intersections use also counts the rows of each key, right behind the heads, and may
have a *layout*: for each key the constants of the one column that is not a key, sorted, with their
rows. A layout does not grow: rows that come later are in the chains only.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
    ARITY,
    CAPACITY,
    COLUMNS,
    DIRECT,
    INDEX_HEADS,
    INDEX_KEY_COLUMNS,
    INDEX_KEYS,
    INDEX_KIND,
    INDEX_N_HEADS,
    INDEX_NEXT,
    u32,
)
from stratalog.kernels.relation.rows import EMPTY, hash_step, slot_of
from stratalog.kernels.sizes import sized
from stratalog.kernels.wrapping import product

# A layout, whose address is in the last place for key columns: no index has all columns as keys.
LAYOUT_STARTS = 0  # address of uint32[n_heads]: where a key's list begins; its count says how long
LAYOUT_VALUES = 1  # address of uint32[rows]
LAYOUT_ROWS = 2  # address of uint32[rows]
LAYOUT_SIZE = 3  # rows
LAYOUT_FILTERS = 4  # address of uint64[words]: bits by hash, for the longer lists
LAYOUT_FILTER_STARTS = 5  # address of uint32[n_heads]: the word where a key's filter begins
LAYOUT_WORDS = 6
LAYOUT_WIDTH = 7

FILTERED = sized(64, 2)  # constants of the shortest list that has a filter
FILTER_BITS = np.uint64(8)  # per constant, at least
_FIBONACCI = np.uint64(0x9E3779B97F4A7C15)  # spreads constants that follow each other evenly


@kernel
def filter_shift(size):
    """Return by how much a product is shifted to give a bit of the filter of a list."""
    shift = np.uint64(64 - 9)
    while (np.uint64(1) << (np.uint64(64) - shift)) < FILTER_BITS * np.uint64(size):
        shift -= np.uint64(1)
    return shift


@kernel
def filter_words(counts, starts):
    """Write where the filter of each list begins; return how many words they have."""
    words = np.uint64(0)
    for slot in range(counts.size):
        starts[slot] = np.uint32(words)
        if counts[slot] >= FILTERED:
            words += np.uint64(1) << (np.uint64(64 - 6) - filter_shift(counts[slot]))
    return words


@kernel
def filter_bit(constant, shift):
    return product(np.uint64(constant), _FIBONACCI) >> shift


@kernel
def fill_filters(counts, starts, values, filter_starts, filters):
    """Set the bits of every constant of the longer lists."""
    for slot in range(counts.size):
        if counts[slot] >= FILTERED:
            shift = filter_shift(counts[slot])
            begin, word = np.uint64(starts[slot]), np.uint64(filter_starts[slot])
            for i in range(begin, begin + np.uint64(counts[slot])):
                bit = filter_bit(values[i], shift)
                filters[word + (bit >> np.uint64(6))] |= np.uint64(1) << (bit & np.uint64(63))


@kernel
def layout_address(d, at):
    """Return where the layout of an index is described, 0 if it has none that is up to date."""
    return d[at + INDEX_KEY_COLUMNS + d[ARITY] - 1]


@kernel
def laid_out(d, at, layout, key):
    """Return where the list and the filter of a key begin in the layout, and the list's length."""
    n_heads = d[at + INDEX_N_HEADS]
    heads = u32(d[at + INDEX_HEADS], 2 * n_heads)
    if d[at + INDEX_KIND] == DIRECT:
        slot = np.uint64(key[0])
        if slot >= np.uint64(n_heads):
            return np.uint32(0), np.uint32(0), np.uint32(0)
    else:
        slot = _slot(d, at, heads, n_heads, key)
    start = u32(layout[LAYOUT_STARTS], n_heads)[slot]
    word = u32(layout[LAYOUT_FILTER_STARTS], n_heads)[slot]
    return start, word, heads[np.uint64(n_heads) + slot]


@kernel
def lay_out(d, at, column, order, ends, values, rows, key):
    """Fill the lists of a layout with the rows `order`; ends[slot], first the start, moves on."""
    n_heads = d[at + INDEX_N_HEADS]
    heads = u32(d[at + INDEX_HEADS], n_heads)
    constants = u32(d[COLUMNS + column], d[CAPACITY])
    is_direct = d[at + INDEX_KIND] == DIRECT
    for i in range(np.uint64(order.size)):
        row = np.uint64(order[i])
        _key_of(d, at, row, key)
        slot = np.uint64(key[0]) if is_direct else _slot(d, at, heads, n_heads, key)
        place = np.uint64(ends[slot])
        values[place] = constants[row]
        rows[place] = np.uint32(row)
        ends[slot] += np.uint32(1)


@kernel
def chain_head(d, at, key):
    """Return the newest row of a key, or NULL; `at` is where the index begins in the descriptor."""
    n_heads = d[at + INDEX_N_HEADS]
    heads = u32(d[at + INDEX_HEADS], n_heads)
    if d[at + INDEX_KIND] == DIRECT:
        if np.int64(key[0]) >= n_heads:
            return EMPTY
        return heads[key[0]]
    return heads[_slot(d, at, heads, n_heads, key)]


@kernel
def chain(d, at, key):
    """Return the newest row of a key, or NULL, and how many rows it has in a counted index."""
    n_heads = d[at + INDEX_N_HEADS]
    heads = u32(d[at + INDEX_HEADS], 2 * n_heads)
    if d[at + INDEX_KIND] == DIRECT:
        if np.int64(key[0]) >= n_heads:
            return EMPTY, np.uint32(0)
        slot = np.uint64(key[0])
    else:
        slot = _slot(d, at, heads, n_heads, key)
    return heads[slot], heads[np.uint64(n_heads) + slot]


@kernel
def first_slot(d, at, key):
    """Return the row in the first slot where a key of hashed heads may be, or NULL."""
    n_heads = d[at + INDEX_N_HEADS]
    return u32(d[at + INDEX_HEADS], n_heads)[slot_of(_hash(d, at, key), n_heads)]


@kernel
def _hash(d, at, key):
    keys = d[at + INDEX_KEYS]
    h = np.uint64(keys)
    for k in range(keys):
        h = hash_step(h, key[k])
    return h


@kernel
def _slot(d, at, heads, n_heads, key):
    """Return the slot that holds the key's newest row, or the empty slot where it belongs."""
    keys = d[at + INDEX_KEYS]
    slot = slot_of(_hash(d, at, key), n_heads)
    while heads[slot] != EMPTY:
        row = heads[slot]
        same = True
        for k in range(keys):
            column = d[at + INDEX_KEY_COLUMNS + k]
            if u32(d[COLUMNS + column], d[CAPACITY])[row] != key[k]:
                same = False
                break
        if same:
            break
        slot += np.uint64(1)
        if slot == np.uint64(n_heads):
            slot = np.uint64(0)
    return slot


@kernel
def _key_of(d, at, row, key):
    for k in range(d[at + INDEX_KEYS]):
        key[k] = u32(d[COLUMNS + d[at + INDEX_KEY_COLUMNS + k]], d[CAPACITY])[row]


@kernel(work=lambda _d, _at, begin, end, _: end - begin, usual=True)
def link(d, at, begin, end, key):
    """Put the rows begin..end into their chains; return the number of new keys."""
    capacity = d[CAPACITY]
    n_heads = d[at + INDEX_N_HEADS]
    heads = u32(d[at + INDEX_HEADS], n_heads)
    following = u32(d[at + INDEX_NEXT], capacity)
    new = 0
    if d[at + INDEX_KIND] == DIRECT:
        column = u32(d[COLUMNS + d[at + INDEX_KEY_COLUMNS]], capacity)
        for row in range(np.uint64(begin), np.uint64(end)):
            constant = column[row]
            following[row] = heads[constant]
            new += heads[constant] == EMPTY
            heads[constant] = np.uint32(row)
        return new
    for row in range(np.uint64(begin), np.uint64(end)):
        _key_of(d, at, row, key)
        slot = _slot(d, at, heads, n_heads, key)
        following[row] = heads[slot]
        new += heads[slot] == EMPTY
        heads[slot] = np.uint32(row)
    return new


@kernel(work=lambda _d, _at, begin, end, _: end - begin)
def count(d, at, begin, end, key):
    """Count the rows begin..end of a counted index, which are linked, with their keys."""
    n_heads = d[at + INDEX_N_HEADS]
    heads = u32(d[at + INDEX_HEADS], n_heads)
    counts = u32(d[at + INDEX_HEADS] + 4 * n_heads, n_heads)
    if d[at + INDEX_KIND] == DIRECT:
        column = u32(d[COLUMNS + d[at + INDEX_KEY_COLUMNS]], d[CAPACITY])
        for row in range(np.uint64(begin), np.uint64(end)):
            counts[column[row]] += np.uint32(1)
        return
    for row in range(np.uint64(begin), np.uint64(end)):
        _key_of(d, at, row, key)
        counts[_slot(d, at, heads, n_heads, key)] += np.uint32(1)


@kernel(work=lambda _, begin, end: end - begin)
def greatest(column, begin, end):
    """Return the greatest constant in rows begin..end of a column, -1 if there are none."""
    most = np.int64(-1)
    for row in range(np.uint64(begin), np.uint64(end)):
        most = max(most, np.int64(column[row]))
    return most


@kernel
def rehead(d, at, old, counts, key):
    """Enter the chains of hashed heads `old` into new, empty heads, and their counts if any."""
    n_heads = d[at + INDEX_N_HEADS]
    heads = u32(d[at + INDEX_HEADS], n_heads)
    counted = u32(d[at + INDEX_HEADS] + 4 * n_heads, n_heads)
    for i in range(old.size):
        row = old[i]
        if row != EMPTY:
            _key_of(d, at, row, key)
            slot = _slot(d, at, heads, n_heads, key)
            heads[slot] = row
            if counts.size:
                counted[slot] = counts[i]
