"""Arrays by address: relations have any number of columns and indexes, kernels a fixed signature.

A relation is described to kernels by an int64 array, its *descriptor*; a table of the descriptors'
addresses names relations by number. Addresses hold no references: whoever fills a descriptor keeps
the arrays alive, and a kernel reads addresses anew after anything that may have grown a relation.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

import numpy as np

from stratalog.kernels.forms import primitive
from stratalog.kernels.jit import kernel

# Fields of a relation's descriptor.
ARITY = 0
ROWS = 1
CAPACITY = 2
LABELS = 3  # address of uint16[capacity]
COUNT_NONRECURSIVE = 4  # address of int32[capacity], or int64 if WIDE
COUNT_RECURSIVE = 5
WIDE = 6
SEGMENTS = 7  # address of int64[n_segments * SEGMENT_WIDTH]: membership
N_SEGMENTS = 8  # a power of two
SEGMENTED_BY = 9  # the column that chooses a fact's segment, or EVERY_COLUMN
DELTA = 10  # address of uint32[n_delta]: rows of the positive delta
N_DELTA = 11
NEGATED_DELTA = 12
N_NEGATED_DELTA = 13
LANES = 14  # address of int64[n_lanes * LANE_WIDTH]
PAGED = 15  # 0, or the bits of a constant that do not choose its page: see below
CHAIN = 16  # address of uint32[capacity], if two columns are paged: the next row of the same key
CLOSURE = 17  # address of the descriptor of the closure that a relation is read from, or 0
CLOSURE_TURNED = 18  # whether that has both columns of the relation exchanged
CLOSURE_BY = 19  # two addresses: the closure by first and by second constants, or 0
CLOSURE_WORDS = 21  # address of uint16[3]: the label words of pairs lost, kept and gained
COLUMNS = 22  # addresses of uint32[capacity], `arity` of them; then the indexes

EVERY_COLUMN = -1

# Fields of a lane: what one thread needs to merge facts into a relation.
LANE_TOUCHED = 0  # address of uint32[touched capacity]: rows derived by the running apply
LANE_N_TOUCHED = 1
LANE_TOUCHED_CAPACITY = 2
LANE_SHARED = 3  # whether other lanes take rows too
LANE_NEXT = 4  # the next of the rows that a shared lane has taken
LANE_END = 5
LANE_STOP = 6  # why a merge stopped: the segment that has no room, or one of these
LANE_BEFORE = 7  # address of int64[touched capacity]: the counts of touched rows before, or 0
LANE_WIDTH = 8  # a cache line, so that threads do not write to each other's

OVERFLOW = -1  # a count would exceed 32 bits, or 64
NO_ROOM = -2  # for rows, or to list touched ones
LONG_CHAIN = -3  # less the number of the segment: a key of it has too many rows

# Fields of a membership segment.
SEGMENT_SLOTS = 0  # address of uint32[n_slots]: rows by hash, NULL where empty
SEGMENT_N_SLOTS = 1
SEGMENT_ROWS = 2
SEGMENT_ROOM = 3  # rows up to which it need not grow
SEGMENT_WIDTH = 4

# A paged segment is not hashed: its slots are a directory, which has the number of each page or
# NULL, and pages of rows by constant. All of it is stored inverted: then what nobody has used yet
# is zero, and costs no memory. With two columns, the constant is that of the column which chooses
# segments, and rows of the same one are chained, the newest first; a segment in which that takes
# long is hashed after all, and its number of slots is stored below zero.
SEGMENT_DIRECTORY = SEGMENT_N_SLOTS  # length of the directory
SEGMENT_PAGES = SEGMENT_ROWS  # pages in use
SEGMENT_PAGE_ROOM = SEGMENT_ROOM

# Fields of an index within a descriptor.
INDEX_KIND = 0
INDEX_HEADS = 1  # address of uint32[n_heads]
INDEX_N_HEADS = 2
INDEX_NEXT = 3  # address of uint32[capacity]
INDEX_KEYS = 4  # number of key columns
INDEX_KEY_COLUMNS = 5  # the key columns, `arity` places

DIRECT = 0  # heads by constant
HASHED = 1  # heads by open addressing on the key

NULL = 0xFFFFFFFF
"""No row: an empty slot, the end of a chain, a missing fact."""


class _Memory:
    """Tells NumPy where an array is."""

    __slots__ = ("__array_interface__",)


@lru_cache(maxsize=4096)
def _array(address, size, kind):
    memory = _Memory()
    memory.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": kind}
    return np.asarray(memory)


def _view(address, size, kind):
    if address == 0 or size == 0:
        return np.empty(0, kind)
    return _array(int(address), int(size), kind)


@primitive
def u16(address, size):
    """Return the array at an address."""
    return _view(address, size, "<u2")


@primitive
def u32(address, size):
    """Return the array at an address."""
    return _view(address, size, "<u4")


@primitive
def i32(address, size):
    """Return the array at an address."""
    return _view(address, size, "<i4")


@primitive
def i64(address, size):
    """Return the array at an address."""
    return _view(address, size, "<i8")


_ADDING = Lock()


@primitive
def add_at_once(d, field, amount):
    """Add to a field of a descriptor, whatever other threads add to it; return it as it was."""
    with _ADDING:
        before = d[field]
        d[field] = before + amount
    return before


@kernel
def take_rows(d, n):
    """Take n unused rows, whatever other threads take; return the first, or -1 if there are none.

    A taker that finds no room gives back what it took. Until then all others find no room either,
    so no row is lost in between.
    """
    first = add_at_once(d, ROWS, n)
    if first + n > d[CAPACITY]:
        add_at_once(d, ROWS, -n)
        return np.int64(-1)
    return first


@kernel
def index_offset(arity, index):
    """Return where index number `index` begins in the descriptor of a relation."""
    return COLUMNS + arity + index * (INDEX_KEY_COLUMNS + arity)
