"""What a user names to the files that are read: files, folders, globs, `name=PATH`, tables."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from stratalog.errors import DataError, ProgramError, StratalogWarning
from stratalog.lang.names import predicate_name, table_name
from stratalog.pipeline.files import COMPRESSIONS, FORMATS
from stratalog.pipeline.lakes import (
    ICEBERG,
    LOGGED_FORMATS,
    Enclosing,
    is_metadata,
    lake_of,
    table_folder,
)

if TYPE_CHECKING:
    from stratalog.pipeline.lake_layout import Layout  # which needs Arrow

RDF_FORMATS = frozenset({"nt", "nq", "ttl", "trig", "rdf"})
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
NAME_FOLDER = "name the folder itself, if its files are meant"
MOVE = "name data files by their format, such as .csv, and keep others elsewhere"
COPY = "copy what it gives into a file, if that is meant"
_GIVEN = re.compile(r"(?P<name>(?:<[^>]*>|[^<=][^=]*?)(?P<arity>/[0-9]+)?)=")
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to read: what it feeds, and the columns that its folders give."""

    path: str
    format: str
    name: str | None  # the predicate; None for RDF that names its own
    fixed: tuple[tuple[str, str | None], ...] = ()
    layout: Layout | None = None  # of a table whose log describes its files


class Finder:
    """Finds data files; what is passed over is told in `warnings`."""

    formats = frozenset(FORMATS.values()) - {"orc"}

    def __init__(
        self, prefixes: Sequence[tuple[str, str]], warnings: list[StratalogWarning]
    ) -> None:
        self.prefixes = prefixes
        self.warnings = warnings
        self._enclosing = Enclosing()

    def find(self, name: str | None, item: str | os.PathLike[str]) -> Iterator[DataFile]:
        """Yield the files that an item stands for; a str may be `name=PATH`, a Path is a path."""
        path = os.fspath(item)
        if name is None and isinstance(item, str):
            name, path = self.split(item)
        if path.startswith("file:/"):
            path = "/" + path.removeprefix("file:").lstrip("/")
        matches = self.remote(path) if is_remote(path) else _matches(path)
        if not matches and (versioned := _versioned(path)) is not None:
            yield from self._version(*versioned, name)
            return
        if not matches:
            raise not_there(path)
        for match in matches:
            yield from self._existing(match, name)

    def _version(self, path: Path, version: str, name: str | None) -> Iterator[DataFile]:
        """Yield the files of a version of a table, given as PATH@VERSION."""
        kind = ICEBERG if is_metadata(path) else lake_of(path) if path.is_dir() else None
        if kind is None:
            raise DataError(
                "D133", "only tables of Delta Lake and Iceberg have versions", path=f"{path}",
                help=f"leave out @{version}",
            )  # fmt: skip
        yield from self._lake(path, kind, name, version)

    def remote(self, path: str) -> list[Path]:
        """Return the files and folders that a remote path stands for."""
        raise DataError(
            "D106",
            "remote paths are read by Spark",
            path=path,
            help="choose the reader on Spark, or copy the data to a local folder and name that",
        )

    def split(self, item: str) -> tuple[str | None, str]:
        """Return the predicate and the path of `name=PATH`, if what precedes the sign is a name."""
        given = _GIVEN.match(item)
        if given is None or (given["arity"] and Path(item).exists()):
            return None, item
        try:
            return table_name(given["name"], self.prefixes), item[given.end() :]
        except ProgramError as error:
            if error.code == "S111" and not Path(item).exists():
                raise
            return None, item

    def _existing(self, path: Path, name: str | None) -> Iterator[DataFile]:
        if path.is_dir():
            yield from self._folder(path, name)
        elif is_metadata(path):
            yield from self._lake(path, ICEBERG, name)
        else:
            yield self._file(path, name)

    def _folder(self, folder: Path, name: str | None) -> Iterator[DataFile]:
        kind = lake_of(folder)
        if kind is not None:
            yield from self._lake(folder, kind, name)
            return
        if _is_table(folder):
            yield from self._table(folder, folder, name, ())
            return
        found = False
        for path in _visible(folder):
            if path.is_dir() and not (_is_table(path) or lake_of(path)):
                self._pass_over(path, "a folder in a folder of data files", NAME_FOLDER)
            elif not (path.is_file() or path.is_dir()):
                self._pass_over(path, "no ordinary file", COPY)
            elif path.is_file() and _format(path) is None:
                self._pass_over(path, "its name does not tell a known format", MOVE)
            else:
                found = True
                yield from self._existing(path, name)
        if not found:
            told = "there are no data files in this folder"
            advice = "check its name, and those of the files in it"
            self.warnings.append(StratalogWarning("W321", told, path=str(folder), help=advice))

    def _pass_over(self, path: Path, why: str, advice: str) -> None:
        told = f"passed over: {why}"
        self.warnings.append(StratalogWarning("W320", told, path=str(path), help=advice))

    def _lake(
        self, path: Path, kind: str, name: str | None, version: str | None = None
    ) -> Iterator[DataFile]:
        """Yield the files of a version of a table whose log says which files count."""
        from stratalog.pipeline.lake_tables import lake_files

        yield from lake_files(path, kind, name or _name_of(table_folder(path)), version)

    def _table(
        self, top: Path, folder: Path, name: str | None, fixed: tuple[tuple[str, str | None], ...]
    ) -> Iterator[DataFile]:
        """Yield the files of a table that is spread over a folder, as Spark writes it."""
        for path in _visible(folder):
            if path.is_dir():
                _check_descent(path, folder)
                key, sign, value = path.name.partition("=")
                text = None if value == NULL_PARTITION else unquote(value)
                inner = (*fixed, (unquote(key), text)) if sign else fixed
                yield from self._table(top, path, name, inner)
                continue
            data_format = _format(path) or _format(top)
            if data_format is None:
                raise _unknown(path)
            if data_format in RDF_FORMATS:
                yield DataFile(str(path), data_format, name)
            else:
                feeds = name or _name_of(top)
                self._check_alone(path, data_format)
                yield DataFile(str(path), self._supported(path, data_format), feeds, fixed)

    def _file(self, path: Path, name: str | None) -> DataFile:
        data_format = _format(path)
        if data_format is None:
            raise _unknown(path)
        if data_format in RDF_FORMATS:
            return DataFile(str(path), data_format, name)
        self._check_alone(path, data_format)
        return DataFile(str(path), self._supported(path, data_format), name or _name_of(path))

    def _check_alone(self, path: Path, data_format: str) -> None:
        if data_format in LOGGED_FORMATS:
            self._enclosing.check(path)

    def _supported(self, path: Path, data_format: str) -> str:
        if data_format not in self.formats:
            raise DataError(
                "D106", "ORC files are read by Spark", path=str(path),
                help="choose the reader on Spark, or convert the file to Parquet",
            )  # fmt: skip
        return data_format


