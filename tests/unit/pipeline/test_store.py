"""What is committed is what is read, in every version, and damage never goes unnoticed."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.errors import StoreError
from stratalog.lang.syntax import TRIPLE, Predicate
from stratalog.lang.terms import IRI_KIND, STRING
from stratalog.pipeline import commit, parts
from stratalog.pipeline.durable import shared_lock
from stratalog.pipeline.manifest import _seal
from stratalog.pipeline.store import Snapshot, Store

EDGE = Predicate("edge", 2)
NODE = Predicate("<http://example.org/a/../b#Node>", 1)
RAIN = Predicate("rain", 0)
LABELS = {"E": 0, "I": 1}


def relation(arity, rows, counts=None):
    """rows: (constants, label, nonrecursive, recursive)."""
    columns = {f"c{i}": pa.array([row[0][i] for row in rows], pa.int64()) for i in range(arity)}
    columns["label"] = pa.array([row[1] for row in rows], pa.int32())
    columns["nonrecursive"] = pa.array([row[2] for row in rows], counts or pa.int32())
    columns["recursive"] = pa.array([row[3] for row in rows], pa.int32())
    return pa.table(columns)


def constants(*texts, kind=0):
    return pa.table(
        {
            "kind": pa.array([kind] * len(texts), pa.int32()),
            "text": pa.array(texts, pa.large_string()),
        }
    )


EDGES = relation(2, [((0, 1), 3, 1, 0), ((1, 2), 3, 1, 0), ((0, 2), 2, 0, 1)])


def snapshot(**changes):
    fields = {
        "kinds": [IRI_KIND, STRING],
        "dictionary": constants("a", "b", "c"),
        "relations": {EDGE: EDGES, RAIN: relation(0, [((), 3, 1, 0)])},
        "program": "edge(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) .\n",
        "options": {"maintenance": "auto", "threads": None},
        "plan": {"rules": [1, 2]},
        "statistics": {"rounds": 2, "seconds": 0.125},
        "labels": LABELS,
    }
    return Snapshot(**{**fields, **changes})


def assert_same(found, given):
    assert found.kinds == given.kinds
    assert found.dictionary.equals(given.dictionary)
    assert dict(found.relations) == dict(given.relations)
    for field in ("program", "options", "plan", "statistics", "labels"):
        assert getattr(found, field) == getattr(given, field)


def code_of(action):
    with pytest.raises(StoreError) as caught:
        action()
    assert caught.value.help
    assert caught.value.path
    return caught.value.code


@pytest.fixture
def store(tmp_path):
    return Store.create_or_open(tmp_path / "kb")


def manifest_path(store, number):
    return store.path / "versions" / f"{number:08d}.json"


def manifest_of(store, number):
    return json.loads(manifest_path(store, number).read_bytes())


def files_of(store, number, predicate):
    relations = manifest_of(store, number)["relations"]
    found = next(r for r in relations if (r["name"], r["arity"]) == predicate)
    return [store.path / file["path"] for file in found["files"]]


def data_names(store):
    return sorted(path.name for path in (store.path / "data").iterdir())


def test_what_is_committed_is_what_is_read(store):
    assert store.version == 0
    assert store.commit(snapshot(), expected=0, note="first") == 1
    again = Store.open(str(store.path))
    assert again.version == 1
    assert_same(again.read(), snapshot())
    assert again.read().version == 1
    assert again.statistics() == {"rounds": 2, "seconds": 0.125}


names = st.text(min_size=1, max_size=12) | st.sampled_from(
    ["../../etc/passwd", "CON", "a/b", "é" * 300, "..", "<http://a#b>", "<http://a#B>", "\x00", " "]
)


@st.composite
def relations(draw):
    arity = draw(st.integers(0, 4))
    integers = st.integers(-(2**63), 2**63 - 1)
    small = st.integers(0, 2**31 - 1)
    promoted = draw(st.sampled_from([pa.int32(), pa.int64()]))
    counts = integers if promoted == pa.int64() else small
    row = st.tuples(st.tuples(*[integers] * arity), st.integers(0, 3), counts, small)
    rows = draw(st.lists(row, max_size=5))
    table = relation(arity, rows, promoted if rows else None)
    return Predicate(draw(names), arity), table


@settings(max_examples=25, deadline=None)
@given(
    st.lists(relations(), max_size=4).map(dict),
    st.lists(st.text(max_size=8), max_size=6),
    st.text(max_size=20),
)
def test_any_snapshot_makes_the_round_trip(tmp_path_factory, tables, texts, program):
    store = Store.create_or_open(tmp_path_factory.mktemp("any") / "kb")
    given_snapshot = snapshot(relations=tables, dictionary=constants(*texts), program=program)
    store.commit(given_snapshot, expected=0)
    assert_same(store.read(), given_snapshot)
    assert {path.name for path in store.path.iterdir()} == {
        "data",
        "history",
        "lock",
        "stratalog.json",
        "unfinished",
        "versions",
    }
    assert len(data_names(store)) == 2 + bool(texts) + sum(t.num_rows > 0 for t in tables.values())


def test_predicates_limit_what_is_there_and_rows_are_known_unread(store):
    store.commit(snapshot(), expected=0)
    assert set(store.read(predicates=[RAIN, NODE]).relations) == {RAIN}
    found = store.read().relations
    assert len(found) == 2
    assert EDGE in found
    for path in files_of(store, 1, EDGE):
        path.unlink()
    assert found.rows(EDGE) == 3


def test_every_version_stays_readable(store):
    for number in range(4):
        given_snapshot = snapshot(statistics=number, program=f"# {number}")
        store.commit(given_snapshot, expected=number, note=f"n{number}")
    for number in range(4):
        found = store.read(number + 1)
        assert (found.statistics, found.program) == (number, f"# {number}")
    listed = store.versions()
    assert [(v.number, v.parent, v.note) for v in listed] == [(i + 1, i, f"n{i}") for i in range(4)]
    assert all(v.created.endswith("+00:00") for v in listed)


def test_listing_counts_facts_of_the_user_only(store):
    hidden = Predicate("$exists1", 1)
    triples = relation(3, [((0, 1, 2), 3, 1, 0)])
    given_snapshot = snapshot(
        relations={EDGE: EDGES, hidden: relation(1, [((0,), 2, 1, 0)]), TRIPLE: triples}
    )
    store.commit(given_snapshot, expected=0)
    [listed] = store.versions()
    assert (listed.facts, listed.explicit) == (4, 3)
    assert listed.bytes == sum(path.stat().st_size for path in (store.path / "data").iterdir())


def test_a_dropped_version_takes_only_its_own_files_along(store):
    store.commit(snapshot(), expected=0)
    other = relation(0, [])
    store.commit(snapshot(relations={RAIN: other}), expected=1, unchanged=[EDGE])
    own = files_of(store, 1, RAIN)
    shared = files_of(store, 1, EDGE)
    store.drop(1)
    assert [v.number for v in store.versions()] == [2]
    assert not any(path.exists() for path in own)
    assert all(path.exists() for path in shared)
    assert store.read().relations[EDGE] == EDGES
    assert code_of(lambda: store.read(1)) == "T102"
    assert code_of(lambda: store.drop(1)) == "T102"
    assert os.listdir(store.path / "versions") == ["00000002.json"]  # noqa: PTH208


def test_the_current_version_cannot_be_dropped(store):
    store.commit(snapshot(), expected=0)
    assert code_of(lambda: store.drop(1)) == "T109"
    assert code_of(lambda: store.drop(7)) == "T102"
    assert_same(store.read(), snapshot())


def test_an_overtaken_writer_cannot_take_a_dropped_number(store, monkeypatch):
    store.commit(snapshot(), expected=0)
    write = commit.Draft.write

    def write_slowly(draft, *args):
        monkeypatch.undo()
        store.commit(snapshot(program="second"), expected=1)
        store.commit(snapshot(program="third"), expected=2)
        store.drop(2)
        return write(draft, *args)

    monkeypatch.setattr(commit.Draft, "write", write_slowly)
    assert code_of(lambda: store.commit(snapshot(program="late"), expected=1)) == "T105"
    assert store.version == 3
    assert [v.number for v in store.versions()] == [1, 3]
    assert store.commit(snapshot(), expected=3) == 4
    assert sorted(p.name for p in (store.path / "versions").iterdir()) == [
        "00000001.json",
        "00000003.json",
        "00000004.json",
    ]


def test_a_snapshot_of_a_dropped_version_says_so(store):
    store.commit(snapshot(), expected=0)
    found = store.read()
    store.commit(snapshot(relations={}), expected=1)
    store.drop(1)
    assert code_of(lambda: found.relations[EDGE]) == "T102"


def test_unchanged_relations_share_files_and_are_not_read(store):
    store.commit(snapshot(), expected=0)
    store.commit(snapshot(relations={RAIN: relation(0, [])}), expected=1, unchanged={EDGE})
    assert files_of(store, 2, EDGE) == files_of(store, 1, EDGE)
    assert store.read().relations[EDGE] == EDGES
    assert store.versions()[1].facts == 3
    # A relation that is in neither is gone.
    store.commit(snapshot(relations={}), expected=2, unchanged={EDGE})
    assert set(store.read().relations) == {EDGE}


def test_program_and_plan_are_written_once(store):
    store.commit(snapshot(), expected=0)
    store.commit(snapshot(plan={"rules": [3]}), expected=1)
    first, second = manifest_of(store, 1), manifest_of(store, 2)
    assert first["program"] == second["program"]
    assert first["plan"] != second["plan"]


def test_only_new_constants_are_written(store):
    store.commit(snapshot(), expected=0)
    more = constants("a", "b", "c", "d", "e")
    longer = snapshot(dictionary=more, kinds=[IRI_KIND, STRING, "@en"])
    store.commit(longer, expected=1)
    files = manifest_of(store, 2)["dictionary"]["files"]
    assert files[:1] == manifest_of(store, 1)["dictionary"]["files"]
    assert [file["rows"] for file in files] == [3, 2]
    assert store.read().dictionary.equals(more)
    assert store.read(1).dictionary.equals(constants("a", "b", "c"))
    store.commit(longer, expected=2, extends_dictionary=True)
    assert manifest_of(store, 3)["dictionary"] == manifest_of(store, 2)["dictionary"]


@pytest.mark.parametrize(
    "other",
    [
        {"dictionary": constants("a", "c", "b", "d")},
        {"dictionary": constants("a")},
        {"dictionary": constants("a", "b", "c", kind=1)},
        {"kinds": [STRING, IRI_KIND]},
    ],
)
def test_another_dictionary_is_written_whole(store, other):
    store.commit(snapshot(), expected=0)
    with pytest.raises(ValueError, match="other ids"):
        store.commit(snapshot(**other), expected=1, unchanged=[EDGE])
    store.commit(snapshot(**other), expected=1)
    assert len(manifest_of(store, 2)["dictionary"]["files"]) == 1
    assert_same(store.read(), snapshot(**other))
    assert_same(store.read(1), snapshot())


def test_many_small_additions_leave_few_dictionary_files(store):
    texts = []
    for number in range(40):
        texts.append(f"t{number}")
        store.commit(snapshot(dictionary=constants(*texts), relations={}), expected=number)
        assert len(manifest_of(store, number + 1)["dictionary"]["files"]) <= 16
    assert store.read().dictionary.equals(constants(*texts))
    assert store.read(7).dictionary.equals(constants(*texts[:7]))


def test_the_same_rows_give_the_same_bytes(tmp_path):
    chunked = pa.concat_tables([EDGES.slice(0, 1), EDGES.slice(1)])
    contents = []
    for name, table in (("one", EDGES), ("two", chunked)):
        store = Store.create_or_open(tmp_path / name)
        store.commit(snapshot(relations={EDGE: table}), expected=0)
        contents.append([(store.path / "data" / n).read_bytes() for n in data_names(store)])
    assert contents[0] == contents[1]


def test_parquet_has_plain_signed_types_and_bounded_row_groups(store, monkeypatch):
    monkeypatch.setattr(parts, "ROWS_PER_GROUP", 2)
    store.commit(snapshot(), expected=0)
    [path] = files_of(store, 1, EDGE)
    found = pq.ParquetFile(path)
    types = [found.schema.column(i).physical_type for i in range(5)]
    assert types == ["INT64", "INT64", "INT32", "INT32", "INT32"]
    assert found.metadata.num_row_groups == 2
    assert not found.metadata.metadata
    assert found.metadata.row_group(0).column(0).compression == "ZSTD"
    assert store.read().relations[EDGE] == EDGES


def test_tables_of_the_wrong_shape_are_refused_and_leave_nothing(store):
    wrong = [
        relation(1, []),
        EDGES.rename_columns(["c1", "c0", "label", "nonrecursive", "recursive"]),
        EDGES.set_column(0, "c0", pa.array([1, None, 2], pa.int64())),
    ]
    for table in wrong:
        with pytest.raises(ValueError, match="edge"):
            store.commit(snapshot(relations={EDGE: table}), expected=0)
    with pytest.raises(ValueError, match="stored nowhere"):
        store.commit(snapshot(), expected=0, unchanged=[NODE])
    with pytest.raises(ValueError, match="nulls"):
        store.commit(snapshot(dictionary=constants("a", None)), expected=0)
    store.commit(snapshot(), expected=0)
    with pytest.raises(ValueError, match="lost constants"):
        store.commit(snapshot(dictionary=constants()), expected=1, extends_dictionary=True)
    with pytest.raises(ValueError, match="labels"):
        store.commit(snapshot(labels={"E": 1}), expected=1, unchanged=[EDGE])
    assert store.version == 1
    assert len(data_names(store)) == 5
    assert not list((store.path / "versions").glob("*.tmp"))


def test_the_second_of_two_commits_on_one_version_changes_nothing(store):
    store.commit(snapshot(), expected=0)
    before = data_names(store)
    for expected in (0, 2, -1):
        late = snapshot(program="late")
        assert code_of(lambda late=late, n=expected: store.commit(late, expected=n)) == "T105"
    assert data_names(store) == before
    assert_same(store.read(), snapshot())


@pytest.mark.parametrize("place", ["nowhere", "file", "empty"])
def test_opening_what_is_no_store(tmp_path, place):
    (tmp_path / "file").write_text("text")
    (tmp_path / "empty").mkdir()
    assert code_of(lambda: Store.open(tmp_path / place)) == "T101"


@pytest.mark.parametrize("url", ["s3://bucket/kb", "hdfs://host/kb", "file:///tmp/kb", "s3a:/b/k"])
def test_urls_are_refused(url):
    assert code_of(lambda: Store.open(url)) == "T107"
    assert code_of(lambda: Store.create_or_open(url)) == "T107"


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("text")
    assert code_of(lambda: Store.create_or_open(tmp_path)) == "T108"
    assert code_of(lambda: Store.create_or_open(tmp_path / "thesis.tex")) == "T106"
    (tmp_path / "project" / "data").mkdir(parents=True)
    (tmp_path / "project" / "data" / "mine-0123456789abcdef.parquet").touch()
    assert code_of(lambda: Store.create_or_open(tmp_path / "project")) == "T108"


def test_creating_twice_and_reading_an_empty_store(tmp_path):
    Store.create_or_open(tmp_path / "new" / "kb")
    store = Store.create_or_open(tmp_path / "new" / "kb")
    assert store.versions() == []
    assert code_of(store.read) == "T102"


def test_a_store_is_a_folder_that_can_be_moved_and_reached_by_a_link(store, tmp_path):
    store.commit(snapshot(), expected=0)
    store.path.rename(tmp_path / "moved")
    (tmp_path / "link").symlink_to(tmp_path / "moved")
    moved = Store.open(tmp_path / "link")
    moved.commit(snapshot(relations={}), expected=1, unchanged=[EDGE])
    assert moved.read().relations[EDGE] == EDGES


def damage_by_truncation(path):
    os.truncate(path, path.stat().st_size // 2)


def damage_by_a_flipped_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def damage_by_removal(path):
    path.unlink()


def damage_by_a_link(path):
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


@pytest.mark.parametrize(
    "damage",
    [damage_by_truncation, damage_by_a_flipped_bit, damage_by_removal, damage_by_a_link],
)
def test_every_damaged_data_file_is_noticed_and_named(store, damage):
    store.commit(snapshot(), expected=0)
    for name in data_names(store):
        path = store.path / "data" / name
        content = path.read_bytes()
        damage(path)
        with pytest.raises(StoreError) as caught:
            dict(store.read().relations)
        assert caught.value.code == "T103"
        assert caught.value.path == str(path)
        path.unlink(missing_ok=True)
        path.write_bytes(content)
    assert_same(store.read(), snapshot())


def test_swapped_files_are_noticed(store):
    twin = relation(2, [((0, 1), 3, 1, 0), ((1, 2), 3, 1, 0), ((0, 1), 2, 0, 1)])
    other = Predicate("twin", 2)
    store.commit(snapshot(relations={EDGE: EDGES, other: twin}), expected=0)
    [first], [second] = files_of(store, 1, EDGE), files_of(store, 1, other)
    assert first.stat().st_size == second.stat().st_size
    spare = first.with_name("spare")
    first.rename(spare)
    second.rename(first)
    spare.rename(second)
    assert code_of(lambda: store.read().relations[EDGE]) == "T103"


@pytest.mark.parametrize("damage", [damage_by_truncation, damage_by_a_flipped_bit])
def test_a_damaged_manifest_is_noticed_and_earlier_versions_open(store, damage):
    store.commit(snapshot(), expected=0)
    store.commit(snapshot(program="second"), expected=1)
    damage(manifest_path(store, 2))
    for action in (store.read, store.versions, lambda: store.commit(snapshot(), expected=2)):
        assert code_of(action) == "T103"
    assert_same(store.read(1), snapshot())


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b'{"format": "1"}', b"\xff"])
def test_a_marker_or_manifest_that_is_something_else(store, content):
    store.commit(snapshot(), expected=0)
    manifest_path(store, 1).write_bytes(content)
    assert code_of(store.read) == "T103"
    (store.path / "stratalog.json").write_bytes(content)
    assert code_of(lambda: Store.open(store.path)) == "T103"


def rewrite(store, number, change):
    fields = manifest_of(store, number)
    del fields["crc32"]
    change(fields)
    manifest_path(store, number).write_bytes(_seal(fields))


def test_a_manifest_under_another_number_is_noticed(store):
    store.commit(snapshot(), expected=0)
    manifest_path(store, 1).rename(manifest_path(store, 5))
    assert code_of(store.read) == "T103"


@pytest.mark.parametrize("path", ["/etc/passwd", "data/../../x", "../x", "data/a/b", "data/.x", ""])
def test_a_manifest_cannot_name_files_elsewhere(store, path):
    store.commit(snapshot(), expected=0)
    rewrite(store, 1, lambda fields: fields["program"].update(path=path))
    assert code_of(store.read) == "T103"


def test_what_a_newer_stratalog_wrote_is_refused(store):
    store.commit(snapshot(), expected=0)
    rewrite(store, 1, lambda fields: fields["relations"][0].update(scheme="interval"))
    assert code_of(store.read) == "T104"
    rewrite(store, 1, lambda fields: fields.update(format=2))
    assert code_of(store.read) == "T104"
    (store.path / "stratalog.json").write_text('{"format": 2}')
    assert code_of(lambda: Store.open(store.path)) == "T104"
    assert code_of(lambda: Store.create_or_open(store.path)) == "T104"


def test_unknown_manifest_keys_are_ignored(store):
    store.commit(snapshot(), expected=0)

    def add_keys(fields):
        fields["colour"] = "green"
        fields["relations"][0]["shape"] = fields["program"]["smell"] = 1

    rewrite(store, 1, add_keys)
    assert_same(store.read(), snapshot())


def test_leftovers_are_swept_but_foreign_files_and_live_writers_are_not(store):
    store.commit(snapshot(), expected=0)
    dead = store.path / "data" / f"edge-2-{'0' * 16}-{'a' * 16}.parquet"
    foreign = store.path / "data" / "README"
    unfinished = store.path / "unfinished" / f"00000002-{'a' * 16}.tmp"
    of_old = store.path / "versions" / unfinished.name  # there an older Stratalog has them
    for path in (dead, foreign, unfinished, of_old):
        path.touch()
    with shared_lock(store.path / "lock"):
        store.commit(snapshot(program="2"), expected=1)
        store.drop(1)
        assert dead.exists()
        assert unfinished.exists()
        assert of_old.exists()
    store.commit(snapshot(program="3"), expected=2)
    assert not dead.exists()
    assert not list(store.path.glob("*/*.tmp"))
    assert foreign.exists()
    assert [v.number for v in store.versions()] == [2, 3]


def test_nothing_is_swept_while_a_manifest_cannot_be_read(store):
    for number in range(3):
        store.commit(snapshot(program=str(number)), expected=number)
    damage_by_truncation(manifest_path(store, 2))
    before = data_names(store)
    store.drop(1)
    assert data_names(store) == before


def test_a_file_system_without_hard_links_is_refused(tmp_path, monkeypatch):
    def no_link(*_paths):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    assert code_of(lambda: Store.create_or_open(tmp_path / "kb")) == "T107"
    assert not (tmp_path / "kb" / "stratalog.json").exists()


def test_a_folder_that_may_not_be_written(store, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr(parts, "write_table", refuse)
    with pytest.raises(StoreError, match="somewhere") as caught:
        store.commit(snapshot(), expected=0)
    assert caught.value.code == "T106"
    assert store.version == 0


def test_paths_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store.create_or_open(Path("kb"))
    monkeypatch.chdir("/")
    assert store.commit(snapshot(), expected=0) == 1
