"""Sets of facts as columns of numbers: how many differ, which are in both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stratalog.knowledge.adapters import Ids

Words = npt.NDArray[np.uint64]


def as_words(columns: Sequence[Ids]) -> Words:
    """Return a number per row, of at least one column: equal rows have equal numbers."""
    words: Words = columns[0].astype(np.uint64)
    for column in columns[1:]:
        # Ranks are below 2**32, so that a rank and a constant fit one word.
        _, ranks = np.unique(words, return_inverse=True)
        words = ranks.astype(np.uint64) << np.uint64(32) | column.astype(np.uint64)
    return words


def distinct(columns: Sequence[Ids], size: int) -> int:
    """Return the number of different rows; a fact without arguments is there or not."""
    return int(np.unique(as_words(columns)).size) if columns and size > 1 else min(size, 1)


def missing(
    columns: Sequence[Ids], size: int, others: Sequence[Ids], other_size: int
) -> npt.NDArray[np.bool_]:
    """Return for each row whether it is absent among the others."""
    if not columns:
        return np.full(size, other_size == 0)
    together = [np.concatenate([a, b]) for a, b in zip(columns, others, strict=True)]
    words = as_words(together)
    absent: npt.NDArray[np.bool_] = ~np.isin(words[:size], words[size:])
    return absent
