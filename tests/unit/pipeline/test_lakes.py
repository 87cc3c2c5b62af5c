"""Tables whose log tells which files count are never read as plain files, by whatever door."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import stratalog as sl
from stratalog.errors import DataError
from stratalog.pipeline.feed_files import feeds_of, find_folder
from stratalog.pipeline.tables import Vocabulary
from tests.lakes import read, refused

PATHS = "path(?x, ?y) :- edge(?x, ?y) ."


@pytest.fixture
def table(tmp_path):
    """A table in which one row of two files was deleted: three files, of which two count."""
    folder = tmp_path / "edge"
    write_deltalake(folder, pa.table({"a": ["x", "y"], "b": ["y", "z"]}))
    write_deltalake(folder, pa.table({"a": ["p"], "b": ["q"]}), mode="append")
    DeltaTable(folder).delete("a = 'y'")
    assert len(list(folder.glob("*.parquet"))) == 3
    return folder


@pytest.fixture
def iceberg(tmp_path):
    folder = tmp_path / "ice"
    (folder / "metadata").mkdir(parents=True)
    (folder / "metadata" / "v1.metadata.json").write_text("{}")
    (folder / "data" / "k=1").mkdir(parents=True)
    pq.write_table(pa.table({"a": ["x"]}), folder / "data" / "k=1" / "part-0.parquet")
    return folder


def hide_packages(monkeypatch):
    """Let it look as if the packages were not installed."""
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.setitem(sys.modules, "pyiceberg", None)


def test_without_its_package_a_table_is_refused_and_the_extra_named(
    table, iceberg, tmp_path, monkeypatch
):
    hide_packages(monkeypatch)
    for item in (table, str(table), f"p={table}", f"{tmp_path}/ed*", f"{table}@v0"):
        error = refused(item)
        assert (error.code, error.help) == ("D130", 'pip install "stratalog[delta]"')
        assert error.path == str(table)
    for item in (iceberg, f"p={iceberg}", iceberg / "metadata" / "v1.metadata.json"):
        assert refused(item).help == 'pip install "stratalog[iceberg]"'
    assert refused(tmp_path).code == "D130"  # a folder that holds tables


def test_no_door_of_python_lets_a_table_in_as_plain_files(table, monkeypatch):
    hide_packages(monkeypatch)
    kb = sl.materialise(PATHS, {"edge": [("x", "y"), ("y", "z")]})
    doors = [
        lambda: sl.materialise(PATHS, table),
        lambda: sl.materialise(PATHS, {"edge": table}),
        lambda: sl.materialise(PATHS, [{"edge": str(table)}]),
        lambda: kb.update(insert={"edge": table}),
        lambda: kb.update(delete=f"edge={table}"),
        lambda: kb.what_if(delete={"edge": [("x", "y")]}, insert=table),
    ]
    for door in doors:
        with pytest.raises(DataError) as caught:
            door()
        assert caught.value.code == "D130"
    assert len(kb["path"]) == 2


def test_a_file_of_a_table_given_by_itself_is_refused(table, iceberg, tmp_path):
    file = min(table.glob("*.parquet"))
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "edge.parquet").symlink_to(file)
    for item in (file, f"p={file}", f"edge={table}/*.parquet", tmp_path / "links"):
        error = refused(item)
        assert error.code == "D131"
        assert str(table) in error.help
    data = iceberg / "data"
    for item in (
        data,
        f"p={data / 'k=1'}",
        data / "k=1" / "part-0.parquet",
        f"p={data}/*/*.parquet",
    ):
        assert refused(item).code == "D131"


def test_a_copy_of_a_file_elsewhere_has_all_its_rows(table, tmp_path):
    pq.write_table(pa.table({"a": ["k"]}), tmp_path / "p.parquet")
    assert read(tmp_path / "p.parquet") == {"p": [("k",)]}
    (table / "notes.csv").write_text("text\n")
    assert read(table / "notes.csv") == {"notes": [("text",)]}  # such tables have no text files


@pytest.mark.usefixtures("table")
def test_a_table_inside_a_table_of_parts_is_refused(tmp_path):
    pq.write_table(pa.table({"a": ["k"]}), tmp_path / "part-0.parquet")
    assert refused(tmp_path).code == "D131"


@pytest.mark.usefixtures("table")
def test_a_folder_of_tables_and_files_is_read_table_by_table(tmp_path):
    (tmp_path / "near.csv").write_text("1,2\n")
    found = read(tmp_path)
    assert found == {"edge": [("p", "q"), ("x", "y")], "near": [("1", "2")]}


def test_a_table_is_no_feed_of_changes(table, tmp_path):
    for source in (table, f"edge={table}", tmp_path):
        with pytest.raises(DataError) as caught:
            find_folder(source, [])
        assert caught.value.code == "D131"


def test_a_table_that_appears_in_a_feed_later_is_refused(tmp_path):
    folder = find_folder(tmp_path, [])
    write_deltalake(tmp_path / "edge", pa.table({"a": ["x"], "_change_type": ["insert"]}))
    file = str(next((tmp_path / "edge").glob("*.parquet")))
    with pytest.raises(DataError) as caught:
        feeds_of(folder, [(f"file:{file}", None)], [], Vocabulary())
    assert caught.value.code == "D131"


def test_hudi_tables_are_refused(tmp_path):
    (tmp_path / "t" / ".hoodie").mkdir(parents=True)
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "t" / "a.parquet")
    assert refused(tmp_path / "t").code == "D132"
    assert refused(tmp_path / "t" / "a.parquet").code == "D131"


def test_only_such_tables_have_versions(tmp_path):
    (tmp_path / "p.csv").write_text("a\n")
    (tmp_path / "q@v1.csv").write_text("b\n")
    assert refused(f"{tmp_path / 'p.csv'}@v1").code == "D133"
    assert refused(f"{tmp_path}@v1").code == "D133"
    assert refused(f"{tmp_path / 'none'}@v1").code == "D100"
    assert read(f"q={tmp_path / 'q@v1.csv'}") == {"q": [("b",)]}


def test_a_relative_path_is_looked_at_upwards_too(table, monkeypatch):
    monkeypatch.chdir(table)
    assert refused(next(Path().glob("*.parquet"))).code == "D131"
    assert read("edge=.") == {"edge": [("p", "q"), ("x", "y")]}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_listed_is_told(iceberg):
    (iceberg / "metadata").chmod(0o000)
    try:
        assert refused(iceberg).code == "D104"
    finally:
        (iceberg / "metadata").chmod(0o700)
