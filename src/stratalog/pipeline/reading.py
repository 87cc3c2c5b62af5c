"""One file, or a part of one, to blocks of encoded facts: what the readers have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple, cast

from stratalog.pipeline.dictionary import Dictionary, Ids
from stratalog.pipeline.facts import RDF, TABLE, TEXT, EncodedFacts
from stratalog.pipeline.files import BadLine, ByteStream, ReadOptions, ReadReport
from stratalog.pipeline.ntriples import Quads
from stratalog.pipeline.paths import RDF_FORMATS, DataFile
from stratalog.pipeline.rdf import group_quads, read_stream
from stratalog.pipeline.tables import Vocabulary, encode_block, fed_by
from stratalog.pipeline.text_tables import Shape, TextFile, read_text


@dataclass(frozen=True, slots=True)
class Context:
    """What reading any file needs beside the file."""

    vocabulary: Vocabulary
    dictionary: Dictionary
    report: ReadReport
    options: ReadOptions


class FactBlock(NamedTuple):
    """Encoded facts of one predicate, or of statements that name their predicates: name is None."""

    name: str | None
    columns: list[Ids]
    size: int
    origin: str


def add_block(found: EncodedFacts, block: FactBlock, dictionary: Dictionary) -> None:
    """Add a block's facts to those found, statements under the predicates that they name."""
    if block.name is not None:
        predicate = fed_by(block.name, len(block.columns))
        found.add(predicate, block.columns, block.size, block.origin)
        return
    for predicate, columns in group_quads(Quads(*block.columns), dictionary).items():
        found.add(predicate, columns, columns[0].size, block.origin)


def file_blocks(
    file: DataFile, stream: ByteStream, context: Context, shape: Shape | None = None
) -> Iterator[FactBlock]:
    """Yield the facts of a file of any format but Parquet and ORC.

    With a `shape` the stream begins at a later line of the file.
    """
    if file.format in RDF_FORMATS:
        yield from _statements(file, stream, context)
    else:
        yield from _text_blocks(file, stream, context, shape)


def _statements(file: DataFile, stream: ByteStream, context: Context) -> Iterator[FactBlock]:
    options = context.options
    blocks = read_stream(
        stream, file.path, file.format, context.dictionary,
        graphs="drop" if file.name else options.graphs,
        on_bad_input=options.on_bad_input, report=context.report,
    )  # fmt: skip
    for quads in blocks:
        columns = [column for column in quads if column is not None]
        yield FactBlock(file.name, columns, quads.s.size, RDF)


@dataclass(slots=True)
class _LaterReport(ReadReport):
    """Keeps bad lines until their block is done, to report them in the order of the lines."""

    bad: list[BadLine] = field(default_factory=list)

    def reject(self, bad: BadLine) -> None:
        self.bad.append(bad)

    def settle(self, report: ReadReport) -> None:
        """Add the account of a block to `report`, and begin anew."""
        for bad in sorted(self.bad, key=lambda bad: bad.line or 0):
            report.reject(bad)
        report.rows += self.rows
        report.null_rows += self.null_rows
        self.bad, self.rows, self.null_rows = [], 0, 0


def text_file(file: DataFile, options: ReadOptions) -> TextFile:
    """Return the description of a text table for its parser."""
    assert file.name is not None  # noqa: S101  # tables always feed a predicate
    return TextFile(file.path, file.format, file.name, options.header, options.skip, file.fixed)


def _text_blocks(
    file: DataFile, stream: ByteStream, context: Context, shape: Shape | None
) -> Iterator[FactBlock]:
    assert file.name is not None  # noqa: S101
    origin = TABLE if file.format == "jsonl" else TEXT
    later_report = _LaterReport()
    text = text_file(file, context.options)
    opened = cast("BinaryIO", stream)
    for block, source in read_text(text, opened, context.vocabulary, later_report, shape):
        later_report.settle(context.report)  # all that was told of the block before
        columns, size = encode_block(
            block, file.name, context.vocabulary, context.dictionary, later_report, source
        )
        yield FactBlock(file.name, columns, size, origin)
    later_report.settle(context.report)
    context.report.bytes += stream.bytes_read
