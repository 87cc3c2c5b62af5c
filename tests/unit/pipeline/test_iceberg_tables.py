"""Iceberg tables, read from their folders as their metadata says; PyIceberg's scan is the judge."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import shutil
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from stratalog.errors import DataError
from stratalog.lang.parse import parse_program
from stratalog.pipeline import table_files
from tests.iceberg_files import (
    add_orc,
    delete_by_equality,
    delete_by_position,
    delete_by_vector,
)
from tests.lakes import as_rows, read, refused


@pytest.fixture
def catalog(tmp_path):
    home = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path / 'wh'}")
    home.create_namespace("ns")
    yield home
    home.engine.dispose()


@pytest.fixture
def edge(catalog):
    """A table of three snapshots: two rows, three rows, and without one of the first."""
    rows = pa.table({"a": ["x", "y"], "n": pa.array([1, 2], pa.int32())})
    table = catalog.create_table("ns.edge", schema=rows.schema)
    table.append(rows)
    table.append(pa.table({"a": ["p"], "n": pa.array([3], pa.int32())}))
    table.delete("a = 'y'")
    return table


def folder_of(table):
    return Path(table.location().removeprefix("file://"))


def metadata_of(table):
    return Path(table.metadata_location.removeprefix("file://"))


def judged(metadata, snapshot=None):
    return as_rows(StaticTable.from_metadata(str(metadata)).scan(snapshot_id=snapshot).to_arrow())


def declared(text):
    return {"declarations": parse_program(f"@declare {text} .").declarations}


def test_deleted_rows_do_not_come_back(edge):
    assert read(folder_of(edge)) == {"edge": [("p", 3), ("x", 1)]}
    assert read(folder_of(edge)) == {"edge": judged(metadata_of(edge))}


def test_snapshots_branches_and_tags_are_chosen_by_name(edge):
    first, second = (each.snapshot_id for each in edge.metadata.snapshots[:2])
    edge.manage_snapshots().create_tag(second, "audit").create_branch(first, "old").commit()
    folder = folder_of(edge)
    assert read(f"p={folder}@v{first}") == {"p": [("x", 1), ("y", 2)]}
    assert read(f"{folder}@audit") == {"edge": [("p", 3), ("x", 1), ("y", 2)]}
    assert read(f"{folder}@old") == {"edge": [("x", 1), ("y", 2)]}
    assert read(f"{folder}@main") == {"edge": [("p", 3), ("x", 1)]}
    error = refused(f"{folder}@v1")
    assert (error.code, "@audit" in error.help, "@old" in error.help) == ("D133", True, True)


def test_a_version_of_the_metadata_is_the_table_as_it_was(edge):
    versions = sorted(folder_of(edge).glob("metadata/*.metadata.json"))
    assert read(versions[1]) == {"edge": [("x", 1), ("y", 2)]}
    assert read(f"p={versions[-1]}") == {"p": [("p", 3), ("x", 1)]}
    assert read(f"p={versions[0]}") == {"p": []}


def test_columns_are_found_by_id_whatever_their_names_were(edge):
    with edge.update_schema() as change:
        change.rename_column("a", "who")
        change.update_column("n", LongType())
    with edge.update_schema() as change:
        change.add_column("a", StringType())  # the old name, another column
    edge.append(pa.table({"who": ["q"], "n": [1 << 40], "a": ["new"]}))
    folder = folder_of(edge)
    assert read(folder, **declared("edge(n integer, who string)")) == {
        "edge": [(1, "x"), (1 << 40, "q"), (3, "p")]
    }
    assert read(folder, **declared("edge(a string?, who string)")) == {"edge": [("new", "q")]}
    first = edge.metadata.snapshots[0]
    old = read(f"{folder}@v{first.snapshot_id}", **declared("edge(a string)"))
    assert old == {"edge": [("x",), ("y",)]}
    with edge.update_schema() as change:
        change.delete_column("a")
    assert read(folder)["edge"] == judged(metadata_of(edge))


def test_columns_that_divide_the_table_are_right(catalog):
    schema = Schema(
        NestedField(1, "day", StringType()), NestedField(2, "n", LongType()),
        NestedField(3, "x", DoubleType()),
    )  # fmt: skip
    spec = PartitionSpec(
        PartitionField(1, 1000, IdentityTransform(), "day"),
        PartitionField(3, 1001, IdentityTransform(), "x"),
    )
    table = catalog.create_table("ns.t", schema=schema, partition_spec=spec)
    days = ["2026-01-31", "a b", "c:/d%20", "é"]
    table.append(pa.table({"day": days, "n": [1, 2, 3, 4], "x": [0.1, 0.2, 0.3, 1e300]}))
    assert read(folder_of(table)) == {"t": judged(metadata_of(table))}
    assert read(folder_of(table), **declared("t(day string)"))["t"] == [(day,) for day in days]


def test_values_are_what_the_package_reads(catalog):
    at = dt.datetime(2026, 1, 31, 12, 0, 0, 5)  # noqa: DTZ001  # a time without a zone
    rows = pa.table({
        "day": [dt.date(2026, 1, 31)], "at": pa.array([at], pa.timestamp("us")),
        "zone": pa.array([at], pa.timestamp("us", "UTC")), "yes": [True], "f": [0.5],
        "d": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
    })  # fmt: skip
    table = catalog.create_table("ns.t", schema=rows.schema)
    table.append(rows)
    found = read(folder_of(table))["t"]
    utc = at.replace(tzinfo=dt.UTC)
    assert found == [(dt.date(2026, 1, 31), at, utc, True, 0.5, Decimal("1.50"))]


def test_renamed_fields_of_structs_are_found_too(catalog):
    kind = pa.struct([("id", pa.int32()), ("name", pa.string())])
    rows = pa.table({"n": [1, 2], "buyer": pa.array([{"id": 5, "name": "B"}, None], kind)})
    table = catalog.create_table("ns.t", schema=rows.schema)
    table.append(rows)
    with table.update_schema() as change:
        change.rename_column("buyer.id", "number").rename_column("buyer", "who")
    found = read(folder_of(table), **declared('t(n integer, b integer? = "who.number")'))
    assert found == {"t": [(1, 5)]}


def test_files_that_were_added_are_found_by_their_names(catalog):
    table = catalog.create_table("ns.t", schema=pa.schema([("a", pa.string()), ("n", pa.int64())]))
    place = folder_of(table) / "data" / "added.parquet"
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": ["x"], "n": [1]}), place)
    table.add_files([str(place)])
    with table.update_schema() as change:
        change.rename_column("a", "b")
    assert read(folder_of(table)) == {"t": [("x", 1)]}
    told = json.loads(metadata_of(table).read_text())
    del told["properties"]["schema.name-mapping.default"]
    (folder_of(table) / "metadata" / "00099-x.metadata.json").write_text(json.dumps(told))
    assert refused(folder_of(table)).code == "D132"


def data_files(table):
    return [task.file.file_path for task in table.scan().plan_files()]


def test_rows_that_delete_files_name_are_left_out(catalog, monkeypatch):
    table = catalog.create_table("ns.t", schema=pa.schema([("n", pa.int64()), ("m", pa.int64())]))
    table.append(pa.table({"n": list(range(9)), "m": list(range(9))}))
    table.append(pa.table({"n": [100, 101], "m": [0, 1]}))
    big = next(file for file in data_files(table) if pq.read_metadata(file[7:]).num_rows == 9)
    newest = delete_by_position(table, big, [0, 3, 8])
    monkeypatch.setattr(table_files, "PARQUET_ROWS", 4)
    found = read(folder_of(table))["t"]
    assert [n for n, _ in found] == [1, 100, 101, 2, 4, 5, 6, 7]
    assert found == judged(newest)
    assert read(folder_of(table), **declared("t(m integer)"))["t"][0] == (0,)
    before = table.current_snapshot().snapshot_id
    assert len(read(f"{folder_of(table)}@v{before}")["t"]) == 11


def test_rows_that_deletion_vectors_name_are_left_out(catalog):
    table = catalog.create_table("ns.t", schema=pa.schema([("n", pa.int64())]))
    for first in (0, 100, 200):
        table.append(pa.table({"n": list(range(first, first + 5))}))
    found = {pq.read_table(file[7:])["n"][0].as_py(): file for file in data_files(table)}
    newest = delete_by_vector(table, {found[0]: [0, 3], found[200]: [4, 1, 2, 0, 3]})
    rows = read(folder_of(table))["t"]
    assert rows == judged(newest)
    assert [n for (n,) in rows] == [1, 100, 101, 102, 103, 104, 2, 4]


def test_rows_deleted_by_equality_are_refused(edge):
    delete_by_equality(edge, pa.table({"a": ["x"]}), 1)
    error = refused(folder_of(edge))
    assert (error.code, error.path) == ("D132", str(folder_of(edge)))
    first = edge.metadata.snapshots[0].snapshot_id
    assert read(f"{folder_of(edge)}@v{first}") == {"edge": [("x", 1), ("y", 2)]}


def test_a_table_without_rows_has_its_columns(catalog):
    table = catalog.create_table("ns.t", schema=pa.schema([("a", pa.string())]))
    assert read(folder_of(table)) == {"t": []}
    assert refused(folder_of(table), arities={"t": {2}}).code == "D301"


def test_a_folder_that_was_moved_is_read_where_it_is(edge, tmp_path):
    moved = tmp_path / "elsewhere" / "copy"
    shutil.copytree(folder_of(edge), moved)
    shutil.rmtree(folder_of(edge))
    assert read(f"p={moved}") == {"p": [("p", 3), ("x", 1)]}


def test_two_copies_do_not_share_what_is_remembered(edge, tmp_path):
    """Their metadata names the same manifests, which PyIceberg remembers by their paths."""
    assert len(read(folder_of(edge))["edge"]) == 2
    other = tmp_path / "other"
    shutil.copytree(folder_of(edge), other)
    for manifest in (other / "metadata").glob("*.avro"):
        manifest.write_bytes(b"not this one")
    assert refused(f"edge={other}").code == "D134"
    assert len(read(folder_of(edge))["edge"]) == 2


def test_the_hint_of_a_folder_leads_to_its_newest_metadata(edge):
    folder = folder_of(edge) / "metadata"
    versions = sorted(folder.glob("*.metadata.json"))
    for number, version in enumerate(versions, 1):
        version.rename(folder / f"v{number}.metadata.json")
    assert len(read(folder.parent)["edge"]) == 2
    (folder / "version-hint.text").write_text("2")  # older than the newest, as it may be
    assert len(read(folder.parent)["edge"]) == 2
    (folder / "v3.metadata.json").unlink()
    assert read(folder.parent)["edge"] == [("x", 1), ("y", 2)]
    (folder / "version-hint.text").write_text("v4")
    assert len(read(folder.parent)["edge"]) == 2


def test_of_two_newest_versions_none_is_guessed(edge):
    newest = metadata_of(edge)
    again = newest.with_name(newest.name.partition("-")[0] + "-other.metadata.json")
    shutil.copy(newest, again)
    error = refused(folder_of(edge))
    assert (error.code, ".metadata.json" in error.help) == ("D133", True)
    assert len(read(f"edge={again}")["edge"]) == 2


@pytest.mark.filterwarnings("ignore:Delete operation did not match")
@pytest.mark.parametrize("seed", range(4))
def test_any_history_reads_as_the_package_reads_it(catalog, seed):
    chance = random.Random(seed)
    table = catalog.create_table(
        "ns.t", schema=pa.schema([("n", pa.int64()), ("k", pa.string()), ("g", pa.int64())])
    )
    if chance.random() < 0.5:
        with table.update_spec() as change:
            change.add_identity("k")

    def some():
        size = chance.randrange(1, 20)
        keys = [chance.choice(["a b", "é", "x/y", "100%", ""]) for _ in range(size)]
        numbers = [[chance.randrange(50) for _ in range(size)] for _ in range(2)]
        return pa.table({"n": numbers[0], "k": keys, table.schema().fields[2].name: numbers[1]})

    for step in range(chance.randrange(4, 8)):
        what = chance.random()
        if what < 0.5 or not step:
            table.append(some())
        elif what < 0.7:
            table.delete(f"n < {chance.randrange(25)}")
        elif what < 0.85:
            table.overwrite(some(), overwrite_filter=f"n > {chance.randrange(50)}")
        else:
            with table.update_schema() as change:
                change.rename_column(table.schema().fields[2].name, f"g{step}")
    for snapshot in table.metadata.snapshots:
        wanted = judged(metadata_of(table), snapshot.snapshot_id)
        found = read(f"{folder_of(table)}@v{snapshot.snapshot_id}")["t"]
        assert found == wanted


def changed(table, change):
    """Return the folder of the table with metadata that somebody has changed."""
    told = json.loads(metadata_of(table).read_text())
    change(told)
    (folder_of(table) / "metadata" / "00099-x.metadata.json").write_text(json.dumps(told))
    return folder_of(table)


@pytest.mark.parametrize(
    "elsewhere",
    ["s3://bucket/m.avro", "http://127.0.0.1:1/m.avro", "/etc/hostname", "file:///etc/hostname",
     "{location}/../m.avro", "../../../m.avro", "{location}-2/m.avro"],
)  # fmt: skip
def test_metadata_that_leads_out_of_its_folder_is_refused(edge, elsewhere):
    def change(told):
        for each in told["snapshots"]:
            each["manifest-list"] = elsewhere.format(location=edge.location())

    assert refused(changed(edge, change)).code == "D135"


def test_a_data_file_elsewhere_is_refused(catalog, tmp_path):
    table = catalog.create_table("ns.t", schema=pa.schema([("a", pa.string())]))
    pq.write_table(pa.table({"a": ["secret"]}), tmp_path / "secret.parquet")
    table.add_files([str(tmp_path / "secret.parquet")])
    assert refused(folder_of(table)).code == "D135"


def test_what_metadata_says_about_code_is_not_run(edge, tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("class IO: pass")
    monkeypatch.syspath_prepend(tmp_path)

    def change(told):
        told["properties"]["py-io-impl"] = "evil.IO"

    assert len(read(changed(edge, change))["edge"]) == 2
    assert "evil" not in sys.modules


def test_a_pipe_in_the_place_of_a_file_is_not_opened(edge):
    file = Path(data_files(edge)[0].removeprefix("file://"))
    file.unlink()
    os.mkfifo(file)
    assert refused(folder_of(edge)).code == "D134"


def test_damaged_metadata_is_told(edge):
    metadata_of(edge).write_text("{")
    assert refused(folder_of(edge)).code == "D134"


@pytest.mark.parametrize("what", ["snap-*.avro", "*-m*.avro"])
def test_lists_of_files_that_were_cut_short_are_not_shorter_lists(edge, what):
    whole = read(folder_of(edge))
    for path in sorted((folder_of(edge) / "metadata").glob(what)):
        content = path.read_bytes()
        for size in range(0, len(content), 97):
            path.write_bytes(content[:size])
            try:
                assert read(folder_of(edge)) == whole  # no part of this version
            except DataError as error:
                assert error.code == "D134"  # noqa: PT017
        path.write_bytes(content)


def test_a_file_of_another_format_is_refused(edge):
    add_orc(edge, pa.table({"a": ["z"], "n": pa.array([9], pa.int32())}))
    assert refused(folder_of(edge)).code == "D132"
