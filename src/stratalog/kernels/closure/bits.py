"""Words of bits: counting, finding the lowest one, and what a range of bits looks like."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.forms import primitive
from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import i64

ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_63, _64 = np.uint64(63), np.uint64(64)


@primitive
def ones(word):
    """Return how many bits of a word are set."""
    return np.uint64(int(word).bit_count())


@primitive
def lowest(word):
    """Return the place of the lowest bit that is set, 64 if none is."""
    bits = int(word)
    return np.uint64((bits & -bits).bit_length() - 1) if bits else _64


@kernel
def u64(address, size):
    return i64(address, size).view(np.uint64)


@kernel
def bits_between(begin, end):
    """Return a word with the bits begin..end set, where begin < end <= 64."""
    return (ALL_BITS << begin) & (ALL_BITS >> (_64 - end))


@kernel
def set_range(words, begin, end):
    """Set the bits begin..end, of which there is at least one."""
    first, last = begin >> np.uint64(6), (end - np.uint64(1)) >> np.uint64(6)
    tail = ((end - np.uint64(1)) & _63) + np.uint64(1)
    if first == last:
        words[first] |= bits_between(begin & _63, tail)
        return
    words[first] |= ALL_BITS << (begin & _63)
    for k in range(first + np.uint64(1), last):
        words[k] = ALL_BITS
    words[last] |= ALL_BITS >> (_64 - tail)
