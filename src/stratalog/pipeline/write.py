"""Tables and facts to text and files: CSV, TSV, JSON lines, Parquet and canonical N-Triples.

What is written as CSV (RFC 4180) or TSV is read back as the same facts, given the columns' types. A
fact without arguments is the line `()`.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError
from stratalog.lang.syntax import TRIPLE, Predicate
from stratalog.lang.terms import BOOLEAN, DECIMAL, DOUBLE, INTEGER, RDF_TYPE, STRING, Term
from stratalog.lang.values.terms import spell
from stratalog.pipeline.delimited import MARK
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import Ids
from stratalog.pipeline.native import joined, kind_of, native_texts, plain_array
from stratalog.pipeline.spelling import spell_ids
from stratalog.pipeline.tables import TYPE_KEY

Target = str | os.PathLike[str] | BinaryIO | TextIO
TEXT_OUTPUTS = ("csv", "tsv", "jsonl")
BOM = MARK.decode()
_NO_ARGUMENTS = "()"


@dataclass(slots=True)
class Written:
    """How many facts were written, and how many of each predicate could not be."""

    facts: int = 0
    skipped: dict[Predicate, int] = field(default_factory=dict)


def write_rows(
    tables: Iterable[tuple[str, pa.Table]],
    data_format: str,
    target: Target,
    *,
    header: bool = False,
    in_order: bool = False,
    named: bool = False,
) -> int:
    """Write tables one after the other and return how many rows; `named` puts a table's name first.

    With `in_order` the lines of each table are in byte order. A file appears whole or not at all.
    """
    if data_format == "parquet":
        return _write_parquet(list(tables), target)
    assert data_format in TEXT_OUTPUTS, data_format  # noqa: S101
    count = 0
    with _opened(target) as sink:
        for name, table in tables:
            lines = _lines(table, data_format, name if named else None)
            if header and data_format != "jsonl":
                _put(sink, _header(table, data_format, named=named))
            lines = _ordered(lines) if in_order else lines
            if data_format == "tsv" and not count and len(lines) and lines[0].as_py()[:1] == BOM:
                sink.write(MARK)  # readers take the first one for the file's own
            _put(sink, lines)
            count += table.num_rows
    return count


def write_ntriples(
    relations: Iterable[tuple[Predicate, Sequence[Ids], int]],
    dictionary: Dictionary,
    target: Target,
    *,
    in_order: bool = False,
) -> Written:
    """Write the facts that are triples as canonical N-Triples, in byte order if asked."""
    done = Written()
    held: list[Any] = []
    with _opened(target) as sink:
        for predicate, columns, size in relations:
            lines = _triples(predicate, columns, dictionary)
            if lines is None:
                done.skipped[predicate] = done.skipped.get(predicate, 0) + size
                continue
            done.facts += size
            if in_order:
                held.append(lines)
            else:
                _put(sink, lines)
        if held:
            _put(sink, _ordered(pa.concat_arrays(held)))
    return done


def _triples(predicate: Predicate, columns: Sequence[Ids], dictionary: Dictionary) -> Any:  # noqa: ANN401
    """Return one line per fact, or None if facts of the predicate are no triples."""
    if predicate == TRIPLE:
        s, p, o = (spell_ids(column, dictionary) for column in columns)
        return joined(joined(s, p, o, separator=" "), " .")
    if not predicate.name.startswith("<") or predicate.arity not in (1, 2):
        return None
    subject = spell_ids(columns[0], dictionary)
    iri = spell(Term("iri", predicate.name[1:-1]))
    if predicate.arity == 1:
        return joined(subject, f" {spell(RDF_TYPE)} {iri} .")
    return joined(subject, f" {iri} ", spell_ids(columns[1], dictionary), " .")


def _ordered(lines: Any) -> Any:  # noqa: ANN401  # Arrow has no types
    return lines.take(pc.sort_indices(lines))


def _lines(table: pa.Table, data_format: str, name: str | None) -> Any:  # noqa: ANN401
    """Return the rows as lines of text."""
    names = table.schema.names
    if data_format == "jsonl":
        cells = [
            _json(column, each) for column, each in zip(table.columns, table.schema, strict=True)
        ]
        keys = [f"{json.dumps(key, ensure_ascii=False)}:" for key in names]
        parts = [joined(key, cell) for key, cell in zip(keys, cells, strict=True)]
        if name is not None:
            parts.insert(0, f'"_predicate":{json.dumps(name, ensure_ascii=False)}')
        return joined("{", _joined_cells(parts, table.num_rows, ","), "}")
    cells = [_texts(column, each) for column, each in zip(table.columns, table.schema, strict=True)]
    if not cells:
        cells = [_repeated(_NO_ARGUMENTS, table.num_rows)]
    if name is not None:
        cells.insert(0, _repeated(name, table.num_rows))
    if data_format == "csv":
        return _joined_cells([_quoted(cell) for cell in cells], table.num_rows, ",")
    _check_tabs(cells, [*([] if name is None else ["_predicate"]), *names])
    return _joined_cells(cells, table.num_rows, "\t")


def _joined_cells(cells: list[Any], size: int, separator: str) -> Any:  # noqa: ANN401
    filled = [_repeated(cell, size) if isinstance(cell, str) else cell for cell in cells]
    return joined(*filled, separator=separator) if filled else _repeated("", size)


def _repeated(text: str, size: int) -> Any:  # noqa: ANN401
    return pa.repeat(pa.scalar(text, pa.large_string()), size)


def _header(table: pa.Table, data_format: str, *, named: bool) -> Any:  # noqa: ANN401
    names = [*(["_predicate"] if named else []), *table.schema.names]
    cells = [pa.array([name], pa.large_string()) for name in names]
    if data_format == "csv":
        cells = [_quoted(cell) for cell in cells]
    return _joined_cells(cells, 1, "," if data_format == "csv" else "\t")


def _texts(column: Any, described: Any) -> Any:  # noqa: ANN401
    """Return the canonical text of each value; nothing for null."""
    values = plain_array(column)
    kind = kind_of(values.type)
    if kind is None and not pa.types.is_null(values.type):
        raise DataError(
            "D312",
            f"column {described.name} holds {values.type}, which cannot be written as text",
            help="choose --format parquet",
        )
    if pa.types.is_null(values.type):
        return _repeated("", len(values))
    if kind != STRING:
        values = _native(values, described)
    return values.fill_null("") if values.null_count else values


def _native(values: Any, described: Any) -> Any:  # noqa: ANN401
    coded = values.dictionary_encode()
    distinct = coded.dictionary
    if (described.metadata or {}).get(TYPE_KEY) == b"integer":
        return pc.cast(distinct, pa.large_string()).take(coded.indices)
    return native_texts(distinct)[0].take(coded.indices)


def _quoted(cell: Any) -> Any:  # noqa: ANN401
    """Return the CSV spelling: in quotes if it must be, or is empty, lest the line be blank."""
    must = pc.or_(pc.match_substring_regex(cell, f'[",\r\n]|^{BOM}'), pc.equal(cell, ""))
    if not pc.any(must).as_py():
        return cell
    return pc.if_else(must, joined('"', pc.replace_substring(cell, '"', '""'), '"'), cell)


def _check_tabs(cells: Sequence[Any], names: Sequence[str]) -> None:
    for place, cell in enumerate(cells):
        found = pc.index(pc.match_substring_regex(cell, "[\t\r\n]"), value=True).as_py()
        if found >= 0:
            name = names[place] if place < len(names) else ""
            raise DataError(
                "D311",
                f"row {found + 1} has a tab or line end in column {name}, which TSV cannot hold",
                help="choose --format csv or jsonl",
            )


def _json(column: Any, described: Any) -> Any:  # noqa: ANN401
    """Return the JSON spelling of each value."""
    texts = _texts(column, described)
    kind = kind_of(plain_array(column).type)
    if kind in (INTEGER, DECIMAL, BOOLEAN):
        spelled = texts
    elif kind == DOUBLE:
        finite = pc.match_substring_regex(texts, "[0-9]")
        spelled = pc.if_else(finite, texts, joined('"', texts, '"'))
    else:
        spelled = _json_strings(texts)
    nulls = column.is_null()
    return pc.if_else(nulls, "null", spelled) if column.null_count else spelled


def _json_strings(texts: Any) -> Any:  # noqa: ANN401
    spelled = joined('"', texts, '"')
    odd = pc.match_substring_regex(texts, r'[\x00-\x1f"\\]')
    places = pc.indices_nonzero(odd)
    if not len(places):
        return spelled
    exact = [json.dumps(text, ensure_ascii=False) for text in texts.take(places).to_pylist()]
    return pc.replace_with_mask(spelled, odd, pa.array(exact, pa.large_string()))


def _write_parquet(tables: list[tuple[str, pa.Table]], target: Target) -> int:
    import pyarrow.parquet as pq

    if len(tables) != 1 or isinstance(target, io.TextIOBase):
        raise DataError(
            "D312",
            "Parquet is written to a file, one predicate at a time",
            help="name one predicate, and a file with -o",
        )
    table = tables[0][1]
    if not table.num_columns:
        raise DataError(
            "D312", "Parquet cannot hold facts without arguments", help="choose --format csv"
        )
    with _opened(target, compress=False) as sink:
        pq.write_table(table, sink)
    return int(table.num_rows)


def _put(sink: Any, lines: Any) -> None:  # noqa: ANN401
    """Write one line for each text."""
    if not len(lines):
        return
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    whole = joined(lines, "\n")
    _, offsets, data = whole.buffers()
    bounds = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    sink.write(data.slice(int(bounds[0]), int(bounds[-1] - bounds[0])))


class _TextSink:
    """Bytes to a text stream."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, data: Any) -> None:  # noqa: ANN401
        self.stream.write(bytes(data).decode())


@contextmanager
def _opened(target: Target, *, compress: bool = True) -> Iterator[Any]:
    """Give a stream of bytes; a file is written beside its place and moved there when whole."""
    if not isinstance(target, str | os.PathLike):
        yield _TextSink(target) if isinstance(target, io.TextIOBase) else target
        return
    path = Path(target)
    partial = (
        path if path.exists() and not path.is_file() else path.with_name(f".{path.name}.partial")
    )
    try:
        compression = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix)
        with pa.output_stream(str(partial), compression=compression if compress else None) as sink:
            yield sink
        if partial != path:
            partial.replace(path)
    except OSError as error:
        raise DataError(
            "D313", f"the file cannot be written: {error.strerror or error}", path=str(path),
            help="check the folder, its permissions and the space that is left",
        ) from None  # fmt: skip
    finally:
        if partial != path:
            partial.unlink(missing_ok=True)
