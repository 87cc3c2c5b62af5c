"""The files of a change feed: which predicate a file feeds, and its rows as a table.

A source is a folder with a folder per predicate, or the folder of one predicate. Parquet is read as
it is. CSV, TSV and JSON lines, plain or compressed, are read by the readers of those formats, as if
the predicate had the feed's own columns too; CSV and TSV need a first line with all names.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from stratalog.errors import DataError, ProgramError
from stratalog.lang.names import predicate_name, split_arity
from stratalog.lang.syntax import Column, Declaration, Predicate
from stratalog.pipeline.decode import decode_table
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.documents import OddDocumentError, parse_json
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.feed import ACCOUNT, CHANGE_TYPE, COMMIT_VERSION, Feed, feed_of
from stratalog.pipeline.files import COMPRESSIONS, ReadOptions, format_of, open_bytes
from stratalog.pipeline.lakes import Enclosing, lake_of, listed
from stratalog.pipeline.naming import plain_names
from stratalog.pipeline.paths import DataFile, Finder, is_remote, not_there
from stratalog.pipeline.reading import Context, add_block, file_blocks
from stratalog.pipeline.tables import Vocabulary

INDEX = "_stratalog.json"
FORMATS = ("parquet", "csv", "tsv", "jsonl")
GLOB = re.compile(r"([\[\]{}*?\\])")
_LINE = 1 << 20  # bytes in which the first line of a text file must end


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of files; of one predicate, or with a folder for each."""

    root: str  # an absolute path, or a URL
    name: str | None = None

    @property
    def is_remote(self) -> bool:
        """Whether the folder is on another file system than this machine's."""
        return is_remote(self.root)

    @property
    def uri(self) -> str:
        """The folder for Spark, which would read some characters as a pattern."""
        return GLOB.sub(r"\\\1", self.root if self.is_remote else f"file://{self.root}")

    def __str__(self) -> str:
        return self.root if self.name is None else f"{self.name}={self.root}"


def find_folder(item: str | os.PathLike[str], prefixes: Sequence[tuple[str, str]]) -> Folder:
    """Return the folder that `DIR` or `name=DIR` names; D100 if there is none."""
    finder = Finder(prefixes, [])
    name, path = finder.split(item) if isinstance(item, str) else (None, os.fspath(item))
    if path.startswith("file:/"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    if is_remote(path):
        return Folder(path.rstrip("/"), name)
    if not Path(path).exists():
        raise not_there(path)
    if not Path(path).is_dir():
        raise DataError(
            "D104", "a feed is a folder, this is a file", path=path, help="name the folder it is in"
        )
    check_feed(Path(path), is_one=name is not None)
    return Folder(str(Path(path).absolute()), name)


def check_feed(folder: Any, *, is_one: bool) -> None:  # noqa: ANN401  # a Path, or a remote one
    """Refuse a folder, or with `is_one` unset those in it, whose log tells which files count."""
    inner = [] if is_one else [each for each in listed(folder) if each.is_dir()]
    for each in (folder, *inner):
        kind = lake_of(each)
        if kind is not None:
            raise DataError(
                "D131", f"this is a table of {kind}; its files are no feed of changes",
                path=str(each),
                help="stream a DataFrame with the table's changes, which its connector for Spark "
                "gives, or read the table by an update",
            )  # fmt: skip


def feeds_of(
    folder: Folder,
    files: Iterable[tuple[str, bytes | None]],
    predicates: Iterable[Predicate],
    vocabulary: Vocabulary,
) -> list[Feed]:
    """Return the feeds in files of a folder, given by their paths and, if remote, their content."""
    names = {} if folder.name else _names(folder, predicates, vocabulary)
    found, enclosing = [], Enclosing()
    for path, content in sorted(files):
        plain = path if is_remote(path) else "/" + path.removeprefix("file:").lstrip("/")
        if content is None and plain.endswith(".parquet"):
            enclosing.check(Path(plain))
        name = folder.name or _name_of(plain, folder, names)
        found.append(feed_of(name, _read(plain, content, name, vocabulary), plain))
    return found


def _names(
    folder: Folder, predicates: Iterable[Predicate], vocabulary: Vocabulary
) -> Mapping[str, str]:
    """Return the predicates of folders: those that their maker tells, and those we would make."""
    folders = {path: p.name for p, path in plain_names(predicates, vocabulary.prefixes).items()}
    if folder.is_remote or not (Path(folder.root) / INDEX).is_file():
        return folders
    try:
        told = parse_json((Path(folder.root) / INDEX).read_bytes())
        return folders | {each["folder"]: each["predicate"] for each in told["tables"]}
    except (OSError, OddDocumentError, KeyError, TypeError):
        raise DataError(
            "D104",
            "the list of the feed's folders cannot be read",
            path=str(Path(folder.root) / INDEX),
            help="restore the file; without it folders are named like their predicates",
        ) from None


def _name_of(path: str, folder: Folder, names: Mapping[str, str]) -> str:
    inner = path.removeprefix(folder.root).lstrip("/").split("/")
    if len(inner) == 1:
        raise DataError(
            "D108",
            "this file is in no folder of a predicate",
            path=path,
            help=f"move it to {folder.root}/NAME/, or give name={folder.root}",
        )
    if inner[0] in names:
        return names[inner[0]]
    try:
        return predicate_name(inner[0])
    except ProgramError:
        raise DataError(
            "D108",
            f"{inner[0]} is not the name of a predicate",
            path=path,
            help=f"rename the folder, or give name={folder.root}/{inner[0]} as a source",
        ) from None


def _read(path: str, content: bytes | None, name: str, vocabulary: Vocabulary) -> pa.Table:
    data_format, _ = format_of(path)
    if data_format not in FORMATS:
        raise DataError(
            "D106",
            f"a change feed cannot be in the format {data_format}",
            path=path,
            help=f"write {', '.join(FORMATS)}",
        )
    if data_format == "parquet":
        return _read_parquet(path, content)
    return _read_text(path, content, name, data_format, vocabulary)


def _read_parquet(path: str, content: bytes | None) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        source = path if content is None else pa.BufferReader(content)
        return pq.ParquetFile(source).read()
    except FileNotFoundError:
        raise not_there(path) from None
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            "D104",
            f"the Parquet file cannot be read: {error}",
            path=path,
            help="write a feed's file under a name that begins with . or _, then rename it",
        ) from None


