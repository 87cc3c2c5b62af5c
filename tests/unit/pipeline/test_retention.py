"""With keep=N a store has N versions and what they need, whoever writes and whatever fails."""

import json

import pyarrow as pa
import pytest

import stratalog as sl
from stratalog.errors import StoreError
from stratalog.lang.syntax import Predicate
from stratalog.pipeline import layout, retention
from stratalog.pipeline.durable import shared_lock
from stratalog.pipeline.store import Snapshot, Store

SELDOM = Predicate("seldom", 1)
OFTEN = Predicate("often", 1)


def table(value):
    columns = ("c0", "label", "nonrecursive", "recursive")
    types = (pa.int64(), pa.int32(), pa.int32(), pa.int32())
    rows = {
        n: pa.array([value, 3, 1, 0][i : i + 1], t)
        for i, (n, t) in enumerate(zip(columns, types, strict=True))
    }
    return pa.table(rows)


def content(number, **options):
    texts = pa.array([f"t{i}" for i in range(number)], pa.large_string())
    return Snapshot(
        kinds=["iri"],
        dictionary=pa.table({"kind": pa.array([0] * number, pa.int32()), "text": texts}),
        relations={SELDOM: table(number // 5), OFTEN: table(number)},
        program="",
        options=options,
        labels={"E": 0, "I": 1},
    )


def commit(store, **options):
    number = store.version + 1
    unchanged = [SELDOM] if number % 5 and number > 1 else []
    return store.commit(content(number, **options), expected=number - 1, unchanged=unchanged)


def check(store):
    """Assert that all versions are whole and that there is no file that they do not need."""
    for number in store.numbers():
        found = store.read(number)
        assert found.relations[OFTEN]["c0"].to_pylist() == [number]
        assert found.relations[SELDOM]["c0"].to_pylist() == [number // 5]
        assert found.dictionary.num_rows == number
    named = {file.path for n in store.numbers() for file in store._manifest(n).files}
    assert {f"data/{file.name}" for file in (store.path / "data").iterdir()} == named
    assert not list((store.path / "unfinished").iterdir())


@pytest.fixture
def store(tmp_path):
    return Store.create_or_open(tmp_path / "kb")


def test_the_newest_versions_stay_and_earlier_ones_go_with_each_commit(store):
    for number in range(1, 20):
        commit(store, keep=3)
        assert store.numbers() == list(range(max(1, number - 2), number + 1))
        check(store)


def test_a_number_said_once_holds_until_another_is_said(store):
    commit(store, keep=2)
    for _ in range(3):
        commit(store)
    assert store.numbers() == [3, 4]
    commit(store, keep=4)
    commit(store)
    assert store.numbers() == [3, 4, 5, 6]
    commit(store, keep="all")
    for _ in range(4):
        commit(store)
    assert store.numbers() == list(range(3, 12))
    check(store)


@pytest.mark.parametrize("odd", [0, -1, True, 2.0, "3", [2], None])
def test_an_odd_number_in_a_manifest_drops_nothing(store, odd):
    for _ in range(4):
        commit(store, keep=odd)
    assert store.numbers() == [1, 2, 3, 4]


def test_versions_that_were_dropped_by_hand_do_not_count(store):
    for _ in range(6):
        commit(store)
    store.drop(5)
    assert store.drop_older(3) == [1, 2]
    assert store.numbers() == [3, 4, 6]
    assert store.drop_older(3) == []
    check(store)


def test_while_another_writer_is_at_work_versions_go_and_files_wait(store):
    for _ in range(3):
        commit(store)
    files = set((store.path / "data").iterdir())
    with shared_lock(store.path / "lock"):
        commit(store, keep=2)
        assert store.numbers() == [3, 4]
        assert [v.number for v in store.versions()] == [3, 4]
        assert files < set((store.path / "data").iterdir())
        with pytest.raises(StoreError, match="T102"):
            store.read(1)
    commit(store)
    assert store.numbers() == [4, 5]
    check(store)


def test_dropping_reads_two_manifests_however_many_stay(store, monkeypatch):
    for _ in range(12):
        commit(store)
    loaded = []
    load = layout.load
    monkeypatch.setattr(layout, "load", lambda root, n: loaded.append(n) or load(root, n))
    assert retention.retire(store.path, 11) == [1]
    assert loaded == [1, 2]


def test_nothing_is_dropped_while_a_manifest_cannot_be_read(store):
    for _ in range(3):
        commit(store)
    layout.version_path(store.path, 1).write_bytes(b"{}")
    assert commit(store, keep=2) == 4
    assert store.numbers() == [1, 2, 3, 4]
    with pytest.raises(StoreError, match="T103"):
        store.drop_older(2)


def test_a_manifest_under_the_number_of_a_version_to_drop_takes_no_files_along(store):
    for _ in range(3):
        commit(store)
    first, third = (layout.version_path(store.path, number) for number in (1, 3))
    first.write_bytes(third.read_bytes())
    commit(store, keep=3)
    for number in (2, 3, 4):
        assert store.read(number).relations[OFTEN]["c0"].to_pylist() == [number]


def test_lines_that_were_rejected_go_with_their_version(store):
    for number in range(1, 4):
        commit(store)
        path = layout.rejected_path(store.path, number)
        path.parent.mkdir(exist_ok=True)
        path.touch()
    store.drop_older(1)
    assert [path.name for path in (store.path / "rejected").iterdir()] == ["version-3.jsonl"]


def test_a_writer_that_was_overtaken_and_whose_version_is_gone_is_told_so(store):
    commit(store, keep=1)
    commit(store)
    with pytest.raises(StoreError, match="T105"):
        store.commit(content(2), expected=1, unchanged=[SELDOM])


# -- knowledge bases


RULES = "p(?x, ?z) :- e(?x, ?y), e(?y, ?z) ."


def test_a_knowledge_base_keeps_what_was_said_when_it_was_made(tmp_path):
    path = tmp_path / "kb"
    kb = sl.materialise(RULES, {"e": [(0, 1)]}, engine="reference", store=path, keep=3)
    for n in range(1, 6):
        kb.update(insert={"e": [(n, n + 1)]})
    assert [v.number for v in kb.versions()] == [4, 5, 6]
    other = sl.open(path)
    other.update(insert={"e": [(7, 8)]})
    assert [v.number for v in other.versions()] == [5, 6, 7]
    assert len(sl.open(path, version=5)["e"]) == 5
    wider = sl.open(path, keep=4)
    wider.update(insert={"e": [(8, 9)]})
    assert [v.number for v in wider.versions()] == [5, 6, 7, 8]
    sl.materialise(RULES, {"e": [(0, 1)]}, engine="reference", store=path)
    assert len(wider.versions()) == 4


def test_saving_into_another_store_leaves_its_versions_alone(tmp_path):
    for n in range(3):
        sl.materialise(RULES, {"e": [(n, 1)]}, engine="reference", store=tmp_path / "archive")
    kb = sl.materialise(RULES, {"e": [(0, 1)]}, engine="reference", store=tmp_path / "kb", keep=1)
    kb.save(tmp_path / "archive")
    assert len(kb.versions()) == 4
    kb.update(insert={"e": [(7, 8)]})
    assert len(kb.versions()) == 5
    kb.refresh()
    kb.update(insert={"e": [(8, 9)]})
    assert len(kb.versions()) == 6


def test_a_refresh_brings_the_number_that_the_store_says_unless_another_was_given(tmp_path):
    path = tmp_path / "kb"
    sl.materialise(RULES, {"e": [(0, 1)]}, engine="reference", store=path, keep=1)
    silent, strict = sl.open(path), sl.open(path, keep=2)
    sl.open(path, keep="all").update(insert={"e": [(1, 2)]})
    silent.refresh()
    silent.update(insert={"e": [(2, 3)]})
    silent.update(insert={"e": [(3, 4)]})
    assert [v.number for v in silent.versions()] == [1, 2, 3, 4]
    strict.refresh()
    strict.update(insert={"e": [(4, 5)]})
    assert [v.number for v in strict.versions()] == [4, 5]


def test_an_update_of_what_was_overtaken_and_dropped_is_refused(tmp_path):
    path = tmp_path / "kb"
    sl.materialise(RULES, {"e": [(0, 1)]}, engine="reference", store=path, keep=1)
    slow, fast = sl.open(path), sl.open(path)
    fast.update(insert={"e": [(1, 2)]})
    with pytest.raises(StoreError, match="T105"):
        slow.update(insert={"e": [(2, 3)]})
    slow.refresh()
    slow.update(insert={"e": [(2, 3)]})
    assert set(sl.open(path)["e"]) == {(0, 1), (1, 2), (2, 3)}


def test_opening_goes_on_with_a_version_that_came_meanwhile(tmp_path, monkeypatch):
    path = tmp_path / "kb"
    kb = sl.materialise(RULES, {"e": [(0, 1)]}, engine="reference", store=path, keep=1)
    read = Store.read

    def overtaken(store, *args):
        found = read(store, *args)
        if kb.version == 1:
            kb.update(insert={"e": [(1, 2)]})
        return found

    monkeypatch.setattr(Store, "read", overtaken)
    assert sl.open(path).version == 2


def test_a_store_without_a_number_says_nothing_of_it(tmp_path):
    kb = sl.materialise(RULES, {"e": [(0, 1)]}, engine="reference", store=tmp_path / "kb")
    kb.update(insert={"e": [(1, 2)]})
    manifest = json.loads(layout.version_path(tmp_path / "kb", 2).read_bytes())
    assert "keep" not in manifest["options"]  # an older Stratalog knows no such option


@pytest.mark.parametrize("odd", [0, -1, 1.5, True, "none", "3"])
def test_a_number_of_versions_is_checked(odd):
    with pytest.raises(sl.EngineError, match="E120"):
        sl.materialise(RULES, {"e": [(0, 1)]}, keep=odd)