def is_remote(path: str) -> bool:
    """Tell whether a path names another file system than this machine's."""
    return bool(_REMOTE.match(path)) and not path.startswith("file:")


def _matches(path: str) -> list[Path]:
    try:
        if Path(path).exists():
            return [Path(path)]
    except OSError as error:  # a name that is too long, or folders that may not be entered
        raise DataError(
            "D104", f"the path cannot be looked up: {error.strerror}", path=path[:200],
            help="check the name and the permissions of the folders",
        ) from None  # fmt: skip
    found = glob.glob(path, recursive=True) if glob.has_magic(path) else []  # noqa: PTH207
    return [Path(match) for match in sorted(found)]


def _versioned(path: str) -> tuple[Path, str] | None:
    """Return the path and the version of PATH@VERSION, if there is something at the path."""
    place, sign, version = path.rpartition("@")
    if not sign or not version or "/" in version or is_remote(path) or not Path(place).exists():
        return None
    return Path(place), version


def _visible(folder: Path) -> list[Path]:
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise DataError(
            "D104", f"the folder cannot be read: {error.strerror}", path=str(folder),
            help="check its permissions",
        ) from None  # fmt: skip
    return [path for path in found if not path.name.startswith((".", "_"))]


def _check_descent(path: Path, above: Path) -> None:
    """Refuse a folder of a table whose name is no text, or a link that leads back up."""
    if isinstance(path, Path) and path.is_symlink() and path.resolve() in _upwards(above):
        raise DataError(
            "D104", "the link leads back to a folder above it", path=str(path),
            help="remove the link",
        )  # fmt: skip
    if not path.name.isascii():
        try:
            path.name.encode()
        except UnicodeEncodeError:
            raise DataError(
                "D102", "the folder's name, which gives a column, is not valid UTF-8",
                path=str(path), help="rename the folder",
            ) from None  # fmt: skip


def _upwards(folder: Path) -> set[Path]:
    """Return the folders that a path leads through, links followed."""
    return {each.resolve() for each in (folder, *folder.absolute().parents)}


def _is_table(folder: Path) -> bool:
    """Tell whether a folder is one table: `part-*` files or `key=value` folders."""
    return any(
        "=" in path.name if path.is_dir() else path.name.startswith("part-")
        for path in _visible(folder)
    )


def _format(path: Path) -> str | None:
    """Return the format that a name tells, or None."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def _name_of(path: Path) -> str:
    """Return the predicate that a table file or folder feeds: its name up to the first dot."""
    base = path.absolute().name.partition(".")[0]
    try:
        return predicate_name(base)
    except ProgramError:
        raise DataError(
            "D108", f"{base} is not the name of a predicate", path=str(path),
            help=f"name the predicate that the table feeds: name={path}",
        ) from None  # fmt: skip


def _unknown(path: Path) -> DataError:
    return DataError(
        "D106",
        f"the name does not tell a known format: {path.name}",
        path=str(path),
        help=f"the name must end in one of {' '.join(FORMATS)}, then .gz, .bz2, .zst or nothing",
    )


def not_there(path: str) -> DataError:
    """Return the error for a path that names nothing."""
    if glob.has_magic(path):
        return DataError("D100", "no file matches", path=path, help="check the pattern")
    return DataError(
        "D100", "there is no such file or folder", path=path,
        help="check the name and the current folder",
    )  # fmt: skip
