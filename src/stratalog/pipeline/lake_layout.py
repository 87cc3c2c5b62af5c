"""How the columns of one Parquet file become the columns of the Delta or Iceberg table it is of.

Files of one table differ: a column may have had another name or a narrower type when a file was
written, or may not have been there at all, and a column that divides a table into folders is in no
file. The log tells all that; readers, also Spark's workers, only need what is written down here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stratalog.errors import DataError

_FIELD_ID = b"PARQUET:field_id"

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column of a table, or a field of a struct: where a file has it, and what it is if not."""

    field: pa.Field
    names: tuple[str, ...]  # that it may have in a file; none if it is in no file
    number: int | None = None  # the field id that it has in files; then names are a second choice
    value: Any = None  # of a file that does not have it
    inner: tuple[LakeColumn, ...] = ()  # of a struct


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table, and which rows of a file are not deleted: all, or those in `kept`.

    `scan`, a function from names of columns to batches without deleted rows, reads the file instead
    if there is one.
    """

    columns: tuple[LakeColumn, ...]
    kept: Mask | None = None
    scan: Any = None
    is_empty: bool = False  # there is no file, and there are no rows

    @property
    def has_deletes(self) -> bool:
        """Whether some rows of the file are deleted."""
        return self.kept is not None or self.scan is not None

    @property
    def names(self) -> list[str]:
        """The names of the table's columns."""
        return [column.field.name for column in self.columns]

    def chosen(self, names: Sequence[str] | None) -> list[LakeColumn]:
        """Return the columns of these names, all by default."""
        return [each for each in self.columns if names is None or each.field.name in names]

    def empty(self, names: Sequence[str] | None) -> pa.Table:
        """Return the columns of these names without rows."""
        return pa.schema([column.field for column in self.chosen(names)]).empty_table()


def sources(columns: Sequence[LakeColumn], schema: pa.Schema, path: str) -> list[pa.Field | None]:
    """Return for each column the field of the file that has it, or None."""
    return [_source(column, list(schema), path) for column in columns]


def _source(column: LakeColumn, fields: Sequence[pa.Field], path: str) -> pa.Field | None:
    if column.number is not None:
        numbers = [_number(field) for field in fields]
        if column.number in numbers:
            return fields[numbers.index(column.number)]
        if any(number is not None for number in numbers):
            return None
        if fields and not column.names and column.value is None:
            raise DataError(
                "D132", "the file has no field ids, and the table no names for its columns",
                path=path, help="write the file again by an Iceberg writer",
            )  # fmt: skip
    exact = [field for field in fields if field.name in column.names]
    lower = {name.lower() for name in column.names}
    found = exact or [field for field in fields if field.name.lower() in lower]
    if len(found) > 1:
        raise DataError(
            "D301", f"there are {len(found)} columns named {column.field.name}", path=path,
            help="give the columns different names",
        )  # fmt: skip
    return found[0] if found else None


def _number(field: pa.Field) -> int | None:
    number = (field.metadata or {}).get(_FIELD_ID)
    return None if number is None else int(number)


def fitted(
    batches: Iterator[pa.RecordBatch],
    columns: Sequence[LakeColumn],
    found: Sequence[Any],
    path: str,
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a file with the table's columns; `found` are their fields there."""
    schema = pa.schema([column.field for column in columns])
    for batch in batches:
        arrays = [
            _fitted(
                None if field is None else batch.column(field.name), column, batch.num_rows, path
            )
            for column, field in zip(columns, found, strict=True)
        ]
        yield pa.record_batch(arrays, schema=schema)


def _fitted(values: Any, column: LakeColumn, size: int, path: str) -> Any:  # noqa: ANN401
    """Return a column of a file in the table's type."""
    wanted = column.field.type
    if values is None and column.value is None:
        return pa.nulls(size, wanted)
    if values is None:
        return pa.repeat(pa.scalar(column.value, wanted), size)
    try:
        if column.inner and pa.types.is_struct(values.type):
            return _fitted_struct(values, column, path)
        if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(values.type):
            return values.cast(wanted, safe=False)  # nanoseconds, of which tables know nothing
        return values if values.type == wanted else values.cast(wanted)
    except pa.ArrowException as error:
        raise DataError(
            "D134",
            f"column {column.field.name} is of type {values.type} in this file, and of type "
            f"{wanted} in the table: {str(error).splitlines()[0]}",
            path=path, help="write the table again",
        ) from None  # fmt: skip


def _fitted_struct(values: Any, column: LakeColumn, path: str) -> Any:  # noqa: ANN401
    fields = [values.type.field(place) for place in range(values.type.num_fields)]
    inner = []
    for each in column.inner:
        found = _source(each, fields, path)
        child = None if found is None else values.field(fields.index(found))
        inner.append(_fitted(child, each, len(values), path))
    wanted = [each.field for each in column.inner]
    return pa.StructArray.from_arrays(inner, fields=wanted, mask=values.is_null())


def kept_rows(batch: pa.RecordBatch, first: int, kept: Mask | None) -> pa.RecordBatch:
    """Return those rows of a batch that are not deleted; `first` rows of the file precede it.

    A mask may end before the file does: what follows is not deleted.
    """
    if kept is None or first >= kept.size:
        return batch
    mask = np.ones(batch.num_rows, np.bool_)
    told = kept[first : first + batch.num_rows]
    mask[: told.size] = told
    return batch.filter(pa.array(mask))
