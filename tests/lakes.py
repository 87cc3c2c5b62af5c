"""Tables of Delta Lake and Iceberg for tests, also such as the packages for them cannot write."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stratalog.errors import DataError
from stratalog.pipeline.decode import rows
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.local import read_paths

_BASE85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_MAGIC = 1681511377
_NO_RUNS = 12346


class DeltaLog:
    """A table of Delta Lake whose log is written by hand, by the protocol's specification."""

    def __init__(
        self,
        folder: Path,
        fields: Sequence[Mapping[str, Any]],
        *,
        features: Sequence[str] = (),
        partitions: Sequence[str] = (),
        configuration: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.version = -1
        (folder / "_delta_log").mkdir(parents=True)
        needs = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": list(features)}
        needs["writerFeatures"] = list(features)
        old = {"minReaderVersion": 1, "minWriterVersion": 2}
        self._protocol = {"protocol": needs if features else old}
        self._partitions = list(partitions)
        self._configuration = dict(configuration or {})
        self.commit([self._protocol, self.metadata(fields)])

    def metadata(self, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the action that gives the table its columns."""
        told = [{"nullable": True, "metadata": {}, **field} for field in fields]
        return {
            "metaData": {
                "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": told}),
                "partitionColumns": self._partitions,
                "configuration": self._configuration,
                "createdTime": 1,
            }
        }

    def commit(self, actions: Sequence[Mapping[str, Any]]) -> None:
        """Write the next version."""
        self.version += 1
        path = self.folder / "_delta_log" / f"{self.version:020}.json"
        path.write_text("".join(json.dumps(action) + "\n" for action in actions))

    def add(
        self,
        path: str,
        table: pa.Table | None = None,
        partition: Mapping[str, str | None] | None = None,
        deleted: Sequence[int] | None = None,
        vector: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a file, written here if a table is given, some of whose rows may be deleted."""
        place = self.folder / path
        if table is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, place)
        action: dict[str, Any] = {
            "path": quote(path, safe="/=:"),
            "partitionValues": dict(partition or {}),
            "size": place.stat().st_size if place.exists() else 1000,
            "modificationTime": 1,
            "dataChange": True,
        }
        if table is not None:
            action["stats"] = json.dumps({"numRecords": table.num_rows})
        if deleted is not None:
            action["deletionVector"] = inline_vector(deleted)
        if vector is not None:
            action["deletionVector"] = dict(vector)
        self.commit([{"add": action}])


def inline_vector(rows: Sequence[int]) -> dict[str, Any]:
    """Return the deletion vector of some rows below 65,536, kept in the log itself."""
    data = vector(rows)
    padded = data + bytes(-len(data) % 4)
    text = base64.b85encode(padded).translate(bytes.maketrans(_BASE85, _Z85)).decode()
    return {
        "storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data),
        "cardinality": len(rows),
    }  # fmt: skip


def vector(rows: Sequence[int]) -> bytes:
    """Return numbers of rows below 65,536 as a bitmap, as both kinds of tables have it."""
    held = sorted(rows)
    bitmap = struct.pack("<II", _NO_RUNS, 1) + struct.pack("<HHI", 0, len(held) - 1, 16)
    bitmap += struct.pack(f"<{len(held)}H", *held)
    return struct.pack("<IQI", _MAGIC, 1, 0) + bitmap


def read(*items: Any, **known: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each predicate's name, sorted, as the local reader finds them."""
    dictionary = Dictionary()
    found = read_paths(items, dictionary=dictionary, **known)
    return {
        each.name: sorted(rows(columns, size, dictionary), key=repr)
        for each, columns, size in found
    }


def refused(*items: Any, **known: Any) -> DataError:
    """Return the error with which the local reader refuses the items."""
    with pytest.raises(DataError) as caught:
        read(*items, **known)
    assert caught.value.path
    assert caught.value.help
    return caught.value


def as_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of an Arrow table, sorted."""
    return sorted(zip(*table.to_pydict().values(), strict=True), key=repr)
