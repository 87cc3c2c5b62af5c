"""Arrow on its way to Spark: tables as DataFrames, and functions over batches in executors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from stratalog.spark.internals import active_session_kept, pandas_not_asked_for

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table
    from pyspark.sql import DataFrame, SparkSession

_lock = threading.Lock()


def from_arrow(spark: SparkSession, table: Table) -> DataFrame:
    """Return a small table as a DataFrame, all of its rows; the active session stays what it was.

    PySpark (4.3) reads a table of several chunks up to the first empty one, and loses the others.
    """
    with active_session_kept(spark):
        return spark.createDataFrame(table.combine_chunks())


def map_in_arrow(
    frame: DataFrame,
    function: Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]],
    schema: str,
) -> DataFrame:
    """Return `frame.mapInArrow(function, schema)`, with pandas installed or not."""
    with _lock, pandas_not_asked_for():
        return frame.mapInArrow(function, schema)
