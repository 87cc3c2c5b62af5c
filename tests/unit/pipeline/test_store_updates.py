"""An update writes what changed; what is read is as if all had been written, whatever happens.

Run as a program, this file plays the processes that are killed (see test_store_crash.py).
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402  # the path is set for the program
import pyarrow as pa  # noqa: E402
import pytest  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import stratalog as sl  # noqa: E402
from stratalog.errors import StoreError  # noqa: E402
from stratalog.lang.syntax import Predicate  # noqa: E402
from stratalog.pipeline import commit, parts  # noqa: E402
from stratalog.pipeline.manifest import _seal  # noqa: E402
from stratalog.pipeline.replay import replay  # noqa: E402
from stratalog.pipeline.store import Delta, Snapshot, Store  # noqa: E402
from tests.unit.pipeline import test_store_crash as crash  # noqa: E402

LARGE = Predicate("large", 2)
LABELS = {"E": 0, "I": 1}
ROWS = 40


def table(arity, rows):
    """rows: {constants: (label, nonrecursive, recursive)}."""
    columns = {f"c{i}": pa.array([row[i] for row in rows], pa.int64()) for i in range(arity)}
    for place, name in enumerate(("label", "nonrecursive", "recursive")):
        columns[name] = pa.array([values[place] for values in rows.values()], pa.int32())
    return pa.table(columns)


def read_rows(found):
    """Rows by constants; a fact that is there twice is an error."""
    *constants, labels, nonrecursive, recursive = (c.to_pylist() for c in found.columns)
    facts = list(zip(*constants, strict=True)) if constants else [()] * len(labels)
    values = list(zip(labels, nonrecursive, recursive, strict=True))
    assert len(set(facts)) == len(facts)
    return dict(zip(facts, values, strict=True))


# A store whose version n can be computed: some facts of the version before are changed or gone.


def touched(number):
    return {(7 * number + j) % ROWS for j in range(4)} if number > 1 else set(range(ROWS))


def rows_of(number):
    """The facts of a version."""
    rows = {}
    for fact in range(ROWS):
        last = max(n for n in range(1, number + 1) if fact in touched(n))
        if last == 1 or last % 3:
            rows[fact, fact + 1] = (3, last, last)
    return rows


def delta_of(number):
    """What a version changes in the one before."""
    new, old = rows_of(number), rows_of(number - 1)
    changed = {(f, f + 1): new.get((f, f + 1), (0, 0, 0)) for f in sorted(touched(number))}
    difference = len(new) - len(old)
    return Delta(table(2, changed), difference, difference)


def content(number):
    texts = pa.array([f"t{i}" for i in range(3 * number)], pa.large_string())
    return Snapshot(
        kinds=["iri"],
        dictionary=pa.table({"kind": pa.array([0] * len(texts), pa.int32()), "text": texts}),
        relations={LARGE: table(2, rows_of(number))},
        program=f"# {number // 2}",
        plan=[number // 4],
        statistics={"number": number},
        labels=LABELS,
    )


def commit_update(store, number):
    changed = {LARGE: delta_of(number)} if number > 1 else {}
    store.commit(content(number), expected=number - 1, changed=changed)


def check_version(store, number):
    found = store.read(number)
    assert read_rows(found.relations[LARGE]) == rows_of(number)
    assert found.relations.rows(LARGE) == len(rows_of(number))
    assert found.statistics == {"number": number}


def check_store(path, at_least=0):
    store = Store.open(path)
    for version in store.versions():
        check_version(store, version.number)
        assert version.facts == version.explicit == len(rows_of(version.number))
    assert store.version >= at_least


def check_next_commit(path):
    """Assert that a later commit works and leaves nothing but what versions name."""
    store = Store.create_or_open(path)
    commit_update(store, store.version + 1)
    check_store(path)
    numbers = [version.number for version in store.versions()]
    named = {file.path for n in numbers for file in store._manifest(n).files}
    assert {f"data/{file.name}" for file in (path / "data").iterdir()} == named


@pytest.fixture(autouse=True)
def small_relations_have_deltas(monkeypatch):
    monkeypatch.setattr(commit, "_FEW_ROWS", 0)


@pytest.fixture
def store(tmp_path):
    made = Store.create_or_open(tmp_path / "kb")
    commit_update(made, 1)
    return made


def parts_of(store, number):
    [found] = store._manifest(number).relations
    return found


# -- what is read


def test_a_version_is_its_base_and_deltas_in_their_order(store):
    for number in range(2, 5):
        commit_update(store, number)
        found = parts_of(store, number)
        assert len(found.deltas) == number - 1
        assert found.files == parts_of(store, 1).files
        assert found.deltas[:-1] == parts_of(store, number - 1).deltas
    check_store(store.path, 4)


def test_a_relation_is_written_anew_when_deltas_exceed_half_of_it(store):
    for number in range(2, 12):
        commit_update(store, number)
    check_store(store.path, 11)
    lengths = [len(parts_of(store, number).deltas) for number in range(1, 12)]
    assert lengths[:6] == [0, 1, 2, 3, 4, 5]
    assert lengths[6] == 0
    for number in range(1, 12):
        found = parts_of(store, number)
        assert 2 * sum(file.rows for file in found.deltas) <= sum(file.rows for file in found.files)


@pytest.mark.parametrize("few", [0, 2])
def test_small_deltas_are_merged_and_the_relation_is_not_written_anew(store, monkeypatch, few):
    monkeypatch.setattr(commit, "_FEW_DELTAS", few)
    base, rows = parts_of(store, 1).files, rows_of(1)
    for number in range(2, 40):
        changed = {(0, 1): (3, number, 1), (number % 15, 0): (3, 1, number)}
        more = len({**rows, **changed}) - len(rows)
        rows = {**rows, **changed}
        whole = Snapshot(**{**vars(content(number)), "relations": {LARGE: table(2, rows)}})
        delta = Delta(table(2, changed), more, more)
        store.commit(whole, expected=number - 1, changed={LARGE: delta})
        found = parts_of(store, number)
        assert found.files == base or number > 15
        assert len(found.deltas) <= few + 6  # the logarithm of the rows
        assert read_rows(store.read().relations[LARGE]) == rows
        assert found.rows == len(rows)
    for number in range(2, 40):
        assert read_rows(store.read(number).relations[LARGE])[0, 1] == (3, number, 1)


def test_a_fact_that_came_and_went_in_merged_deltas_is_gone(store, monkeypatch):
    monkeypatch.setattr(commit, "_FEW_DELTAS", 0)
    there, gone = (3, 1, 1), (0, 0, 0)
    for number, (fact, row) in enumerate(
        [((90, 1), there), ((90, 1), gone), ((3, 4), gone), ((3, 4), there), ((5, 6), gone)], 2
    ):
        more = 1 if row == there else -1
        delta = Delta(table(2, {fact: row}), more, more)
        store.commit(content(number), expected=number - 1, changed={LARGE: delta})
    assert len(parts_of(store, 6).deltas) == 1
    rows = read_rows(store.read().relations[LARGE])
    assert (90, 1) not in rows
    assert (5, 6) not in rows
    assert rows[3, 4] == there


def test_a_damaged_delta_is_not_merged_but_mended(store, monkeypatch):
    monkeypatch.setattr(commit, "_FEW_DELTAS", 0)
    commit_update(store, 2)
    [delta] = parts_of(store, 2).deltas
    os.truncate(store.path / delta.path, delta.begin)
    commit_update(store, 3)
    assert not parts_of(store, 3).deltas
    check_version(store, 3)


def test_an_update_makes_one_data_file_however_many_relations_it_touches(store):
    before = set((store.path / "data").iterdir())
    others = {Predicate(f"other{i}", 1): table(1, {(i,): (3, 1, 1)}) for i in range(9)}
    made = content(2)
    store.commit(
        Snapshot(**{**vars(made), "program": "# 0", "relations": {**made.relations, **others}}),
        expected=1,
        changed={LARGE: delta_of(2)},
    )
    [pack] = set((store.path / "data").iterdir()) - before
    assert pack.suffix == ".pack"
    found = store.read()
    assert read_rows(found.relations[LARGE]) == rows_of(2)
    assert all(found.relations[p].equals(rows) for p, rows in others.items())
    store.drop(1)
    assert read_rows(store.read().relations[LARGE]) == rows_of(2)


def test_a_small_relation_is_always_written_anew(store, monkeypatch):
    monkeypatch.setattr(commit, "_FEW_ROWS", ROWS)
    commit_update(store, 2)
    assert not parts_of(store, 2).deltas
    check_store(store.path, 2)


def test_versions_may_be_dropped_in_any_order(store):
    for number in range(2, 6):
        commit_update(store, number)
    for number in (3, 1, 4, 2):
        store.drop(number)
        check_store(store.path, 5)
    check_next_commit(store.path)


def test_counts_of_64_bits_survive_in_a_delta(store):
    large = table(2, {(0, 1): (3, 1, 1)}).set_column(3, "nonrecursive", pa.array([2**40]))
    store.commit(content(2), expected=1, changed={LARGE: Delta(large, 0, 0)})
    found = read_rows(store.read().relations[LARGE])
    assert found[0, 1] == (3, 2**40, 1)
    assert found[1, 2] == (3, 1, 1)


def test_damage_to_a_delta_is_noticed(store):
    commit_update(store, 2)
    [delta] = parts_of(store, 2).deltas
    path = store.path / delta.path
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match="T103") as caught:
        store.read().relations[LARGE]
    assert caught.value.path == str(path)
    check_version(store, 1)


def test_an_older_stratalog_refuses_what_it_does_not_know(store):
    commit_update(store, 2)
    manifest = store.path / "versions" / "00000002.json"
    fields = crash_fields(manifest)
    assert fields["relations"][0]["scheme"] == fields["dictionary"]["scheme"] == "packed"
    for later in ({"relations": [{"scheme": "later"}]}, {"dictionary": {"scheme": "later"}}):
        manifest.write_bytes(_seal({**fields, **later}))
        with pytest.raises(StoreError, match="T104"):
            store.read()


def test_deltas_that_are_files_of_their_own_are_read(store, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(commit, "MOST_ROWS", -1)  # as earlier releases wrote them
        for number in range(2, 5):
            commit_update(store, number)
    fields = crash_fields(store.path / "versions" / "00000004.json")
    assert fields["relations"][0]["scheme"] == "deltas"
    assert fields["dictionary"]["scheme"] == "plain"
    commit_update(store, 5)
    check_store(store.path, 5)
    assert [file.begin is None for file in parts_of(store, 5).deltas] == [True] * 3 + [False]


@pytest.mark.parametrize("begin", [-1, 1, 1 << 40, None])
def test_a_part_that_is_not_there_is_noticed(store, begin):
    commit_update(store, 2)
    manifest = store.path / "versions" / "00000002.json"
    fields = crash_fields(manifest)
    [delta] = fields["relations"][0]["deltas"]
    delta["begin"] = begin
    manifest.write_bytes(_seal(fields))
    with pytest.raises(StoreError, match="T103"):
        store.read().relations[LARGE]


def crash_fields(manifest):
    import json

    fields = json.loads(manifest.read_text())
    del fields["crc32"]
    return fields


facts = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2**40)),
    st.tuples(st.integers(1, 3), st.integers(0, 9), st.integers(0, 9)),
    max_size=12,
)


@settings(max_examples=60)
@given(st.integers(0, 3), facts, st.lists(facts, min_size=1, max_size=4), st.data())
def test_replaying_deltas_is_writing_one_after_the_other(arity, base, deltas, data):
    def cut(rows):
        return {fact[:arity]: values for fact, values in rows.items()}

    expected = dict(cut(base))
    tables = []
    for delta in map(cut, deltas):
        gone = data.draw(st.sets(st.sampled_from(sorted(delta)))) if delta else set()
        rows = {fact: (0, 0, 0) if fact in gone else delta[fact] for fact in delta}
        expected = {f: v for f, v in {**expected, **rows}.items() if v[0]}
        tables.append(table(arity, rows))
    found = replay(table(arity, cut(base)), tables, arity)
    assert read_rows(found) == expected


# -- how much is written


def written(path, before):
    files = {file: file.stat().st_size for file in path.rglob("*") if file.is_file()}
    return files, sum(size for file, size in files.items() if file not in before)


@pytest.mark.parametrize("rows", [10_000, 200_000])
def test_an_update_writes_little_however_large_the_relation_is(tmp_path, rows):
    numbers = np.arange(rows, dtype=np.int64)
    edges = np.stack([numbers, numbers + 1_000_000], axis=1)
    kb = sl.materialise("back(?y, ?x) :- edge(?x, ?y) .", {"edge": edges}, store=tmp_path / "kb")
    files, _ = written(tmp_path, {})
    for step in range(3):
        gone = edges[1_000 * step : 1_000 * step + 500]
        new = gone + 2_000_000
        changes = kb.update(insert={"edge": new}, delete={"edge": gone})
        assert changes.stats["added"] == changes.stats["removed"] == 1_000
        files, size = written(tmp_path, files)
        assert size < 40_000
    found = sl.open(tmp_path / "kb")
    assert found.stats["facts"] == 2 * rows
    assert set(found["back"]) == set(kb["back"])


@pytest.mark.slow
def test_fifty_updates_at_a_million_facts_write_kilobytes_and_open_soon(tmp_path):
    numbers = np.arange(350_000, dtype=np.int64)
    edges = np.stack([numbers, np.random.default_rng(1).permutation(numbers)], axis=1)
    program = "back(?y, ?x) :- edge(?x, ?y) . two(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) ."
    kb = sl.materialise(program, {"edge": edges}, store=tmp_path / "kb")
    assert kb.stats["facts"] == 1_050_000
    first = opening(tmp_path / "kb")
    files, sizes = written(tmp_path, {})[0], []
    for step in range(50):
        gone = edges[1_000 * step : 1_000 * step + 500]
        kb.update(insert={"edge": gone + np.array([1_000_000, 0])}, delete={"edge": gone})
        files, size = written(tmp_path, files)
        sizes.append(size)
    assert max(sizes) < 500_000  # no relation was written anew
    assert sum(sizes) < 50 * 100_000
    store = Store.open(tmp_path / "kb")
    relations = store._manifest(store.version).relations
    assert max(len(relation.deltas) for relation in relations) <= commit._FEW_DELTAS + 17
    assert opening(tmp_path / "kb") < 3 * first + 2  # seconds
    assert sl.open(tmp_path / "kb").stats["facts"] == kb.stats["facts"]


def opening(path):
    begun = time.perf_counter()
    sl.open(path)
    return time.perf_counter() - begun


# -- whatever stops it


BEFORE = 5  # versions: after two more, the relation is written anew


def template(path):
    store = Store.create_or_open(path)
    for number in range(1, BEFORE + 1):
        commit_update(store, number)
    for number in range(2, BEFORE):
        store.drop(number)


def update_and_drop(path):
    store = Store.open(path)
    commit_update(store, BEFORE + 1)
    store.drop(1)
    commit_update(store, BEFORE + 2)
    store.drop(BEFORE + 1)


def kill_at_every_operation(folder):
    commit._FEW_ROWS = 0
    start = folder / "start"
    assert crash.ending(crash.fork(template, start)) == 0
    assert crash.kill_everywhere(update_and_drop, start, folder / "killed") > 30
    assert crash.ending(crash.fork(check_remains, folder / "killed")) == 0


def check_remains(folder):
    written_anew = 0
    for path in folder.iterdir():
        check_store(path, BEFORE)
        check_next_commit(path)
        store = Store.open(path)
        written_anew += not parts_of(store, store.version).deltas
    assert written_anew > 1


@pytest.mark.slow
def test_a_store_survives_a_writer_that_is_killed_at_any_moment(tmp_path):
    command = [sys.executable, "-W", "ignore", __file__, "kill_at_every_operation", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def facts_of(kb):
    return {name: set(kb[name]) for name in kb}, kb.counts()


@pytest.mark.parametrize("failure", crash.FAILURES)
def test_memory_and_store_agree_whatever_fails(failure, tmp_path, monkeypatch):
    error, after = crash.FAILURES[failure]
    program = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
    edges = [(i, i + 1) for i in range(6)]
    sl.materialise(program, {"edge": edges}, engine="reference", store=tmp_path / "start")
    is_reached, chosen, stopped = True, 0, 0
    while is_reached:
        chosen += 1
        path = tmp_path / str(chosen)
        shutil.copytree(tmp_path / "start", path)
        kb = sl.open(path)
        before = facts_of(kb)
        with monkeypatch.context() as patch:
            was_reached = crash.operations(patch, chosen, error, after=after)
            with suppress(KeyboardInterrupt), crash.refused_as_full():
                kb.update(insert={"edge": [(6, 7)]}, delete={"edge": [(2, 3)]})
            is_reached = was_reached()
        stored = sl.open(path)
        assert kb.version == stored.version
        assert facts_of(kb) == facts_of(stored)
        if kb.version == 1:
            stopped += 1
            assert facts_of(kb) == before
        kb.update(insert={"edge": [(7, 8)]})
        assert facts_of(sl.open(path)) == facts_of(kb)
        shutil.rmtree(path)
    assert stopped > 5


def test_a_disk_without_room_leaves_memory_as_it_was(tmp_path, monkeypatch):
    kb = sl.materialise(
        "p(?x) :- e(?x) .", {"e": [(1,)]}, engine="reference", store=tmp_path / "kb"
    )
    before = facts_of(kb)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(parts, "write_table", full)
        with pytest.raises(StoreError, match="T106") as caught:
            kb.update(insert={"e": [(2,)]})
    assert "free some space" in caught.value.help
    assert facts_of(kb) == before
    assert kb.update(insert={"e": [(2,)]}).added.sizes == {"e": 1, "p": 1}
    assert os.listdir(tmp_path / "kb" / "versions")  # noqa: PTH208


if __name__ == "__main__":
    sys.meta_path.insert(0, crash.NoPandas())
    globals()[sys.argv[1]](Path(sys.argv[2]))
