"""Remote files: Spark fetches their bytes, workers parse them as if they were local.

Plain line formats come line by line, so that large files are shared out; other formats come as
whole files. Spark drops a byte order mark at the beginning of the former.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError
from stratalog.pipeline.files import COMPRESSIONS, ByteStream, ReadOptions
from stratalog.pipeline.paths import DataFile
from stratalog.pipeline.reading import Context, FactBlock, file_blocks, text_file
from stratalog.pipeline.remote_paths import beginning, escaped
from stratalog.pipeline.spark_pieces import Outcome
from stratalog.pipeline.spark_tasks import SCHEMA, Attempt, Batches, Work
from stratalog.pipeline.table_files import TABLE_FORMATS, table_blocks
from stratalog.pipeline.tables import Vocabulary
from stratalog.pipeline.text_tables import TEXT_FORMATS, Shape, shape_of
from stratalog.spark import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINE_FORMATS = frozenset({"nt", "nq", "tsv", "facts", "jsonl"})  # CSV may quote line ends
FILE_BITS = 44  # of a task's number: where its part begins in the file; the rest is the file
LARGEST_FILE = (1 << 31) - (1 << 20)  # that Spark hands over as one value
HEAD = 1 << 20  # bytes that tell a table's columns
Shapes = Mapping[int, Shape]


def comes_by_lines(file: DataFile) -> bool:
    """Tell whether Spark may cut the file."""
    return file.format in LINE_FORMATS and not _is_packed(file.path)


def _is_packed(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in COMPRESSIONS


def file_of(task: int) -> int:
    """Return the number of the file that a task has read."""
    return task >> FILE_BITS


def line_frame(spark: SparkSession, files: Mapping[int, DataFile], work: Work) -> DataFrame:
    """Return the pieces of files that come line by line; `files` by their numbers."""
    from pyspark.sql.functions import col

    shapes = {
        number: found
        for number, file in files.items()
        if file.format in TEXT_FORMATS
        and (found := _shape(spark, file, work.vocabulary, work.options)) is not None
    }
    reader = spark.read.format("text").option("lineSep", "\n")
    frame = reader.load([escaped(file.path) for file in files.values()]).select(
        col("value").cast("binary"), "_metadata.file_path", "_metadata.file_block_start"
    )
    return map_in_arrow(frame, _read_lines(work, files, shapes), SCHEMA)


def whole_frame(
    spark: SparkSession, files: Mapping[int, DataFile], work: Work, sizes: Mapping[str, int]
) -> DataFrame:
    """Return the pieces of files that come whole."""
    for file in files.values():
        if sizes.get(file.path, 0) > LARGEST_FILE:
            raise DataError(
                "D104", "a remote file of this format is read whole, and must be below 2 GB",
                path=file.path, help="split the file, or copy it to a local folder and name that",
            )  # fmt: skip
    reader = spark.read.format("binaryFile")
    frame = reader.load([escaped(file.path) for file in files.values()])
    return map_in_arrow(frame.select("path", "content"), _read_whole(work, files), SCHEMA)


def _shape(
    spark: SparkSession, file: DataFile, vocabulary: Vocabulary, options: ReadOptions
) -> Shape | None:
    """Return what the beginning of a remote file tells about its columns."""
    head = beginning(spark, file.path, HEAD)
    return shape_of(text_file(file, options), io.BytesIO(head), vocabulary)


def _by_path(files: Mapping[int, DataFile]) -> dict[str, int]:
    """Return the files' numbers by path; Spark spells some paths as URLs."""
    return {unquote(file.path): number for number, file in files.items()}


def _read_lines(
    work: Work, files: Mapping[int, DataFile], shapes: Shapes
) -> Callable[[Batches], Batches]:
    numbers = _by_path(files)

    def run(batches: Batches) -> Batches:
        for (path, begin), chunks in itertools.groupby(_chunks(batches), key=lambda each: each[0]):
            number = numbers[unquote(path)]
            shape = shapes.get(number, Shape(None, None)) if begin else None
            blocks = partial(_line_blocks, files[number], chunks, shape)
            yield from Attempt(work, (number << FILE_BITS) + begin).run(blocks)

    return run


