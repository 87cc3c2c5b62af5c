"""Iceberg tables: the files of a snapshot, by the package `pyiceberg`, without a catalogue.

The package would open whatever a table's metadata names, and load the class that it names for that.
A table may come from a stranger, so it is given a way to files that knows the table's folder only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.io import FileIO, InputFile
from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow
from pyiceberg.manifest import FileFormat
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import DataScan, FileScanTask
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import StructType

from stratalog.errors import DataError
from stratalog.pipeline.iceberg_checks import careful_reading, check_lists
from stratalog.pipeline.lake_layout import LakeColumn, Layout
from stratalog.pipeline.lake_tables import check_there, no_version, placed, told_damage
from stratalog.pipeline.lakes import ICEBERG, is_metadata, listed, table_folder
from stratalog.pipeline.paths import DataFile

_NUMBERED = re.compile(r"v?([0-9]+)(?:-.*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
_SNAPSHOT = re.compile(r"v?([0-9]+)")
_SPARK = 'give a DataFrame: {"name": spark.read.format("iceberg").load(path)}'


def iceberg_files(path: Path, name: str, version: str | None) -> list[DataFile]:
    """Return the data files of a snapshot; those with delete files are read without deleted rows.

    The path is a table's folder, or one version of its metadata.
    """
    folder = table_folder(path)
    files = FolderIO(folder)
    metadata = FromInputFile.table_metadata(files.new_input(str(_metadata(path).absolute())))
    files.moved_from = metadata.location
    scan = DataScan(metadata, files)
    if version is not None:
        scan = _at(scan, version, path)
    tasks = _tasks(scan, path)
    if not tasks:
        layout = Layout(_columns(scan, None), is_empty=True)
        return [DataFile(str(path), "parquet", name, layout=layout)]
    return [_data_file(task, scan, files, name) for task in tasks]


def _metadata(path: Path) -> Path:
    """Return the newest version of a table's metadata; D133 if it is not clear which that is."""
    if is_metadata(path):
        return path
    folder = path / "metadata"
    hinted = _hinted(folder)
    if hinted is not None:
        return hinted
    found: dict[int, list[Path]] = {}
    for each in sorted(listed(folder)):
        if is_metadata(each):
            number = _NUMBERED.fullmatch(each.name)
            found.setdefault(int(number[1]) if number else -1, []).append(each)
    newest = found[max(found)]
    if len(newest) > 1:
        raise DataError(
            "D133", f"{len(newest)} versions of the table's metadata may be the newest one",
            path=str(path), help=f"name one of them, such as {newest[-1]}",
        )  # fmt: skip
    return newest[0]


def _hinted(folder: Path) -> Path | None:
    """Return the metadata that the folder's hint leads to, which may be older than the newest."""
    hint = folder / "version-hint.text"
    if not hint.is_file():
        return None
    told = hint.read_text("utf-8", "replace").strip()
    if not told.isascii() or not told.isdigit():
        place = folder / (told if is_metadata(folder / told) else f"{told}.metadata.json")
        return place if "/" not in told and place.is_file() else None
    number, found = int(told), None
    while (next_one := _of_number(folder, number)) is not None:
        number, found = number + 1, next_one
    return found


def _of_number(folder: Path, number: int) -> Path | None:
    names = (f"v{number}.metadata.json", f"v{number}.gz.metadata.json")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _at(scan: DataScan, version: str, path: Path) -> DataScan:
    """Return the scan of a snapshot, given by its id or by the name of a branch or tag."""
    metadata = scan.table_metadata
    if version in metadata.refs:
        return scan.use_ref(version)
    number = _SNAPSHOT.fullmatch(version)
    if number is not None and metadata.snapshot_by_id(int(number[1])) is not None:
        return scan.update(snapshot_id=int(number[1]))
    known = [f"@v{each.snapshot_id}" for each in metadata.snapshots[-3:]]
    raise no_version(
        path, version, f"it has {', '.join([*known, *(f'@{r}' for r in metadata.refs)])}"
    )


def _tasks(scan: DataScan, path: Path) -> list[FileScanTask]:
    """Return what a scan reads, in the order of paths."""
    try:
        with careful_reading():
            check_lists(scan.snapshot(), scan.io)
            return sorted(scan.plan_files(), key=lambda task: task.file.file_path)
    except ValueError as error:
        if "equality deletes" not in str(error):
            raise
        raise DataError(
            "D132", "rows of this Iceberg table are deleted by equality, which is not supported",
            path=str(path), help=f"rewrite the table's data files, or {_SPARK}",
        ) from error  # fmt: skip


