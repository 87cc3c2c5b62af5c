"""How fast tables go to Spark and come back: 20 million rows of two longs, in MB per second.

python benchmarks/handover.py [--rows N] [--repeats N] [-o FILE]    prints one JSON object
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stratalog import spark as sessions
from stratalog.pipeline import handover

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TARGETS = {"to_spark": 300.0, "from_spark": 150.0}
"""MB per second that must be reached, with the rows consumed on the other side."""


def best(repeats: int, run: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several runs, after one that is not counted."""
    run()
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def consume(frame: DataFrame) -> int:
    """Read every value of a DataFrame in Spark, and return their sum."""
    total = frame.selectExpr("sum(hash(c0, c1))").first()
    assert total is not None
    return int(total[0])


def measure(rows: int, repeats: int) -> dict[str, object]:
    """Return the rates of all ways."""
    generator = np.random.default_rng(7)
    table = pa.table({f"c{i}": generator.integers(0, 1 << 40, rows) for i in range(2)})
    spark = sessions.session("local[2]")
    megabytes = table.nbytes / 1e6
    cached = handover.to_spark(spark, table).cache()
    assert cached.count() == rows
    folder = handover.spool_folder(spark)
    assert folder is not None
    ways: dict[str, Callable[[], object]] = {
        "to_spark": lambda: consume(handover.to_spark(spark, table)),
        "from_spark": lambda: handover.from_spark(cached),
        "from_spark_by_arrow": cached.toArrow,
        "from_spark_by_parquet": lambda: handover._through_parquet(cached, folder),  # noqa: SLF001
    }
    rates = {name: round(megabytes / best(repeats, run), 1) for name, run in ways.items()}
    assert handover.from_spark(cached).num_rows == rows
    sessions.stop()
    return {
        "benchmark": "handover",
        "rows": rows,
        "megabytes": round(megabytes, 1),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),  # above the cores, the rates say little
        "mb_per_second": rates,
        "targets": TARGETS,
        "reached": {name: rates[name] >= target for name, target in TARGETS.items()},
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    text = json.dumps(measure(options.rows, options.repeats), indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
