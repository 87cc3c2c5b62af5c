"""The reader on Spark: the same facts under the same numbers as the local reader's.

Files are cut into tasks; each parses its part with the local reader's own functions and hands back
its terms and facts in numbers of its own. The driver takes the terms over in the order of the
tasks. Both readers number constants by first appearance, so the cuts leave no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from stratalog.errors import DataError, StratalogError
from stratalog.lang.syntax import Declaration
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.files import ReadOptions, ReadReport
from stratalog.pipeline.paths import DataFile, is_remote
from stratalog.pipeline.spark_items import SparkFinder, Table
from stratalog.pipeline.spark_jobs import PieceRow, Watch, piece_folder, pieces, run_job, translated
from stratalog.pipeline.spark_pieces import Outcome, add_piece, add_report, error_of, read_piece
from stratalog.pipeline.spark_ranges import RANGE, cut_files, pack_tasks
from stratalog.pipeline.spark_remote import file_of, line_frame, number_files, whole_frame
from stratalog.pipeline.spark_tasks import SCHEMA, Work, read_rows, read_tasks
from stratalog.pipeline.tables import Block, Source, Vocabulary, encode_block, fed_by
from stratalog.spark import checked, map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_spark(  # noqa: PLR0913  # as `read_paths`, and the session
    spark: SparkSession,
    items: Sequence[Any],
    *,
    declarations: Sequence[Declaration] = (),
    arities: Mapping[str, set[int]] | None = None,
    prefixes: Sequence[tuple[str, str]] = (),
    dictionary: Dictionary,
    report: ReadReport | None = None,
    options: ReadOptions | None = None,
    range_size: int = RANGE,
) -> EncodedFacts:
    """Return the facts of files, folders, globs, DataFrames and Spark tables, read on Spark.

    An item is a path, `name=PATH`, the name of a table or `name=TABLE`, or a pair of a predicate
    and a DataFrame or path. After an error the dictionary is as it was before.
    """
    vocabulary = Vocabulary(declarations, arities or {}, prefixes)
    reader = _Reader(
        checked(spark), vocabulary, dictionary, options or ReadOptions(), EncodedFacts(report)
    )
    known = dictionary.checkpoint()
    try:
        reader.read(items, range_size)
    except BaseException:
        dictionary.truncate(known)
        raise
    return reader.found


class _Reader:
    """Reads items, whose facts and numbers it adds to what it was given."""

    def __init__(
        self,
        spark: SparkSession,
        vocabulary: Vocabulary,
        dictionary: Dictionary,
        options: ReadOptions,
        found: EncodedFacts,
    ) -> None:
        self.spark = spark
        self.vocabulary = vocabulary
        self.dictionary = dictionary
        self.options = options
        self.found = found

    def read(self, items: Sequence[Any], range_size: int) -> None:
        """Read all items, neighbouring files in one job."""
        finder = SparkFinder(self.spark, self.vocabulary.prefixes, self.found.warnings)
        sources = finder.sources(items)
        for kind, group in groupby(sources, key=_kind):
            if kind == "table":
                for table in group:
                    self._read_table(cast("Table", table))
            elif kind == "remote":
                self._read_remote(cast("list[DataFile]", list(group)), finder.sizes)
            else:
                self._read_files(cast("list[DataFile]", list(group)), range_size)

    def _read_files(self, files: Sequence[DataFile], range_size: int) -> None:
        tasks = list(cut_files(files, range_size, skip=self.options.skip))
        cores = self.spark.sparkContext.defaultParallelism
        runs = pack_tasks(tasks, 2 * cores)
        with self._work() as work:
            numbers = self.spark.range(0, len(runs), 1, len(runs))
            frame = map_in_arrow(numbers, read_tasks(work, tasks, runs), SCHEMA)
            sizes = [sum(tasks[number].size for number in run) for run in runs]
            names = [tasks[run[-1]].file.path for run in runs]
            watch = _Progress(names, sizes, self.options)
            rows = self._run(work, frame, "reading files", watch)
            watch(len(names))  # Spark may be late to tell of its last tasks
            self._gather(rows, lambda task: tasks[task].file.path)

    def _read_remote(self, files: Sequence[DataFile], sizes: Mapping[str, int]) -> None:
        by_lines, whole = number_files(files)
        rows: list[PieceRow] = []
        with self._work() as work:
            watch = _Progress([file.path for file in files], [1] * len(files), self.options)
            doing = "reading remote files"
            if by_lines:
                with translated(doing):
                    frame = line_frame(self.spark, by_lines, work)
                rows += self._run(work, frame, doing, watch)
            if whole:
                with translated(doing):
                    frame = whole_frame(self.spark, whole, work, sizes)
                rows += self._run(work, frame, doing, watch)
            rows.sort(key=lambda row: row[:2])
            self._gather(rows, lambda task: files[file_of(task)].path)

    def _read_table(self, table: Table) -> None:
        doing = f"reading {table.label}"
        names = table.frame.columns
        if not names:
            self._count_rows(table, doing)
            return
        with self._work() as work:
            with translated(doing):
                read = read_rows(work, table.name, table.label, names)
                places = [f"c{place}" for place in range(len(names))]
                frame = map_in_arrow(table.frame.toDF(*places), read, SCHEMA)
            watch = _Progress([table.label], [1], self.options)
            self._gather(self._run(work, frame, doing, watch))

    def _count_rows(self, table: Table, doing: str) -> None:
        """Add the rows of a table without columns, which Arrow cannot count."""
        with translated(doing):
            block = Block([], [], table.frame.count())
        source = Source(table.label, skip=self.options.skip)
        encode_block(block, table.name, self.vocabulary, self.dictionary, self.found.report, source)
        self.found.add(fed_by(table.name, 0), [], block.size)

    @contextmanager
    def _work(self) -> Iterator[Work]:
        with piece_folder(self.spark) as spool:
            options = replace(self.options, progress=None, pause=None)
            most = self.dictionary.max_digits
            yield Work(self.vocabulary, options, spool, max_digits=most)

    def _run(self, work: Work, frame: DataFrame, doing: str, watch: Watch) -> list[PieceRow]:
        return run_job(self.spark, frame, doing, watch, by_value=work.spool is None)

    def _gather(
        self, rows: Sequence[PieceRow], path_of: Callable[[int], str] | None = None
    ) -> None:
        """Add the pieces in order; the first task that failed tells the error."""
        before, current = 0, None
        for row, source in pieces(rows):
            path = path_of(row.task) if path_of else ""
            if path != current:
                before, current = 0, path
            if source is not None:
                add_piece(read_piece(source), self.found, self.dictionary)
                continue
            outcome = Outcome.loads(row.outcome or "")
            if outcome.error is not None:
                error = error_of(outcome.error, before, is_table=path_of is None)
                raise _unseen(error) if error.code == "D100" else error
            add_report(self.found.report, outcome.report, before, is_table=path_of is None)
            before += outcome.lines


def _unseen(error: StratalogError) -> StratalogError:
    """Return the error for a file that the driver has found and a worker has not."""
    return DataError(
        "D100", "Spark's workers do not see this file, which is there for the driver",
        path=error.path, help="put it where all machines of the cluster see it under this name",
    )  # fmt: skip


def _kind(source: DataFile | Table) -> str:
    if isinstance(source, Table):
        return "table"
    return "remote" if is_remote(source.path) else "file"


class _Progress:
    """Tells the bytes of the runs that are done; in which order they are is not known."""

    def __init__(self, names: Sequence[str], sizes: Sequence[int], options: ReadOptions) -> None:
        self.names = names
        self.sizes = sizes
        self.tell = options.progress
        self.done = -1

    def __call__(self, done: int) -> None:
        if self.tell is None or done == self.done:
            return
        self.done = done
        name = self.names[min(done, len(self.names) - 1)]
        self.tell(name, sum(self.sizes[:done]), sum(self.sizes))
