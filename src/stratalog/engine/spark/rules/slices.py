"""Results of Spark in the driver: all at once if they are few, else slice by slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stratalog.kernels.sizes import sized

if TYPE_CHECKING:
    from pyarrow import Table
    from pyspark.sql import DataFrame

AT_ONCE = sized(2_000_000, 6)  # rows that are taken without asking how many there are
SLICE = sized(20_000_000, 4)  # rows in the driver at a time


def collected(frame: DataFrame) -> Table | None:
    """Return all rows, or None if there are more than AT_ONCE."""
    table = frame.limit(AT_ONCE + 1).toArrow()
    return table if table.num_rows <= AT_ONCE else None


def sliced(frame: DataFrame, keys: Sequence[str]) -> Iterator[Table]:
    """Yield all rows in slices of about SLICE rows; rows with the same keys come together."""
    from pyspark import StorageLevel

    kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        slices = -(-kept.count() // SLICE) if keys else 1
        if slices <= 1:
            yield kept.toArrow()
            return
        slot = f"pmod(hash({', '.join(keys)}), {slices})"
        for number in range(slices):
            yield kept.where(f"{slot} = {number}").toArrow()
    finally:
        kept.unpersist()
