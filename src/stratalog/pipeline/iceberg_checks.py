"""Lists of files of an Iceberg table, checked before they are believed.

PyIceberg's fast decoder reads beyond the end of what it is given, and a list that ends too early is
a shorter list to it: files would be missing, or deleted rows come back. So its slow decoder reads,
which knows where the bytes end, and lists must be complete.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyiceberg.avro import file as avro
from pyiceberg.avro.decoder import StreamingBinaryDecoder
from pyiceberg.io import FileIO
from pyiceberg.manifest import clear_manifest_cache
from pyiceberg.table.snapshots import Snapshot

from stratalog.errors import DataError

_SYNC = 16  # bytes that end each block of an Avro file
_turn = threading.RLock()
_avro: Any = avro  # one of its names is set, which its types do not know


@contextmanager
def careful_reading() -> Iterator[None]:
    """Let PyIceberg decode within bounds, and remember nothing of other tables.

    It keeps manifests under their paths, which two tables may share. Other threads that use it at
    the same time are slower, and read the same.
    """
    with _turn:
        fast = _avro.new_decoder
        _avro.new_decoder = StreamingBinaryDecoder
        clear_manifest_cache()
        try:
            yield
        finally:
            _avro.new_decoder = fast
            clear_manifest_cache()


def check_lists(snapshot: Snapshot | None, files: FileIO) -> None:
    """Refuse a snapshot whose list of manifests, or one of these, is not complete."""
    if snapshot is None:
        return
    _check_end(snapshot.manifest_list, files)
    for manifest in snapshot.manifests(files):
        if len(files.new_input(manifest.manifest_path)) != manifest.manifest_length:
            raise _incomplete(manifest.manifest_path)
        _check_end(manifest.manifest_path, files)


def _check_end(location: str, files: FileIO) -> None:
    """Refuse an Avro file that does not end as each of its blocks does."""
    read: Any = _avro.AvroFile(files.new_input(location))
    with read, files.new_input(location).open() as content:
        content.seek(max(0, len(files.new_input(location)) - _SYNC))
        if content.read(_SYNC) != read.header.sync:
            raise _incomplete(location)


def _incomplete(location: str) -> DataError:
    return DataError(
        "D134", "a list of the table's files is not complete", path=str(Path(location)),
        help="check that the folder was copied completely",
    )  # fmt: skip
