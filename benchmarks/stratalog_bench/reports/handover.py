"""How fast tables go to Spark and come back: rows of two longs, in MB per second of wall time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stratalog import spark as sessions
from stratalog.pipeline import handover
from stratalog_bench.reports import Figures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = {"full": 20_000_000, "small": 100_000}
REPEATS = {"full": 6, "small": 1}
TARGETS = {"to Spark": 300.0, "from Spark": 150.0}
"""MB per second that must be reached, with the rows consumed on the other side."""


def measure(scale: str) -> Figures:
    """Return the rates of both directions."""
    rows = ROWS[scale]
    generator = np.random.default_rng(7)
    table = pa.table({f"c{i}": generator.integers(0, 1 << 40, rows) for i in range(2)})
    spark = sessions.session("local[2]")
    cached = handover.to_spark(spark, table).cache()
    cached.count()
    ways: dict[str, Callable[[], object]] = {
        "to Spark": lambda: _consume(handover.to_spark(spark, table)),
        "from Spark": lambda: handover.from_spark(cached),
        "from Spark by toArrow": cached.toArrow,
    }
    found = []
    for name, way in ways.items():
        rate = table.nbytes / 1e6 / _best(REPEATS[scale], way)
        found.append([name, round(rate, 1), TARGETS.get(name)])
    sessions.stop()
    notes = [f"{rows:,} rows of two longs, {table.nbytes / 1e6:,.0f} MB"]
    return {"columns": ["way", "MB/s", "wanted"], "rows": found, "notes": notes}


def _best(repeats: int, way: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several runs, after one that is not counted."""
    way()
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        way()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def _consume(frame: DataFrame) -> None:
    """Read every value of a DataFrame in Spark."""
    frame.selectExpr("sum(hash(c0, c1))").first()
