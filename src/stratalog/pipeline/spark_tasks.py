"""What Spark's workers run: parts of files, or rows of a table, to pieces of encoded facts."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, chdir, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from stratalog.errors import StratalogError
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import TABLE
from stratalog.pipeline.files import ByteStream, ReadOptions, open_bytes
from stratalog.pipeline.reading import Context, FactBlock, file_blocks, text_file
from stratalog.pipeline.spark_pieces import Outcome, error_parts, pack, write_piece
from stratalog.pipeline.spark_ranges import Task, open_range
from stratalog.pipeline.table_files import TABLE_FORMATS, table_blocks
from stratalog.pipeline.tables import Source, Vocabulary, block_of, encode_block
from stratalog.pipeline.text_tables import TEXT_FORMATS, Shape, shape_of

SCHEMA = "task long, piece long, outcome string, path string, data binary"
MOST_CELLS = 1 << 24  # of a piece: 64 MB
MOST_TERM_BYTES = 1 << 26  # of texts

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Work:
    """What all tasks of a job have in common; pieces go to `spool` if it is a folder they share."""

    vocabulary: Vocabulary
    options: ReadOptions
    spool: str | None = None
    folder: str = field(default_factory=os.getcwd)  # what relative paths are relative to
    most_cells: int = field(default_factory=lambda: MOST_CELLS)  # of a piece
    max_digits: int | None = None  # of a number


def read_tasks(
    work: Work, tasks: Sequence[Task], runs: Sequence[Sequence[int]]
) -> Callable[[Batches], Batches]:
    """Return the function that reads the tasks of the runs whose numbers it is given."""

    def run(batches: Batches) -> Batches:
        with _inside(work.folder):
            for batch in batches:
                for place in batch.column(0).to_pylist():
                    for number in runs[place]:
                        yield from Attempt(work, number).run(partial(_blocks, tasks[number]))

    return run


@contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Work in the driver's folder where it exists: a worker may have been started elsewhere."""
    if not Path(folder).is_dir():
        yield
        return
    with chdir(folder):
        yield


def read_rows(
    work: Work, name: str, path: str, names: Sequence[str]
) -> Callable[[Batches], Batches]:
    """Return the function that reads a table's rows, one task per partition.

    `names` are the columns' own: Spark finds no column whose name has a dot or occurs twice.
    """

    def run(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context else 0
        named = (pa.RecordBatch.from_arrays(batch.columns, list(names)) for batch in batches)
        yield from Attempt(work, number).run(partial(_rows, named, name, path))

    return run


BlocksOf = Callable[[Context, Outcome], Iterator[FactBlock]]


class Attempt:
    """One run of a task; only what Spark returns of it counts."""

    def __init__(self, work: Work, number: int) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        self.mark = f"{number}-{context.taskAttemptId() if context else 0}"
        self.work = work
        self.number = number
        self.pieces = itertools.count()

    def run(self, blocks_of: BlocksOf) -> Batches:
        """Yield rows for the pieces, then the one that tells how the task ended."""
        outcome = Outcome()
        dictionary = Dictionary()
        dictionary.max_digits = self.work.max_digits
        context = Context(self.work.vocabulary, dictionary, outcome.report, self.work.options)
        held: list[FactBlock] = []
        try:
            for block in blocks_of(context, outcome):
                held.append(block)
                if self._is_full(dictionary, held):
                    yield self._piece(dictionary, held)
            if held:
                yield self._piece(dictionary, held)
        except StratalogError as error:
            outcome.error = error_parts(error)
        yield self._row(outcome=outcome.dumps())

    def _is_full(self, dictionary: Dictionary, held: Sequence[FactBlock]) -> bool:
        cells = sum(block.size * len(block.columns) for block in held)
        texts = dictionary.to_table().nbytes
        return cells > self.work.most_cells or bool(texts > MOST_TERM_BYTES)

    def _piece(self, dictionary: Dictionary, held: list[FactBlock]) -> pa.RecordBatch:
        """Return the row of what is held, which then is forgotten."""
        piece = pack(dictionary, held)
        if self.work.spool is None:
            sink = pa.BufferOutputStream()
            write_piece(piece, sink)
            row = self._row(data=sink.getvalue().to_pybytes())
        else:
            path = str(Path(self.work.spool) / f"{self.mark}-{next(self.pieces)}.arrow")
            write_piece(piece, path)
            row = self._row(path=path)
        held.clear()
        dictionary.truncate(0)
        return row

    def _row(
        self, outcome: str | None = None, path: str | None = None, data: bytes | None = None
    ) -> pa.RecordBatch:
        return pa.record_batch(
            {
                "task": pa.array([self.number], pa.int64()),
                "piece": pa.array([next(self.pieces)], pa.int64()),
                "outcome": pa.array([outcome], pa.string()),
                "path": pa.array([path], pa.string()),
                "data": pa.array([data], pa.binary()),
            }
        )


def _blocks(task: Task, context: Context, outcome: Outcome) -> Iterator[FactBlock]:
    file = task.file
    if file.format in TABLE_FORMATS:
        parts = None if task.end is None else range(task.begin, task.end)
        context.report.bytes += task.size
        yield from table_blocks(file, context, parts)
    elif task.end is None:
        with open_bytes(file.path) as whole:
            yield from file_blocks(file, whole, context)
    else:
        with open_range(file.path, task.begin, task.end) as lines:
            shape = _shape(task, context, lambda: open_bytes(file.path))
            yield from file_blocks(file, lines, context, shape)
            outcome.lines = lines.lines


def _shape(
    task: Task, context: Context, start: Callable[[], AbstractContextManager[ByteStream]]
) -> Shape | None:
    """Return what the file's beginning tells about lines further on; None at the beginning."""
    if task.begin == 0 or task.file.format not in TEXT_FORMATS:
        return None
    with start() as stream:
        described: Any = stream
        text = text_file(task.file, context.options)
        return shape_of(text, described, context.vocabulary) or Shape(None, None)


def _rows(
    batches: Batches, name: str, path: str, context: Context, outcome: Outcome
) -> Iterator[FactBlock]:
    """Yield the facts of a partition; its rows are counted as its lines are elsewhere."""
    for batch in batches:
        source = Source(path, first_row=outcome.lines, skip=context.options.skip)
        columns, size = encode_block(
            block_of(batch), name, context.vocabulary, context.dictionary, context.report, source
        )
        outcome.lines += batch.num_rows
        context.report.bytes += batch.nbytes
        yield FactBlock(name, columns, size, TABLE)