# -- text


def _read_text(
    path: str, content: bytes | None, name: str, data_format: str, vocabulary: Vocabulary
) -> pa.Table:
    """Return the rows of a text file, with the types that are declared."""
    with _opened(path, content) as stream:
        names = _column_names(stream.read(_LINE), data_format, path)
    if CHANGE_TYPE not in names:
        return pa.table({each: pa.array([], pa.string()) for each in names})
    declaration = _extended(name, names, data_format, vocabulary, path)
    scratch, found = Dictionary(), EncodedFacts()
    wider = Vocabulary([declaration], {}, vocabulary.prefixes)
    context = Context(wider, scratch, found.report, ReadOptions(header=data_format != "jsonl"))
    with _opened(path, content) as stream:
        file = DataFile(path, data_format, declaration.predicate.name)
        for block in file_blocks(file, cast("Any", stream), context):
            add_block(found, block, scratch)
    predicate = declaration.predicate
    table = decode_table(found.columns(predicate), found.size(predicate), scratch, declaration)
    return table.rename_columns([column.source or column.name for column in declaration.columns])


def _opened(path: str, content: bytes | None) -> Any:  # noqa: ANN401  # a stream of bytes
    if content is None:
        return open_bytes(path)
    compression = COMPRESSIONS.get(Path(path).suffix.lower())
    if compression is None:
        return _Content(content)
    return _Content(pa.CompressedInputStream(pa.BufferReader(content), compression).read())


class _Content(io.BytesIO):
    """The bytes of a file that Spark has fetched."""

    @property
    def bytes_read(self) -> int:
        return self.tell()


def _column_names(start: bytes, data_format: str, path: str) -> list[str]:
    """Return the names of the columns, which the first line tells."""
    line = start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").partition(b"\n")[0].rstrip(b"\r")
    text = line.decode("utf-8", "replace")
    if data_format == "csv":
        return next(csv.reader([text]), [])
    if data_format == "tsv":
        return text.split("\t")
    try:
        first = json.loads(text or "{}")
    except ValueError:
        first = None
    if not isinstance(first, dict):
        raise DataError(
            "D109",
            "the line is no object",
            path=path,
            line=1,
            help=f'a feed\'s lines are objects: {{"a": 1, "{CHANGE_TYPE}": "insert"}}',
        )
    return list(first)


def _extended(
    name: str, names: Sequence[str], data_format: str, vocabulary: Vocabulary, path: str
) -> Declaration:
    """Return a declaration of the predicate's columns and of those that tell about changes."""
    told = [Column(CHANGE_TYPE, "string")]
    if COMMIT_VERSION in names:
        told.append(Column(COMMIT_VERSION, "integer"))
    declared = vocabulary.declared(name)
    if declared:
        own = list(declared[0].columns)
    elif data_format == "jsonl":
        raise DataError(
            "D306",
            f"{name} has no declared columns to match the names {', '.join(names)}",
            path=path,
            help=f"declare them:  @declare {name}(column type, ...) .",
        )
    else:
        own = [Column(each, "string") for each in names if each not in ACCOUNT]
    columns = (*own, *told)
    return Declaration(Predicate(split_arity(name)[0], len(columns)), columns)
