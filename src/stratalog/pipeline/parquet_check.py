"""Parquet files of a store, checked by their footers and page headers before anything is unpacked.

A small file can ask for any amount of memory: by the rows that its footer claims, by a page that is
one byte a billion times, by a text that a dictionary repeats. What our writer never writes, and
what is larger than the rows it must have, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from stratalog.pipeline.documents import OddDocumentError
from stratalog.pipeline.ordinary import damaged
from stratalog.pipeline.page_headers import DATA_PAGE, DICTIONARY_PAGE, Page, pages
from stratalog.pipeline.thrift import Struct, read_struct

ROWS_PER_GROUP = 1 << 20
TEXT = "text"
PLAIN_ENCODING = 0

_VALUE = 16  # bytes: more than any encoding of ours takes for a number
_SLACK = 1 << 20  # bytes of levels and headers
_TEXT_RATIO = 1 << 10  # distinct texts are never packed so well
_LEAST_TEXT = 1 << 28  # bytes: up to here texts may be packed as well as they like
_FOOTER_END = 8
_FOREIGN = "it is no Parquet file of ours"
_TYPES = {
    TEXT: (pa.string(),),
    "kind": (pa.int32(),),
    "label": (pa.int32(),),
    "nonrecursive": (pa.int32(), pa.int64()),
    "recursive": (pa.int32(), pa.int64()),
}
_ID = (pa.int64(),)


class Chunk(NamedTuple):
    """Where the pages of a column of a group are, and how many values they have."""

    start: int
    end: int
    values: int


class Group(NamedTuple):
    """A group of rows, and its columns."""

    rows: int
    chunks: list[Chunk]


class Checked(NamedTuple):
    """A file that may be unpacked, and the bytes of its texts then."""

    file: pq.ParquetFile
    texts: int


def checked(content: pa.Buffer, names: Sequence[str], rows: int, path: Path) -> Checked:
    """Return a Parquet file with just these columns and so many rows; T103 if it is another."""
    try:
        footer = _footer(content)
        file = _opened(content, len(footer))
        _check_columns(file.schema_arrow, names)
        groups = _groups(footer, rows)
        return Checked(file, _check_chunks(memoryview(content).cast("B"), groups, names))
    except OddDocumentError as error:
        raise damaged(path, str(error)) from None
    except (pa.ArrowException, OSError, ValueError, MemoryError):  # names that are no Unicode
        raise damaged(path, _FOREIGN) from None


def check_texts(files: Sequence[Checked], size: int, path: Path) -> None:
    """Refuse texts that take far more memory than the files that have them."""
    if sum(each.texts for each in files) > max(_LEAST_TEXT, _TEXT_RATIO * size):
        raise damaged(path, "its texts take more than a thousand times its size")


def _footer(content: pa.Buffer) -> bytes:
    """Return the footer, whose size lies before the file's last word."""
    whole = memoryview(content).cast("B")
    size = int.from_bytes(whole[-_FOOTER_END:][:4], "little")
    if len(whole) < _FOOTER_END or size > len(whole) - _FOOTER_END:
        raise OddDocumentError(_FOREIGN)
    return bytes(whole[len(whole) - _FOOTER_END - size : len(whole) - _FOOTER_END])


def _opened(content: pa.Buffer, footer: int) -> pq.ParquetFile:
    """Return the file, whose footer may claim no more parts than it has bytes."""
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


def _groups(footer: bytes, rows: int) -> list[Group]:
    """Return the groups of rows that a footer tells of."""
    try:
        told = read_struct(footer, 0)[0]
        if told[3] != rows:
            raise OddDocumentError(f"it has {told[3]} rows, not {rows}")
        groups = [Group(each[3], [_chunk(c[3]) for c in each[1]]) for each in told.get(4, [])]
        total = sum(group.rows for group in groups)
    except (KeyError, TypeError, AttributeError):
        raise OddDocumentError(_FOREIGN) from None
    if total != rows:
        raise OddDocumentError(f"it has {total} rows, not {rows}")
    if any(not 0 <= group.rows <= ROWS_PER_GROUP for group in groups):
        raise OddDocumentError("it has too many rows in a group")
    return groups


def _chunk(fields: Struct) -> Chunk:
    """Return where a column's pages begin and end, and how many values it has."""
    start, dictionary = fields[9], fields.get(11, 0)
    if 0 < dictionary < start:
        start = dictionary
    return Chunk(start, start + fields[7], fields[5])


def _check_chunks(content: memoryview, groups: Sequence[Group], names: Sequence[str]) -> int:
    """Check each column of each group; return the bytes of all texts."""
    texts = 0
    for group in groups:
        if len(group.chunks) != len(names):
            raise OddDocumentError("it has other columns")
        for name, chunk in zip(names, group.chunks, strict=True):
            if not 0 < chunk.start <= chunk.end <= len(content) or chunk.values != group.rows:
                raise OddDocumentError("a column lies outside the file")
            found = pages(bytes(content[chunk.start : chunk.end]))
            if name == TEXT:
                texts += sum(_unpacked_texts(found))
            else:
                _check_numbers(found, group.rows)
    return texts


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
