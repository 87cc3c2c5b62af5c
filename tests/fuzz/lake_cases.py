"""Tables of Delta Lake and Iceberg with bytes that were changed at random: refused, or read.

    python -m tests.fuzz.lake_cases delta 0 200       # the first two hundred cases

A case is a kind of table and a number, from which everything about it follows.
"""

from __future__ import annotations

import atexit
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog

from stratalog.errors import StratalogError
from tests.fuzz.file_cases import check_error, mutate, named, no_hang
from tests.fuzz.watch import watched
from tests.iceberg_files import delete_by_position
from tests.lakes import DeltaLog, read

TOKENS = [
    "../", "/etc/hostname", "file:///etc/hostname", "s3://bucket/x", "http://127.0.0.1:1/x", "null",
    "-1", "9" * 30, '"', "{", "}", "[", "]", "%2e%2e%2f", "\\u0000", "1e400", "deletionVector",
    "py-io-impl", "string", "long", "decimal(99,1)", '{"type":"struct","fields":[]}',
]  # fmt: skip


def make_delta(folder: Path) -> Path:
    """Make a table with what a log can say: vectors, mapped and dividing columns, a checkpoint."""
    mapped = [
        {"name": name, "type": kind, "metadata": {
            "delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c{number}",
        }} for number, (name, kind) in enumerate([("n", "long"), ("s", "string"), ("k", "date")])
    ]  # fmt: skip
    log = DeltaLog(
        folder, mapped, features=["deletionVectors", "columnMapping"], partitions=["k"],
        configuration={"delta.columnMapping.mode": "name"},
    )  # fmt: skip
    rows = pa.table({"c0": list(range(9)), "c1": [f"v {i}" for i in range(9)]})
    log.add("k=1/a b.parquet", rows, {"c2": "2026-01-31"}, deleted=[1, 5])
    DeltaTable(folder).create_checkpoint()
    log.add("two.parquet", rows.slice(2, 3), {"c2": "1970-01-01"})
    return folder


def make_iceberg(folder: Path) -> Path:
    """Make a table with a renamed column, two snapshots and deleted rows."""
    catalog = SqlCatalog("fuzz", uri="sqlite:///:memory:", warehouse=f"file://{folder}")
    catalog.create_namespace("ns")
    rows = pa.table({"n": list(range(9)), "s": [f"v {i}" for i in range(9)]})
    table = catalog.create_table("ns.t", schema=rows.schema)
    table.append(rows)
    with table.update_schema() as change:
        change.rename_column("s", "text")
    delete_by_position(table, next(iter(table.scan().plan_files())).file.file_path, [1, 5])
    catalog.engine.dispose()
    return folder / "ns" / "t"


KINDS: dict[str, Callable[[Path], Path]] = {"delta": make_delta, "iceberg": make_iceberg}


@cache
def sound(kind: str) -> Path:
    """Return a table of a kind in which nothing is wrong."""
    folder = Path(tempfile.mkdtemp(prefix="lake-cases-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return KINDS[kind](folder / "t")


def changed(kind: str, number: int, folder: Path) -> Path:
    """Write the table of a case, and return its folder."""
    rng = random.Random(f"{kind} {number}")
    table = folder / f"{kind}-{number}"
    shutil.copytree(sound(kind), table)
    files = sorted(path for path in table.rglob("*") if path.is_file())
    for path in rng.sample(files, rng.choice([1, 1, 1, 2])):
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice([1, 1, 2, 4])):
            mutate(data, rng, [] if path.suffix in {".parquet", ".avro"} else TOKENS)
        path.write_bytes(bytes(data))
    return table


def check(table: Path) -> str:
    """Read a table, and return "read" or the code of the error."""
    try:
        read(f"d={table}")
    except StratalogError as error:
        check_error(error)
        return error.code
    return "read"


def run(first: int, last: int, kinds: Iterable[str] = tuple(KINDS)) -> dict[str, int]:
    """Check the cases from `first` to before `last` of each kind; return how many ended how."""
    ends: dict[str, int] = {}
    for kind in kinds:
        assert read(f"d={sound(kind)}")["d"]
        for number in range(first, last):
            with (
                tempfile.TemporaryDirectory() as name,
                named("tests.fuzz.lake_cases", kind, number),
                no_hang(),
            ):
                table = changed(kind, number, Path(name))
                with watched(writable=[table]) as seen:
                    end = check(table)
                assert not seen, seen
            ends[end] = ends.get(end, 0) + 1
    return ends


def main() -> None:
    """Run the cases that the command line names."""
    kind, first, last = sys.argv[1:4]
    for each in KINDS if kind == "all" else [kind]:
        print(each, run(int(first), int(last), [each]), flush=True)  # noqa: T201  # a command


if __name__ == "__main__":
    main()
