"""Evaluated facts of the columnar engine: row numbers per relation, or regions of closures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stratalog.facts.sets import Batch

Regions = dict[int, tuple[int, int]]
"""Pairs of relations that are read from closures: their regions, and how many there are."""

NO_REGIONS: Regions = {}


class ColumnarBatch(Batch):
    """Distinct facts by relation number; relations without any are absent."""

    __slots__ = ("regions", "rows")

    def __init__(
        self, rows: dict[int, npt.NDArray[np.uint32]], regions: Regions = NO_REGIONS
    ) -> None:
        self.rows = rows
        self.regions = regions

    def __len__(self) -> int:
        size = sum([rows.size for rows in self.rows.values()])
        return size + sum(size for _, size in self.regions.values()) if self.regions else size

    def __bool__(self) -> bool:
        return bool(self.rows or self.regions)
