"""Small tables of one commit in one file: an update makes a file, not one per relation.

A pack is the tables' Parquet files one after the other; manifests say where each begins.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pyarrow as pa

from stratalog.pipeline.manifest import FilePart
from stratalog.pipeline.parts import encode_table

MOST_ROWS = 10_000  # of a table: larger ones are files of their own


class Pack:
    """Tables that are to be written together."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path = path
        self._name = path.relative_to(root).as_posix()
        self._contents: list[pa.Buffer] = []
        self._size = 0

    def add(self, table: pa.Table) -> FilePart:
        """Take a table and return the manifest's entry for it."""
        content = encode_table(table)
        begin = self._size
        self._contents.append(content)
        self._size += content.size
        return FilePart(self._name, content.size, zlib.crc32(content), table.num_rows, begin)

    def __bool__(self) -> bool:
        """Tell whether there is anything to write."""
        return bool(self._contents)

    def write(self) -> None:
        """Write the file."""
        with self.path.open("xb") as file:
            for content in self._contents:
                file.write(content)
