"""Running a Spark job that makes pieces, and gathering them in order."""

from __future__ import annotations

import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from stratalog.pipeline.handover import spool_folder
from stratalog.spark import translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK = 0.05  # seconds between looks at how far Spark is

Watch = Callable[[int], None]
"""Told how many tasks of the job are done."""


class PieceRow(NamedTuple):
    """A row that a task returned: a piece, by path or by value, or the task's outcome."""

    task: int
    piece: int
    outcome: str | None
    path: str | None
    data: bytes | None


@contextmanager
def piece_folder(spark: SparkSession) -> Iterator[str | None]:
    """Yield a folder for pieces that driver and workers share, if any; it is removed after."""
    shared = spool_folder(spark)
    if shared is None:
        yield None
        return
    folder = tempfile.mkdtemp(prefix="read-", dir=shared)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise what Spark finds wrong with a query as a coded error."""
    try:
        yield
    except Exception as error:
        raise translate(error, doing) from error


def run_job(
    spark: SparkSession, frame: DataFrame, doing: str, watch: Watch, *, by_value: bool
) -> list[PieceRow]:
    """Return the job's rows in the order of tasks and pieces, or raise a coded error.

    `by_value` if they hold the pieces themselves. The job runs in a thread of its own, so that
    Ctrl-C is heard here and stops it.
    """
    from pyspark import InheritableThread

    group = f"stratalog-{uuid.uuid4()}"
    rows: list[PieceRow] = []
    failures: list[BaseException] = []

    def collect() -> None:
        try:
            spark.sparkContext.setJobGroup(group, f"Stratalog: {doing}", interruptOnCancel=True)
            rows.extend(_collect(frame, by_value=by_value))
        except BaseException as error:  # noqa: BLE001  # raised below, in the caller's thread
            failures.append(error)

    thread = InheritableThread(target=collect, name="stratalog-read", daemon=True)
    thread.start()
    try:
        _wait(spark, group, thread, watch)
    except BaseException:
        while thread.is_alive():  # a job that has not started yet is not cancelled by one call
            with suppress(Exception):  # a JVM that is gone ends the thread, too
                spark.sparkContext.cancelJobGroup(group)
            thread.join(LOOK)
        raise
    if failures:
        raise translate(failures[0], doing) from failures[0]
    return sorted(rows, key=lambda row: row[:2])


def _collect(frame: DataFrame, *, by_value: bool) -> list[PieceRow]:
    if not by_value:
        return _rows_of(frame.toArrow())
    from pyspark import StorageLevel

    # One job makes all pieces; then they come partition by partition, so that they need not fit
    # the driver's limit on the result of one job.
    kept = frame.persist(StorageLevel.DISK_ONLY)
    try:
        kept.count()
        return [PieceRow(*row) for row in kept.toLocalIterator()]
    finally:
        kept.unpersist()


def _rows_of(table: pa.Table) -> list[PieceRow]:
    columns = [table.column(name).to_pylist() for name in PieceRow._fields]
    return [PieceRow(*row) for row in zip(*columns, strict=True)]


def _wait(spark: SparkSession, group: str, thread: threading.Thread, watch: Watch) -> None:
    """Wait for the thread, telling how many tasks are done."""
    tracker: Any = spark.sparkContext.statusTracker()
    done = 0
    while thread.is_alive():
        thread.join(LOOK)
        with suppress(Exception):  # progress is not worth a failure
            done = max(done, _tasks_done(tracker, group))
        watch(done)


def _tasks_done(tracker: Any, group: str) -> int:  # noqa: ANN401  # py4j has no types
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(s) for job in jobs if job for s in job.stageIds]
    return max((stage.numCompletedTasks for stage in stages if stage), default=0)


def pieces(rows: Sequence[PieceRow]) -> Iterator[tuple[PieceRow, Any]]:
    """Yield each row with what its piece can be read from; a piece's file is removed after."""
    for row in rows:
        if row.path is not None:
            with pa.memory_map(row.path) as source:
                yield row, source
            Path(row.path).unlink(missing_ok=True)
        else:
            yield row, None if row.data is None else pa.py_buffer(row.data)
