"""Files in Iceberg tables of tests that PyIceberg cannot write yet: delete files, vectors, ORC."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.typedef import Record

from tests.lakes import vector

CODEC = "deflate"


class _DeletesWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def delete_by_position(table: Any, file: str, rows: list[int]) -> Path:
    """Delete rows of a data file of an unpartitioned table; return the new metadata."""
    deletes = pa.table({"file_path": [file] * len(rows), "pos": pa.array(rows, pa.int64())})
    return _with_file(table, deletes, DataFileContent.POSITION_DELETES)


def delete_by_vector(table: Any, vectors: dict[str, list[int]]) -> Path:
    """Delete rows of data files by deletion vectors, in one file; return the new metadata."""
    content, blobs = b"PFA1", []
    for file, rows in vectors.items():
        told = vector(rows)
        blob = struct.pack(">I", len(told)) + told + struct.pack(">I", zlib.crc32(told))
        blobs.append({
            "type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1,
            "offset": len(content), "length": len(blob),
            "properties": {"referenced-data-file": file, "cardinality": str(len(rows))},
        })  # fmt: skip
        content += blob
    footer = json.dumps({"blobs": blobs}).encode()
    content += b"PFA1" + footer + struct.pack("<iI", len(footer), 0) + b"PFA1"
    return _with_file(table, content, DataFileContent.POSITION_DELETES, kind=FileFormat.PUFFIN)


def delete_by_equality(table: Any, values: pa.Table, column: int) -> Path:
    """Delete rows with the same values of a column; return the new metadata."""
    return _with_file(table, values, DataFileContent.EQUALITY_DELETES, [column])


def add_orc(table: Any, rows: pa.Table) -> Path:
    """Add a data file in the format ORC; return the new metadata."""
    return _with_file(table, rows, DataFileContent.DATA, kind=FileFormat.ORC)


def _with_file(
    table: Any,
    rows: pa.Table | bytes,
    content: DataFileContent,
    ids: list[int] | None = None,
    kind: FileFormat = FileFormat.PARQUET,
) -> Path:
    location, metadata = table.location(), table.metadata
    snapshot, number = table.current_snapshot(), metadata.last_sequence_number + 1
    new = snapshot.snapshot_id + 1
    path = f"{location}/data/by-hand-{number}.{kind.value.lower()}"
    _write(rows, kind, Path(path.removeprefix("file://")))
    file = DataFile.from_args(
        content=content, file_path=path, file_format=kind, partition=Record(),
        record_count=len(rows), file_size_in_bytes=1000, equality_ids=ids,
    )  # fmt: skip
    manifest = table.io.new_output(f"{location}/metadata/by-hand-{number}.avro")
    writing = ManifestWriterV2 if content == DataFileContent.DATA else _DeletesWriter
    with writing(metadata.spec(), metadata.schema(), manifest, new, CODEC) as writer:
        status = ManifestEntryStatus.ADDED
        writer.add_entry(ManifestEntry.from_args(status=status, snapshot_id=new, data_file=file))
    every = [*snapshot.manifests(table.io), writer.to_manifest_file()]
    listed = table.io.new_output(f"{location}/metadata/snap-{new}.avro")
    with write_manifest_list(2, listed, new, snapshot.snapshot_id, number, CODEC) as listing:
        listing.add_manifests(every)
    return _new_metadata(table, new, number, listed.location)


def _write(rows: pa.Table | bytes, kind: FileFormat, path: Path) -> None:
    if isinstance(rows, bytes):
        path.write_bytes(rows)
    elif kind == FileFormat.ORC:
        orc.write_table(rows, path)
    else:
        pq.write_table(rows, path)


def _new_metadata(table: Any, new: int, number: int, manifest_list: str) -> Path:
    place = Path(table.metadata_location.removeprefix("file://"))
    told = json.loads(place.read_text())
    last = next(s for s in told["snapshots"] if s["snapshot-id"] == told["current-snapshot-id"])
    told["snapshots"].append(
        {**last, "snapshot-id": new, "sequence-number": number, "manifest-list": manifest_list}
    )
    told |= {"current-snapshot-id": new, "last-sequence-number": number}
    told["refs"]["main"]["snapshot-id"] = new
    path = place.with_name(f"{int(place.name.partition('-')[0]) + 1:05}-by-hand.metadata.json")
    path.write_text(json.dumps(told))
    return path
