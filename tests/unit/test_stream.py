"""kb.stream with Spark: folders and DataFrames in, derived changes out, and what goes wrong."""

import os
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stratalog as sl
from stratalog.pipeline.store import Store

pytestmark = pytest.mark.spark

RULES = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
ACCOUNT = ("_change_type", "_commit_version")
SCHEMA = "c0 long, c1 long, _change_type string, _commit_version long"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("feed").mkdir()
    return tmp_path


@pytest.fixture
def kb(folder, spark):  # noqa: ARG001  # both are there
    return sl.materialise(RULES, {"edge": [(1, 2), (2, 3)]}, store="kb")


def put(path, *rows, names=("c0", "c1", *ACCOUNT)):
    """Write a file of a feed, later than all that were written before."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(columns, names=list(names[: len(columns)])), path)
    last = max((each.stat().st_mtime_ns for each in path.parent.iterdir()), default=0)
    os.utime(path, ns=(0, last + 10_000_000))


def here(path):
    """Spark's own current folder is another one."""
    return str(Path(path).absolute())


def feed_of(folder):
    found = []
    for path in sorted(Path(folder).glob("*.parquet")):
        found += [tuple(row.values()) for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted(found)


def follow(kb, source="feed", **options):
    """Apply all that is there, and return the stream that did it."""
    stream = kb.stream(source, once=True, **options)
    assert stream.wait(120)
    return stream


def test_a_feed_of_files_is_applied_file_by_file_and_its_consequences_are_told(kb):
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    put("feed/edge/b.parquet", (1, 2, "delete", 2))
    told = []
    stream = follow(kb, output="out", max_files=1, on_batch=told.append)
    assert [(each.number, each.version, each.added, each.removed) for each in told] == [
        (0, 2, 4, 0), (1, 3, 0, 4)
    ]  # fmt: skip
    assert (stream.batches, stream.rows, stream.added, stream.removed) == (2, 2, 4, 4)
    assert not stream.is_active
    assert "ended, 2 batches, +4 -4 facts, version 3" in repr(stream)
    assert feed_of("out/path") == [
        (1, 2, "delete", 3), (1, 3, "delete", 3), (1, 4, "delete", 3), (1, 4, "insert", 2),
        (2, 4, "insert", 2), (3, 4, "insert", 2),
    ]  # fmt: skip
    assert sorted(kb["path"]) == sorted(sl.open("kb")["path"]) == [(2, 3), (2, 4), (3, 4)]


def test_a_stream_that_is_started_again_goes_on_where_it_was(kb):
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    assert follow(kb).batches == 1
    assert follow(kb).batches == 0
    put("feed/edge/b.parquet", (4, 5, "insert", 2))
    again = follow(sl.open("kb"))
    assert (again.batches, again.last.number, again.last.version) == (1, 1, 3)


def test_one_stores_output_is_anothers_input(kb):
    second = sl.materialise("reach(?y) :- path(1, ?y) .", {"path": kb.facts("path")}, store="kb2")
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    put("feed/edge/b.parquet", (2, 3, "delete", 2), (2, 4, "insert", 2))
    follow(kb, output="derived", max_files=1)
    follow(second, "derived", output="reached")
    assert sorted(second["path"]) == sorted(kb["path"])
    assert sorted(second["reach"]) == [(2,), (4,)]
    assert feed_of("reached/reach") == [(3, "delete", 2), (4, "insert", 2)]
    put("feed/edge/c.parquet", (4, 9, "insert", 3))
    follow(kb, output="derived")
    follow(second, "derived", output="reached")
    assert sorted(second["reach"]) == [(2,), (4,), (9,)]


def test_several_sources_of_folders(kb):
    put("more/1.parquet", (5, 6, "insert", 1))
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    put("feed/new/b.parquet", ("x", "insert"), names=("c0", "_change_type"))
    follow(kb, ["feed", "edge=more"])
    assert {(3, 4), (5, 6)} <= set(kb["edge"])
    assert list(kb["new"]) == [("x",)]


def test_a_streaming_frame_feeds_a_predicate(kb, spark):
    put("feed/edge/a.parquet", (3, 4, "insert", 1), (1, 2, "insert", 1), (1, 2, "delete", 2))
    frame = spark.readStream.schema(SCHEMA).parquet(here("feed/edge"))
    stream = follow(kb, frame, predicate="edge", output="out")
    assert (stream.batches, stream.rows) == (1, 3)
    assert sorted(kb["edge"]) == [(2, 3), (3, 4)]
    put("feed/edge/b.parquet", (3, 4, "update_preimage", 3), (3, 5, "update_postimage", 3))
    follow(kb, {"edge": frame}, output="out")
    assert sorted(kb["edge"]) == [(2, 3), (3, 5)]


def test_streaming_frames_of_several_predicates_are_one_stream(kb, spark):
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    put("feed/node/a.parquet", ("n", "insert"), ("m", "delete"), names=("name", "_change_type"))
    frames = {
        "edge": spark.readStream.schema(SCHEMA).parquet(here("feed/edge")),
        "node": spark.readStream.schema("name string, _change_type string").parquet(
            here("feed/node")
        ),
    }
    stream = follow(kb, frames)
    assert (stream.batches, stream.rows) == (1, 3)
    assert ((3, 4) in kb["edge"], list(kb["node"])) == (True, [("n",)])


def test_a_running_stream_follows_files_until_it_is_stopped(kb):
    seen = threading.Event()
    with kb.stream("feed", interval=0.1, on_batch=lambda _: seen.set()) as stream:
        assert stream.is_active
        assert not stream.wait(0.2)
        put("feed/edge/.a.parquet", (3, 4, "insert", 1))
        time.sleep(0.3)
        assert not seen.is_set()
        Path("feed/edge/.a.parquet").rename("feed/edge/a.parquet")
        assert seen.wait(60)
        assert (1, 4) in kb["path"]
        with pytest.raises(sl.StoreError, match="T114: another stream runs on this store"):
            kb.stream("feed")
    assert not stream.is_active
    assert stream.wait()
    follow(kb)


def test_a_bad_file_stops_the_stream_and_a_mended_one_lets_it_go_on(kb):
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    put("feed/edge/b.parquet", (4, 5), names=("c0", "c1"))
    stream = kb.stream("feed", once=True, max_files=1, output="out")
    with pytest.raises(sl.DataError, match="D330") as caught:
        stream.wait(120)
    assert caught.value.path.endswith("feed/edge/b.parquet")
    assert Store.open("kb").version == 2
    assert len(list(Path("out/path").iterdir())) == 1
    put("feed/edge/b.parquet", (4, 5, "insert", 1))
    again = follow(sl.open("kb"), max_files=1, output="out")
    assert (again.batches, again.last.number) == (1, 1)
    assert len(list(Path("out/path").iterdir())) == 2


def test_a_schema_that_changes_in_mid_stream_stops_it(kb):
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    put("feed/edge/b.parquet", ("3", "4", "insert", 1))
    with pytest.raises(sl.DataError, match="D331") as caught:
        kb.stream("feed", once=True, max_files=1).wait(120)
    assert caught.value.path.endswith("feed/edge/b.parquet")
    assert Store.open("kb").version == 2
    put("feed/edge/c.parquet", (4, 5, 6, "insert"), names=("a", "b", "c", "_change_type"))
    with pytest.raises(sl.DataError, match=r"D331|D301"):
        sl.open("kb").stream("feed", once=True).wait(120)


def test_a_mistake_in_the_function_that_is_told_of_batches_is_raised_as_it_is(kb):
    put("feed/edge/a.parquet", (3, 4, "insert", 1))

    def fail(_batch):
        raise ZeroDivisionError

    stream = kb.stream("feed", once=True, on_batch=fail)
    while stream.is_active:
        time.sleep(0.1)
    with pytest.raises(ZeroDivisionError), stream:
        pass
    again = follow(kb)
    assert (again.batches, again.last.is_replayed, kb.version) == (0, True, 2)


def test_a_stream_goes_on_once_a_bad_file_is_removed(kb):
    put("feed/edge/a.parquet", (3, 4), names=("c0", "c1"))
    put("feed/edge/b.parquet", (3, 4, "insert", 1))
    with pytest.raises(sl.DataError, match="D330"):
        kb.stream("feed", once=True).wait(120)
    Path("feed/edge/a.parquet").unlink()
    again = follow(kb)
    assert (again.last.number, again.rows, (1, 4) in kb["path"]) == (0, 1, True)


def test_a_checkpoint_of_another_store_is_refused(kb):
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    follow(kb, checkpoint="position")
    put("feed/edge/b.parquet", (4, 5, "insert", 1))
    other = sl.materialise(RULES, {"edge": [(1, 2)]}, store="other")
    with pytest.raises(sl.StoreError, match="T115"):
        other.stream("feed", once=True, checkpoint="position").wait(120)
    assert other.version == 1


def test_what_cannot_be_a_stream_is_refused(kb, spark):
    with pytest.raises(sl.DataError, match="D332: the DataFrame for edge is no stream"):
        kb.stream(spark.sql("SELECT 1 AS c0, 2 AS c1"), "edge")
    with pytest.raises(sl.DataError, match="D332: the source of edge is no Spark DataFrame"):
        kb.stream({"edge": [(1, 2)]})
    with pytest.raises(sl.DataError, match="D332: a DataFrame does not tell"):
        kb.stream(spark.readStream.schema(SCHEMA).parquet(here("feed")))
    with pytest.raises(sl.DataError, match="D332: there is no source"):
        kb.stream([])
    with pytest.raises(sl.DataError, match="D100"):
        kb.stream("nowhere")
    with pytest.raises(sl.DataError, match="D320"):
        kb.stream("feed", emit=["nothing"])
    with pytest.raises(sl.StoreError, match="T108: the output would be read as input"):
        kb.stream("feed", output="feed/out")
    for wrong in ({"interval": -1}, {"keep": 0}, {"max_files": 0}, {"maintenance": "magic"}):
        with pytest.raises(sl.EngineError, match="E120"):
            kb.stream("feed", **wrong)
    with pytest.raises(sl.StoreError, match="T110"):
        sl.materialise(RULES, {"edge": [(1, 2)]}).stream("feed")
    assert kb.stream("feed", once=True).wait(120)


def test_a_knowledge_base_is_saved_and_published_beside_the_stream_that_updates_it(kb):
    for n in range(3, 8):
        put(f"feed/edge/{n}.parquet", (n, n + 1, "insert", n))
    batch = threading.Event()
    stream = kb.stream("feed", once=True, max_files=1, on_batch=lambda _: batch.set())
    ended, n = False, 0
    while not ended:
        ended, n = stream.wait(0.01), n + 1
        kb.save(f"saved{n}")
        kb.publish(f"published{n}")
        with sl.open(f"saved{n}") as saved:
            check_chain(saved["edge"], saved["path"])
        parts = {name: next(Path(f"published{n}").glob(f"{name}/*/*")) for name in ("edge", "path")}
        check_chain(*(pq.ParquetFile(parts[name]).read().to_pylist() for name in parts))
        assert kb.query("edge(?x, ?y), NOT path(?x, ?y)").num_rows == 0
        batch.wait(0 if ended else 5)
        batch.clear()
    assert n > 1
    assert len(kb["edge"]) == len(sl.open("kb")["edge"]) == 7  # saving a copy has not moved it


def check_chain(edges, paths):
    assert len(paths) == len(edges) * (len(edges) + 1) // 2


def test_the_function_that_a_batch_calls_may_use_the_knowledge_base_but_not_wait_for_it(kb):
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    told, begun = [], threading.Event()

    def on_batch(_):
        assert begun.wait(60)
        kb.update(insert={"edge": [(7, 8)]})
        told.append(len(kb["path"]))
        for call in (stream.stop, stream.wait):
            with pytest.raises(sl.EngineError, match="E109"):
                call()
        told.append("refused")

    stream = kb.stream("feed", once=True, on_batch=on_batch)
    begun.set()
    assert stream.wait(120)
    assert told == [7, "refused"]


def test_a_function_of_an_update_may_not_wait_for_batches_which_wait_for_the_update(kb):
    put("feed/edge/a.parquet", (3, 4, "insert", 1))
    told = []

    def rows():
        for call in (stream.stop, stream.wait):
            with pytest.raises(sl.EngineError, match="E109"):
                call()
        told.append("refused")
        yield 7, 8

    with kb.stream("feed", once=True) as stream:
        kb.update(insert={"edge": rows()})
        assert stream.wait(120)
    assert told == ["refused"]
