"""Rows to stdout or a file, in the format asked for."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from stratalog.cli.options import FORMATS
from stratalog.cli.show import note, show_table
from stratalog.errors import DataError
from stratalog.knowledge.display.terminal import VisibleLines, is_terminal

if TYPE_CHECKING:
    import pyarrow as pa

SCREEN = 100
"""Rows of a table on a terminal, unless --limit says otherwise."""


@dataclass(frozen=True, slots=True)
class Form:
    """How rows are written."""

    format: str
    limit: int | None = None
    header: bool = False
    in_order: bool = False

    def shown(self, output: str | None) -> int | None:
        """Return how many rows will be written at most, None for all."""
        if self.limit is None and self.format == "table" and output is None:
            return SCREEN if is_terminal(sys.stdout) else None
        return self.limit


def chosen_format(given: str | None, output: str | None) -> str:
    """Return the format that was asked for, or the one that the file's name tells."""
    if given is not None:
        return given
    suffixes = [suffix[1:].lower() for suffix in Path(output or "").suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix in FORMATS), "table")


def write_table(table: pa.Table, form: Form, output: str | None, total: int | None = None) -> int:
    """Write one table and return how many rows; what a terminal does not show is said."""
    if form.format == "nt":
        raise DataError(
            "D314",
            "the answers of a query are no triples",
            help="choose --format jsonl, csv or tsv",
        )
    if form.format != "table":
        return write_to([("", table)], form, output)
    total = table.num_rows if total is None else total
    if form.in_order:
        table = in_column_order(table)
    shown = table.slice(0, form.shown(output))
    if output is None:
        show_table(shown, sys.stdout)
    else:
        with text_file(output) as target:
            show_table(shown, target)
    if form.limit is None and shown.num_rows < total:
        note(f"the first {shown.num_rows:,} of {total:,} are shown; --limit {total} shows all")
    return int(shown.num_rows)


def in_column_order(table: pa.Table) -> pa.Table:
    """Return the rows sorted by their first column, then by their second, and so on."""
    if not table.num_columns:
        return table
    return table.sort_by([(name, "ascending") for name in table.column_names])


def write_to(
    tables: Iterable[tuple[str, pa.Table]], form: Form, output: str | None, *, named: bool = False
) -> int:
    """Write tables as text or Parquet and return how many rows."""
    from stratalog.pipeline.write import write_rows

    if form.format == "parquet":
        return _write_parquet(list(tables), form, output)
    with opened(output, form) as target:
        count = write_rows(
            tables, form.format, target, header=form.header, in_order=form.in_order, named=named
        )
    return count if form.limit is None else min(count, form.limit)


def _write_parquet(tables: list[tuple[str, pa.Table]], form: Form, output: str | None) -> int:
    from stratalog.pipeline.write import write_rows

    if output is None and is_terminal(sys.stdout):
        raise typer.BadParameter("Parquet is not for reading: name a file with -o")
    if form.in_order:
        tables = [(name, in_column_order(table)) for name, table in tables]
    tables = [(name, table.slice(0, form.limit)) for name, table in tables]
    if output is not None:
        return write_rows(tables, "parquet", output)
    held = io.BytesIO()
    count = write_rows(tables, "parquet", held)
    sys.stdout.buffer.write(held.getbuffer())
    sys.stdout.buffer.flush()
    return count


@contextmanager
def opened(output: str | None, form: Form) -> Iterator[Any]:
    """Give what lines are written to: stdout, or a path that appears when it is whole."""
    if output is not None and form.limit is None:
        yield output
        return
    if output is None:
        sys.stdout.flush()
        sink: Any = sys.stdout.buffer
        sink = VisibleLines(sink) if is_terminal(sys.stdout) else sink
        yield _FirstLines(sink, form) if form.limit is not None else sink
        sys.stdout.buffer.flush()
        return
    held = io.BytesIO()
    yield _FirstLines(held, form)
    _save(held, output)


def _save(held: io.BytesIO, output: str) -> None:
    from stratalog.pipeline.write import _opened

    with _opened(output) as sink:
        sink.write(held.getbuffer())


@contextmanager
def text_file(output: str) -> Iterator[io.StringIO]:
    """Give a text that becomes a file when it is whole."""
    held = io.StringIO()
    yield held
    _save(io.BytesIO(held.getvalue().encode()), output)


class _FirstLines:
    """Passes on the first lines and drops the rest; in CSV a line may span several, in quotes."""

    def __init__(self, sink: Any, form: Form) -> None:  # noqa: ANN401  # a stream of bytes
        self._sink = sink
        self._left = (form.limit or 0) + (form.header and form.format in {"csv", "tsv"})
        self._has_quotes = form.format == "csv"
        self._quotes = 0

    def write(self, data: Any) -> None:  # noqa: ANN401  # bytes or an Arrow buffer
        import numpy as np

        if not self._left:
            return
        view = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(view == ord("\n"))
        if self._has_quotes:
            quotes = np.cumsum(view == ord('"')) + self._quotes
            ends = ends[quotes[ends] % 2 == 0]
            self._quotes = int(quotes[-1]) % 2 if view.size else self._quotes
        if ends.size > self._left:
            view = view[: ends[self._left - 1] + 1]
        self._left = max(0, self._left - ends.size)
        self._sink.write(view.tobytes())
