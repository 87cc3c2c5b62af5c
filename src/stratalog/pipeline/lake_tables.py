"""A folder that is a Delta or Iceberg table, to the files of one version of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from stratalog.errors import DataError, StratalogError
from stratalog.pipeline.lakes import DELTA, HUDI
from stratalog.pipeline.paths import DataFile

_PACKAGES = {"Delta Lake": ("deltalake", "delta"), "Iceberg": ("pyiceberg", "iceberg")}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def lake_files(path: Path, kind: str, name: str, version: str | None) -> list[DataFile]:
    """Return the files of a version of a table, which feed the predicate `name`.

    `version` is what follows the `@` of a path; the path of an Iceberg table may be its metadata.
    """
    _check_package(path, kind)
    with told_damage(path, kind):
        if kind == DELTA:
            from stratalog.pipeline.delta_tables import delta_files

            return delta_files(path, name, version)
        from stratalog.pipeline.iceberg_tables import iceberg_files

        return iceberg_files(path, name, version)


def _check_package(path: Path, kind: str) -> None:
    if kind == HUDI:
        raise DataError(
            "D132", "Hudi tables cannot be read", path=str(path),
            help='give a DataFrame: {"name": spark.read.format("hudi").load(path)}',
        )  # fmt: skip
    if find_spec(_PACKAGES[kind][0]) is None:
        raise _no_package(path, kind)


def _no_package(path: Path, kind: str) -> DataError:
    return DataError(
        "D130", f"this is a table of {kind}, and the package that reads such is not installed",
        path=str(path), help=f'pip install "stratalog[{_PACKAGES[kind][1]}]"',
    )  # fmt: skip


@contextmanager
def told_damage(path: Path, kind: str) -> Iterator[None]:
    """Turn what the packages raise for a log that they cannot read into an error with its path."""
    try:
        yield
    except (StratalogError, MemoryError):
        raise
    except ImportError as error:  # a package that it needs in turn
        raise _no_package(path, kind) from error
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # Ctrl-C; the other is how code in Rust fails
        told = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(
            "D134", f"the log of this table of {kind} cannot be read: {told[:500]}",
            path=str(path), help="check that the folder was copied completely, or name a version",
        ) from error  # fmt: skip


def placed(root: Path, told: str, moved_from: str = "") -> Path:
    """Return the place of a file that a table's log names; D135 if it lies outside of the table.

    `moved_from` is where the log says that the table is, if it may: the folder stands for it.
    """
    inner, base = _plain(told), _plain(moved_from).rstrip("/")
    if base and inner.startswith(f"{base}/"):
        inner = inner[len(base) + 1 :]
    top = os.path.normpath(root.absolute())
    place = Path(os.path.normpath(os.path.join(top, inner)))  # noqa: PTH118  # text, not files
    if _SCHEME.match(inner) or not place.is_relative_to(top) or "\0" in inner:
        raise DataError(
            "D135", f"the table's log names a file outside of the table's folder: {told[:500]}",
            path=str(root),
            help="copy the table into one folder; if you trust it, a DeltaTable or a PyIceberg "
            "table may be given in Python",
        )  # fmt: skip
    return place


def _plain(told: str) -> str:
    return "/" + told.removeprefix("file:").lstrip("/") if told.startswith("file:") else told


def check_there(place: Path, root: Path) -> None:
    """Refuse a file that the log names and that is gone."""
    if not place.is_file():
        raise DataError(
            "D134", f"the table's log names a file that is not there: {place}", path=str(root),
            help="a version whose files were removed cannot be read: name a later one",
        )  # fmt: skip


def no_version(path: Path, version: str, known: str) -> DataError:
    """Return the error for a version that a table does not have."""
    return DataError("D133", f"the table has no version {version}", path=str(path), help=known)
