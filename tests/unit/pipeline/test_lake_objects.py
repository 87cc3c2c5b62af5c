"""Tables that other packages hold, given as facts."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

import stratalog as sl
from stratalog.errors import DataError
from tests.lakes import DeltaLog

COPY = "path(?x, ?y) :- edge(?x, ?y) ."
NAMED = "@declare edge(b string, a string) . " + COPY


@pytest.fixture
def delta(tmp_path):
    folder = tmp_path / "delta"
    write_deltalake(folder, pa.table({"a": ["x", "y"], "n": [[1], [2]], "b": ["y", "z"]}))
    write_deltalake(folder, pa.table({"a": ["p"], "n": [[3]], "b": ["q"]}), mode="append")
    DeltaTable(folder).delete("a = 'y'")
    return DeltaTable(folder)


@pytest.fixture
def iceberg(tmp_path):
    catalog = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("ns")
    rows = pa.table({"a": ["x", "y", "z"], "b": ["1", "2", "3"]})
    table = catalog.create_table("ns.edge", schema=rows.schema)
    table.append(rows)
    table.delete("a = 'y'")
    yield table
    catalog.engine.dispose()


def path(facts, program=COPY):
    return sorted(sl.materialise(program, facts)["path"])


def test_a_delta_table_gives_the_rows_of_its_version(delta, tmp_path):
    assert path({"edge": delta}, NAMED) == [("q", "p"), ("y", "x")]
    first = DeltaTable(tmp_path / "delta", version=0)
    assert path({"edge": first}, NAMED) == [("y", "x"), ("z", "y")]


def test_a_delta_table_with_deleted_rows_and_renamed_columns_is_read_right(tmp_path):
    metadata = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "p1"}
    log = DeltaLog(
        tmp_path / "t",
        [{"name": "a", "type": "string", "metadata": metadata}, {"name": "k", "type": "integer",
          "metadata": {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "p2"}}],
        features=["deletionVectors", "columnMapping"], partitions=["k"],
        configuration={"delta.columnMapping.mode": "name"},
    )  # fmt: skip
    log.add("one.parquet", pa.table({"p1": ["x", "gone", "y"]}), {"p2": "7"}, deleted=[1])
    assert path({"edge": DeltaTable(tmp_path / "t")}) == [("x", 7), ("y", 7)]


def test_an_iceberg_table_and_its_scans_are_facts(iceberg):
    assert path({"edge": iceberg}) == [("x", "1"), ("z", "3")]
    assert path({"edge": iceberg.scan(row_filter="a > 'x'")}) == [("z", "3")]
    assert path({"edge": iceberg.scan(limit=0)}) == []
    first = iceberg.metadata.snapshots[0].snapshot_id
    assert len(path({"edge": iceberg.scan(snapshot_id=first)})) == 3
    assert path({"edge": iceberg}, NAMED) == [("1", "x"), ("3", "z")]


def test_a_dataset_is_facts(tmp_path):
    for place in range(3):
        table = pa.table({"a": [f"a{place}"], "lists": [[1]], "b": ["z"]})
        pq.write_table(table, tmp_path / f"{place}.parquet")
    dataset = ds.dataset(tmp_path)
    assert path({"edge": dataset}, NAMED) == [("z", "a0"), ("z", "a1"), ("z", "a2")]
    assert path({"edge": dataset.filter(ds.field("a") == "a1")}, NAMED) == [("z", "a1")]
    with pytest.raises(DataError, match="3 columns"):
        path({"edge": dataset})


def test_a_dataset_of_the_files_of_a_lake_table_is_refused(delta, tmp_path):
    folder = tmp_path / "delta"
    whole = ds.dataset(folder, exclude_invalid_files=True)
    for dataset in (whole, ds.dataset([whole, whole])):
        with pytest.raises(DataError) as caught:
            path({"edge": dataset}, NAMED)
        assert caught.value.code == "D131"
    assert path({"edge": delta.to_pyarrow_dataset()}, NAMED) == [("q", "p"), ("y", "x")]


def test_columns_may_have_any_name(tmp_path):
    write_deltalake(tmp_path / "t", pa.table({"K é": ["x"], "N": [1], "a.b": ["y"], '"q"': [2]}))
    program = '@declare edge(a string = "a.b", k string = "K é") . ' + COPY
    assert path({"edge": DeltaTable(tmp_path / "t")}, program) == [("y", "x")]
    assert path({"edge": tmp_path / "t"}, program) == [("y", "x")]


def test_updates_take_such_tables_too(delta, iceberg):
    kb = sl.materialise(NAMED, {"edge": [("y", "x"), ("1", "z")]})
    changes = kb.update(insert={"edge": iceberg}, delete={"edge": delta})
    assert sorted(kb["edge"]) == [("1", "x"), ("1", "z"), ("3", "z")]
    assert changes.stats["deleted"] == 1


def test_tables_without_rows_have_columns(delta, iceberg):
    delta.delete()
    iceberg.delete("a > ''")
    for rows in (delta, iceberg, ds.dataset(pa.table({"a": pa.array([], pa.string())}))):
        kb = sl.materialise("@declare edge(a string) . q(?x) :- edge(?x) .", {"edge": rows})
        assert len(kb["edge"]) == 0


def test_what_such_a_table_raises_is_told(delta, tmp_path):
    for file in (tmp_path / "delta").glob("*.parquet"):
        file.unlink()
    with pytest.raises(DataError) as caught:
        path({"edge": delta}, NAMED)
    assert caught.value.code == "D309"


def test_no_package_is_imported_to_look_for_its_tables():
    program = (
        "import sys, stratalog as sl; sl.materialise('a(?x) :- b(?x) .', {'b': [(1,)]}); "
        "print({'deltalake', 'pyiceberg', 'pyarrow.dataset'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
