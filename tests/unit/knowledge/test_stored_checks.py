"""A store may come from a stranger: what it says is checked before it is used."""

import json
import os
import shutil
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stratalog as sl
from stratalog.knowledge import engines
from stratalog.knowledge.compare import compare_versions
from stratalog.knowledge.options import NO_LONGER_SAVED, SAVED
from stratalog.knowledge.stream.batches import Batches
from stratalog.pipeline.feed_output import PENDING
from stratalog.pipeline.manifest import _seal

PROGRAM = "p(?x) :- q(?x) ."
CLOSURE = "t(?x, ?y) :- e(?x, ?y) . t(?x, ?z) :- t(?x, ?y), t(?y, ?z) ."
MANIFEST = "versions/00000001.json"


@pytest.fixture
def kb(tmp_path):
    """A store of 50 facts and as many derived ones."""
    path = tmp_path / "kb"
    sl.materialise(PROGRAM, {"q": [(i,) for i in range(50)]}, store=path, progress=False).close()
    return path


def rewrite(path, change):
    manifest = path / MANIFEST
    fields = json.loads(manifest.read_bytes())
    del fields["crc32"]
    change(fields)
    manifest.write_bytes(_seal(fields))


def put(path, part, content):
    (path / part["path"]).write_bytes(content)
    part.update(bytes=len(content), crc32=zlib.crc32(content))


def document(name, content):
    return lambda path, fields: put(path, fields[name], content)


def column(name, values, relation="q"):
    def change(path, fields):
        [part] = next(r["files"] for r in fields["relations"] if r["name"] == relation)
        table = pq.read_table(path / part["path"])
        new = pa.array(values(table[name].to_pylist()), table.schema.field(name).type)
        table = table.set_column(table.schema.get_field_index(name), name, new)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, store_schema=False)
        put(path, part, sink.getvalue().to_pybytes())

    return change


def statistic(name, value):
    return lambda _, fields: fields["statistics"].update({name: value})


def refused(path):
    with pytest.raises(sl.StoreError) as caught:
        sl.open(path, progress=False)
    assert caught.value.help
    assert str(path) in caught.value.path if caught.value.path else True
    return caught.value.code


@pytest.mark.parametrize(
    "change",
    [
        column("c0", lambda ids: [10**7, *ids[1:]]),
        column("c0", lambda ids: [2**32 + 7, *ids[1:]]),
        column("c0", lambda ids: [-5, *ids[1:]]),
        column("c0", lambda ids: [None, *ids[1:]]),
        column("c0", lambda ids: [ids[1], *ids[1:]]),
        column("label", lambda labels: [labels[0] | 4, *labels[1:]]),
        column("label", lambda labels: [1, *labels[1:]]),
        column("label", lambda labels: [0, *labels[1:]]),
        column("nonrecursive", lambda counts: [-1, *counts[1:]]),
        column("nonrecursive", lambda counts: [0, *counts[1:]]),
        column("nonrecursive", lambda counts: [0, *counts[1:]], "p"),
        document("program", b'["a"]'),
        document("program", b"7"),
        document("program", b"[" * 200_000 + b"]" * 200_000),
        document("program", b'"p(?x) :- "'),
        document("program", b'"\\ud800"'),
        document("plan", b'{"a": 1}'),
        document("plan", b"[7]"),
        statistic("prefixes", []),
        statistic("prefixes", {"p": 1}),
        statistic("origins", "abc"),
        statistic("origins", [["q", 1]]),
        statistic("origins", [["q", 10**9, "python"]]),
        statistic("read_as_triples", [["x"]]),
        statistic("profile", [{"rule": 7}]),
        statistic("phases", {"read": "soon"}),
        statistic("seconds", 10**400),
        statistic("explicit", -1),
        lambda _, fields: fields.update(statistics=[]),
        lambda _, fields: fields.update(statistics=None),
        lambda _, fields: fields["statistics"].pop("origins"),
        lambda _, fields: fields.update(labels={"E": 3, "I": 1}),
        lambda _, fields: fields.update(created="\x1b[31m"),
        lambda _, fields: fields["relations"].append(fields["relations"][0]),
        lambda _, fields: fields["relations"][0].update(arity=10**9, files=[], rows=0, facts=0),
        lambda _, fields: fields["relations"][0].update(name="a b"),
        lambda _, fields: fields["relations"][0].update(name="$strange"),
        lambda _, fields: fields["relations"][0].update(rows="50"),
        lambda _, fields: fields["options"].update(maintenance="nonsense"),
        lambda _, fields: fields["options"].update(engine="nonsense"),
    ],
)
def test_what_no_store_of_ours_says_is_a_damaged_file(kb, change):
    rewrite(kb, lambda fields: change(kb, fields))
    assert refused(kb) == "T103"


@pytest.mark.parametrize("name", ["spin", "master", "conf", "timeout", "reader", "spark", "memory"])
def test_an_option_that_no_store_remembers_is_of_a_newer_version(kb, name):
    rewrite(kb, lambda fields: fields["options"].update({name: "local[1]"}))
    assert refused(kb) == "T104"


def test_a_choice_that_does_not_exist_yet_is_of_a_newer_version(kb):
    rewrite(kb, lambda fields: fields["options"].update(joins="hypertree"))
    assert refused(kb) == "T104"


def test_a_store_remembers_only_what_belongs_to_its_data(kb):
    saved = json.loads((kb / MANIFEST).read_bytes())["options"]
    assert set(saved) == set(SAVED) - {"keep", "max_digits"}  # as usual: nothing to remember
    assert not {"engine", "master", "conf", "spark", "reader", "memory", "threads"} & set(saved)


