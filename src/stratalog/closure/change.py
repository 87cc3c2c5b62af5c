"""Pairs that a change of a closure has taken or brought, to be listed if somebody asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from stratalog.closure.nodes import Ids
from stratalog.kernels.arrays import zeros
from stratalog.kernels.closure import read as closure_read

Columns = tuple[Ids, Ids]


class ChangedPairs(Sequence[Ids]):
    """Both columns of some pairs; they are listed when the first of them is read."""

    def __init__(
        self,
        descriptor: npt.NDArray[np.int64],
        kept_alive: Sequence[npt.NDArray[Any]],
        regions: int,
        size: int,
    ) -> None:
        self._descriptor = descriptor
        self._kept_alive = kept_alive  # the descriptor has addresses only
        self._regions = regions
        self._listed: Columns | None = None
        self._listing = Lock()
        self._is_turned = False
        self.size = size

    def turned(self) -> ChangedPairs:
        """Return the pairs with both columns exchanged."""
        other = ChangedPairs(self._descriptor, self._kept_alive, self._regions, self.size)
        other._is_turned = not self._is_turned
        return other

    def __len__(self) -> int:
        return 2

    @overload
    def __getitem__(self, place: int) -> Ids: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Ids]: ...
    def __getitem__(self, place: int | slice) -> Ids | Sequence[Ids]:
        first, second = self._columns()
        return ((second, first) if self._is_turned else (first, second))[place]

    def _columns(self) -> Columns:
        with self._listing:  # another thread may read them too
            if self._listed is None:
                block = zeros(2 * self.size, np.uint32)
                columns = block[: self.size], block[self.size :]
                state = np.zeros(closure_read.SCAN_STATE, np.int64)
                closure_read.closure_scan(
                    self._descriptor, self._regions, state, *columns, 0, self.size
                )
                self._listed = columns
                self._kept_alive = ()
            return self._listed
