"""Published facts: what others read, and what is left when publishing fails or is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stratalog as sl
from stratalog.facts.labels import I
from stratalog.lang.syntax import Predicate
from stratalog.pipeline import publish
from stratalog.pipeline.durable import lock_alone
from stratalog.pipeline.naming import plain_names

PATHS = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
EDGES = {"edge": [("a", "b"), ("b", "c")]}
SALES = """
@declare sale(id string, amount decimal, day date, number integer, at dateTime, to iri) .
@declare note(text term) .
"""
SALE = {
    "sale": [
        (
            "x",
            Decimal("1.5"),
            date(2020, 1, 2),
            7,
            datetime(2020, 1, 2, 3, 4, 5, 6, UTC),
            sl.IRI("http://e/a"),
        ),
        (
            "y",
            Decimal("2.25"),
            date(1500, 1, 1),
            10**25,
            datetime(1999, 1, 1, tzinfo=UTC),
            sl.IRI("http://e/b"),
        ),
    ],
    "note": [(1,), ("one",), (sl.BNode("b"),)],
}


def read(folder):
    return pa.concat_tables([pq.ParquetFile(path).read() for path in sorted(folder.iterdir())])


def index(root):
    content = json.loads((root / "_stratalog.json").read_text())
    return {entry["folder"]: entry for entry in content["tables"]}


@pytest.fixture
def root(tmp_path):
    return tmp_path / "published"


def test_duckdb_pandas_polars_and_arrow_read_the_same_facts(root):
    kb = sl.materialise(PATHS, EDGES)
    kb.publish(root)
    folder = root / "path" / "version=1"
    expected = [("a", "b"), ("a", "c"), ("b", "c")]
    text = f"SELECT * FROM read_parquet('{folder}/*.parquet', hive_partitioning = false)"
    assert sorted(duckdb.sql(text).fetchall()) == expected
    assert sorted(pl.read_parquet(folder / "*.parquet").rows()) == expected
    frame = pd.read_parquet(folder)
    assert list(frame.columns) == ["c0", "c1"]
    assert sorted(frame.itertuples(index=False, name=None)) == expected
    assert read(folder).equals(kb.facts("path"))


def test_columns_have_their_declared_names_and_types_that_all_readers_know(root):
    sl.materialise(SALES, SALE).publish(root)
    table = read(root / "sale" / "version=1")
    assert {f.name: str(f.type) for f in table.schema} == {
        "id": "string",
        "amount": "decimal128(38, 2)",
        "day": "date32[day]",
        "number": "decimal128(38, 0)",
        "at": "timestamp[us, tz=UTC]",
        "to": "string",
    }
    assert table.column("to").to_pylist() == ["http://e/a", "http://e/b"]
    assert index(root)["sale"]["columns"]["amount"] == "decimal128(38, 2)"


def test_published_facts_given_back_are_the_same_facts(root):
    kb = sl.materialise(SALES, SALE)
    kb.publish(root)
    folders = {name: str(root / name / "version=1") for name in ("sale", "note")}
    again = sl.materialise(SALES, [f"{name}={folder}" for name, folder in folders.items()])
    assert {name: set(again[name]) for name in folders} == {name: set(kb[name]) for name in folders}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2**62], "int64"),
        ([1, 10**30], "decimal128(38, 0)"),
        ([1, 10**50], "string"),
        ([1, 10**90], "string"),
        ([Decimal("1.5"), Decimal(10) ** 45], "string"),
        ([datetime(2020, 1, 1), datetime(2021, 1, 1)], "timestamp[us]"),  # noqa: DTZ001
        ([1, "one"], "string"),
        ([True, False], "bool"),
        ([1.5, float("inf")], "double"),
    ],
)
def test_a_column_that_needs_more_than_readers_know_is_text(root, values, kind):
    kb = sl.materialise("p(?x) :- q(?x) .", {"q": [(value,) for value in values]})
    kb.publish(root)
    table = read(root / "p" / "version=1")
    assert str(table.schema.field(0).type) == kind
    assert set(sl.materialise("", {"p": table})["p"]) == set(kb["p"])


def test_nanoseconds_are_text_because_spark_has_none(root):
    column = pa.array([1, 2_000], pa.timestamp("ns", "UTC"))
    kb = sl.materialise("p(?x) :- q(?x) .", {"q": pa.table({"c0": column})})
    kb.publish(root)
    table = read(root / "p" / "version=1")
    assert min(table.column(0).to_pylist()) == "1970-01-01T00:00:00.000000001Z"
    assert set(sl.materialise("", {"p": table})["p"]) == set(kb["p"])


def test_slices_have_the_type_of_the_whole_column(root, monkeypatch):
    monkeypatch.setattr(publish, "ROW_GROUP", 3)
    monkeypatch.setattr(publish, "GROUPS_PER_FILE", 2)
    rows = [(n, Decimal(n) / 4, f"t{n}", n if n < 15 else str(n)) for n in range(20)]
    kb = sl.materialise("", {"many": rows})
    kb.publish(root)
    folder = root / "many" / "version=1"
    assert len(list(folder.iterdir())) == 4
    assert read(folder).equals(kb.facts("many"))
    assert read(folder).schema.metadata is None
    assert [str(f.type) for f in read(folder).schema][1] == "decimal128(38, 2)"


def test_a_predicate_without_arguments_has_a_row_if_it_holds(root):
    sl.materialise("yes() :- edge(?x, ?y) . no() :- edge(?x, ?x) .", EDGES).publish(root)
    assert read(root / "yes" / "version=1").to_pylist() == [{"holds": True}]
    assert read(root / "no" / "version=1").to_pylist() == []


def test_an_empty_predicate_is_a_file_without_rows(root):
    sl.materialise(PATHS, {"edge": []}).publish(root)
    assert read(root / "path" / "version=1").num_rows == 0
    assert index(root)["path"]["versions"] == {"1": 0}


def test_without_a_store_versions_count_up_and_with_one_they_are_its_own(root, tmp_path):
    kb = sl.materialise(PATHS, EDGES)
    assert [kb.publish(root).version for _ in range(2)] == [1, 2]
    kb.save(tmp_path / "kb")
    kb.save(tmp_path / "kb")
    assert kb.publish(tmp_path / "other").version == 2
    assert sorted(path.name for path in (root / "path").iterdir()) == ["version=1", "version=2"]


def test_some_predicates_now_and_others_later_are_one_version(root, tmp_path):
    kb = sl.materialise(PATHS, EDGES, store=tmp_path / "kb")
    kb.publish(root, ["edge"])
    kb.publish(root, ["path"])
    assert {folder: entry["versions"] for folder, entry in index(root).items()} == {
        "edge": {"1": 2},
        "path": {"1": 3},
    }
    with pytest.raises(sl.DataError, match="D320"):
        kb.publish(root, ["road"])


def test_the_same_facts_may_be_published_again_other_facts_may_not(root, tmp_path):
    store = tmp_path / "kb"
    sl.materialise(PATHS, EDGES, store=store, publish=root)
    before = read(root / "path" / "version=1")
    sl.open(store).publish(root)
    backwards = {"edge": EDGES["edge"][::-1]}
    sl.materialise(PATHS, backwards, store=tmp_path / "same").publish(root)
    with pytest.raises(sl.StoreError, match="T112") as caught:
        sl.materialise(PATHS, {"edge": [("z", "z")]}, store=tmp_path / "other").publish(root)
    assert caught.value.path is not None
    assert read(root / "path" / "version=1").equals(before)
    assert [path.name for path in (root / "path").iterdir()] == ["version=1"]


def test_a_failure_leaves_nothing(root):
    program = "@declare p(n integer) . p(?x) :- edge(?x, ?y) ."
    kb = sl.materialise(program, EDGES)
    with pytest.raises(sl.DataError, match="D310"):
        kb.publish(root)
    assert [path.name for path in root.iterdir()] == ["_stratalog.lock"]


def test_what_a_killed_process_left_is_replaced(root):
    rest = root / ".stratalog-0123" / "0"
    half = root / "path" / "version=1"
    for folder in (rest, half):
        folder.mkdir(parents=True)
        (folder / "part-00000.parquet").write_bytes(b"PAR1")
    kb = sl.materialise(PATHS, EDGES)
    path = Predicate("path", 2)
    relation = publish.Relation(path, *kb._read(path, I))
    publish.publish(root, [relation], kb._dictionary, version=1)
    assert read(half).num_rows == 3
    assert not rest.exists()


KILLED = """
import sys
import stratalog as sl
kb = sl.materialise("", {f"p{n}": [(i, str(i)) for i in range(500)] for n in range(40)})
while True:
    print(kb.publish(sys.argv[1]).version, flush=True)
