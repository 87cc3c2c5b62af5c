"""CSV, TSV, .facts and JSON lines to facts; columns are text unless declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from stratalog.errors import DataError
from stratalog.pipeline.delimited import CSV, TSV, DelimitedReader
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


def read_text(
    file: TextFile, stream: BinaryIO, vocabulary: Vocabulary, report: ReadReport
) -> Iterator[tuple[Block, Source]]:
    """Yield the file's rows as blocks of text, or of values for JSON lines."""

    def reject(error: DataError, text: str) -> None:
        if not file.skip:
            raise error
        report.reject(BadLine(file.path, error.line, error.message, text))

    if file.format == "jsonl":
        yield from _json_blocks(file, stream, vocabulary, reject)
    else:
        reader = DelimitedReader(stream, DIALECTS[file.format], file.path, reject)
        yield from _delimited_blocks(file, reader, vocabulary)


def _json_blocks(
    file: TextFile,
    stream: BinaryIO,
    vocabulary: Vocabulary,
    reject: Any,  # noqa: ANN401
) -> Iterator[tuple[Block, Source]]:
    reader = JsonReader(file.name, vocabulary, file.path, reject, file.fixed)
    for rows in reader.rows(stream):
        source = Source(
            file.path, TABLE, line=rows.lines.__getitem__, text=rows.text,
            skip=file.skip,
        )  # fmt: skip
        yield Block(None, rows.columns, len(rows.lines)), source


def _delimited_blocks(
    file: TextFile, reader: DelimitedReader, vocabulary: Vocabulary
) -> Iterator[tuple[Block, Source]]:
    first = reader.first_record()
    if first is None:
        return
    names = _header(file, first, vocabulary)
    if names is not None:
        reader.drop_record()
        width = len(names)
    else:
        names = _declared_names(file, vocabulary)
        width = _width(file, len(first), vocabulary)
    added = [name for name, _ in file.fixed]
    for rows in reader.rows(width):
        fixed = [constant(text, rows.size) for _, text in file.fixed]
        source = Source(file.path, TEXT, line=rows.line, text=rows.text, skip=file.skip)
        known = None if names is None else [*names, *added]
        yield Block(known, [*rows.columns, *fixed], rows.size), source


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
