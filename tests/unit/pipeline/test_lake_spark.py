"""Tables of Delta Lake and Iceberg on Spark: the driver finds the files, workers read them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import LongType

import stratalog as sl
from stratalog.errors import DataError
from stratalog.knowledge import reader
from stratalog.knowledge.stream.sources import folders_source
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.remote_paths import matching
from stratalog.pipeline.spark_items import SparkFinder
from stratalog.pipeline.spark_read import read_spark
from tests.iceberg_files import delete_by_position
from tests.lakes import DeltaLog
from tests.readers import fail_both, read_both

pytestmark = pytest.mark.spark


@pytest.fixture
def catalog(tmp_path):
    home = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path / 'wh'}")
    home.create_namespace("ns")
    yield home
    home.engine.dispose()


def test_both_readers_read_the_same_version(spark, tmp_path):
    folder = tmp_path / "t"
    rows = {"n": list(range(3000)), "k": [f"k {i % 3}" for i in range(3000)]}
    write_deltalake(folder, pa.table(rows), partition_by=["k"])
    DeltaTable(folder).delete("n % 5 = 0")
    write_deltalake(folder, pa.table({"n": [-1], "k": ["é/x"]}), mode="append")
    found = read_both(spark, [str(folder)], 1_000)
    assert found.count == 2401
    assert read_both(spark, [f"t={folder}@v0"], 1_000).count == 3000
    assert fail_both(spark, [f"t={folder}@v9"], 1_000).code == "D133"
    DeltaTable(folder).delete()
    assert read_both(spark, [str(folder)], 1_000).predicates() == [Predicate("t", 2)]


def test_workers_follow_names_and_types_of_columns(spark, tmp_path, catalog):
    def mapped(name, physical, number, kind):
        told = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
        return {"name": name, "type": kind, "metadata": told}

    log = DeltaLog(
        tmp_path / "d", [mapped("b", "a", 1, "string"), mapped("day", "c3", 2, "date")],
        features=["columnMapping"], partitions=["day"],
        configuration={"delta.columnMapping.mode": "name"},
    )  # fmt: skip
    log.add("one.parquet", pa.table({"a": ["x", "y"], "b": ["no", "no"]}), {"c3": "2026-01-31"})
    assert read_both(spark, [str(tmp_path / "d")], 1_000).count == 2

    rows = pa.table({"a": ["x"], "n": pa.array([1], pa.int32())})
    table = catalog.create_table("ns.t", schema=rows.schema)
    table.append(rows)
    with table.update_schema() as change:
        change.rename_column("a", "was_a").update_column("n", LongType())
    table.append(pa.table({"was_a": ["y"], "n": [1 << 40]}))
    assert read_both(spark, [table.location().removeprefix("file://")], 1_000).count == 2


def test_files_with_deleted_rows_are_refused_with_the_remedy(spark, tmp_path, catalog):
    log = DeltaLog(tmp_path / "d", [{"name": "n", "type": "long"}], features=["deletionVectors"])
    log.add("a.parquet", pa.table({"n": [0, 1, 2]}), deleted=[1])
    table = catalog.create_table("ns.t", schema=pa.schema([("n", pa.int64())]))
    table.append(pa.table({"n": [0, 1, 2]}))
    file = next(iter(table.scan().plan_files())).file.file_path
    delete_by_position(table, file, [1])
    for path in (tmp_path / "d", Path(table.location().removeprefix("file://"))):
        with pytest.raises(DataError) as caught:
            read_spark(spark, [str(path)], dictionary=Dictionary())
        assert caught.value.code == "D132"
        assert "local reader" in caught.value.help
        kb = sl.materialise("q(?x) :- p(?x) .", {"p": path}, spark=spark)
        assert sorted(kb["q"]) == [(0,), (2,)]


def test_large_tables_with_deleted_rows_stay_in_this_process(tmp_path, monkeypatch):
    log = DeltaLog(tmp_path / "d", [{"name": "n", "type": "long"}], features=["deletionVectors"])
    log.add("a.parquet", pa.table({"n": [0, 1, 2]}), deleted=[1])
    monkeypatch.setattr(reader, "LARGEST_LOCAL", 10)
    with pytest.warns(sl.StratalogWarning, match="W323"):
        kb = sl.materialise("q(?x) :- d(?x) .", tmp_path / "d")
    assert sorted(kb["q"]) == [(0,), (2,)]


def test_workers_refuse_single_files_and_missing_packages_like_the_local_reader(
    spark, tmp_path, monkeypatch
):
    folder = tmp_path / "t"
    write_deltalake(folder, pa.table({"n": [1]}))
    assert fail_both(spark, [str(next(folder.glob("*.parquet")))], 1_000).code == "D131"
    monkeypatch.setitem(__import__("sys").modules, "deltalake", None)
    assert fail_both(spark, [str(folder)], 1_000).code == "D130"


def test_tables_on_other_file_systems_are_seen_and_refused(spark, tmp_path, monkeypatch):
    """A path that only Hadoop looks at: here its own spelling of a local one."""
    folder = tmp_path / "t"
    write_deltalake(folder, pa.table({"n": [1]}))
    monkeypatch.setattr("stratalog.pipeline.paths.is_remote", lambda path: "/" in path)
    finder = SparkFinder(spark, [], [])
    for path, code in ((folder, "D132"), (next(folder.glob("*.parquet")), "D131")):
        with pytest.raises(DataError) as caught:
            list(finder.find("t", f"file://{path}"))
        assert caught.value.code == code
    found = matching(spark, f"file://{folder}", {})
    monkeypatch.setattr("stratalog.knowledge.stream.sources.matching", lambda *_: found)
    with pytest.raises(DataError) as caught:
        folders_source(["n=s3a://bucket/t"], [], list, None).frame(spark)
    assert caught.value.code == "D131"
