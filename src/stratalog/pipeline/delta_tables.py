"""Tables of Delta Lake: the files of a version, by the package `deltalake`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from stratalog.errors import DataError
from stratalog.pipeline.delta_checks import check_log, check_vectors
from stratalog.pipeline.lake_layout import LakeColumn, Layout, Mask
from stratalog.pipeline.lake_tables import check_there, no_version, placed
from stratalog.pipeline.paths import DataFile

_VERSION = re.compile(r"v?([0-9]+)")
_UNDERSTOOD = {
    "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview",
    "v2Checkpoint", "vacuumProtocolCheck",
}  # fmt: skip
_MAPPING = "delta.columnMapping."


def delta_files(folder: Path, name: str, version: str | None) -> list[DataFile]:
    """Return the files of a version of a table, those that its log names and no others."""
    from deltalake import DeltaTable

    number = None if version is None else _VERSION.fullmatch(version)
    if version is not None and number is None:
        raise no_version(folder, version, "versions of Delta Lake are numbers: PATH@v12")
    check_log(folder)
    table = DeltaTable(folder.absolute().as_uri())  # a bare path is taken for an escaped one
    if number is not None:
        _load(table, int(number[1]), folder)
    if _has_vectors(table):
        check_vectors(folder)
    return [_placed_file(file, folder) for file in _table_files(table, name, str(folder))]


def _load(table: Any, version: int, folder: Path) -> None:  # noqa: ANN401
    newest = table.version()
    try:
        table.load_as_version(version)
    except Exception as error:
        told = str(error).splitlines()[0]
        known = f"the newest is {newest}; the log of old ones may be gone ({told[:200]})"
        raise no_version(folder, str(version), known) from error


def _placed_file(file: DataFile, folder: Path) -> DataFile:
    """Return the file with its place; the log has it relative to the table's folder."""
    if file.layout is not None and file.layout.is_empty:
        return file
    place = placed(folder, file.path)
    check_there(place, folder)
    return DataFile(str(place), file.format, file.name, layout=file.layout)


def _table_files(
    table: Any,  # noqa: ANN401  # a DeltaTable
    name: str,
    shown: str,
) -> Iterator[DataFile]:
    """Yield the files of a DeltaTable under the paths that its log gives them, unescaped."""
    _check_protocol(table, shown)
    fields = json.loads(table.schema().to_json())["fields"]
    schema = pa.schema(table.schema().to_arrow())
    mode = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    columns = [_column(each, field, mode) for each, field in zip(fields, schema, strict=True)]
    dividing = set(table.metadata().partition_columns)
    actions = pa.table(table.get_add_actions())
    paths = [unquote(path) for path in actions.column("path").to_pylist()]
    values = actions.column("partition").to_pylist() if dividing else [{}] * len(paths)
    masks = _masks(table, paths, shown)
    for path, fixed in sorted(zip(paths, values, strict=True), key=lambda each: each[0]):
        own = tuple(
            _fixed(each, fixed) if each.field.name in dividing else each for each in columns
        )
        layout = Layout(own, masks.get(path))
        yield DataFile(path, "parquet", name, layout=layout)
    if not paths:
        yield DataFile(shown, "parquet", name, layout=Layout(tuple(columns), is_empty=True))


def _check_protocol(table: Any, shown: str) -> None:  # noqa: ANN401
    asked = set(table.protocol().reader_features or ()) - _UNDERSTOOD
    if asked:
        raise DataError(
            "D132", f"the table of Delta Lake asks its readers for {', '.join(sorted(asked))}",
            path=shown,
            help='give a DataFrame: {"name": spark.read.format("delta").load(path)}',
        )  # fmt: skip


def _column(told: Mapping[str, Any], field: pa.Field, mode: str) -> LakeColumn:
    """Return what the log tells of a column, which has another name in files if `mode` says so."""
    metadata = {} if mode == "none" else told.get("metadata") or {}
    number = metadata.get(_MAPPING + "id") if mode == "id" else None
    inner: tuple[LakeColumn, ...] = ()
    if isinstance(told["type"], dict) and told["type"]["type"] == "struct":
        parts = [field.type.field(place) for place in range(field.type.num_fields)]
        pairs = zip(told["type"]["fields"], parts, strict=True)
        inner = tuple(_column(each, part, mode) for each, part in pairs)
    physical = metadata.get(_MAPPING + "physicalName", field.name)
    return LakeColumn(field, (physical,), None if number is None else int(number), inner=inner)


def _fixed(column: LakeColumn, values: Mapping[str, Any]) -> LakeColumn:
    """Return a column that has one value in all rows of a file, which the log tells."""
    name = column.field.name if column.field.name in values else column.names[0]
    return LakeColumn(column.field, (), value=values[name])


def _has_vectors(table: Any) -> bool:  # noqa: ANN401
    return "deletionVectors" in (table.protocol().reader_features or ())


def _masks(table: Any, paths: Sequence[str], shown: str) -> dict[str, Mask]:  # noqa: ANN401
    """Return which rows are kept, of those files that have a deletion vector."""
    if not _has_vectors(table):
        return {}
    root = unquote(table.table_uri).rstrip("/")
    known = {path if "://" in path else f"{root}/{path}": path for path in paths}
    found = pa.table(table.deletion_vectors())
    masks = {}
    for uri, kept in zip(found.column("filepath"), found.column("selection_vector"), strict=True):
        path = known.get(unquote(uri.as_py()))
        if path is None:
            raise DataError(
                "D134", f"a deletion vector belongs to no file of the table: {uri.as_py()}",
                path=shown, help="check that the folder was copied completely",
            )  # fmt: skip
        masks[path] = np.asarray(kept.values.to_numpy(zero_copy_only=False), np.bool_)
    return masks
