"""Rows that Spark has written down: a plan begins anew from them, and they are freed by name.

Rows are packed into columns in the action that derives and counts them. Columns take a sixth of the
memory of rows, and a statement passes over blocks that have none of its predicates. A local
checkpoint cuts what they were made from. On a cluster each block is kept on two executors, so that
losing one loses no fact.

Spark has no public way to pack rows. Where the one that it has for itself is missing, rows are kept
as such by a checkpoint, in an action of their own.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from stratalog.errors import EngineError
from stratalog.spark import internals

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame

    from stratalog.engine.spark.session import Work

_numbers = count(1)


class Written:
    """Rows that are written once, under the name of a view."""

    def __init__(self, work: Work, frame: DataFrame) -> None:
        self.view = f"stratalog_written_{next(_numbers)}"
        self.rows = 0
        self._is_exact = True
        self._work = work
        self._kept = _kept(work, frame, self.view)
        self._kept.frame.createOrReplaceTempView(self.view)

    def summarised(self, text: str) -> pa.Table:
        """Return the answer of a statement that reads all rows, and thereby writes them."""
        found = self._work.fetched(self._work.sql(text))
        self.rows, self._is_exact = self._kept.count()
        return found

    def fill(self) -> None:
        """Write all rows: one action of one stage."""
        self._kept.fill()
        self.rows, self._is_exact = self._kept.count()

    def check(self, rows: int) -> None:
        """Raise unless what is read back is what was written."""
        if rows < self.rows and not self._is_exact and self._rows_there() == rows:
            self.rows, self._is_exact = rows, True  # a task ran twice, and counted twice
        if rows != self.rows:
            raise EngineError(
                "E204",
                f"Spark wrote {self.rows:,} rows and read {rows:,}, while {self._work.doing}",
                help="an executor may have been lost; run it again",
            )

    def _rows_there(self) -> int:
        found = self._work.fetched(self._work.sql(f"SELECT count(*) AS n FROM {self.view}"))  # noqa: S608
        return int(found.column("n")[0].as_py())

    def free(self) -> None:
        """Give back memory and disk."""
        self._work.spark.catalog.dropTempView(self.view)
        self._kept.free()


class _Packed:
    """Rows in columns."""

    def __init__(self, work: Work, frame: DataFrame, name: str) -> None:
        self._work = work
        self._packed = internals.packed(frame, name, _level(work))
        self.frame = self._packed.frame

    def fill(self) -> None:
        self._work.count_action()
        internals.pack(self._packed)

    def count(self) -> internals.Count:
        return internals.written_rows(self._packed)

    def free(self) -> None:
        internals.free(self._packed)


class _Checkpointed:
    """Rows that are checkpointed by public methods.

    They are written when they are made, and freed when Java's garbage collector finds them unused.
    """

    def __init__(self, work: Work, frame: DataFrame) -> None:
        from pyspark.sql import Observation
        from pyspark.sql.functions import count as counted
        from pyspark.sql.functions import lit

        work.count_action()
        seen = Observation()
        watched = frame.observe(seen, counted(lit(1)).alias("rows"))
        self.frame = watched.localCheckpoint(eager=True, storageLevel=_level(work))
        self._rows = int(seen.get["rows"])

    def fill(self) -> None:
        pass

    def count(self) -> internals.Count:
        return internals.Count(self._rows, is_exact=False)

    def free(self) -> None:
        del self.frame


def _kept(work: Work, frame: DataFrame, name: str) -> _Packed | _Checkpointed:
    """Return rows packed, or else as they are; what is missing once is not tried again."""
    if work.can_pack:
        try:
            return _Packed(work, frame, name)
        except internals.MissingError:
            work.can_pack = False
    return _Checkpointed(work, frame)


def _level(work: Work) -> StorageLevel:
    """Return where blocks are kept."""
    from pyspark import StorageLevel

    return StorageLevel.MEMORY_AND_DISK if work.is_local else StorageLevel.MEMORY_AND_DISK_2
