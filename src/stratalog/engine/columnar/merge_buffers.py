"""What each thread needs to merge facts into a relation: a list of touched rows, rows it took."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.kernels import memory
from stratalog.kernels.arrays import zeros
from stratalog.kernels.relation import labels as marks
from stratalog.kernels.relation import modes, rows
from stratalog.kernels.sizes import sized

if TYPE_CHECKING:
    from stratalog.engine.columnar.relation import Relation

Ids = npt.NDArray[np.uint32]

Counts = npt.NDArray[np.int64]

NONE: Ids = np.empty(0, np.uint32)
NO_COUNTS: Counts = np.empty(0, np.int64)
LONG = sized(1 << 14, 2)  # touched rows that are handed over, not copied
FORGET_SEEN = np.uint16(0xFFFF ^ int(modes.SEEN_BIT))


class MergeBuffers:
    """The lanes of one relation. One is always there; others only while threads share it."""

    def __init__(self, account: Callable[[int], None]) -> None:
        self._account = account
        self.table = np.zeros((1, memory.LANE_WIDTH), np.int64)
        self._touched: list[Ids] = [NONE]
        self._before: list[Counts] = [NO_COUNTS]
        self._remembers = False

    def remember(self, wanted: bool) -> None:
        """Keep the counts that touched rows had before, or no longer do."""
        self._remembers = wanted
        for lane in range(len(self._touched)):
            self._fit_before(lane)

    def _fit_before(self, lane: int) -> None:
        """Let a lane have room for the counts of its touched rows, if they are remembered."""
        size, kept = self._touched[lane].size, self._before[lane]
        if not self._remembers:
            self.table[lane, memory.LANE_BEFORE] = 0
            if kept.size > LONG:  # a short one is kept for the next update
                self._account(-kept.nbytes)
                self._before[lane] = NO_COUNTS
            return
        if kept.size < size:
            self._account(8 * (size - kept.size))
            kept = self._before[lane] = np.concatenate([kept, np.empty(size - kept.size, np.int64)])
        self.table[lane, memory.LANE_BEFORE] = kept.ctypes.data if size else 0

    def describe(self, d: npt.NDArray[np.int64]) -> None:
        """Write where the lanes are into the relation's descriptor."""
        d[memory.LANES] = self.table.ctypes.data

    def stopped_by(self, lane: int) -> int:
        """Return why the lane's last merge stopped: a full segment, OVERFLOW or NO_ROOM."""
        return int(self.table[lane, memory.LANE_STOP])

    def reserve(self, lane: int, extra: int, most: int = 0) -> None:
        """Make room to list more touched rows, of `most` or more that there may be."""
        used = int(self.table[lane, memory.LANE_N_TOUCHED])
        need = used + extra
        listed = self._touched[lane]
        if need > listed.size:
            size = max(need, 2 * listed.size, most if need >= LONG else 0)
            self._account(4 * (size - listed.size))
            longer = zeros(size, np.uint32)
            longer[:used] = listed[:used]
            self._touched[lane] = longer
            self.table[lane, memory.LANE_TOUCHED] = longer.ctypes.data
            self.table[lane, memory.LANE_TOUCHED_CAPACITY] = size
            self._fit_before(lane)

    def share(self, relation: Relation, lanes: int) -> None:
        """Let so many threads merge at once, facts of different segments."""
        for _ in range(lanes - len(self._touched)):
            self._touched.append(NONE)
            self._before.append(NO_COUNTS)
        table = np.zeros((lanes, memory.LANE_WIDTH), np.int64)
        table[: self.table.shape[0]] = self.table[:lanes]
        table[:, memory.LANE_SHARED] = 1
        table[:, memory.LANE_NEXT : memory.LANE_END + 1] = 0
        self.table = table
        self.describe(relation.descriptor)

    def unshare(self, relation: Relation) -> None:
        """Close the gaps that lanes have left: rows that they took and did not need."""
        taken = self.table[:, memory.LANE_NEXT : memory.LANE_END + 1]
        gaps = taken[taken[:, 0] < taken[:, 1]]
        missing = int((gaps[:, 1] - gaps[:, 0]).sum())
        if missing:
            moved = np.empty(missing, np.uint32)
            begins, ends = gaps[:, 0].copy(), gaps[:, 1].copy()
            rows.close_gaps(relation.descriptor, begins, ends, moved)
            for lane, listed in enumerate(self._touched):
                used = listed[: self.table[lane, memory.LANE_N_TOUCHED]]
                rows.renumber(used, relation.rows, moved)
        self.table[:, memory.LANE_SHARED] = 0

    def take(self, labels: npt.NDArray[np.uint16]) -> tuple[Ids, Counts]:
        """Return the rows touched since the last call, and forget them.

        With them come the counts that they had before, if these are remembered.
        """
        sizes = self.table[:, memory.LANE_N_TOUCHED].tolist()
        if not any(sizes):
            return NONE, NO_COUNTS
        touched = self._listed(sizes)
        before = np.concatenate([b[:n] for b, n in zip(self._before, sizes, strict=True)])
        self.table[:, memory.LANE_N_TOUCHED] = 0
        marks.clear_bits(labels, touched, FORGET_SEEN)
        return touched, before

    def _listed(self, sizes: list[int]) -> Ids:
        """Return the touched rows: a long list itself, and copies of short ones."""
        if len(sizes) > 1 or sizes[0] < LONG:
            return np.concatenate([t[:n] for t, n in zip(self._touched, sizes, strict=True)])
        (listed,) = self._touched
        self._account(-listed.nbytes)
        self._touched = [NONE]
        self.table[0, memory.LANE_TOUCHED : memory.LANE_TOUCHED_CAPACITY + 1] = 0
        return listed[: sizes[0]]

    def trim(self) -> None:
        """Give back the room to list rows."""
        self._account(-sum(touched.nbytes for touched in self._touched))
        self._account(-sum(before.nbytes for before in self._before))
        self._touched, self._before = [NONE], [NO_COUNTS]
        self.table = np.zeros((1, memory.LANE_WIDTH), np.int64)
