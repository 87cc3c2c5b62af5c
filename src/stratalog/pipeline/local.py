"""The local reader: files of every format to encoded facts, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from stratalog.errors import DataError
from stratalog.lang.syntax import Declaration, Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import RDF, TABLE, TEXT, EncodedFacts
from stratalog.pipeline.files import ReadReport, open_bytes
from stratalog.pipeline.paths import RDF_FORMATS, DataFile, Finder
from stratalog.pipeline.rdf import group_quads, read_rdf
from stratalog.pipeline.tables import Block, Source, Vocabulary, block_of, encode_block, later
from stratalog.pipeline.text_tables import TEXT_FORMATS, TextFile, constant, read_text

PARQUET_ROWS = 1 << 18  # decoded at once

Item = tuple[str | None, str | os.PathLike[str]]
"""A predicate, or None if the path tells it, and a path."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files are read; `progress` is told a path, and the bytes read and to be read in all."""

    graphs: str = "drop"  # or "keep"
    header: bool = False
    on_bad_input: str = "error"  # or "skip"
    progress: Callable[[str, int, int], None] | None = None

    @property
    def skip(self) -> bool:
        """Whether bad rows are counted instead of raised."""
        return self.on_bad_input == "skip"


def read_paths(  # what the program says, where numbers come from, how to read
    items: Sequence[str | os.PathLike[str]],
    *,
    declarations: Sequence[Declaration] = (),
    arities: Mapping[str, set[int]] | None = None,
    prefixes: Sequence[tuple[str, str]] = (),
    dictionary: Dictionary,
    report: ReadReport | None = None,
    options: ReadOptions | None = None,
) -> EncodedFacts:
    """Return the facts of files, folders and globs; a str may be `name=PATH`."""
    found = EncodedFacts(report)
    vocabulary = Vocabulary(declarations, arities or {}, prefixes)
    named: list[Item] = [(None, item) for item in items]
    read_items(named, found, vocabulary, dictionary, options or ReadOptions())
    return found


def read_items(
    items: Sequence[Item],
    found: EncodedFacts,
    vocabulary: Vocabulary,
    dictionary: Dictionary,
    options: ReadOptions,
) -> None:
    """Add the facts of all files that the items name to `found`."""
    finder = Finder(vocabulary.prefixes, found.warnings)
    files = [file for name, item in items for file in finder.find(name, item)]
    total = sum(Path(file.path).stat().st_size for file in files)
    done = 0
    for file in files:
        if options.progress:
            options.progress(file.path, done, total)
        _read_file(file, found, vocabulary, dictionary, options)
        done += Path(file.path).stat().st_size
        if options.progress:
            options.progress(file.path, done, total)


def _read_file(
    file: DataFile,
    found: EncodedFacts,
    vocabulary: Vocabulary,
    dictionary: Dictionary,
    options: ReadOptions,
) -> None:
    if file.format in RDF_FORMATS:
        _read_rdf(file, found, dictionary, options)
        return
    assert file.name is not None  # noqa: S101  # tables always feed a predicate
    text = file.format in TEXT_FORMATS
    blocks = _text_blocks if text else _parquet_blocks
    origin = TEXT if text and file.format != "jsonl" else TABLE
    for block, source in blocks(file, vocabulary, found.report, options):
        columns, size = encode_block(block, file.name, vocabulary, dictionary, found.report, source)
        found.add(Predicate(file.name, len(columns)), columns, size, origin)


def _read_rdf(
    file: DataFile, found: EncodedFacts, dictionary: Dictionary, options: ReadOptions
) -> None:
    quads_of = read_rdf(
        file.path,
        file.format,
        dictionary,
        graphs="drop" if file.name else options.graphs,
        on_bad_input=options.on_bad_input,
        report=found.report,
    )
    for quads in quads_of:
        if file.name is not None:
            found.add(Predicate(file.name, 3), [quads.s, quads.p, quads.o], quads.s.size, RDF)
            continue
        for predicate, columns in group_quads(quads, dictionary).items():
            found.add(predicate, columns, columns[0].size, RDF)


def _text_blocks(
    file: DataFile, vocabulary: Vocabulary, report: ReadReport, options: ReadOptions
) -> Iterator[tuple[Block, Source]]:
    assert file.name is not None  # noqa: S101
    text = TextFile(file.path, file.format, file.name, options.header, options.skip, file.fixed)
    with open_bytes(file.path) as stream:
        yield from read_text(text, cast("BinaryIO", stream), vocabulary, report)
        report.bytes += stream.bytes_read


def _parquet_blocks(
    file: DataFile, vocabulary: Vocabulary, report: ReadReport, options: ReadOptions
) -> Iterator[tuple[Block, Source]]:
    """Yield the rows of a Parquet file, of declared columns only those that are needed."""
    assert file.name is not None  # noqa: S101
    source = Source(file.path, skip=options.skip)
    report.bytes += Path(file.path).stat().st_size
    try:
        for batch in _batches(file, vocabulary):
            block = block_of(batch)
            given = [(name, text) for name, text in file.fixed if name not in (block.names or ())]
            yield _with_fixed(block, given), source
            source = later(source, batch.num_rows)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            "D104",
            f"the Parquet file is damaged or incomplete: {str(error).splitlines()[0]}",
            path=file.path,
            help="write the file again, or check that it was copied completely",
        ) from None


def _batches(file: DataFile, vocabulary: Vocabulary) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with open_bytes(file.path) as stream:
        packed = file.path.endswith(".parquet")
        opened = pq.ParquetFile(file.path if packed else pa.BufferReader(stream.read()))
        names = opened.schema_arrow.names
        columns = _needed(names, file.name or "", vocabulary)
        if opened.metadata.num_rows == 0:
            yield opened.schema_arrow.empty_table()
        yield from opened.iter_batches(PARQUET_ROWS, columns=columns)


def _needed(names: Sequence[str], predicate: str, vocabulary: Vocabulary) -> list[str] | None:
    """Return the columns that declarations mention, or None for all of them."""
    wanted = [
        column.source or column.name
        for declaration in vocabulary.declared(predicate)
        for column in declaration.columns
    ]
    chosen = [n for n in names if any(w == n or w.startswith(n + ".") for w in wanted)]
    return chosen or None


def _with_fixed(block: Block, fixed: Sequence[tuple[str, str | None]]) -> Block:
    if not fixed:
        return block
    columns = [constant(text, block.size) for _, text in fixed]
    return Block(
        [*(block.names or ()), *(name for name, _ in fixed)],
        [*block.columns, *columns],
        block.size,
        [*block.types, *(None for _ in fixed)],
    )
