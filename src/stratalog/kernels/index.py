"""Chains of rows with the same key: a head per key, a `next` per row, newest row first."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import (
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
from stratalog.kernels.rows import EMPTY, hash_step, slot_of


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
def _slot(d, at, heads, n_heads, key):
    """Return the slot that holds the key's newest row, or the empty slot where it belongs."""
    keys = d[at + INDEX_KEYS]
    h = np.uint64(keys)
    for k in range(keys):
        h = hash_step(h, key[k])
    slot = slot_of(h, n_heads)
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
    keys = d[at + INDEX_KEYS]
    for row in range(np.uint64(begin), np.uint64(end)):
        for k in range(keys):
            key[k] = u32(d[COLUMNS + d[at + INDEX_KEY_COLUMNS + k]], capacity)[row]
        slot = _slot(d, at, heads, n_heads, key)
        following[row] = heads[slot]
        new += heads[slot] == EMPTY
        heads[slot] = np.uint32(row)
    return new


@kernel
def greatest(column, begin, end):
    """Return the greatest constant in rows begin..end of a column, -1 if there are none."""
    most = np.int64(-1)
    for row in range(np.uint64(begin), np.uint64(end)):
        most = max(most, np.int64(column[row]))
    return most


@kernel
def rehead(d, at, old, key):
    """Enter the chains of hashed heads `old` into new, empty heads."""
    n_heads = d[at + INDEX_N_HEADS]
    heads = u32(d[at + INDEX_HEADS], n_heads)
    keys = d[at + INDEX_KEYS]
    for i in range(old.size):
        row = old[i]
        if row != EMPTY:
            for k in range(keys):
                key[k] = u32(d[COLUMNS + d[at + INDEX_KEY_COLUMNS + k]], d[CAPACITY])[row]
            heads[_slot(d, at, heads, n_heads, key)] = row
