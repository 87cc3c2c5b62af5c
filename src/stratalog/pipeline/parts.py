"""Data files: Parquet written the same way every time, and checked when read."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from stratalog.pipeline.manifest import FilePart
from stratalog.pipeline.ordinary import damaged, mapped
from stratalog.pipeline.replay import last_of_each, replay
from stratalog.pipeline.snapshot import COUNTS, DICTIONARY_SCHEMA, relation_schema

if TYPE_CHECKING:
    from stratalog.pipeline.parquet_check import Checked

DATA = "data"
ROWS_PER_GROUP = 1 << 20
FEW_ROWS = 1 << 15  # they are unpacked before threads have begun
_REPEATING = ["kind", "label", *COUNTS]  # few values, so a dictionary of them is small


def encode_table(table: pa.Table) -> pa.Buffer:
    """Return the Parquet file that `write_table` would write."""
    sink = pa.BufferOutputStream()
    write_table(sink, table)
    return sink.getvalue()


def write_table(path: Path | pa.BufferOutputStream, table: pa.Table) -> None:
    """Write a Parquet file whose bytes depend on the rows alone, not on how they are chunked."""
    ids = [field.name for field in table.schema if field.name not in (*_REPEATING, "text")]
    writer = pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        compression_level=3,  # measured: smaller than 1, as fast
        use_dictionary=[name for name in _REPEATING if name in table.column_names],
        column_encoding=dict.fromkeys(ids, "DELTA_BINARY_PACKED"),  # 20 % smaller, twice as fast
        store_schema=False,  # Spark would not write Arrow's schema either
    )
    with writer:
        for first in range(0, table.num_rows, ROWS_PER_GROUP):
            writer.write_table(table.slice(first, ROWS_PER_GROUP).combine_chunks(), ROWS_PER_GROUP)


def describe(root: Path, path: Path, rows: int = 0) -> FilePart:
    """Return the manifest's entry for a file that has just been written."""
    with pa.memory_map(str(path)) as source:
        return FilePart(
            path.relative_to(root).as_posix(), source.size(), zlib.crc32(source.read_buffer()), rows
        )


def read_bytes(root: Path, part: FilePart) -> pa.Buffer:
    """Return the file's content, mapped into memory, after comparing it with the manifest."""
    path = root / part.path
    try:
        content = mapped(path, part.bytes, part.begin)
    except FileNotFoundError:
        raise damaged(path, "it is missing") from None
    if zlib.crc32(content) != part.crc32:
        raise damaged(path, "its checksum is wrong")
    return content


def read_dictionary(root: Path, files: tuple[FilePart, ...]) -> pa.Table:
    """Return the constants; a constant's id is its row."""
    from stratalog.pipeline.parquet_check import check_texts

    names = DICTIONARY_SCHEMA.names
    found = [_checked(root, file, names) for file in files]
    check_texts(found, sum(file.bytes for file in files), root / DATA)
    parts = [_unpacked(root, *pair) for pair in zip(files, found, strict=True)]
    return _concatenate(parts, DICTIONARY_SCHEMA)


def read_relation(
    root: Path, arity: int, files: tuple[FilePart, ...], deltas: tuple[FilePart, ...] = ()
) -> pa.Table:
    """Return a relation's rows; a count has 64 bits if it has them in one of the files."""
    schema = relation_schema(arity)
    base, changed = (
        [_unpacked(root, file, _checked(root, file, schema.names)) for file in each]
        for each in (files, deltas)
    )
    for position, name in enumerate(schema.names):
        types = [part.schema.field(name).type for part in base + changed]
        if name in COUNTS and pa.int64() in types:
            schema = schema.set(position, pa.field(name, pa.int64()))
    whole = _concatenate(base, schema)
    if not changed:
        return whole
    return replay(whole, [part.cast(schema) for part in changed], arity)


def check_relation(
    root: Path, arity: int, files: tuple[FilePart, ...], deltas: tuple[FilePart, ...] = ()
) -> None:
    """Refuse files that have not the rows they claim; nothing is unpacked."""
    for file in (*files, *deltas):
        _checked(root, file, relation_schema(arity).names)


def read_merged(root: Path, arity: int, deltas: tuple[FilePart, ...], newest: pa.Table) -> pa.Table:
    """Return one delta that stands for some and for the one that comes after them."""
    earlier = read_relation(root, arity, deltas)
    schema = earlier.schema
    for position, name in enumerate(schema.names):
        if newest.schema.field(name).type == pa.int64():
            schema = schema.set(position, newest.schema.field(name))
    return last_of_each([earlier.cast(schema), newest.cast(schema)], arity)


def _concatenate(parts: list[pa.Table], schema: pa.Schema) -> pa.Table:
    if not parts:
        return schema.empty_table()
    if len(parts) == 1 and parts[0].schema.equals(schema):
        return parts[0]
    return pa.concat_tables([part.cast(schema) for part in parts])


def _checked(root: Path, part: FilePart, names: list[str]) -> Checked:
    from stratalog.pipeline.parquet_check import checked  # loaded where a store is read

    return checked(read_bytes(root, part), names, part.rows, root / part.path)


def _unpacked(root: Path, part: FilePart, found: Checked) -> pa.Table:
    """Return the rows of a file; T103 if it has empty cells or is not what its footer says."""
    try:
        table = found.file.read(use_threads=part.rows > FEW_ROWS)
    except (pa.ArrowException, OSError):
        raise damaged(root / part.path, "it is no Parquet file of ours") from None
    if table.num_rows != part.rows:
        raise damaged(root / part.path, f"it has {table.num_rows} rows, not {part.rows}")
    if any(column.null_count for column in table.itercolumns()):
        raise damaged(root / part.path, "it has empty cells")
    return table
