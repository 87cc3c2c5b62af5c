"""What sorted lists of constants have in common."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.plan.steps import BLOCK
from stratalog.kernels.relation.index import filter_bit, filter_shift
from stratalog.kernels.relation.rows import EMPTY

ALMOST_FULL = 3 * BLOCK // 4  # a block that an intersection hands on: the rest would be small runs


@kernel
def _first_from(values, begin, end, wanted):
    """Return the first place from `begin` on with at least `wanted`, by steps that double."""
    if begin >= end or values[begin] >= wanted:
        return begin
    step = np.uint64(1)
    low = begin
    while low + step < end and values[low + step] < wanted:
        low += step
        step += step
    high = min(low + step, end)
    while high - low > np.uint64(1):
        middle = low + (high - low) // np.uint64(2)
        if values[middle] < wanted:
            low = middle
        else:
            high = middle
    return high


@kernel
def _pass_filter(short, i, end, filters, word, shift, places):
    """List the places i..end of a list whose constants may be in another, by its filter."""
    n = np.uint64(0)
    for k in range(i, end):
        bit = filter_bit(short[k], shift)
        places[n] = np.uint32(k)
        chosen = np.uint64(filters[word + (bit >> np.uint64(6))])
        n += (chosen >> (bit & np.uint64(63))) & np.uint64(1)
    return n


@kernel
def intersect(short, i, end, long, j, long_end, values, met, other_met, m):
    """List constants that two sorted lists share, and their places, until m is BLOCK.

    Returns where the short list is to be read on, and the new m.
    """
    if i < end and j < long_end:
        j = _first_from(long, j, long_end, short[i])
    while i < end and j < long_end and m < BLOCK:
        x, y = short[i], long[j]
        values[m] = x
        met[m] = np.uint32(i)
        other_met[m] = np.uint32(j)
        m += np.uint64(x == y)
        i += np.uint64(x <= y)
        j += np.uint64(y <= x)
    return (end if j >= long_end else i), m


@kernel
def intersect_filtered(short, i, end, long, j, long_end, filters, word, values, met, other_met, m):
    """Do the work of `intersect` for a long list that has a filter."""
    shift = filter_shift(long_end - j)
    while i < end and m < ALMOST_FULL:
        stop = min(end, i + np.uint64(BLOCK) - m)
        n = _pass_filter(short, i, stop, filters, word, shift, met[m:])
        for k in range(m, m + n):
            place = met[k]
            x = short[place]
            j = _first_from(long, j, long_end, x)
            if j >= long_end:
                return end, m
            values[m] = x
            met[m] = place
            other_met[m] = np.uint32(j)
            m += np.uint64(long[j] == x)
        i = stop
    return i, m


@kernel
def find_in_list(listed, place, end, values, places, begin, stop):
    """Write the place of each of the ascending values begin..stop in a list, NULL if none."""
    for k in range(begin, stop):
        place = _first_from(listed, place, end, values[k])
        places[k] = EMPTY
        if place < end and listed[place] == values[k]:
            places[k] = np.uint32(place)
