"""The current version is found without looking at earlier ones, and missed if it has vanished."""

import os
import shutil

import pytest

import stratalog as sl
from stratalog.errors import StoreError
from stratalog.pipeline import history, layout
from stratalog.pipeline.manifest import dropped_bytes
from stratalog.pipeline.store import Store
from stratalog.pipeline.sweep import sweep
from tests.unit.pipeline.test_retention import check, commit, content
from tests.work.store_work import counting


@pytest.fixture
def store(tmp_path):
    made = Store.create_or_open(tmp_path / "kb")
    for _ in range(6):
        commit(made)
    return made


def manifest(store, number):
    return layout.version_path(store.path, number)


def numbers_listed(monkeypatch):
    listed = []
    names = layout._names
    monkeypatch.setattr(
        layout, "_names", lambda folder: listed.append(folder.name) or names(folder)
    )
    return listed


# -- what is looked at


def test_the_current_version_is_found_without_a_listing(store, monkeypatch):
    listed = numbers_listed(monkeypatch)
    assert store.version == 6
    assert commit(store) == 7
    assert listed == ["unfinished"]


def test_the_list_of_versions_reads_the_newest_manifest_alone(store, monkeypatch):
    before = store.versions()
    loaded = []
    load = layout.load
    monkeypatch.setattr(layout, "load", lambda root, n: loaded.append(n) or load(root, n))
    assert store.versions() == before
    assert loaded == [6]
    (store.path / history.HISTORY).unlink()
    assert store.versions() == before


def test_a_manifest_of_another_size_than_was_noted_is_read(store):
    manifest(store, 2).write_bytes(dropped_bytes(2))
    assert [v.number for v in store.versions()] == [1, 3, 4, 5, 6]


def test_a_long_note_is_found_in_the_manifest(store):
    store.commit(content(7), expected=6, note="long " * 1000)
    commit(store)
    assert [v.note for v in store.versions()][-2:] == ["long " * 1000, ""]


@pytest.mark.slow
def test_lines_of_dropped_versions_go_in_the_end(store):
    for _ in range(600):
        history.note(store.path, history.Seen(6, layout.changed(store.path)), store.versions()[0])
    size = (store.path / history.HISTORY).stat().st_size
    store.drop_older(2)
    assert (store.path / history.HISTORY).stat().st_size < size / 50
    assert commit(store, keep=2) == 7
    assert [v.number for v in store.versions()] == [6, 7]
    check(store)


# -- lines are hints


def without(store):
    (store.path / history.HISTORY).unlink()


def torn(store):
    path = store.path / history.HISTORY
    path.write_bytes(path.read_bytes()[:-20])


def garbage(store):
    path = store.path / history.HISTORY
    path.write_bytes(os.urandom(5000) + b'\n{"newest": 99, "changed": 0, "crc32": 1}\n[]\n')


def a_link(store):
    path = store.path / history.HISTORY
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def a_pipe(store):
    without(store)
    os.mkfifo(store.path / history.HISTORY)


def a_folder(store):
    without(store)
    (store.path / history.HISTORY).mkdir()


def of_impossible_numbers(store):
    for newest in (-1, 0, 1 << 60, 10**4000):
        history.note(store.path, history.Seen(newest, layout.changed(store.path)))


def without_a_folder_for_what_is_unfinished(store):
    """As an older Stratalog has left it."""
    without(store)
    (store.path / "unfinished").rmdir()


def out_of_date(store):
    history.note(store.path, history.Seen(2, layout.changed(store.path) - 1))


def behind_by_some_commits_of_one_moment(store):
    history.note(store.path, history.Seen(4, layout.changed(store.path)))


def behind_a_gap(store):
    """Another Stratalog has dropped versions since the line was written."""
    history.note(store.path, history.Seen(2, layout.changed(store.path)))
    manifest(store, 3).unlink()


