"""Where the batches of a stream come from: folders of files, or streaming DataFrames."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError
from stratalog.knowledge.reader import _is_frame
from stratalog.lang.names import table_name
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.feed import Feed, feed_of
from stratalog.pipeline.feed_files import Folder, check_feed, feeds_of, find_folder
from stratalog.pipeline.handover import from_spark
from stratalog.pipeline.remote_paths import matching
from stratalog.pipeline.tables import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = "path string, modificationTime timestamp, length long, content binary"
FOREVER = "36500d"  # Spark would pass over files that are a week older than the last one it saw
PLACE, ROW = "_place", "_row"


class Source(Protocol):
    """A stream of changes."""

    @property
    def description(self) -> str:
        """What tells this source from others: it has a checkpoint of its own."""

    @property
    def roots(self) -> Sequence[str]:
        """The local folders that are read."""

    @property
    def session(self) -> SparkSession | None:
        """The session that the source belongs to, if it has one."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the stream."""

    def read(self, batch: DataFrame, vocabulary: Vocabulary) -> list[Feed]:
        """Return the changes of a batch."""


@dataclass(frozen=True, slots=True)
class _Folders:
    """Folders whose new files are read by this process."""

    folders: Sequence[Folder]
    predicates: Callable[[], Iterable[Predicate]]
    max_files: int | None
    session: None = None

    @property
    def description(self) -> str:
        return "\n".join(sorted(map(str, self.folders)))

    @property
    def roots(self) -> Sequence[str]:
        return [folder.root for folder in self.folders if not folder.is_remote]

    def frame(self, spark: SparkSession) -> DataFrame:
        frames = [self._files(spark, place) for place in range(len(self.folders))]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.union(frame)
        return whole

    def _files(self, spark: SparkSession, place: int) -> DataFrame:
        """Return the stream of a folder's files; their content, if only Spark can read it."""
        from pyspark.sql import functions as F  # noqa: N812  # everybody's name for it

        folder = self.folders[place]
        if folder.is_remote:
            for found in matching(spark, folder.root, {}):
                check_feed(found, is_one=folder.name is not None)
        reader = spark.readStream.format("binaryFile").schema(FILES)
        reader = reader.option("recursiveFileLookup", "true").option("maxFileAge", FOREVER)
        if self.max_files is not None:
            reader = reader.option("maxFilesPerTrigger", str(self.max_files))
        content = F.col("content") if folder.is_remote else F.lit(None).cast("binary")
        files = reader.load(folder.uri)
        return files.select(F.lit(place).alias(PLACE), "path", content.alias("content"))

    def read(self, batch: DataFrame, vocabulary: Vocabulary) -> list[Feed]:
        files: dict[int, list[tuple[str, bytes | None]]] = {}
        for row in batch.collect():
            content = None if row["content"] is None else bytes(row["content"])
            files.setdefault(row[PLACE], []).append((row["path"], content))
        return [
            feed
            for place, found in sorted(files.items())
            for feed in feeds_of(self.folders[place], found, self.predicates(), vocabulary)
        ]


def folders_source(
    items: Sequence[str | os.PathLike[str]],
    prefixes: Sequence[tuple[str, str]],
    predicates: Callable[[], Iterable[Predicate]],
    max_files: int | None,
) -> Source:
    """Return the stream of all files in folders, given as `DIR` or `name=DIR`."""
    if not items:
        raise DataError("D332", "there is no source", help="name a folder, or give a DataFrame")
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise DataError(
                "D332",
                f"a list of sources holds folders, not {type(item).__name__}",
                help='give DataFrames as a dict: {"edge": frame}',
            )
    return _Folders([find_folder(item, prefixes) for item in items], predicates, max_files)


@dataclass(frozen=True, slots=True)
class _Frames:
    """Streaming DataFrames by predicate; several are one stream, of rows in structs."""

    frames: Mapping[str, DataFrame]
    roots: Sequence[str] = ()

    @property
    def description(self) -> str:
        return "\n".join(["DataFrames", *sorted(self.frames)])

    @property
    def session(self) -> SparkSession:
        return next(iter(self.frames.values())).sparkSession

    def frame(self, spark: SparkSession) -> DataFrame:  # noqa: ARG002  # they have their own
        from pyspark.sql import functions as F  # noqa: N812  # everybody's name for it

        if len(self.frames) == 1:
            return next(iter(self.frames.values()))
        wrapped = [
            frame.select(F.lit(place).alias(PLACE), F.struct("*").alias(f"{ROW}{place}"))
            for place, frame in enumerate(self.frames.values())
        ]
        whole = wrapped[0]
        for frame in wrapped[1:]:
            whole = whole.unionByName(frame, allowMissingColumns=True)
        return whole

    def read(self, batch: DataFrame, vocabulary: Vocabulary) -> list[Feed]:  # noqa: ARG002
        table = from_spark(batch)
        names = list(self.frames)
        if len(names) == 1:
            return [feed_of(names[0], table)]
        found = [_unwrapped(table, place) for place in range(len(names))]
        return [
            feed_of(name, rows) for name, rows in zip(names, found, strict=True) if rows.num_rows
        ]


def _unwrapped(table: pa.Table, place: int) -> pa.Table:
    chosen = table.filter(pc.equal(table.column(PLACE), place)).column(f"{ROW}{place}")
    batch: Any = chosen.combine_chunks()
    return pa.Table.from_struct_array(batch)


def frames_source(frames: Mapping[str, Any], prefixes: Sequence[tuple[str, str]]) -> Source:
    """Return the stream of DataFrames by predicate."""
    if not frames:
        raise DataError("D332", "there is no source", help="name a folder, or give a DataFrame")
    for name, frame in frames.items():
        if not _is_frame(frame):
            raise DataError(
                "D332",
                f"the source of {name} is no Spark DataFrame but {type(frame).__name__}",
                help="spark.readStream makes one",
            )
        if not frame.isStreaming:
            raise DataError(
                "D332",
                f"the DataFrame for {name} is no stream",
                help="make it by spark.readStream; kb.update takes what is no stream",
            )
    return _Frames({table_name(name, prefixes): frame for name, frame in frames.items()})
