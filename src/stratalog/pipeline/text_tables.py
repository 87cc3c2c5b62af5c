"""CSV, TSV, .facts and JSON lines to facts; columns are text unless declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from stratalog.errors import DataError
from stratalog.pipeline.delimited import CSV, TSV, DelimitedReader, Reject
from stratalog.pipeline.facts import TABLE, TEXT
from stratalog.pipeline.files import BadLine, ReadReport
from stratalog.pipeline.json_lines import JsonReader
from stratalog.pipeline.tables import Block, Source, Vocabulary

DIALECTS = {"csv": CSV, "tsv": TSV, "facts": TSV}
TEXT_FORMATS = frozenset({*DIALECTS, "jsonl"})

Fixed = Sequence[tuple[str, str | None]]
"""Columns that the folders of a partitioned table give, such as day=2026-01-31: names and texts."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file that feeds one predicate."""

    path: str
    format: str
    name: str
    header: bool = False
    skip: bool = False
    fixed: Fixed = ()


class Shape(NamedTuple):
    """What the first record of a file tells: its columns' names, and how many there are."""

    names: list[str] | None
    width: int | None


def read_text(
    file: TextFile,
    stream: BinaryIO,
    vocabulary: Vocabulary,
    report: ReadReport,
    shape: Shape | None = None,
) -> Iterator[tuple[Block, Source]]:
    """Yield the file's rows as blocks of text, or of values for JSON lines.

    With a `shape` the stream begins at a later line of the file.
    """

    def reject(error: DataError, text: str) -> None:
        if not file.skip:
            raise error
        report.reject(BadLine(file.path, error.line, error.message, text))

    if file.format == "jsonl":
        yield from _json_blocks(file, stream, vocabulary, reject, shape)
        return
    reader = DelimitedReader(
        stream, DIALECTS[file.format], file.path, reject, strict=not file.skip,
        from_start=shape is None,
    )  # fmt: skip
    yield from _delimited_blocks(file, reader, vocabulary, shape)


def shape_of(file: TextFile, stream: BinaryIO, vocabulary: Vocabulary) -> Shape | None:
    """Return what the beginning of a file tells about all of it, None if it has no records."""
    if file.format == "jsonl":
        json = JsonReader(file.name, vocabulary, file.path, _ignore, file.fixed)
        return Shape(None, json.settle(stream))
    reader = DelimitedReader(stream, DIALECTS[file.format], file.path, _ignore)
    first = reader.first_record()
    return None if first is None else _shape(file, first, vocabulary)[0]


def _ignore(error: DataError, text: str) -> None:
    """Leave mistakes to whoever reads the rows."""


def _json_blocks(
    file: TextFile,
    stream: BinaryIO,
    vocabulary: Vocabulary,
    reject: Reject,
    shape: Shape | None,
) -> Iterator[tuple[Block, Source]]:
    reader = JsonReader(
        file.name, vocabulary, file.path, reject, file.fixed, strict=not file.skip
    )  # fmt: skip
    if shape is not None:
        reader.width = shape.width
    for rows in reader.rows(stream, from_start=shape is None):
        source = Source(
            file.path, TABLE, line=rows.lines.__getitem__, text=rows.text,
            skip=file.skip,
        )  # fmt: skip
        yield Block(None, rows.columns, len(rows.lines)), source


def _delimited_blocks(
    file: TextFile, reader: DelimitedReader, vocabulary: Vocabulary, shape: Shape | None
) -> Iterator[tuple[Block, Source]]:
    if shape is None:
        first = reader.first_record()
        if first is None:
            return
        shape, has_header = _shape(file, first, vocabulary)
        if has_header:
            reader.drop_record()
    names = shape.names
    added = [name for name, _ in file.fixed]
    for rows in reader.rows(shape.width or 0):
        fixed = [constant(text, rows.size) for _, text in file.fixed]
        source = Source(file.path, TEXT, line=rows.line, text=rows.text, skip=file.skip)
        known = None if names is None else [*names, *added]
        yield Block(known, [*rows.columns, *fixed], rows.size), source


def _shape(file: TextFile, first: list[str], vocabulary: Vocabulary) -> tuple[Shape, bool]:
    """Return the shape of a file by its first record, and whether that is a header."""
    names = _header(file, first, vocabulary)
    if names is not None:
        return Shape(names, len(names)), True
    width = _width(file, len(first), vocabulary)
    return Shape(_declared_names(file, vocabulary), width), False


def _header(file: TextFile, first: list[str], vocabulary: Vocabulary) -> list[str] | None:
    """Return the names in the first line if it is a header."""
    given = {name for name, _ in file.fixed}
    for declaration in vocabulary.declared(file.name):
        wanted = {each.source or each.name for each in declaration.columns} - given
        if wanted and wanted <= set(first):
            return first
    return first if file.header else None


def _declared_names(file: TextFile, vocabulary: Vocabulary) -> list[str] | None:
    """Return the names of a partitioned file's own columns: those that no folder gives."""
    declared = vocabulary.declared(file.name)
    if not declared or not file.fixed:
        return None
    given = {name for name, _ in file.fixed}
    names = (each.source or each.name for each in declared[0].columns)
    return [name for name in names if name not in given]


def _width(file: TextFile, first: int, vocabulary: Vocabulary) -> int:
    """Return how many fields a line must have: the arity, or as many as the first line has."""
    declared = _declared_names(file, vocabulary)
    if declared is not None:
        return len(declared)
    known = {each - len(file.fixed) for each in vocabulary.widths(file.name)}
    if not known or first in known:
        return first
    return max(0, min(known))


def constant(text: str | None, size: int) -> Any:  # noqa: ANN401
    """Return a column that holds one text in every row, or only nulls."""
    if text is None:
        return pa.nulls(size, pa.large_string())
    return pa.repeat(pa.scalar(text, pa.large_string()), size)
