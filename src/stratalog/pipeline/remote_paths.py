"""Paths of other file systems, as Hadoop tells of them, or as Spark lists them.

Spark has no public way to look into a folder: it lists all files below it, whoever asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from stratalog.spark import translate
from stratalog.spark.internals import MissingError, place_in_hadoop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_LINES = 10_000  # of a file's beginning


Find = Callable[[str], "RemotePath | None"]


class RemotePath:
    """A file or folder of a remote file system, with what the finder of files asks of a Path."""

    def __init__(
        self, text: str, children: Callable[[], Iterator[RemotePath]] | None, find: Find
    ) -> None:
        self._text = text
        self._children = children  # of a folder
        self._find = find  # what lies elsewhere
        self.name = PurePosixPath(text).name
        self.suffixes = PurePosixPath(self.name).suffixes

    def is_dir(self) -> bool:
        return self._children is not None

    def is_file(self) -> bool:
        return self._children is None

    def iterdir(self) -> Iterator[RemotePath]:
        return iter(()) if self._children is None else self._children()

    def inner(self, name: str) -> RemotePath | None:
        """Return what has that name in this folder, or None."""
        return self._find(f"{self._text.rstrip('/')}/{name}")

    @property
    def parent(self) -> RemotePath:
        return next(iter(self.parents), self)

    @property
    def parents(self) -> list[RemotePath]:
        """The folders that this lies in, nearest first; some may not be looked at."""
        root, names = _root(self._text), _names(self._text)
        above = (root + "/".join(names[:size]) for size in range(len(names) - 1, 0, -1))
        return [RemotePath(folder, partial(self._listed, folder), self._find) for folder in above]

    def _listed(self, folder: str) -> Iterator[RemotePath]:
        found = self._find(folder)
        return iter(()) if found is None else found.iterdir()

    def absolute(self) -> RemotePath:
        return self

    def __lt__(self, other: RemotePath) -> bool:
        return self._text < other._text

    def __str__(self) -> str:
        return self._text


def matching(spark: SparkSession, path: str, sizes: dict[str, int]) -> list[RemotePath]:
    """Return what a path or pattern stands for, sorted by name; nothing if nothing is there.

    The bytes of the files that are found go into `sizes`, by path.
    """
    try:
        try:
            return _told_by_hadoop(spark, path, sizes)
        except MissingError:
            return _listed_by_spark(spark, path, sizes)
    except Exception as error:
        raise translate(error, f"looking for {path}") from error


def _told_by_hadoop(spark: SparkSession, path: str, sizes: dict[str, int]) -> list[RemotePath]:
    place, system = place_in_hadoop(spark, path)

    def told(status: Any) -> RemotePath:  # noqa: ANN401  # of Java
        text = str(status.getPath().toString())
        sizes[text] = int(status.getLen())
        if not status.isDirectory():
            return RemotePath(text, None, find)
        return RemotePath(text, lambda: map(told, system.listStatus(status.getPath())), find)

    def find(text: str) -> RemotePath | None:
        from py4j.protocol import Py4JJavaError

        there, _ = place_in_hadoop(spark, text)
        with suppress(Py4JJavaError):
            return told(system.getFileStatus(there)) if system.exists(there) else None
        return None

    if system.exists(place):
        return [told(system.getFileStatus(place))]
    return sorted(map(told, system.globStatus(place) or []))


class _Listed(NamedTuple):
    """A file below a path: the names that lead to it from there, and how it is called."""

    names: Sequence[str]
    path: str


def _listed_by_spark(spark: SparkSession, path: str, sizes: dict[str, int]) -> list[RemotePath]:
    """Return what Spark lists: files of a folder with all below it, folders only if not empty."""
    rows = _files_below(spark, escaped(path)) or _files_below(spark, path)
    depth = len(_names(path))  # a pattern has as many names as what it stands for
    files = []
    for row in rows:
        sizes[row["path"]] = int(row["length"])
        files.append(_Listed(_names(row["path"])[depth - 1 :], row["path"]))
    return list(_tree(files, partial(_found_by_spark, spark)))


def _found_by_spark(spark: SparkSession, path: str) -> RemotePath | None:
    """Return a folder with files in it; what is in it is listed only if it is asked for."""
    if not _files_below(spark, escaped(path)):
        return None
    return RemotePath(path, lambda: iter(_listed_by_spark(spark, path, {})), lambda _: None)


def _root(path: str) -> str:
    """Return the file system of a path, up to its first name."""
    found = re.match(r"^[^:/]+:(//[^/]*)?/?|^/*", path)
    return found[0] if found else ""


def _names(path: str) -> list[str]:
    """Return the names on a path, without the file system."""
    return re.sub(r"^[^:/]+:(//[^/]*)?", "", path).strip("/").split("/")


def _files_below(spark: SparkSession, pattern: str) -> list[Any]:
    """Return the rows of the files that a pattern, or a folder that it stands for, leads to."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        return reader.load(pattern).select("path", "length").collect()
    except Exception as error:
        if (found := translate(error, "listing")).code == "D100":
            return []
        raise found from error


def _tree(files: Sequence[_Listed], find: Find) -> Iterator[RemotePath]:
    """Yield the files and folders that begin the names of files, sorted."""
    by_name: dict[str, list[_Listed]] = {}
    for file in sorted(files):
        by_name.setdefault(file.names[0], []).append(file)
    for inside in by_name.values():
        first = inside[0]
        if len(first.names) == 1:
            yield RemotePath(first.path, None, find)
            continue
        below = [_Listed(file.names[1:], file.path) for file in inside]
        folder = first.path.rsplit("/", len(first.names) - 1)[0]
        yield RemotePath(folder, lambda below=below: _tree(below, find), find)  # type: ignore[misc]


def escaped(path: str) -> str:
    """Return the pattern that stands for a path only."""
    return "".join("\\" + mark if mark in "*?[]{}\\" else mark for mark in path)


def beginning(spark: SparkSession, path: str, size: int) -> bytes:
    """Return the first bytes of a file of lines."""
    try:
        place, system = place_in_hadoop(spark, path)
    except MissingError:
        return _first_lines(spark, path)[:size]
    opened = system.open(place)
    try:
        return bytes(opened.readNBytes(size))
    finally:
        opened.close()


def _first_lines(spark: SparkSession, path: str) -> bytes:
    from pyspark.sql.functions import col

    reader = spark.read.format("text").option("lineSep", "\n")
    lines = reader.load(escaped(path)).select(col("value").cast("binary")).limit(MOST_LINES)
    return b"".join(bytes(line[0]) + b"\n" for line in lines.collect())
