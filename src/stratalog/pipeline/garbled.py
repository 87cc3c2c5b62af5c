"""Which texts of an Arrow column are not valid UTF-8: Arrow and Parquet do not look at them."""

from __future__ import annotations

import codecs
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stratalog.pipeline.dictionary import Bytes, Offsets, writable_view
from stratalog.pipeline.native import Mask, is_text

FIRST_BEYOND_ASCII = 0x80


def garbled_rows(values: Any) -> Mask | None:  # noqa: ANN401  # Arrow has no types
    """Return which texts of a plain array without nulls are garbled, None if there are none."""
    if not len(values) or not is_text(values.type):
        return None
    values = values.cast(pa.large_string())
    if _is_ascii(values):
        return None
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return _found(*_buffers(values))
    return None


def _is_ascii(values: Any) -> bool:  # noqa: ANN401
    _, raw, data = values.buffers()
    offsets = np.frombuffer(raw, np.int64)
    begin, end = offsets[values.offset], offsets[values.offset + len(values)]
    text = np.frombuffer(data, np.uint8)[begin:end] if begin < end else None
    return text is None or int(text.max()) < FIRST_BEYOND_ASCII


def _buffers(values: Any) -> tuple[Bytes, Offsets]:  # noqa: ANN401
    """Return the bytes of all texts, and where each begins among them."""
    _, raw, data = values.buffers()
    offsets = np.frombuffer(raw, np.int64)[values.offset :][: len(values) + 1]
    return writable_view(data)[offsets[0] : offsets[-1]], offsets - offsets[0]


def _found(text: Bytes, offsets: Offsets) -> Mask:
    """Return which of the texts text[offsets[i]:offsets[i + 1]] are garbled."""
    whole = memoryview(text.data)
    bad = np.zeros(offsets.size - 1, np.bool_)
    for row in np.flatnonzero(_doubtful(text, offsets)).tolist():
        try:
            codecs.utf_8_decode(whole[offsets[row] : offsets[row + 1]], "strict", True)
        except UnicodeDecodeError:
            bad[row] = True
    return bad


def _doubtful(text: Bytes, offsets: Offsets) -> Mask:
    """Return which texts may be garbled: few others, since these are looked at one by one.

    A text is sound if all texts together are, and neither it nor the next begins inside a
    character.
    """
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    inside = (text[offsets[filled]] & 0xC0) == FIRST_BEYOND_ASCII
    doubtful = np.zeros(offsets.size - 1, np.bool_)
    doubtful[filled[inside]] = True
    doubtful[filled[:-1][inside[1:]]] = True
    doubtful[_rows_of_errors(text, offsets)] = True
    return doubtful


def _rows_of_errors(text: Bytes, offsets: Offsets) -> npt.NDArray[np.int64]:
    """Return the rows in which decoding all texts as one finds something wrong."""
    whole = memoryview(text.data)
    rows, position = [], 0
    while position < text.size:
        try:
            codecs.utf_8_decode(whole[position:], "strict", True)
        except UnicodeDecodeError as error:
            row = int(np.searchsorted(offsets, position + error.start, side="right")) - 1
            rows.append(row)
            position = int(offsets[row + 1])
        else:
            break
    return np.array(rows, np.int64)
