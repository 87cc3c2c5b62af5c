"""Tables that other packages hold: a DeltaTable, a PyIceberg table or scan, a dataset of Arrow.

Whoever has such an object has imported its package, so that none is imported here to look for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from stratalog.pipeline.lakes import Enclosing

Chosen = Callable[[Sequence[str]], list[str] | None]
"""Which of a table's columns are needed, None for all."""

_ROWS = 1 << 17  # read at once


def lake_batches(rows: Any, chosen: Chosen) -> Iterator[Any] | None:  # noqa: ANN401
    """Return the rows of such a table in batches, or None if it is none."""
    if _is(rows, "pyarrow.dataset", "Dataset"):
        return _dataset_batches(rows, chosen)
    if _is(rows, "deltalake", "DeltaTable"):
        return _delta_batches(rows, chosen)
    if _is(rows, "pyiceberg.table", "Table"):
        return _scan_batches(rows.scan(), chosen)
    if _is(rows, "pyiceberg.table", "BaseScan"):
        return _scan_batches(rows, chosen)
    return None


def _is(rows: Any, module: str, name: str) -> bool:  # noqa: ANN401
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(rows, kind)


def _dataset_batches(dataset: Any, chosen: Chosen) -> Iterator[Any]:  # noqa: ANN401
    _check_alone(dataset, Enclosing())
    names = chosen(dataset.schema.names)
    scanner = dataset.scanner(
        columns=names, batch_size=_ROWS, batch_readahead=2, fragment_readahead=1
    )
    yield scanner.projected_schema.empty_table()  # so that a table without rows is known
    yield from scanner.to_batches()


def _check_alone(dataset: Any, enclosing: Enclosing) -> None:  # noqa: ANN401
    """Refuse a dataset that was made of files of a lake table, without its log."""
    for each in getattr(dataset, "children", ()):
        _check_alone(each, enclosing)
    if type(getattr(dataset, "filesystem", None)).__name__ == "LocalFileSystem":
        for file in dataset.files:
            enclosing.check(Path(file))


def _delta_batches(table: Any, chosen: Chosen) -> Iterator[Any]:  # noqa: ANN401
    """Yield the rows as the package reads them, which knows deleted rows and names of columns."""
    schema = pa.schema(table.schema().to_arrow())
    names = chosen(schema.names)
    wanted = pa.schema([field for field in schema if names is None or field.name in names])
    yield wanted.empty_table()
    for batch in pa.RecordBatchReader.from_stream(table.scan(columns=wanted.names)):
        yield batch.cast(wanted)


def _scan_batches(scan: Any, chosen: Chosen) -> Iterator[Any]:  # noqa: ANN401
    """Yield the rows of a scan file by file: the package itself would read several at once."""
    from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow

    names = chosen([field.name for field in scan.projection().fields])
    schema = scan.projection() if names is None else scan.projection().select(*names)
    yield schema_to_pyarrow(schema, include_field_ids=False).empty_table()
    if scan.limit is not None:
        yield from scan.to_arrow_batch_reader()
        return
    for task in scan.plan_files():
        rows = ArrowScan(scan.table_metadata, scan.io, schema, scan.row_filter, scan.case_sensitive)
        yield from rows.to_record_batches([task])
