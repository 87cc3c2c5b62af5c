"""Batches of a stream, played by hand: each is one version, whatever else happens to the store."""

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import stratalog as sl
from stratalog.knowledge.stream.batches import Batches
from stratalog.pipeline.feed import feed_of
from stratalog.pipeline.feed_files import Folder, feeds_of
from stratalog.pipeline.feed_output import _typed, opened
from stratalog.pipeline.portable import portable
from stratalog.pipeline.store import Store

RULES = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
STREAM = "abcdef0123456789"


def changes(*rows, names=("a", "b", "_change_type", "_commit_version")):
    columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
    return pa.table(columns, names=list(names[: len(columns)]))


def files_of(folder, *paths):
    return [(f"file:{folder / path}", None) for path in paths]


def play(batches, number, *tables, name="edge", stream=STREAM):
    return batches.apply(stream, number, lambda _: [feed_of(name, table) for table in tables])


@pytest.fixture
def kb(tmp_path):
    return sl.materialise(RULES, {"edge": [(1, 2), (2, 3)]}, store=tmp_path / "kb")


def test_a_batch_is_a_version_and_a_replayed_one_is_not(kb):
    batches = Batches(kb)
    first = play(batches, 0, changes((3, 4, "insert")))
    assert (first.version, first.added, first.removed, first.is_replayed) == (2, 4, 0, False)
    again = play(batches, 0, changes((3, 4, "insert")))
    assert (again.version, again.is_replayed) == (2, True)
    idle = play(batches, 1, changes((3, 4, "insert")))
    assert (idle.version, idle.added) == (3, 0)
    assert Store.open(kb._store.path).streams()[STREAM]["batch"] == 1
    assert Store.open(kb._store.path).streams(1) == {}


def test_streams_of_a_store_are_told_apart_and_stay_through_updates(kb):
    batches = Batches(kb)
    play(batches, 0, changes((3, 4, "insert")))
    kb.update(insert={"edge": [(8, 9)]})
    play(batches, 0, changes((4, 5, "insert")), stream="other")
    play(batches, 1, changes((5, 6, "insert")))
    found = Store.open(kb._store.path).streams()
    assert {stream: each["batch"] for stream, each in found.items()} == {STREAM: 1, "other": 0}


def test_a_batch_that_does_not_follow_the_last_one_is_refused(kb):
    with pytest.raises(sl.StoreError, match="T115") as caught:
        play(Batches(kb), 1, changes((3, 4, "insert")))
    assert "checkpoint" in caught.value.help
    assert kb.version == 1


def test_a_stream_goes_on_after_another_process_has_committed(kb, tmp_path):
    batches = Batches(kb)
    sl.open(tmp_path / "kb").update(insert={"edge": [(7, 8)]})
    play(batches, 0, changes((8, 9, "insert")))
    assert (7, 9) in kb["path"]
    assert kb.version == 3


def test_a_batch_that_is_overtaken_while_it_works_is_done_again(kb, tmp_path):
    other, tables = sl.open(tmp_path / "kb"), [changes((8, 9, "insert"))]

    def read(_):
        if other.version == 1:
            other.update(insert={"edge": [(7, 8)]})
        return [feed_of("edge", table) for table in tables]

    done = Batches(kb).apply(STREAM, 0, read)
    assert (done.version, (7, 9) in kb["path"]) == (3, True)


def test_bad_rows_are_told_with_file_and_row_and_change_nothing(kb):
    table = changes((1, 9, "insert"), (1, None, "insert"))
    with pytest.raises(sl.DataError, match="D304") as caught:
        Batches(kb).apply(STREAM, 0, lambda _: [feed_of("edge", table, "feed/edge/1.parquet")])
    assert caught.value.path == "feed/edge/1.parquet"
    assert "in row 2" in str(caught.value)
    assert (kb.version, kb._store.version, len(kb["edge"])) == (1, 1, 2)


def test_the_schema_is_remembered_from_batch_to_batch(kb, tmp_path):
    play(Batches(kb), 0, changes((3, 4, "insert")))
    with pytest.raises(sl.DataError, match="D331"):
        play(Batches(sl.open(tmp_path / "kb")), 1, changes(("3", "4", "insert")))


def test_all_that_rules_derive_goes_to_the_output_or_what_is_asked_for(kb, tmp_path):
    for emitted, folders in (
        (None, ["path"]),
        (["edge"], ["edge"]),
        (["edge", "path"], ["edge", "path"]),
    ):
        where = tmp_path / "-".join(emitted or ["all"])
        with opened(where, tmp_path / "kb") as output:
            batches = Batches(kb, output, emitted)
            play(batches, 0, changes((len(where.name), 9, "insert")), stream=where.name)
        assert sorted(path.name for path in where.glob("[!_]*")) == folders


def test_a_constant_of_another_kind_in_the_output_is_the_same_fact_again(tmp_path):
    facts = {"edge": [("x", 1), (sl.IRI("http://e/a"), 2.5), (3, "x")]}
    first = sl.materialise(RULES, facts, store=tmp_path / "a")
    second = sl.materialise(
        "far(?x) :- path(?x, ?y) .", {"path": first.facts("path")}, store=tmp_path / "b"
    )
    steps = [
        [("insert", (1, "y"))], [("insert", ("y", sl.IRI("http://e/b")))],
        [("delete", ("x", 1)), ("insert", (sl.BNode("b"), Decimal("1.5")))],
    ]  # fmt: skip
    out, target = tmp_path / "out", Batches(second)
    with opened(out, tmp_path / "a") as output:
        batches = Batches(first, output)
        for number, step in enumerate(steps):
            tables = [(sl.materialise("", {"edge": [fact]}).facts("edge"), w) for w, fact in step]
            play(batches, number, *(_with_change(*each) for each in tables))
            new = files_of(out, *out.glob(f"path/part-{number + 2:08d}-*"))
            target.apply(STREAM, number, lambda v, new=new: feeds_of(Folder(str(out)), new, (), v))
            assert set(second["path"]) == set(first["path"])


def _with_change(table, word):
    table = _typed(portable(table))
    table = table.append_column("_change_type", pa.array([word] * table.num_rows))
    return table.append_column("_commit_version", pa.array(np.zeros(table.num_rows, np.int64)))


def test_old_versions_go_if_asked(kb):
    batches = Batches(kb, keep=2)
    for number in range(4):
        play(batches, number, changes((10 + number, 1, "insert")))
    assert [each.number for each in kb.versions()] == [4, 5]


def test_a_manifest_without_streams_is_as_it_was(kb):
    text = (kb._store.path / "versions" / "00000001.json").read_text()
    assert "streams" not in json.loads(text)


@pytest.mark.parametrize(
    "odd",
    [
        {"keep": "all"}, {"keep": 2.5}, {"keep": True}, {"max_files": 1.5}, {"max_files": "2"},
        {"interval": "1"}, {"interval": None}, {"interval": float("nan")},
        {"interval": float("inf")},
    ],
)  # fmt: skip
def test_odd_amounts_are_refused_before_a_stream_starts(kb, tmp_path, odd):
    (tmp_path / "feed" / "edge").mkdir(parents=True)
    with pytest.raises(sl.EngineError, match=f"E120: {next(iter(odd))}="):
        kb.stream(tmp_path / "feed", **odd)
