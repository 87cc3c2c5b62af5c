"""Numbers in the order of the rows, so that they do not depend on how the input was cut.

Columns are interned one after the other, and rare terms after the others of their block. Without
this, a constant's number would tell where the blocks of the reader began.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stratalog.kernels.terms import order as kernels
from stratalog.pipeline.dictionary import STRING_INDEX, Bytes, Dictionary, Ids, Offsets
from stratalog.pipeline.garbled import garbled_rows


def number_by_row(dictionary: Dictionary, known: int, rows: npt.NDArray[np.uint32]) -> Ids | None:
    """Give the terms from `known` on numbers in the order in which `rows` has them; change `rows`.

    Return the new numbers by the old ones less `known`, or None if none has changed. Terms that no
    row has are forgotten.
    """
    count = len(dictionary) - known
    if not count:
        return None
    numbers = np.full(count, kernels.NOWHERE, np.uint32)
    order = np.empty(count, np.int64)
    used = int(kernels.number_by_appearance(rows.reshape(-1), known, numbers, order))
    if used == count and bool((order[1:] > order[:-1]).all()):
        return None
    terms = dictionary.to_table(known)
    kinds = terms.column("kind").to_numpy()[order[:used]]
    texts = terms.column("text").chunk(0)
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[: count + 1]
    data = np.array(np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]])
    starts = offsets[:-1][order[:used]] - offsets[0]
    ends = offsets[1:][order[:used]] - offsets[0]
    dictionary.truncate(known)
    dictionary.intern_spans(data, starts, ends, kinds)
    return numbers


def columns_by_row(dictionary: Dictionary, known: int, columns: list[Ids]) -> list[Ids]:
    """Return the columns after `number_by_row` of their rows."""
    if not columns or len(dictionary) == known:
        return columns
    rows = np.stack(columns, axis=1)
    if number_by_row(dictionary, known, rows) is None:
        return columns
    return [np.ascontiguousarray(column) for column in rows.T]


def are_plain_texts(columns: Sequence[Any], *, is_checked: bool) -> bool:
    """Tell whether all columns are Arrow arrays of valid text without nulls."""
    return all(
        isinstance(column, pa.Array)
        and not column.null_count
        and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type))
        and (is_checked or garbled_rows(column) is None)
        for column in columns
    )


def intern_rows(dictionary: Dictionary, columns: Sequence[Any]) -> list[Ids]:
    """Return the numbers of plain texts as strings, interned row by row."""
    spans = [_spans(column) for column in columns]
    begins = np.cumsum([0, *(data.size for data, _ in spans)])
    starts = [offsets[:-1] + begin for (_, offsets), begin in zip(spans, begins, strict=False)]
    ends = [offsets[1:] + begin for (_, offsets), begin in zip(spans, begins, strict=False)]
    cells = len(columns) * len(columns[0])
    ids = dictionary.intern_spans(
        np.concatenate([data for data, _ in spans]),
        np.stack(starts, axis=1).reshape(-1),
        np.stack(ends, axis=1).reshape(-1),
        np.full(cells, STRING_INDEX, np.int32),
    )
    return [np.ascontiguousarray(column) for column in ids.reshape(-1, len(columns)).T]


def _spans(column: Any) -> tuple[Bytes, Offsets]:  # noqa: ANN401  # Arrow has no types
    """Return the bytes of a column of text, and where each of its texts begins and ends there."""
    wide = column.cast(pa.large_string())
    _, raw_offsets, raw = wide.buffers()
    if not len(column):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(raw_offsets, np.int64)[wide.offset :][: len(wide) + 1]
    data = np.empty(0, np.uint8) if raw is None else np.frombuffer(raw, np.uint8)
    return data[offsets[0] : offsets[-1]], offsets - offsets[0]
