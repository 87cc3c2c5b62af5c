"""Columns that every reader of Parquet knows: no 256-bit decimals, nanoseconds, unsigned numbers.

Spark's decimals have 38 digits and its timestamps microseconds. A column that needs more is written
as text in canonical spelling; the field's metadata still says which type it has.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stratalog.pipeline.native import native_texts, plain_array
from stratalog.pipeline.tables import TYPE_KEY

HOLDS = "holds"
"""The one column of a predicate without arguments: true in a single row if the fact holds."""

_MOST_DIGITS = 38
_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


def portable(table: pa.Table) -> pa.Table:
    """Return the same rows in types that Spark, DuckDB, pandas and Polars read."""
    if not table.num_columns:
        return pa.table({HOLDS: pa.repeat(pa.scalar(value=True), table.num_rows)})
    changed = [portable_column(f, c) for f, c in zip(table.schema, table.columns, strict=True)]
    return pa.table([c for _, c in changed], schema=pa.schema([f for f, _ in changed]))


def portable_column(field: Any, column: Any) -> tuple[Any, Any]:  # noqa: ANN401  # Arrow has no types
    """Return a column in such a type, and its field; most are returned as they are."""
    if pa.types.is_decimal256(field.type):
        return _decimals(field, column)
    if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
        return _texts(field, native_texts(plain_array(column))[0], "dateTime")
    if field.type == pa.uint64():
        return _cast(field, column, pa.decimal128(20, 0), "integer")
    if field.type in _SIGNED:
        return _cast(field, column, _SIGNED[field.type], None)
    return field, column


def _decimals(field: Any, column: Any) -> tuple[Any, Any]:  # noqa: ANN401
    kind = (field.metadata or {}).get(TYPE_KEY, b"decimal").decode()
    try:
        return _cast(field, column, pa.decimal128(_MOST_DIGITS, field.type.scale), kind)
    except pa.ArrowInvalid:
        values = plain_array(column)
        whole = kind == "integer"
        texts = pc.cast(values, pa.large_string()) if whole else native_texts(values)[0]
        return _texts(field, texts, kind)


def _cast(field: Any, column: Any, wanted: Any, kind: str | None) -> tuple[Any, Any]:  # noqa: ANN401
    return _typed(field, wanted, kind), pc.cast(column, wanted)


def _texts(field: Any, texts: Any, kind: str) -> tuple[Any, Any]:  # noqa: ANN401
    return _typed(field, pa.string(), kind), pc.cast(texts, pa.string())


def _typed(field: Any, wanted: Any, kind: str | None) -> Any:  # noqa: ANN401
    metadata = field.metadata if kind is None else {TYPE_KEY: kind.encode()}
    return pa.field(field.name, wanted, metadata=metadata)
