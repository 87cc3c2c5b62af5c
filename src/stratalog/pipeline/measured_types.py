"""The types that columns of numbers hold: of a few rows, or of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stratalog.lang.column_types import NONE, Types, type_of_kind
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import Ids

SAMPLE = 64  # rows that are looked at to find that a column may well match another
AT_ONCE = 1 << 16  # rows, so that what is looked up stays in the processor's cache


class MeasuredTypes:
    """Tells the types of columns of one dictionary."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._kinds = dictionary.kind_ids
        self._types = np.array([type_of_kind(kind) for kind in dictionary.kinds], np.uint16)

    def of_some(self, columns: Sequence[Ids]) -> list[Types]:
        """Return types that columns surely hold: those of a few rows, spread over all."""
        return [self._of(ids[:: max(1, ids.size // SAMPLE)]) for ids in columns]

    def of_all(self, columns: Sequence[Ids]) -> list[Types]:
        """Return all types that columns hold."""
        return [self._of_column(ids) for ids in columns]

    def in_use(self) -> Types:
        """Return the types of all constants that are known."""
        return int(np.bitwise_or.reduce(self._types[self._kinds]))

    def _of_column(self, ids: Ids) -> Types:
        found = NONE
        for start in range(0, ids.size, AT_ONCE):
            found |= self._of(ids[start : start + AT_ONCE])
        return found

    def _of(self, ids: npt.NDArray[np.uint32]) -> Types:
        return int(np.bitwise_or.reduce(self._types[self._kinds[ids]]))
