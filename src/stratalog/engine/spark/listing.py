"""The pairs that a closure gains, listed in executors by the kernels of the driver: one stage.

Each worker has the edges, makes the closure of them once, and lists the pairs of some first
constants per task. A row is a first constant and a list of second ones: rows of single pairs would
take ten times as long to write. Constants are numbered anew, so that what is known can be looked up
by place.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stratalog.closure.closure import GAINED, Closure
from stratalog.closure.packed_pairs import NO_PAIRS, Pairs, Words, unpacked
from stratalog.engine.columnar.relation import Ids
from stratalog.engine.spark.enclosure import Enclosure
from stratalog.kernels.closure import read as closure_read
from stratalog.kernels.sizes import sized
from stratalog.spark import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stratalog.engine.spark.session import Work

Places = npt.NDArray[np.int64]

PER_TASK = sized(2_000_000, 16)  # pairs
PER_BATCH = sized(1 << 18, 5)  # pairs that cross at once, but for those of one first constant
TABLE = sized(1 << 24, 64)  # bytes of what tells which pairs are known
ROWS = "c0 BIGINT, others ARRAY<INT>"
WRAPPED = 1 << 32  # what is added to a constant that an INT has made negative

_tokens = count(1)
_made: dict[int, Closure] = {}  # of a worker: the one that its tasks list


class Listing(NamedTuple):
    """What tasks need to know; nodes stand for constants."""

    token: int
    is_symmetric: bool
    is_linear: bool
    budget: int
    constants: Ids  # of nodes
    edges: tuple[Pairs, Pairs]  # before, and those that have come
    steps: Pairs  # if edges do not lead on
    known: Pairs  # gained pairs that are stored already, sorted by first node
    sources: Ids  # nodes with pairs to list
    ends: Places  # of the pairs of each source, if all were one list
    bounds: Places  # of the sources of each task


def gained_pairs(enclosure: Enclosure, known: Words) -> Listing:
    """Return how to list what the last change of a closure has brought, without known pairs."""
    edges = enclosure.edges
    come = np.setdiff1d(edges, enclosure.before, assume_unique=True)
    words = np.concatenate([edges, enclosure.steps])
    constants = np.unique(np.concatenate(unpacked(words)))

    def numbered(words: Words) -> Pairs:
        first, second = (np.searchsorted(constants, ids) for ids in unpacked(words))
        return first.astype(np.uint32), second.astype(np.uint32)

    counts = np.empty(constants.size, np.int64)
    closure_read.count_pairs(  # a kernel
        enclosure.closure.descriptor, constants, GAINED, counts
    )
    sources = np.flatnonzero(counts).astype(np.uint32)
    totals = np.cumsum(counts[sources])
    tasks = max(1, -(-int(totals[-1]) // PER_TASK))
    bounds = np.searchsorted(totals, np.linspace(0, totals[-1], tasks + 1)[1:-1])
    return Listing(
        next(_tokens),
        enclosure.is_symmetric,
        enclosure.is_linear,
        enclosure.budget,
        constants,
        (numbered(enclosure.before), numbered(come)),
        numbered(enclosure.steps),
        numbered(np.sort(known)),
        sources,
        totals,
        np.concatenate([[0], bounds, [sources.size]]).astype(np.int64),
    )


def rows_of(listing: Listing) -> int:
    """Return how many rows all tasks write: one for each first constant that has a new pair."""
    counts = np.diff(listing.ends, prepend=0)
    known = np.bincount(listing.known[0], minlength=listing.constants.size)[listing.sources]
    return int(np.count_nonzero(counts > known))


@contextmanager
def listed(work: Work, listing: Listing) -> Iterator[DataFrame]:
    """Send executors what they need, and yield rows of `ROWS`, to be read meanwhile."""
    given = work.context.broadcast(listing)
    tasks = listing.bounds.size - 1
    numbers = work.spark.range(0, tasks, 1, tasks)
    try:
        yield map_in_arrow(numbers, partial(list_pairs, given), ROWS)
    finally:
        given.destroy()


def spelled_out(view: str, *, is_turned: bool = False) -> str:
    """Return the statement for the pairs c0, c1 of written rows, or for them exchanged."""
    first, second = ("c1", "c0") if is_turned else ("c0", "c1")
    constant = f"IF(other < 0, other + {WRAPPED}L, CAST(other AS BIGINT))"
    pairs = f"c0 AS {first}, {constant} AS {second}"
    return f"SELECT {pairs} FROM {view} LATERAL VIEW explode(others) AS other"  # noqa: S608


def list_pairs(given: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # noqa: ANN401  # a broadcast
    """Yield the pairs of tasks by number: this runs in executors."""
    listing: Listing = given.value
    closure = _closure(listing)
    known = _Known(listing)
    for batch in batches:
        for task in batch.column(0).to_pylist():
            yield from _pairs_of(listing, closure, known, task)


def _closure(listing: Listing) -> Closure:
    """Return the closure of the edges, which a worker makes once."""
    if listing.token not in _made:
        _made.clear()
        closure = Closure(
            symmetric=listing.is_symmetric, linear=listing.is_linear, budget=listing.budget
        )
        before, come = listing.edges
        closure.change(NO_PAIRS, before)
        closure.commit()
        closure.change(NO_PAIRS, come, NO_PAIRS, listing.steps)
        _made[listing.token] = closure
    return _made[listing.token]


class _Known:
    """Which pairs of some first nodes are known, as a table."""

    def __init__(self, listing: Listing) -> None:
        self._first, self._second = listing.known
        self._size = listing.constants.size
        self.room = max(1, TABLE // self._size)  # sources at once
        self._table = np.zeros(self.room * self._size, np.bool_)

    def among(self, sources: Ids, origins: Ids, targets: Ids) -> npt.NDArray[np.bool_]:
        """Return which pairs are known, of sources in ascending order."""
        begin = np.searchsorted(self._first, sources[0])
        end = np.searchsorted(self._first, sources[-1], "right")
        rows = np.searchsorted(sources, self._first[begin:end])
        here = sources[np.minimum(rows, sources.size - 1)] == self._first[begin:end]
        places = (rows * self._size + self._second[begin:end])[here]
        self._table[places] = True
        found: npt.NDArray[np.bool_] = self._table[origins.astype(np.int64) * self._size + targets]
        self._table[places] = False
        return found


def _pairs_of(
    listing: Listing, closure: Closure, known: _Known, task: int
) -> Iterator[pa.RecordBatch]:
    begin, last = listing.bounds[task : task + 2].tolist()
    while begin < last:
        before = int(listing.ends[begin - 1]) if begin else 0
        end = int(np.searchsorted(listing.ends, before + PER_BATCH, "right"))
        end = max(begin + 1, min(end, begin + known.room, last))
        sources = listing.sources[begin:end]
        origins, targets = closure.forward(sources, GAINED)
        yield _rows(listing, sources, origins, targets, ~known.among(sources, origins, targets))
        begin = end


def _rows(
    listing: Listing, sources: Ids, origins: Ids, targets: Ids, new: npt.NDArray[np.bool_]
) -> pa.RecordBatch:
    """Return new pairs as a row for each first constant that has any."""
    sizes = np.bincount(origins[new], minlength=sources.size)
    kept = sizes > 0
    offsets = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int32)
    others = listing.constants[targets[new]].view(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(others))
    first = pa.array(listing.constants[sources[kept]].astype(np.int64))
    return pa.record_batch([first, lists], names=["c0", "others"])