@pytest.mark.parametrize("remembered", NO_LONGER_SAVED["engine"])
def test_the_engine_that_an_earlier_store_remembers_is_passed_over(kb, remembered):
    rewrite(kb, lambda fields: fields["options"].update(engine=remembered, schemes="plain"))
    with sl.open(kb, progress=False) as opened:
        assert opened.stats["engine"] == "columnar"
        assert len(opened["p"]) == 50
        opened.update(insert={"q": [(99,)]})
    assert "engine" not in json.loads((kb / "versions/00000002.json").read_bytes())["options"]
    assert sl.open(kb, engine="reference", progress=False).stats["engine"] == "reference"


def test_options_of_the_data_stay_with_the_store(tmp_path):
    given = {"maintenance": "bf-c", "modules": "paper"}
    sl.materialise(CLOSURE, {"e": [(1, 2)]}, store=tmp_path, progress=False, **given).close()
    opened = sl.open(tmp_path, progress=False)
    assert {name: getattr(opened._options, name) for name in given} == given


def test_a_number_in_a_manifest_starts_no_spark(kb, monkeypatch):
    monkeypatch.setattr(engines, "_free_memory", lambda: 10_000)
    monkeypatch.setattr(engines, "spark_host", lambda *_: pytest.fail("Spark is started"))

    def many(fields):
        relation = next(r for r in fields["relations"] if r["name"] == "q")
        relation["files"][0]["rows"] = relation["rows"] = 10**9
        relation["facts"] = relation["explicit"] = 10**9

    rewrite(kb, many)
    assert refused(kb) == "T103"


@pytest.mark.parametrize("name", ["stratalog.json", MANIFEST, "data/program", "lock"])
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_ordinary_file_is_refused_and_not_waited_for(kb, tmp_path, name, kind):
    path = next(kb.glob(f"{name}*")) if name != "lock" else kb / name
    spare = tmp_path / "spare"
    shutil.move(path, spare)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(spare)
    else:
        path.mkdir()
    with pytest.raises(sl.StoreError) as caught:
        sl.open(kb, progress=False).update(insert={"q": [(99,)]})
    assert caught.value.code == ("T106" if (name, kind) == ("lock", "folder") else "T103")


@pytest.mark.parametrize("name", ["versions", "data"])
def test_folders_that_lead_out_of_the_store_are_refused(kb, tmp_path, name):
    shutil.move(kb / name, tmp_path / "elsewhere")
    (kb / name).symlink_to(tmp_path / "elsewhere")
    assert refused(kb) == "T103"


def test_the_store_itself_may_be_reached_by_a_link(kb, tmp_path):
    (tmp_path / "link").symlink_to(kb)
    assert len(sl.open(tmp_path / "link", progress=False)["p"]) == 50


@pytest.mark.parametrize("modules", ["auto", "off"])
def test_a_closure_has_the_pairs_that_its_edges_have(tmp_path, modules):
    path, edges = tmp_path / "kb", [(i, i + 1) for i in range(5)]
    sl.materialise(CLOSURE, {"e": edges}, store=path, progress=False, modules=modules).close()
    assert len(sl.open(path, progress=False)["t"]) == 15

    def shorten(fields):
        relation = next(r for r in fields["relations"] if r["name"] == "t")
        [part] = relation["files"]
        table = pq.read_table(path / part["path"])
        last = table["nonrecursive"].to_pylist().index(0)  # a pair that is no edge
        table = pa.concat_tables([table.slice(0, last), table.slice(last + 1)])
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, store_schema=False)
        put(path, part, sink.getvalue().to_pybytes())
        part["rows"] = relation["rows"] = relation["facts"] = table.num_rows

    rewrite(path, shorten)
    if modules == "auto":  # held as a closure: pairs that are missing are seen
        assert refused(path) == "T103"
    else:
        assert len(sl.open(path, progress=False)["t"]) == 14


def test_duplicates_are_seen_on_every_engine(kb):
    rewrite(kb, lambda fields: column("c0", lambda ids: [ids[1], *ids[1:]])(kb, fields))
    for engine in ("columnar", "reference"):
        with pytest.raises(sl.StoreError, match="T103"):
            sl.open(kb, progress=False, engine=engine)


def test_versions_are_compared_after_the_same_checks(kb):
    sl.open(kb, progress=False).update(insert={"q": [(99,)]})
    rewrite(kb, lambda fields: column("c0", lambda ids: [-1, *ids[1:]])(kb, fields))
    with pytest.raises(sl.StoreError, match="T103"):
        compare_versions(kb, 1, 2)


STREAMS = {
    "batch": "7",
    "output": 7,
    "token": "../../x",
    "schemas": {"q/1": "text"},
}


@pytest.mark.parametrize("name", STREAMS)
def test_how_far_a_stream_has_come_is_checked(kb, name):
    rewrite(kb, lambda fields: fields.update(streams={"s": {name: STREAMS[name]}}))
    with pytest.raises(sl.StoreError, match="T103"):
        Batches(sl.open(kb, progress=False)).recover()


def test_a_store_cannot_have_a_folder_touched_that_its_stream_names(kb, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    told = {"batch": 0, "output": str(other), "token": "00aa", "schemas": {}}
    rewrite(kb, lambda fields: fields.update(streams={"stream": told}))
    Batches(sl.open(kb, progress=False)).recover()
    assert not list(other.iterdir())
    (other / f"{PENDING}stream-00aa" / "p").mkdir(parents=True)  # left by a stream of ours
    (other / f"{PENDING}stream-00aa" / "p" / "part.parquet").write_bytes(b"")
    Batches(sl.open(kb, progress=False)).recover()
    assert (other / "p" / "part.parquet").exists()
