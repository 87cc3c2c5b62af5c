"""Parquet and ORC files, or some of their row groups or stripes, to blocks of encoded facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from stratalog.errors import DataError
from stratalog.pipeline.facts import TABLE
from stratalog.pipeline.files import open_bytes
from stratalog.pipeline.lake_layout import Layout, fitted, kept_rows, sources
from stratalog.pipeline.needed import needed
from stratalog.pipeline.paths import DataFile
from stratalog.pipeline.reading import Context, FactBlock
from stratalog.pipeline.tables import Block, Source, Vocabulary, block_of, encode_block
from stratalog.pipeline.text_tables import constant

PARQUET_ROWS = 1 << 18  # decoded at once
TABLE_FORMATS = frozenset({"parquet", "orc"})


def table_blocks(
    file: DataFile, context: Context, parts: Sequence[int] | None = None, data: bytes | None = None
) -> Iterator[FactBlock]:
    """Yield the facts of a Parquet or ORC file, or of some of its row groups or stripes."""
    assert file.name is not None  # noqa: S101
    try:
        for batch, row in _batches(file, context.vocabulary, parts, data):
            source = Source(file.path, first_row=row, skip=context.options.skip)
            block = block_of(batch)
            given = [(name, text) for name, text in file.fixed if name not in (block.names or ())]
            columns, size = encode_block(
                _with_fixed(block, given), file.name, context.vocabulary, context.dictionary,
                context.report, source,
            )  # fmt: skip
            yield FactBlock(file.name, columns, size, TABLE)
    except (pa.ArrowException, OSError) as error:
        known = {"parquet": "Parquet", "orc": "ORC"}[file.format]
        raise DataError(
            "D104",
            f"the {known} file is damaged or incomplete: {str(error).splitlines()[0]}",
            path=file.path,
            help="write the file again, or check that it was copied completely",
        ) from None


def _batches(
    file: DataFile, vocabulary: Vocabulary, parts: Sequence[int] | None, data: bytes | None
) -> Iterator[tuple[Any, int]]:
    """Yield the rows of a table file, and how many of its rows precede them."""
    if file.layout is not None:
        yield from _lake_batches(file, file.layout, vocabulary, parts)
        return
    opened = _open_table(file, data)
    names = opened.names()
    columns = needed(names, file.name or "", vocabulary)
    wanted = range(opened.count()) if parts is None else parts
    row = sum(opened.rows(part) for part in range(wanted[0])) if len(wanted) else 0
    if not any(opened.rows(part) for part in wanted):
        yield opened.empty(), row
    for batch in opened.batches(wanted, columns):
        yield batch, row
        row += batch.num_rows


def _lake_batches(
    file: DataFile, layout: Layout, vocabulary: Vocabulary, parts: Sequence[int] | None
) -> Iterator[tuple[Any, int]]:
    """Yield the rows of a file of a lake table that are not deleted, and how many precede them."""
    names = needed(layout.names, file.name or "", vocabulary)
    row = 0
    for batch in _rows_of(file, layout, names, parts):
        yield batch, row
        row += batch.num_rows
    if not row:
        yield layout.empty(names), 0


def _rows_of(
    file: DataFile, layout: Layout, names: list[str] | None, parts: Sequence[int] | None
) -> Iterator[Any]:
    if layout.is_empty or layout.scan is not None:
        yield from () if layout.is_empty else layout.scan(names)
        return
    opened = _open_lake_file(file)
    columns = layout.chosen(names)
    found = sources(columns, opened.file.schema_arrow, file.path)
    wanted = range(opened.count()) if parts is None else parts
    row = sum(opened.rows(part) for part in range(wanted[0])) if len(wanted) else 0
    physical = [field.name for field in found if field is not None]
    for batch in opened.batches(wanted, physical):
        kept = kept_rows(batch, row, layout.kept)
        row += batch.num_rows
        yield from fitted(iter([kept]), columns, found, file.path)


def _open_lake_file(file: DataFile) -> _Parquet:
    open_bytes(file.path).close()  # which says what is wrong with a path
    return _Parquet(file.path, "us")


def table_parts(file: DataFile) -> list[int]:
    """Return the number of rows of each row group or stripe of a table file."""
    try:
        if file.layout is not None and (file.layout.is_empty or file.layout.scan is not None):
            return [0]
        opened = _opened(file)
        return [opened.rows(part) for part in range(opened.count())]
    except (pa.ArrowException, OSError):
        return [0]  # whoever reads it explains


def _opened(file: DataFile) -> _Parquet | _Orc:
    return _open_table(file, None) if file.layout is None else _open_lake_file(file)


class _Parquet:
    """A Parquet file, read by row groups; `unit` is that of old timestamps of 96 bits."""

    def __init__(self, source: Any, unit: str | None = None) -> None:  # noqa: ANN401  # a path or a buffer
        import pyarrow.parquet as pq

        self.file = pq.ParquetFile(source, coerce_int96_timestamp_unit=unit)

    def names(self) -> list[str]:
        return list(self.file.schema_arrow.names)

    def empty(self) -> Any:  # noqa: ANN401
        return self.file.schema_arrow.empty_table()

    def count(self) -> int:
        return int(self.file.num_row_groups)

    def rows(self, part: int) -> int:
        return int(self.file.metadata.row_group(part).num_rows)

    def batches(self, parts: Sequence[int], columns: list[str] | None) -> Iterator[Any]:
        return iter(self.file.iter_batches(PARQUET_ROWS, row_groups=list(parts), columns=columns))


class _Orc:
    """An ORC file, read by stripes."""

    def __init__(self, source: Any) -> None:  # noqa: ANN401
        import pyarrow.orc

        self.file = pyarrow.orc.ORCFile(source)
        self.sizes: dict[int, int] = {}

    def names(self) -> list[str]:
        return list(self.file.schema.names)

    def empty(self) -> Any:  # noqa: ANN401
        return self.file.schema.empty_table()

    def count(self) -> int:
        return int(self.file.nstripes)

    def rows(self, part: int) -> int:
        if part not in self.sizes:
            first = self.names()[:1]  # the footer of a stripe is not shown
            self.sizes[part] = self.file.read_stripe(part, columns=first).num_rows
        return self.sizes[part]

    def batches(self, parts: Sequence[int], columns: list[str] | None) -> Iterator[Any]:
        for part in parts:
            yield self.file.read_stripe(part, columns=columns)


def _open_table(file: DataFile, data: bytes | None) -> _Parquet | _Orc:
    source: Any = file.path
    if data is not None:
        source = pa.BufferReader(data)
    else:
        with open_bytes(file.path) as stream:  # which says what is wrong with a path
            if not file.path.lower().endswith((".parquet", ".orc")):
                source = pa.BufferReader(stream.read())
    return _Orc(source) if file.format == "orc" else _Parquet(source)


def _with_fixed(block: Block, fixed: Sequence[tuple[str, str | None]]) -> Block:
    if not fixed:
        return block
    columns = [constant(text, block.size) for _, text in fixed]
    return Block(
        [*(block.names or ()), *(name for name, _ in fixed)],
        [*block.columns, *columns],
        block.size,
        [*block.types, *(None for _ in fixed)],
    )