def _data_file(task: FileScanTask, scan: DataScan, files: FolderIO, name: str) -> DataFile:
    place = files.place(task.file.file_path)
    check_there(place, files.root)
    if task.file.file_format != FileFormat.PARQUET:
        raise DataError(
            "D132", f"a file of this Iceberg table is of the format {task.file.file_format.value}",
            path=str(place), help=f"write the table as Parquet, or {_SPARK}",
        )  # fmt: skip
    rows = TaskScan(scan, task, files.root) if task.delete_files else None
    layout = Layout(_columns(scan, task), scan=rows)
    return DataFile(str(place), "parquet", name, layout=layout)


class TaskScan:
    """Reads one data file without its deleted rows, by PyIceberg itself."""

    def __init__(self, scan: DataScan, task: FileScanTask, root: Path) -> None:
        self._scan = scan
        self._task = task
        self._root = root

    def __call__(self, names: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Return the rows, with the columns of these names."""
        scan = self._scan
        schema = scan.projection()
        chosen = schema if names is None else schema.select(*names)
        rows = ArrowScan(scan.table_metadata, scan.io, chosen, scan.row_filter, scan.case_sensitive)
        with told_damage(self._root, ICEBERG):
            yield from rows.to_record_batches([self._task])


def _columns(scan: DataScan, task: FileScanTask | None) -> tuple[LakeColumn, ...]:
    """Return the table's columns, found by their ids in a data file."""
    schema = scan.projection()
    arrow = schema_to_pyarrow(schema, include_field_ids=False)
    mapping = scan.table_metadata.name_mapping()
    names: dict[int, tuple[str, ...]] = {}
    _add_names(mapping.root if mapping else (), names)
    values = {} if task is None else _partition(scan.table_metadata, task)
    pairs = zip(schema.fields, arrow, strict=True)
    return tuple(_column(told, field, names, values) for told, field in pairs)


def _add_names(mapped: Sequence[Any], names: dict[int, tuple[str, ...]]) -> None:
    for each in mapped:
        if each.field_id is not None:
            names[each.field_id] = tuple(each.names)
        _add_names(each.fields, names)


def _column(
    told: Any,  # noqa: ANN401  # PyIceberg's field
    field: pa.Field,
    names: Mapping[int, tuple[str, ...]],
    values: Mapping[int, Any],
) -> LakeColumn:
    inner: tuple[LakeColumn, ...] = ()
    if isinstance(told.field_type, StructType):
        parts = [field.type.field(place) for place in range(field.type.num_fields)]
        pairs = zip(told.field_type.fields, parts, strict=True)
        inner = tuple(_column(each, part, names, values) for each, part in pairs)
    number = told.field_id
    value = values.get(number, told.initial_default)
    return LakeColumn(field, names.get(number, ()), number, value, inner)


def _partition(metadata: TableMetadata, task: FileScanTask) -> dict[int, Any]:
    """Return the values that a file's columns have because it lies in a partition, by field id."""
    spec = metadata.specs()[task.file.spec_id]
    return {
        field.source_id: task.file.partition[place]
        for place, field in enumerate(spec.fields)
        if isinstance(field.transform, IdentityTransform) and task.file.partition[place] is not None
    }


class FolderIO(FileIO):
    """The way to the files of one folder, also if they were written when it was elsewhere."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.moved_from = ""

    def place(self, location: str) -> Path:
        """Return where a file is; D135 if it is not in the folder."""
        return placed(self.root, location, self.moved_from)

    def new_input(self, location: str) -> InputFile:
        return _FolderFile(location, self.place(location), self.root)

    def new_output(self, location: str) -> Any:  # noqa: ANN401
        raise PermissionError(location)

    def delete(self, location: Any) -> None:  # noqa: ANN401
        raise PermissionError(location)


class _FolderFile(InputFile):
    """A file of the folder, under the name that the table has for it."""

    def __init__(self, location: str, place: Path, root: Path) -> None:
        super().__init__(location)
        self._place = place
        self._root = root

    def __len__(self) -> int:
        return self._place.stat().st_size

    def exists(self) -> bool:
        return self._place.is_file()

    def open(self, seekable: bool = True) -> Any:  # noqa: ANN401, ARG002
        check_there(self._place, self._root)
        return pa.OSFile(str(self._place), "rb")
