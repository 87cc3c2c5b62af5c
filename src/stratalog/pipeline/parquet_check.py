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
from stratalog.pipeline.footers import FOREIGN, Footer, Group, read_footer
from stratalog.pipeline.ordinary import damaged
from stratalog.pipeline.page_headers import DATA_PAGE, DICTIONARY_PAGE, Page, pages
from stratalog.pipeline.parts import ROWS_PER_GROUP

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
        footer = _footer(content)
        file = _opened(content, len(footer))
        _check_columns(file.schema_arrow, names)
        told = read_footer(footer)
        _check_rows(told, rows)
        return Checked(file, _check_chunks(memoryview(content).cast("B"), told.groups, names))
    except OddDocumentError as error:
        raise damaged(path, str(error)) from None
    except (pa.ArrowException, OSError, ValueError, MemoryError):  # names that are no Unicode
        raise damaged(path, FOREIGN) from None


def check_texts(files: Sequence[Checked], size: int, path: Path) -> None:
    """Refuse texts that take far more memory than the files that have them."""
    if sum(each.texts for each in files) > max(_LEAST_TEXT, _TEXT_RATIO * size):
        raise damaged(path, "its texts take more than a thousand times its size")


def _footer(content: pa.Buffer) -> bytes:
    """Return the footer, whose size lies before the file's last word."""
    whole = memoryview(content).cast("B")
    size = int.from_bytes(whole[-_FOOTER_END:][:4], "little")
    if len(whole) < _FOOTER_END or size > len(whole) - _FOOTER_END:
        raise OddDocumentError(FOREIGN)
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


def _check_rows(footer: Footer, rows: int) -> None:
    total = sum(group.rows for group in footer.groups)
    if footer.rows != rows or total != rows:
        odd = footer.rows if footer.rows != rows else total
        raise OddDocumentError(f"it has {odd} rows, not {rows}")
    if any(not 0 <= group.rows <= ROWS_PER_GROUP for group in footer.groups):
        raise OddDocumentError("it has too many rows in a group")


def _check_chunks(content: memoryview, groups: Sequence[Group], names: Sequence[str]) -> int:
    """Check each column of each group; return the bytes of all texts."""
    texts = 0
    for group in groups:
        if len(group.chunks) != len(names):
            raise OddDocumentError("it has other columns")
        for name, chunk in zip(names, group.chunks, strict=True):
            if not 0 < chunk.start <= chunk.end <= len(content) or chunk.values != group.rows:
                raise OddDocumentError("a column lies outside the file")
            found = pages(content[chunk.start : chunk.end])
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
