"""What a task hands back: its terms, its facts in its own numbers, and its account.

A piece is one Arrow message, so that it can be a file that the driver maps into memory, or the
value of a binary column.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from stratalog.errors import DataError, EngineError, StoreError, StratalogError
from stratalog.pipeline.dictionary import Dictionary, Ids, writable_view
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.files import BadLine, ReadReport
from stratalog.pipeline.ntriples import NO_GRAPH
from stratalog.pipeline.reading import FactBlock, add_block

ERRORS: dict[str, type[StratalogError]] = {
    each.__name__: each for each in (DataError, EngineError, StoreError)
}
ROW = " in row "  # before a row's number in a message about a table


@dataclass(slots=True)
class Outcome:
    """The last word of a task: what it read, how many lines it passed, and its error if any."""

    report: ReadReport = field(default_factory=ReadReport)
    lines: int = 0
    error: dict[str, Any] | None = None

    def dumps(self) -> str:
        """Return the outcome as text."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> Outcome:
        """Return what `dumps` wrote."""
        read = json.loads(text)
        report = read["report"]
        report["samples"] = [BadLine(*bad) for bad in report["samples"]]
        report["rejected"] = [tuple(line) for line in report["rejected"]]
        return cls(ReadReport(**report), read["lines"], read["error"])


def error_parts(error: StratalogError) -> dict[str, Any]:
    """Return what an error is made of."""
    names = ("code", "message", "path", "line", "column", "source", "caret", "help")
    parts = {name: getattr(error, name) for name in names}
    return {"class": type(error).__name__, **parts}


def error_of(parts: dict[str, Any], before: int, *, is_table: bool) -> StratalogError:
    """Return the error of a task; `before` lines of its file, or rows of its table, precede it."""
    code, message = parts["code"], parts["message"]
    rest = {key: parts[key] for key in ("path", "line", "column", "source", "caret", "help")}
    if rest["line"] is not None:
        rest["line"] += before
    if is_table:
        message = _shifted(message, before)
    return ERRORS.get(parts["class"], DataError)(code, message, **rest)


def _shifted(message: str, before: int) -> str:
    """Return a message about a row of a part of a table with the row's number in the table."""
    head, sign, tail = message.rpartition(ROW)
    number, space, rest = tail.partition(" ")
    if not sign or not number.isdecimal():
        return message
    return f"{head}{sign}{int(number) + before}{space}{rest}"


def pack(dictionary: Dictionary, blocks: Sequence[FactBlock]) -> pa.RecordBatch:
    """Return the terms and facts as one row: lists of kinds, texts and columns of numbers."""
    terms = dictionary.to_table().combine_chunks()
    plan = [[each.name, len(each.columns), each.size, each.origin] for each in blocks]
    columns = [column for each in blocks for column in each.columns]
    cells = np.concatenate(columns) if columns else np.empty(0, np.uint32)
    parts = {
        "plan": pa.array([json.dumps([dictionary.kinds, plan])]),
        "kinds": _one_list(pa.array(dictionary.kind_ids)),
        "texts": _one_list(_only_chunk(terms.column("text"))),
        "cells": _one_list(pa.array(cells)),
    }
    return pa.record_batch(parts)


def _only_chunk(column: Any) -> Any:  # noqa: ANN401  # Arrow has no types
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _one_list(values: Any) -> Any:  # noqa: ANN401
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)


def write_piece(piece: pa.RecordBatch, sink: Any) -> None:  # noqa: ANN401  # a path or a stream
    """Write a piece to a file or an Arrow stream."""
    with pa.ipc.new_stream(sink, piece.schema) as writer:
        writer.write_batch(piece)


def read_piece(source: Any) -> pa.RecordBatch:  # noqa: ANN401
    """Return a piece from a file that is mapped into memory, or from a buffer."""
    with pa.ipc.open_stream(source) as reader:
        return reader.read_next_batch()


def add_piece(piece: pa.RecordBatch, found: EncodedFacts, dictionary: Dictionary) -> None:
    """Add a piece's facts to those found, its terms to the dictionary in their order."""
    kinds, plan = json.loads(piece.column("plan")[0].as_py())
    kind_map = np.fromiter((dictionary.kind_index(kind) for kind in kinds), np.int32, len(kinds))
    texts = piece.column("texts").values
    _, offsets, data = texts.buffers()
    places = np.array(np.frombuffer(offsets, np.int64)[texts.offset :][: len(texts) + 1])
    kind_ids = kind_map[piece.column("kinds").values.to_numpy()]
    numbers = dictionary.intern_spans(writable_view(data), places[:-1], places[1:], kind_ids)
    cells = _renumbered(piece.column("cells").values.to_numpy(), numbers)
    at = 0
    for name, arity, size, origin in plan:
        columns = [cells[at + c * size : at + (c + 1) * size] for c in range(arity)]
        at += arity * size
        add_block(found, FactBlock(name, columns, size, origin), dictionary)


def _renumbered(cells: Ids, numbers: Ids) -> Ids:
    """Return the global numbers of a task's own; NO_GRAPH stays."""
    if cells.size and cells.max() == NO_GRAPH:
        graphs = cells == NO_GRAPH
        found = np.full(cells.size, NO_GRAPH, np.uint32)
        found[~graphs] = numbers[cells[~graphs]]
        return found
    return numbers[cells]


def add_report(report: ReadReport, of_task: ReadReport, before: int, *, is_table: bool) -> None:
    """Add a task's account, lines or rows counted from the beginning of its file or table."""
    for name in ("rows", "bytes", "graphs_dropped", "null_rows"):
        setattr(report, name, getattr(report, name) + getattr(of_task, name))
    report.note_prefixes(of_task.prefixes)
    kept = [BadLine(path, line, "", text) for path, line, text in of_task.rejected]
    for place, bad in enumerate(of_task.samples):
        same = place < len(kept) and kept[place] == bad._replace(reason="")
        kept[place : place + same] = [bad]
    for bad in kept:
        line = None if bad.line is None else bad.line + before
        reason = _shifted(bad.reason, before) if is_table else bad.reason
        report.reject(bad._replace(line=line, reason=reason))
    report.bad_lines += of_task.bad_lines - len(kept)
    report.rejected_not_kept += of_task.bad_lines - len(kept)
