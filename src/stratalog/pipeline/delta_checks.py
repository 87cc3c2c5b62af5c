"""What the log of a Delta table may lead its package to open: ordinary files of the table.

The package opens what the log names, wherever that is. A pipe would never end, and a table may
come from a stranger.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError

_INLINE, _RELATIVE = "i", "u"
_VECTOR = pa.struct([("storageType", pa.string())])
_ADDED = pa.schema([("add", pa.struct([("deletionVector", _VECTOR)]))])


def check_log(folder: Path) -> None:
    """Refuse a log that has pipes or devices in it."""
    for path in _below(folder / "_delta_log"):
        _check_ordinary(path, folder)


def check_vectors(folder: Path) -> None:
    """Refuse deletion vectors that are elsewhere, or no ordinary files."""
    for path in _below(folder / "_delta_log"):
        if path.suffix in (".json", ".parquet") and not _told(path) <= {_INLINE, _RELATIVE, None}:
            raise DataError(
                "D135", "the table's log names a deletion vector outside of the table's folder",
                path=str(folder),
                help="copy the table into one folder; if you trust it, a DeltaTable may be given "
                "in Python",
            )  # fmt: skip
    for path in _below(folder):
        if path.suffix == ".bin":
            _check_ordinary(path, folder)


def _told(path: Path) -> set[str | None]:
    """Return the ways in which a part of the log stores deletion vectors."""
    added = _json_actions(path) if path.suffix == ".json" else _checkpointed(path)
    if added is None:
        return set()
    kinds = pc.struct_field(added, ["deletionVector", "storageType"])
    return set(kinds.unique().to_pylist())


def _json_actions(path: Path) -> pa.ChunkedArray | None:
    from pyarrow import json

    if not path.stat().st_size:
        return None
    parse = json.ParseOptions(explicit_schema=_ADDED, unexpected_field_behavior="ignore")
    block = json.ReadOptions(block_size=max(1 << 20, path.stat().st_size))
    return json.read_json(path, read_options=block, parse_options=parse).column("add")


def _checkpointed(path: Path) -> pa.ChunkedArray | None:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    names = [file.schema.column(place).path for place in range(len(file.schema))]
    wanted = "add.deletionVector.storageType"
    return file.read(columns=[wanted]).column("add") if wanted in names else None


def _check_ordinary(path: Path, folder: Path) -> None:
    if not path.is_file():
        raise DataError(
            "D134", f"this part of the table is no ordinary file: {path}", path=str(folder),
            help="remove it, or copy the table again",
        )  # fmt: skip


def _below(folder: Path) -> Iterator[Path]:
    """Yield everything in a folder and its folders, links to folders not followed."""
    for top, _, names in os.walk(folder):
        yield from (Path(top, name) for name in names)
