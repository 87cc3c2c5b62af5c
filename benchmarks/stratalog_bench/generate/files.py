"""Generated facts to files: N-Triples, or a CSV, TSV or Parquet file per predicate."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stratalog.errors import DataError
from stratalog_bench.generate.columns import EncodedColumns
from stratalog_bench.generate.ntriples import Progress, write_ntriples
from stratalog_bench.generate.universities import lubm, lubm_blocks
from stratalog_bench.generate.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa

Target = str | os.PathLike[str]

TABLES = ("parquet", "csv", "tsv")
FORMATS = ("nt", *TABLES)
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
DELIMITERS = {"csv": ",", "tsv": "\t"}


def write(made: Workload | EncodedColumns, target: Target, data_format: str | None = None) -> int:
    """Write facts to a file, in the format of its name, or to a folder; return how many.

    A folder gets a file per predicate in `data_format`, Parquet if None. `.gz`, `.bz2` and `.zst`
    after `.nt`, `.csv` and `.tsv` compress.
    """
    chosen = format_of(target, data_format)
    if chosen == "nt":
        return _write_triples(made, Path(target))
    tables = bare_tables(made)
    if is_folder(target):
        _make_folder(Path(target))
        for name, table in tables.items():
            _write_table(table, Path(target) / f"{name}.{chosen}", chosen)
    elif len(tables) == 1:
        _write_table(next(iter(tables.values())), Path(target), chosen)
    else:
        raise DataError(
            "D314",
            f"there are {len(tables)} predicates, and {chosen} holds the facts of one",
            path=str(target),
            help=f"give a folder for a file per predicate, with the format {chosen}",
        )
    return made.count


def write_lubm(
    target: Target, universities: int = 1, seed: int = 0, progress: Progress | None = None
) -> int:
    """Write universities as N-Triples, one after the other in little memory; return how many facts.

    `progress` is told the number of facts after each university.
    """
    if format_of(target, None) != "nt":
        return write(lubm(universities, seed), target)
    with _opened(Path(target)) as sink:
        return write_ntriples(lubm_blocks(universities, seed), sink, progress)


def format_of(target: Target, given: str | None) -> str:
    """Return the format of a file's name, or the one given for a folder; Parquet by default."""
    if is_folder(target):
        return _known(given or TABLES[0], TABLES, target)
    suffixes = [suffix.lower() for suffix in Path(target).suffixes]
    if suffixes[-1] in COMPRESSIONS and suffixes[-2:-1] != [".parquet"]:
        suffixes.pop()
    found = _known(suffixes[-1][1:] if suffixes else "", FORMATS, target)
    if given not in (None, found):
        raise DataError(
            "D312",
            f"the file's name tells {found}, not {given}",
            path=str(target),
            help="leave out the format, or rename the file",
        )
    return found


def is_folder(target: Target) -> bool:
    """Return whether a path means a folder: it is one, ends in a slash, or has no suffix."""
    path = Path(target)
    return os.fspath(target).endswith(os.sep) or path.is_dir() or not path.suffix


def bare_tables(made: Workload | EncodedColumns) -> dict[str, pa.Table]:
    """Return a table per predicate, named so that it can be a file: IRIs by their last part."""
    if isinstance(made, Workload):
        return made.tables()
    return {bare_name(name): made.table(name) for name in made.relations}


def bare_name(iri: str) -> str:
    """Return what follows the last # or slash."""
    return iri.replace("#", "/").rpartition("/")[2]


def rules_for(rules: str, target: Target) -> str:
    """Return the rules for facts as they are in a file or folder: tables have bare names."""
    if format_of(target, None) == "nt":
        return rules
    lines = rules.splitlines(keepends=True)
    prefixes = [line.split()[1] for line in lines if line.startswith("@prefix")]
    text = "".join(line for line in lines if not line.startswith("@prefix")).lstrip()
    for prefix in prefixes:
        text = text.replace(prefix, "")
    return text


def _known(name: str, known: tuple[str, ...], target: Target) -> str:
    if name in known:
        return name
    raise DataError(
        "D312",
        f"{name or 'a file without a suffix'} is no format for generated facts here",
        path=str(target),
        help="name a file .nt, .csv, .tsv or .parquet, or a folder with parquet, csv or tsv",
    )


def _write_triples(made: Workload | EncodedColumns, path: Path) -> int:
    if isinstance(made, Workload):
        raise DataError(
            "D312",
            "these facts are no triples",
            path=str(path),
            help="choose .csv, .tsv or .parquet, or a folder",
        )
    with _opened(path) as sink:
        return write_ntriples([made], sink)


def _write_table(table: pa.Table, path: Path, data_format: str) -> None:
    with _opened(path) as sink:
        if data_format == "parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, sink)
        else:
            import pyarrow.csv as pc

            options = pc.WriteOptions(
                include_header=False,
                delimiter=DELIMITERS[data_format],
                quoting_style="none",  # no text of a generator needs quotes, and TSV has none
            )
            pc.write_csv(_plain(table), sink, options)


def _plain(table: pa.Table) -> pa.Table:
    """Return the table without dictionaries, which text files do not have."""
    import pyarrow as pa

    columns = [
        column.cast(pa.large_string()) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(error, folder) from None


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Give a stream of bytes, written beside the file's place and moved there when whole."""
    import pyarrow as pa

    partial = path.with_name(f".{path.name}.partial")
    try:
        with pa.output_stream(str(partial), COMPRESSIONS.get(path.suffix)) as sink:
            yield sink
        partial.replace(path)
    except OSError as error:
        raise _unwritable(error, path) from None
    finally:
        partial.unlink(missing_ok=True)


def _unwritable(error: OSError, path: Path) -> DataError:
    return DataError(
        "D313",
        f"the output cannot be written: {error.strerror or error}",
        path=str(path),
        help="check the folder, its permissions and the space that is left",
    )
