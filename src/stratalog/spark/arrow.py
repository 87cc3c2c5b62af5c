"""Arrow on its way to Spark: tables as DataFrames, and functions over batches in executors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table
    from pyspark.sql import DataFrame, SparkSession

_lock = threading.Lock()


def from_arrow(spark: SparkSession, table: Table) -> DataFrame:
    """Return a small table as a DataFrame, all of its rows; the active session stays what it was.

    PySpark (4.3) reads a table of several chunks up to the first empty one, and loses the others.
    """
    with _active_session_kept(spark):
        return spark.createDataFrame(table.combine_chunks())


@contextmanager
def _active_session_kept(spark: SparkSession) -> Iterator[None]:
    """Undo that PySpark makes `spark` active: users look for views in the session they had."""
    kind: Any = type(spark)
    java: Any = spark._jvm.SparkSession  # type: ignore[union-attr]  # noqa: SLF001
    before, active = kind._activeSession, java.getActiveSession()  # noqa: SLF001
    try:
        yield
    finally:
        kind._activeSession = before  # noqa: SLF001
        if active.isDefined():
            java.setActiveSession(active.get())
        else:
            java.clearActiveSession()


def map_in_arrow(
    frame: DataFrame,
    function: Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]],
    schema: str,
) -> DataFrame:
    """Return `frame.mapInArrow(function, schema)`, with pandas installed or not."""
    with _lock, _without_asking_for_pandas():
        return frame.mapInArrow(function, schema)


@contextmanager
def _without_asking_for_pandas() -> Iterator[None]:
    """Leave out PySpark's look at pandas: the call shares its code with functions that need it."""
    import pyspark.sql.pandas.functions as asking

    module: Any = asking
    before = getattr(module, "require_minimum_pandas_version", None)
    module.require_minimum_pandas_version = lambda: None
    try:
        yield
    finally:
        module.require_minimum_pandas_version = before
