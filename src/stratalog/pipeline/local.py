"""The local reader: files of every format to encoded facts, in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from stratalog.errors import DataError
from stratalog.lang.syntax import Declaration
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.files import ReadOptions, ReadReport, open_bytes
from stratalog.pipeline.paths import DataFile, Finder
from stratalog.pipeline.reading import Context, add_block, file_blocks
from stratalog.pipeline.table_files import TABLE_FORMATS, table_blocks
from stratalog.pipeline.tables import Vocabulary

__all__ = ["Item", "ReadOptions", "read_items", "read_paths"]

Item = tuple[str | None, str | os.PathLike[str]]
"""A predicate, or None if the path tells it, and a path."""


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
    context = Context(vocabulary, dictionary, found.report, options)
    if file.format in TABLE_FORMATS:
        found.report.bytes += Path(file.path).stat().st_size
        for block in table_blocks(file, context):
            add_block(found, block, dictionary)
            options.between()
        return
    with open_bytes(file.path) as stream, _placed(file.path):
        for block in file_blocks(file, stream, context):
            add_block(found, block, dictionary)
            options.between()


@contextmanager
def _placed(path: str) -> Iterator[None]:
    """Name the file in errors about constants, which know no place."""
    try:
        yield
    except DataError as error:
        if error.path is not None:
            raise
        raise DataError(error.code, error.message, path=path, help=error.help) from error
