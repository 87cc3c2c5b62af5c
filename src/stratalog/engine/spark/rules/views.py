"""Names for DataFrames while a statement is written.

A statement is text, for text costs an eighth of calls over the connection to the JVM. Spark looks
names up when the statement is made, not when it runs: they are dropped at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from stratalog.spark import from_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_numbers = count(1)


class Views:
    """Temporary views of one session, under names that nobody else uses."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._prefix = f"stratalog_rules_{next(_numbers)}"
        self._names: list[str] = []

    def add(self, frame: DataFrame) -> str:
        """Return the name under which statements find a DataFrame."""
        name = f"{self._prefix}_{len(self._names)}"
        frame.createOrReplaceTempView(name)
        self._names.append(name)
        return name

    def sql(self, text: str) -> DataFrame:
        """Return the DataFrame of a statement."""
        return self._spark.sql(text)

    @contextmanager
    def dropped(self) -> Iterator[Views]:
        """Drop the views that are added meanwhile."""
        before = len(self._names)
        try:
            yield self
        finally:
            while len(self._names) > before:
                self._spark.catalog.dropTempView(self._names.pop())


def local_frame(spark: SparkSession, columns: Mapping[str, Any]) -> DataFrame:
    """Return columns of NumPy as a DataFrame that holds them."""
    import pyarrow as pa

    arrays = {name: pa.array(np.asarray(column)) for name, column in columns.items()}
    return from_arrow(spark, pa.table(arrays))
