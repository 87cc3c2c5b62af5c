"""Columns on their way from the driver to Spark: by Parquet where executors see the same disk."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import finalize

import pyarrow as pa

from stratalog.errors import EngineError
from stratalog.kernels.sizes import sized
from stratalog.runtime.private_folder import fresh_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stratalog.engine.spark.session import Work

SETTING = "spark.stratalog.spool"  # names a folder that driver and executors share
BY_PARQUET = sized(50_000, 8)  # rows from which a file is quicker than the JVM's own way
ROWS_PER_FILE = 1 << 21
ROW_GROUP = 1 << 18  # what one task reads

_TYPES = {"int32": "INT", "int64": "BIGINT"}


class Spool:
    """A folder for tables that Spark reads once."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._folder: Path | None = None

    def frame(self, tables: Iterable[pa.Table], schema: pa.Schema, rows: int) -> DataFrame:
        """Return the rows of all tables, which have one schema."""
        whole = pa.concat_tables([schema.empty_table(), *tables])
        folder = self._place() if rows >= BY_PARQUET else None
        if folder is None:
            return self._work.given(whole)
        place = folder / f"{secrets.token_hex(8)}"
        _write(place, whole)
        types = ", ".join(f"{field.name} {_TYPES[str(field.type)]}" for field in schema)
        return self._work.spark.read.schema(types).parquet(place.as_uri())

    def _place(self) -> Path | None:
        """Return the folder, None on a cluster that shares none with the driver."""
        if self._folder is None:
            shared = self._work.spark.conf.get(SETTING, None)
            if shared is None and not self._work.is_local:
                return None
            self._folder = fresh_folder("stratalog-engine-", shared)
            finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def clear(self) -> None:
        """Remove what Spark has read by now."""
        if self._folder is not None:
            for place in self._folder.iterdir():
                shutil.rmtree(place, ignore_errors=True)


def _write(place: Path, whole: pa.Table) -> None:
    import pyarrow.parquet as pq

    try:
        place.mkdir(parents=True)
        for number, first in enumerate(range(0, whole.num_rows, ROWS_PER_FILE)):
            pq.write_table(
                whole.slice(first, ROWS_PER_FILE),
                place / f"part-{number:05d}.parquet",
                row_group_size=ROW_GROUP,
                compression="none",  # it is read once, from the page cache
                use_dictionary=False,
                write_statistics=False,
                store_schema=False,
            )
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise EngineError(
            "E204",
            f"facts cannot be handed to Spark: {error.strerror or error}",
            path=str(place.parent),
            help=f"free some space, or set TMPDIR or {SETTING} to a folder with more",
        ) from None