def _chunks(batches: Batches) -> Iterator[tuple[tuple[str, int], bytes]]:
    """Yield the lines of each part of a file, with the file's path and where the part begins."""
    for batch in batches:
        paths, begins = batch.column(1), batch.column(2)
        at = 0
        while at < batch.num_rows:
            key = (paths[at].as_py(), begins[at].as_py())
            same = pc.and_(pc.equal(paths, key[0]), pc.equal(begins, key[1]))
            stop = pc.index(same.slice(at), False).as_py()
            stop = batch.num_rows if stop < 0 else at + stop
            yield key, _joined(batch.column(0).slice(at, stop - at))
            at = stop


def _joined(lines: Any) -> bytes:  # noqa: ANN401  # Arrow has no types
    one = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return bytes(pc.binary_join(one, b"\n")[0].as_py()) + b"\n"


def _line_blocks(
    file: DataFile,
    chunks: Iterator[tuple[Any, bytes]],
    shape: Shape | None,
    context: Context,
    outcome: Outcome,
) -> Iterator[FactBlock]:
    stream = ChunkStream(chunk for _, chunk in chunks)
    yield from file_blocks(file, cast("ByteStream", stream), context, shape)
    outcome.lines = stream.lines


class ChunkStream(io.RawIOBase):
    """Bytes that come in pieces of any size."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._held = memoryview(b"")
        self.bytes_read = 0
        self.lines = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes, none only at the end."""
        if size < 0:
            return b"".join(iter(lambda: self.read(1 << 24), b""))
        while not self._held:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self.lines += chunk.count(b"\n")
            self._held = memoryview(chunk)
        data = bytes(self._held[:size])
        self._held = self._held[size:]
        self.bytes_read += len(data)
        return data


def _read_whole(work: Work, files: Mapping[int, DataFile]) -> Callable[[Batches], Batches]:
    numbers = _by_path(files)

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for row in range(batch.num_rows):
                number = numbers[unquote(batch.column(0)[row].as_py())]
                content = batch.column(1)[row].as_buffer()
                blocks = partial(_whole_blocks, files[number], content)
                yield from Attempt(work, number << FILE_BITS).run(blocks)

    return run


def _whole_blocks(
    file: DataFile,
    content: Any,  # noqa: ANN401  # an Arrow buffer
    context: Context,
    outcome: Outcome,  # noqa: ARG001  # whole files need no count of lines
) -> Iterator[FactBlock]:
    stream = ChunkStream(_unpacked(file, content))
    if file.format in TABLE_FORMATS:
        context.report.bytes += content.size
        yield from table_blocks(file, context, data=stream.read())
    else:
        yield from file_blocks(file, cast("ByteStream", stream), context)


def _unpacked(file: DataFile, content: Any) -> Iterator[bytes]:  # noqa: ANN401
    """Yield the bytes of a file, decompressed as its name tells."""
    source = pa.BufferReader(content)
    compression = COMPRESSIONS.get(PurePosixPath(file.path).suffix.lower())
    opened = pa.CompressedInputStream(source, compression) if compression else source
    try:
        while data := opened.read(1 << 22):
            yield data
    except OSError as error:
        raise DataError(
            "D104",
            f"the compressed file is damaged or incomplete: {error}",
            path=file.path,
            help="check that it was copied completely, and that its name tells its compression",
        ) from None


def number_files(files: Sequence[DataFile]) -> tuple[dict[int, DataFile], dict[int, DataFile]]:
    """Return the files that come line by line, and those that come whole, by their places."""
    lines = {n: file for n, file in enumerate(files) if comes_by_lines(file)}
    return lines, {n: file for n, file in enumerate(files) if n not in lines}
