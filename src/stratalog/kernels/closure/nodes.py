"""The nodes of a closure: constants numbered densely, found by a hash table.

A slot of the table is zero, or has the constant above 32 bits that hold its node plus one.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.relation.rows import EMPTY
from stratalog.kernels.wrapping import product

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_32, _1 = np.uint64(32), np.uint64(1)


@kernel
def _first_slot(constant, mask):
    mixed = product(np.uint64(constant), _SPREAD)
    return (mixed ^ (mixed >> _32)) & mask


@kernel
def node_of(table, constant):
    """Return the node of a constant, NULL if it has none."""
    mask = np.uint64(table.size - 1)
    slot = _first_slot(constant, mask)
    while table[slot] != np.uint64(0):
        if table[slot] >> _32 == np.uint64(constant):
            return np.uint32(table[slot]) - np.uint32(1)
        slot = (slot + _1) & mask
    return EMPTY


@kernel
def find_nodes(table, wanted, nodes):
    """Write the node of each constant, NULL where it has none."""
    for i in range(wanted.size):
        nodes[i] = node_of(table, wanted[i])


@kernel
def add_nodes(table, constants, n, entries, wanted, begin, nodes):
    """Write the node of each constant from `begin` on, new ones for those that have none.

    Stops where the table, which has so many entries, is half full, or `constants`, of which n are
    in use, is full. Returns the first place not written, the new n and the new entries.
    """
    mask = np.uint64(table.size - 1)
    for i in range(begin, wanted.size):
        constant = wanted[i]
        slot = _first_slot(constant, mask)
        while table[slot] != np.uint64(0) and table[slot] >> _32 != np.uint64(constant):
            slot = (slot + _1) & mask
        if table[slot] == np.uint64(0):
            if n == constants.size or 2 * entries >= table.size:
                return i, n, entries
            constants[n] = constant
            n += 1
            entries += 1
            table[slot] = np.uint64(constant) << _32 | np.uint64(n)
        nodes[i] = np.uint32(table[slot]) - np.uint32(1)
    return wanted.size, n, entries


@kernel
def refill(table, larger):
    """Put all entries of a table into a larger one."""
    mask = np.uint64(larger.size - 1)
    for entry in table:
        if entry != np.uint64(0):
            slot = _first_slot(entry >> _32, mask)
            while larger[slot] != np.uint64(0):
                slot = (slot + _1) & mask
            larger[slot] = entry
