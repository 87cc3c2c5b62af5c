"""Evaluated facts of the columnar engine: row numbers per relation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stratalog.facts.sets import Batch


class ColumnarBatch(Batch):
    """Distinct rows by relation number; relations without rows are absent."""

    __slots__ = ("rows",)

    def __init__(self, rows: dict[int, npt.NDArray[np.uint32]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return sum(rows.size for rows in self.rows.values())

    def __bool__(self) -> bool:
        return bool(self.rows)