DAMAGES = [
    without, torn, garbage, a_link, a_pipe, a_folder, out_of_date,
    behind_by_some_commits_of_one_moment, behind_a_gap, of_impossible_numbers,
    without_a_folder_for_what_is_unfinished,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_hint_that_is_missing_or_wrong_changes_nothing(store, damage):
    damage(store)
    assert store.version == 6
    assert [v.number for v in store.versions()][-3:] == [4, 5, 6]
    assert commit(store) == 7
    assert store.version == 7


def test_a_copy_of_a_store_goes_on_with_any_times_of_its_files(store, tmp_path):
    shutil.copytree(store.path, tmp_path / "copy", copy_function=shutil.copy)
    os.utime(tmp_path / "copy" / "versions", ns=(0, 12345))
    copy = Store.open(tmp_path / "copy")
    assert copy.version == 6
    assert commit(copy) == 7
    check(copy)


# -- a newest version that has vanished


def vanish(store):
    manifest(store, 6).unlink()


def test_a_newest_manifest_that_has_vanished_is_missed_by_all_who_want_the_current_one(store):
    vanish(store)
    for action in (
        lambda: store.version,
        store.read,
        lambda: commit(store),
        lambda: store.commit(content(6), expected=5),
        lambda: store.drop_older(1),
    ):
        with pytest.raises(StoreError, match="version 6, the newest, has vanished") as caught:
            action()
        assert caught.value.code == "T103"
        assert caught.value.path == str(manifest(store, 6))
        assert f"stratalog versions {store.path} --drop 6" in caught.value.help
    assert store.read(5).dictionary.num_rows == 5
    assert [v.number for v in store.versions()] == [1, 2, 3, 4, 5]


def test_the_files_of_a_vanished_version_stay_so_that_it_can_be_restored(store):
    content_of = manifest(store, 6).read_bytes()
    files = set((store.path / "data").iterdir())
    vanish(store)
    with pytest.raises(StoreError, match="T103"):
        store.drop(3)
    assert sweep(store.path)
    assert files == set((store.path / "data").iterdir())
    manifest(store, 6).write_bytes(content_of)
    assert store.version == 6
    assert commit(store) == 7
    check(store)


def test_a_vanished_version_is_given_up_and_its_number_not_used_again(store):
    vanish(store)
    assert store.drop(6) == 7
    found = store.read()
    assert (found.version, found.dictionary.num_rows) == (7, 5)
    assert [v.number for v in store.versions()] == [1, 2, 3, 4, 5, 7]
    assert store.versions()[-1].note == "version 5, after version 6 had vanished"
    with pytest.raises(StoreError, match="T105"):  # of who still has version 6
        store.commit(content(7), expected=6)
    assert store.commit(content(8), expected=7) == 8


def test_without_any_version_there_is_nothing_to_go_on_from(store):
    shutil.rmtree(store.path / "versions")
    (store.path / "versions").mkdir()
    for action in (store.read, lambda: store.drop(6)):
        with pytest.raises(StoreError, match="no version is there"):
            action()


def test_a_vanished_version_of_a_knowledge_base_is_missed(tmp_path):
    path = tmp_path / "kb"
    kb = sl.materialise("p(?x) :- e(?x) .", {"e": [(0,)]}, engine="reference", store=path)
    kb.update(insert={"e": [(1,)]})
    layout.version_path(path, 2).unlink()
    for action in (lambda: kb.update(insert={"e": [(2,)]}), lambda: sl.open(path), kb.refresh):
        with pytest.raises(StoreError, match="T103"):
            action()
    assert set(sl.open(path, version=1)["e"]) == {(0,)}


# -- work


def work_of_a_commit(store, keep):
    with counting(store.path) as work:
        commit(store, keep=keep)
    return work


@pytest.mark.parametrize("keep", ["all", 3])
def test_the_work_of_a_commit_does_not_grow_with_the_number_of_versions(tmp_path, keep):
    store = Store.create_or_open(tmp_path / "kb")
    found = []
    for number in (20, 120):
        while store.version < number:
            commit(store, keep=keep)
        found.append([work_of_a_commit(store, keep) for _ in range(12)])  # some merge files
    for ask in (min, max):
        early, late = (ask(work.opened for work in each) for each in found)
        assert late <= early + 2
    assert len({work.listed for each in found for work in each}) == 1
    if keep == 3:
        assert sum(path.is_file() for path in store.path.rglob("*")) < 40
        check(store)
