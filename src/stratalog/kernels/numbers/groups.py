"""Rows put into groups: dense numbers of keys, sizes, extremes, and the first of equal rows."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.terms.intern import prefetch_word
from stratalog.kernels.wrapping import product

# States of values: those of engine/values/expression_columns.py.
_SLOW = 1
_WHOLE = 6
_DOUBLE = 7

# What a group has met, a bit each; the upper half is for sums of doubles.
MET_WHOLE = np.uint8(1)
MET_DOUBLE = np.uint8(2)
MET_SLOW = np.uint8(4)  # a number, perhaps, that only its term tells
MET_OTHER = np.uint8(8)  # no number

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW_BITS = np.uint64(63)
_WORD_BITS = np.uint64(6)
_BLOCK = 64  # keys whose slots are asked for together, so that cache misses overlap
_INFINITE = np.uint64(0x7FF0000000000000)
_UNSIGNED = np.int64(0x7FFFFFFFFFFFFFFF)
_LOWEST = np.int64(-(2**63))


@kernel
def number_by_table(left, right, low, span, begin, table, firsts, count, numbers):
    """Give the pairs (left[i], right[i]) numbers by appearance; return how many there are now.

    Row 0 here is row `begin` of all. `table` has a place for every pair: `span` for each left
    number, the right ones from `low` on. It holds a pair's number plus one, or zero; `firsts`
    receives the first row of each number.
    """
    known = np.uint64(count)
    for i in range(np.uint64(right.size)):
        place = np.uint64(left[i]) * np.uint64(span) + np.uint64(right[i]) - np.uint64(low)
        number = np.uint64(table[place])
        if number == _ZERO:
            firsts[known] = np.int64(begin) + np.int64(i)
            known += _ONE
            number = known
            table[place] = np.uint32(number)
        numbers[i] = np.uint32(number - _ONE)
    return np.int64(known)


@kernel
def _home(key, slots):
    mixed = product(key, _MULTIPLIER)
    mixed ^= mixed >> _HALF
    return (product(mixed, _MULTIPLIER) >> _HALF) * np.uint64(slots.size) >> _HALF


@kernel
def _slot_of(key, home, slots):
    """Return the slot that holds the key, or the empty slot where it belongs."""
    slot = home
    while slots[slot] != _ZERO and slots[slot] != key:
        slot += _ONE
        if slot == np.uint64(slots.size):
            slot = _ZERO
    return slot


@kernel
def _grown(slots, places):
    """Return a table of twice the size, and the numbers of its keys (as many, or none)."""
    larger = np.zeros(2 * slots.size, np.uint64)
    moved = np.empty(2 * places.size, np.uint32)
    for i in range(np.uint64(slots.size)):
        key = slots[i]
        if key != _ZERO:
            slot = _slot_of(key, _home(key, larger), larger)
            larger[slot] = key
            if places.size > 0:
                moved[slot] = places[i]
    return larger, moved


@kernel
def number_by_hash(left, right, begin, slots, places, firsts, count, numbers):
    """Do what `number_by_table` does with a hash table; return it too, since it may have grown.

    A slot holds a key plus one, or zero; `places` has the number of the key in each slot. Without
    places, only `firsts` is written: the first row of each pair.
    """
    known = np.uint64(count)
    rows = np.uint64(right.size)
    keys = np.empty(_BLOCK, np.uint64)
    homes = np.empty(_BLOCK, np.uint64)
    numbered = places.size > 0
    block = _ZERO
    while block < rows:
        stop = min(block + np.uint64(_BLOCK), rows)
        if 2 * (np.int64(known) + _BLOCK) > slots.size:
            slots, places = _grown(slots, places)
        for i in range(block, stop):
            key = (np.uint64(left[i]) << _HALF) + np.uint64(right[i]) + _ONE
            home = _home(key, slots)
            keys[i - block] = key
            homes[i - block] = home
            prefetch_word(slots, home)
        for i in range(block, stop):
            key = keys[i - block]
            slot = _slot_of(key, homes[i - block], slots)
            if slots[slot] == _ZERO:
                slots[slot] = key
                if numbered:
                    places[slot] = np.uint32(known)
                firsts[known] = np.int64(begin) + np.int64(i)
                known += _ONE
            if numbered:
                numbers[i] = places[slot]
        block = stop
    return slots, places, np.int64(known)


@kernel
def find_new_by_bits(left, right, low, span, begin, bits, firsts, count):
    """Write the first rows of pairs to `firsts`, from `count` on; return how many there are.

    `bits` has one bit for every pair, placed as in `number_by_table`: set once it has been seen.
    """
    known = np.uint64(count)
    for i in range(np.uint64(right.size)):
        place = np.uint64(left[i]) * np.uint64(span) + np.uint64(right[i]) - np.uint64(low)
        word = bits[place >> _WORD_BITS]
        bit = _ONE << (place & _LOW_BITS)
        if word & bit == _ZERO:
            bits[place >> _WORD_BITS] = word | bit
            firsts[known] = np.int64(begin) + np.int64(i)
            known += _ONE
    return np.int64(known)


@kernel
def count_rows(group, sizes):
    """Add to each group's size the rows it has in `group`."""
    for i in range(np.uint64(group.size)):
        sizes[group[i]] += 1


@kernel
def met(state):
    """Return the bit of a value's state."""
    if state == _WHOLE:
        return MET_WHOLE
    if state == _DOUBLE:
        return MET_DOUBLE
    return MET_SLOW if state == _SLOW else MET_OTHER


@kernel
def keep_best(states, numbers, ids, group, flip, best, best_ids, seen):
    """Keep the least number of each group and its id; `flip` is 0, or -1 to keep the greatest.

    Only groups of integers alone, or doubles alone, are right. Doubles are in their total order:
    NaN, then by value, -0.0 before 0.0.
    """
    for i in range(np.uint64(group.size)):
        g = np.uint64(group[i])
        state = states[i]
        before = seen[g]
        seen[g] = before | met(state)
        key = numbers[i]
        if state == _DOUBLE:
            # The larger the bits of a negative double without its sign, the smaller the double.
            key = (
                _LOWEST
                if np.uint64(key & _UNSIGNED) > _INFINITE
                else key ^ ((key >> 63) & _UNSIGNED)
            )
        key ^= np.int64(flip)
        if before == 0 or key < best[g]:
            best[g] = key
            best_ids[g] = ids[i]


@kernel
def collect_doubles(states, numbers, group, chosen, places, collected):
    """Copy the doubles of chosen groups to places[g], which moves on: those of a group together."""
    for i in range(np.uint64(group.size)):
        g = np.uint64(group[i])
        if chosen[g] and states[i] == _DOUBLE:
            at = np.uint64(places[g])
            collected[at] = numbers[i]
            places[g] = np.int64(at + _ONE)