"""


@pytest.mark.slow
def test_a_killed_process_leaves_only_whole_versions(root):
    for delay in (0.01, 0.05, 0.13):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, root], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(delay)
            os.kill(process.pid, signal.SIGKILL)
        entries = index(root)
        assert len(entries) == 40
        for folder, entry in entries.items():
            for version, size in entry["versions"].items():
                assert read(root / folder / f"version={version}").num_rows == size
        versions = {tuple(entry["versions"]) for entry in entries.values()}
        assert len(versions) == 1
    sl.materialise(PATHS, EDGES).publish(root)
    assert not list(root.glob(".stratalog-*"))


def test_one_process_publishes_at_a_time(root):
    root.mkdir()
    with lock_alone(root / "_stratalog.lock"), pytest.raises(sl.StoreError, match="T113"):
        sl.materialise(PATHS, EDGES).publish(root)


def test_places_that_cannot_hold_published_facts_are_refused_before_reasoning(root, tmp_path):
    root.write_text("a file")
    sl.materialise(PATHS, EDGES, store=tmp_path / "kb")
    refused = [(root, "T108"), (tmp_path / "kb", "T108"), ("s3a://bucket/facts", "T107")]
    for place, code in refused:
        with pytest.raises(sl.StoreError, match=code) as caught:
            sl.materialise(PATHS, {"edge": [(1, "not read")]}, publish=place)
        assert caught.value.help
    with pytest.raises(sl.StoreError, match="T108"):
        sl.materialise(PATHS, EDGES, store=tmp_path / "new", publish=tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("content", "code"),
    [("{", "T103"), ('{"tables": 1}', "T103"), ('{"format": 9, "tables": []}', "T104")],
)
def test_an_index_that_is_not_understood_is_an_error(root, content, code):
    root.mkdir()
    (root / "_stratalog.json").write_text(content)
    with pytest.raises(sl.StoreError, match=code):
        sl.materialise(PATHS, EDGES).publish(root)


def test_names_are_readable_and_differ_even_without_case():
    predicates = [
        Predicate("path", 2),
        Predicate("Path", 2),
        Predicate("_hidden", 1),
        Predicate("<http://e/knows>", 1),
        Predicate("<http://e/knows>", 2),
        Predicate("<http://d/path>", 2),
        Predicate("<http://other/x#Very%20Long>", 1),
        Predicate("<http://other/y#Very%20Long>", 1),
        Predicate("<urn:x:" + "y" * 300 + ">", 1),
    ]
    names = plain_names(predicates, [("e", "http://e/"), ("", "http://d/")])
    assert names[Predicate("Path", 2)] == "Path"
    assert names[Predicate("path", 2)] == "path_2"
    assert names[Predicate("<http://e/knows>", 1)] == "e_knows"
    assert names[Predicate("<http://e/knows>", 2)] == "e_knows_2"
    assert len({name.casefold() for name in names.values()}) == len(predicates)
    assert all(
        name.isidentifier() and name[0] != "_" and len(name) < 100 for name in names.values()
    )


def test_a_predicate_keeps_its_folder(root):
    sl.materialise("@prefix e: <http://e/> . e:p(?x) :- edge(?x, ?y) .", EDGES).publish(root)
    program = "@prefix f: <http://e/> . f:p(?x) :- edge(?x, ?y) . e_p(?x) :- edge(?x, ?y) ."
    sl.materialise(program, EDGES).publish(root)
    folders = {entry["predicate"]: folder for folder, entry in index(root).items()}
    assert folders["<http://e/p>"] == "e_p"
    assert folders["e_p"] == "e_p_1"


def test_paths_may_be_strings_and_urls_of_files(tmp_path):
    kb = sl.materialise(PATHS, EDGES)
    kb.publish(str(tmp_path / "one"))
    kb.publish((tmp_path / "two").as_uri())
    assert Path(tmp_path / "two" / "path" / "version=1").is_dir()


def test_an_interrupt_while_folders_are_moved_leaves_nothing(root, monkeypatch):
    kb = sl.materialise(PATHS, EDGES)
    kb.publish(root)
    move = publish._move

    def interrupted(draft, target):
        move(draft, target)
        if target.parent.name == "path":
            raise KeyboardInterrupt

    monkeypatch.setattr(publish, "_move", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kb.publish(root)
    assert [path.name for path in root.glob("*/version=*")] == ["version=1"] * 2
    assert not list(root.glob(".stratalog-*"))
