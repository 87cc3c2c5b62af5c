"""Parquet files of a store, checked by their footers and page headers before anything is unpacked.

A small file can ask for any amount of memory: by the rows that its footer claims, by a page that is
one byte a billion times, by a text that a dictionary repeats. What our writer never writes, and
what is larger than the rows it must have, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from stratalog.pipeline.documents import OddDocumentError
from stratalog.pipeline.ordinary import damaged
from stratalog.pipeline.page_headers import DATA_PAGE, DICTIONARY_PAGE, Page, pages

ROWS_PER_GROUP = 1 << 20
TEXT = "text"
PLAIN_ENCODING = 0

_VALUE = 16  # bytes: more than any encoding of ours takes for a number
_SLACK = 1 << 20  # bytes of levels and headers
_TEXT_RATIO = 1 << 10  # distinct texts are never packed so well
_LEAST_TEXT = 1 << 28  # bytes: up to here texts may be packed as well as they like
_FOOTER_END = 8
_TYPES = {
    TEXT: (pa.string(),),
    "kind": (pa.int32(),),
    "label": (pa.int32(),),
    "nonrecursive": (pa.int32(), pa.int64()),
    "recursive": (pa.int32(), pa.int64()),
}
_ID = (pa.int64(),)


class Checked(NamedTuple):
    """A file that may be unpacked, and the bytes of its texts then."""

    file: pq.ParquetFile
    texts: int


def checked(content: pa.Buffer, names: Sequence[str], rows: int, path: Path) -> Checked:
    """Return a Parquet file with just these columns and so many rows; T103 if it is another."""
    try:
        file = _opened(content)
        _check_columns(file.schema_arrow, names)
        _check_rows(file.metadata, rows)
        return Checked(file, _check_chunks(memoryview(content).cast("B"), file.metadata))
    except OddDocumentError as error:
        raise damaged(path, str(error)) from None
    except (pa.ArrowException, OSError, ValueError, MemoryError):  # names that are no Unicode
        raise damaged(path, "it is no Parquet file of ours") from None


def check_texts(files: Sequence[Checked], size: int, path: Path) -> None:
    """Refuse texts that take far more memory than the files that have them."""
    if sum(each.texts for each in files) > max(_LEAST_TEXT, _TEXT_RATIO * size):
        raise damaged(path, "its texts take more than a thousand times its size")


def _opened(content: pa.Buffer) -> pq.ParquetFile:
    """Return the file, whose footer may claim no more parts than it has bytes."""
    end = memoryview(content).cast("B")[-_FOOTER_END:]
    footer = int.from_bytes(end[:4], "little")
    if len(end) < _FOOTER_END or footer > content.size:
        raise OddDocumentError("it is no Parquet file")
    return pq.ParquetFile(
        pa.BufferReader(content),
        thrift_string_size_limit=footer + 1,
        thrift_container_size_limit=footer + 1,
    )


def _check_columns(schema: pa.Schema, names: Sequence[str]) -> None:
    if schema.names != list(names):
        raise OddDocumentError("it has other columns")
    for column in schema:
        if column.type not in _TYPES.get(column.name, _ID):
            raise OddDocumentError(f"its column {column.name} is of another type")


def _check_rows(metadata: Any, rows: int) -> None:  # noqa: ANN401  # Arrow has no types
    found = [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]
    if metadata.num_rows != rows or sum(found) != rows:
        raise OddDocumentError(f"it has {metadata.num_rows} rows, not {rows}")
    if any(not 0 <= each <= ROWS_PER_GROUP for each in found):
        raise OddDocumentError("it has too many rows in a group")


def _check_chunks(content: memoryview, metadata: Any) -> int:  # noqa: ANN401
    """Check each column of each group; return the bytes of all texts."""
    texts = 0
    for place in range(metadata.num_row_groups):
        group = metadata.row_group(place)
        for number in range(metadata.num_columns):
            column = group.column(number)
            start, end = _span(column, len(content), group.num_rows)
            if column.path_in_schema == TEXT:
                texts += sum(_unpacked_texts(pages(bytes(content[start:end]))))
            else:
                _check_numbers(pages(bytes(content[start:end])), group.num_rows)
    return texts


def _span(column: Any, size: int, rows: int) -> tuple[int, int]:  # noqa: ANN401
    """Return where the pages of a column begin and end.

    How it is packed is not asked: Arrow ends the process if the footer tells a way it has not.
    """
    start = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < start:
        start = column.dictionary_page_offset
    end = start + column.total_compressed_size
    if not 0 < start <= end <= size or column.num_values != rows:
        raise OddDocumentError("a column lies outside the file")
    return start, end


def _unpacked_texts(found: Iterator[Page]) -> Iterator[int]:
    """Yield the sizes of pages of texts; none repeats a text that another has."""
    for page in found:
        if page.type != DATA_PAGE or page.encoding != PLAIN_ENCODING:
            raise OddDocumentError("its texts are encoded in another way")
        yield page.unpacked


def _check_numbers(found: Iterator[Page], rows: int) -> None:
    total = 0
    for page in found:
        total += page.unpacked
        if page.type not in (DATA_PAGE, DICTIONARY_PAGE) or total > _VALUE * rows + _SLACK:
            raise OddDocumentError("a page is larger than its rows")
