"""Words of bits: counting, finding the lowest one, and what a range of bits looks like."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from stratalog.kernels.jit import kernel
from stratalog.kernels.memory import i64

ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_63, _64 = np.uint64(63), np.uint64(64)


@intrinsic
def ones(typing_context, word):  # noqa: ARG001  # numba's signature of an intrinsic
    """Return how many bits of a word are set."""

    def build(context, builder, signature, args):  # noqa: ARG001
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), build


@intrinsic
def lowest(typing_context, word):  # noqa: ARG001
    """Return the place of the lowest bit that is set, 64 if none is."""

    def build(context, builder, signature, args):  # noqa: ARG001
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), build


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
