"""Folders that are tables of Delta Lake, Iceberg or Hudi: a log says which of their files count.

Read as plain files, such a folder gives rows that were deleted long ago. So it is read by its log,
or refused, and a file that lies in one is no data of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stratalog.errors import DataError

DELTA, ICEBERG, HUDI = "Delta Lake", "Iceberg", "Hudi"
LOGGED_FORMATS = frozenset({"parquet", "orc"})  # of the files of such tables
_FOLDER = "metadata"
_METADATA = (".metadata.json", ".metadata.json.gz")


def lake_of(folder: Any) -> str | None:  # noqa: ANN401  # a Path, or a remote one
    """Return what kind of table a folder is by its log; None for an ordinary folder."""
    if _inner(folder, "_delta_log") is not None:
        return DELTA
    if _inner(folder, ".hoodie") is not None:
        return HUDI
    metadata = _inner(folder, _FOLDER)
    if metadata is not None and any(is_metadata(each) for each in listed(metadata)):
        return ICEBERG
    return None


def is_metadata(path: Any) -> bool:  # noqa: ANN401  # a Path, or a remote one
    """Tell whether a file is, by its name, what an Iceberg table was in one version."""
    is_named = path.name.endswith(_METADATA)
    return is_named and (path.absolute() if isinstance(path, Path) else path).parent.name == _FOLDER


def table_folder(path: Path) -> Path:
    """Return the folder of a table, given by its folder or, if of Iceberg, by its metadata."""
    return path.absolute().parent.parent if is_metadata(path) else path


class Enclosing:
    """Tells in which table of a lake a file lies; remembers what it has looked at."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}
        self._free: set[str] = set()  # folders that lie in no table

    def check(self, path: Any) -> None:  # noqa: ANN401  # a Path, or a remote one
        """Refuse a file of such a table, given by itself: its rows may be deleted ones."""
        folder = str(path).rpartition("/")[0]
        is_link = isinstance(path, Path) and path.is_symlink()
        if is_link or folder not in self._free:
            self._look(path)
        if not is_link:
            self._free.add(folder)

    def _look(self, path: Any) -> None:  # noqa: ANN401
        for folder in _above(path):
            kind = self._kind(folder)
            if kind is not None:
                raise DataError(
                    "D131", f"this file is of a table of {kind}, whose log tells which rows count",
                    path=str(path),
                    help=f"name the table, {folder}; a copy of the file elsewhere has all its rows",
                )  # fmt: skip

    def _kind(self, folder: Any) -> str | None:  # noqa: ANN401
        key = str(folder)
        if key not in self._known:
            self._known[key] = lake_of(folder)
        return self._known[key]


def _above(path: Any) -> list[Any]:  # noqa: ANN401
    """Return the folders that a file lies in, nearest first; links are followed too."""
    if not isinstance(path, Path):
        return list(path.parents)
    found = list(path.absolute().parents)
    return found + [each for each in path.resolve().parents if each not in found]


def _inner(folder: Any, name: str) -> Any:  # noqa: ANN401
    """Return the folder of that name in a folder, or None."""
    inner = folder / name if isinstance(folder, Path) else folder.inner(name)
    try:
        return inner if inner is not None and inner.is_dir() else None
    except PermissionError:
        return None  # nothing in the folder can be read then


def listed(folder: Any) -> list[Any]:  # noqa: ANN401
    """Return what is in a folder; D104 if it cannot be read."""
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise DataError(
            "D104", f"the folder cannot be read: {error.strerror}", path=str(folder),
            help="check its permissions",
        ) from None  # fmt: skip
