"""What a user names to what Spark reads: local files, remote files, DataFrames and tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from stratalog.errors import DataError, ProgramError, StratalogWarning
from stratalog.lang.names import predicate_name, table_name
from stratalog.pipeline.files import FORMATS
from stratalog.pipeline.paths import DataFile, Finder, is_remote
from stratalog.pipeline.remote_paths import matching
from stratalog.spark import translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Table:
    """A DataFrame, or a table of Spark's catalogue, that feeds a predicate."""

    name: str
    frame: DataFrame
    label: str  # in messages


class SparkFinder(Finder):
    """Finds what Spark reads: remote files, ORC and tables too."""

    formats = frozenset(FORMATS.values())

    def __init__(
        self,
        spark: SparkSession,
        prefixes: Sequence[tuple[str, str]],
        warnings: list[StratalogWarning],
    ) -> None:
        super().__init__(prefixes, warnings)
        self._spark = spark
        self.sizes: dict[str, int] = {}  # of remote files, in bytes

    def sources(self, items: Sequence[Any]) -> Iterator[DataFile | Table]:
        """Yield what the items stand for, in order."""
        for item in items:
            given, thing = item if isinstance(item, tuple) else (None, item)
            name = None if given is None else table_name(given, self.prefixes)
            if not isinstance(thing, str | os.PathLike):
                yield self._frame(given, name, thing)
            elif (table := self._known_table(name, thing)) is not None:
                yield table
            else:
                yield from self.find(name, thing)

    def _frame(self, given: object, name: str | None, thing: Any) -> Table:  # noqa: ANN401
        if name is None or not hasattr(thing, "mapInArrow"):
            raise DataError(
                "D307", f"{type(thing).__name__} is no table that Spark reads with a name",
                help='write ("name", frame), where frame is a Spark DataFrame, or a path',
            )  # fmt: skip
        return Table(name, thing, f'facts["{given}"]')

    def _known_table(self, name: str | None, thing: str | os.PathLike[str]) -> Table | None:
        """Return the table of the catalogue that an item names, unless there is such a file."""
        if not isinstance(thing, str):
            return None
        path = thing
        if name is None:
            name, path = self.split(thing)
        if is_remote(path) or "/" in path or "*" in path or Path(path).exists():
            return None
        if not self._is_known(path):
            return None
        if name is None:
            name = _name_of_table(path)
        try:
            return Table(name, self._spark.table(path), path)
        except Exception as error:
            raise translate(error, f"opening the table {path}") from error

    def _is_known(self, path: str) -> bool:
        from pyspark.errors import PySparkException

        try:
            return self._spark.catalog.tableExists(path)
        except PySparkException:
            return False  # what is no name of a table is a path

    def _lake(
        self, path: Path, kind: str, name: str | None, version: str | None = None
    ) -> Iterator[DataFile]:
        """Yield the files of a table, which workers read; they know nothing of deleted rows."""
        if not isinstance(path, Path):
            raise _needs_connector(f"a remote table of {kind} is not read by its path", path)
        files = list(super()._lake(path, kind, name, version))
        if any(file.layout is not None and file.layout.has_deletes for file in files):
            raise _needs_connector(
                f"this table of {kind} has files with deleted rows, which Spark's workers would "
                "bring back", path, "choose the local reader, or ",
            )  # fmt: skip
        yield from files

    def remote(self, path: str) -> list[Path]:
        """Return the files and folders that a remote path stands for, as Hadoop sees them."""
        found = matching(self._spark, path, self.sizes)
        return cast("list[Path]", found)


def _needs_connector(message: str, path: object, first: str = "") -> DataError:
    return DataError(
        "D132", message, path=str(path),
        help=f"{first}give the DataFrame of the connector for such tables: "
        '{"name": spark.read.format(...).load(path)}',
    )  # fmt: skip


def _name_of_table(table: str) -> str:
    last = table.rpartition(".")[2].strip("`")
    try:
        return predicate_name(last)
    except ProgramError:
        raise DataError(
            "D108", f"{last} is not the name of a predicate", path=table,
            help=f"name the predicate that the table feeds: name={table}",
        ) from None  # fmt: skip
