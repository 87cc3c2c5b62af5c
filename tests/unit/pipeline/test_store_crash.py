"""Whatever kills a writer, and whoever else is writing: a store holds whole versions only.

Run as a program, this file plays the processes that are killed. They are forked from one that has
imported everything and done nothing, which takes milliseconds instead of a start of Python each.
"""

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pytest

from stratalog.errors import StoreError
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.store import Snapshot, Store

GROWING = Predicate("<http://example.org/growing>", 2)
SELDOM = Predicate("seldom", 1)  # changes in every third version only
LABELS = {"E": 0, "I": 1}
KILLED = 9
LIMIT = 60  # seconds


def table(arity, rows, value):
    columns = {f"c{i}": pa.array([value] * rows, pa.int64()) for i in range(arity)}
    numbers = pa.array([3] * rows, pa.int32())
    return pa.table({**columns, "label": numbers, "nonrecursive": numbers, "recursive": numbers})


def content(number, **options):
    """The one and only content that version `number` may have, but for how many versions stay."""
    texts = [f"constant {i}" for i in range(3 * number)]
    return Snapshot(
        kinds=["iri"],
        dictionary=pa.table(
            {
                "kind": pa.array([0] * len(texts), pa.int32()),
                "text": pa.array(texts, pa.large_string()),
            }
        ),
        relations={GROWING: table(2, 5 * number, number), SELDOM: table(1, 4, number // 3)},
        program=f"# {number // 2}",
        options={"threads": number, **options},
        plan=[number // 4],
        statistics={"number": number},
        labels=LABELS,
    )


def commit(store, number, note="", **options):
    unchanged = [SELDOM] if number > 1 and number // 3 == (number - 1) // 3 else []
    given = content(number, **options)
    store.commit(given, expected=number - 1, note=note, unchanged=unchanged)


def check_version(store, number):
    found, wanted = store.read(number), content(number)
    found.options.pop("keep", None)
    assert found.dictionary.equals(wanted.dictionary)
    assert dict(found.relations) == dict(wanted.relations)
    for field in ("kinds", "program", "options", "plan", "statistics", "labels"):
        assert getattr(found, field) == getattr(wanted, field)


def check_store(path, at_least=0):
    """Assert that all versions are whole; return the current one's number."""
    store = Store.open(path)
    for version in store.versions():
        check_version(store, version.number)
    assert store.version >= at_least
    return store.version


def check_next_commit(path):
    """Assert that a later commit works and leaves nothing but what versions name."""
    store = Store.create_or_open(path)
    commit(store, store.version + 1)
    check_store(path)
    numbers = [version.number for version in store.versions()]
    manifests = {file.name for file in (path / "versions").iterdir()}
    assert manifests == {f"{number:08d}.json" for number in numbers}
    named = {file.path for n in numbers for file in store._manifest(n).files}
    assert {f"data/{file.name}" for file in (path / "data").iterdir()} == named


def template(path, versions=2):
    store = Store.create_or_open(path)
    for number in range(1, versions + 1):
        commit(store, number)
    return store


def create(path):
    commit(Store.create_or_open(path), 1)


def commit_and_drop(path):
    store = Store.open(path)
    commit(store, 3)
    store.drop(1)
    commit(store, 4)


def commit_and_keep_two(path):
    store = Store.open(path)
    for number in (3, 4, 5):
        commit(store, number, keep=2)
        assert store.numbers() == [number - 1, number]


def drop_older(path):
    Store.open(path).drop_older(1)


def commit_forever(path):
    store = Store.open(path)
    while True:
        commit(store, store.version + 1)
        if store.version % 3 == 0:
            store.drop(store.version - 2)


def commit_forever_and_keep_three(path):
    store = Store.open(path)
    while True:
        commit(store, store.version + 1, keep=3)


# The processes that are killed.


class NoPandas:
    """Arrow imports pandas with the first list it sees and needs it for nothing; forks get slow."""

    def find_spec(self, name, *_args):
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def fork(action, *args):
    """Run an action in a process of its own, which ends with 0, 1 or KILLED; return its id."""
    child = os.fork()
    if child:
        return child
    signal.alarm(LIMIT)  # what outlives the test that started it must not run for ever
    try:
        action(*args)
    except BaseException:  # noqa: BLE001  # the parent sees the status only
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def ending(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def at_file_operation(chosen, react):
    """Call `react` before this process changes or flushes a file for the chosen time."""
    count = 0
    watched = {"os.link", "os.remove", "os.rename", "os.mkdir", "fsync"}

    def notice(event, args):
        nonlocal count
        if event in watched or (event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)):
            count += 1
            if count == chosen:
                react()

    flush = os.fsync

    def fsync(descriptor):
        notice("fsync", ())
        flush(descriptor)

    os.fsync = fsync
    sys.addaudithook(notice)


def run_until(scenario, path, chosen):
    at_file_operation(chosen, lambda: os._exit(KILLED))
    scenario(path)


def kill_everywhere(scenario, start, folder):
    """Run a scenario on copies of a store, killed before its first, second, ... file operation.

    Returns how many operations it has; `folder` holds what is left of each run.
    """
    status, chosen = KILLED, 0
    while status == KILLED:
        chosen += 1
        path = folder / str(chosen)
        if start.exists():
            shutil.copytree(start, path)
        status = ending(fork(run_until, scenario, path, chosen))
    assert status == 0
    return chosen


SCENARIOS = [
    (create, 0, 20),
    (commit_and_drop, 2, 20),
    (commit_and_keep_two, 2, 20),
    (drop_older, 2, 5),
]  # and the versions that there are before, and the least number of operations


def kill_at_every_operation(folder):
    """Kill each scenario before its first, second, ... file operation, and look at what is left."""
    start = folder / "start"
    assert ending(fork(template, start)) == 0
    for scenario, versions, least in SCENARIOS:
        remains = folder / scenario.__name__
        assert kill_everywhere(scenario, start if versions else folder / "none", remains) > least
        assert ending(fork(check_remains, remains, versions)) == 0


def check_remains(folder, versions):
    for path in folder.iterdir():
        if versions:
            check_store(path, versions)
        check_next_commit(path)


def kill_at_random_times(folder, forever=commit_forever):
    path = folder / "kb"
    assert ending(fork(template, path)) == 0
    moments = random.Random(2)
    current = 2
    for _ in range(12):
        child = fork(forever, path)
        while Store.open(path).version == current:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.04))
        os.kill(child, signal.SIGKILL)
        assert ending(child) == -signal.SIGKILL
        assert ending(fork(check_store, path, current + 1)) == 0
        current = Store.open(path).version
    assert ending(fork(check_next_commit, path)) == 0


def kill_at_random_times_with_keep(folder):
    kill_at_random_times(folder, commit_forever_and_keep_three)
    assert len(Store.open(folder / "kb").numbers()) <= 3


def write_in_competition(path, last, name, keep):
    store = Store.open(path)
    won = []
    while store.version < last:
        number = store.version + 1
        try:
            commit(store, number, note=name, keep=keep)
            won.append(number)
        except StoreError as error:
            if error.code != "T105":
                raise
    (path.parent / name).write_text(" ".join(map(str, won)))


def drop_and_read_meanwhile(path, last):
    store = Store.open(path)
    while (number := store.version) < last:
        try:
            check_version(store, number)
            for version in store.versions()[:-3]:
                store.drop(version.number)
        except StoreError as error:
            if error.code != "T102":  # dropped by the other reader
                raise


def read_meanwhile(path, last):
    """Read the current version, and list all, while writers drop them."""
    store = Store.open(path)
    while (number := store.version) < last:
        with suppress_code("T102"):
            check_version(store, number)
        listed = store.versions()
        assert [v.number for v in listed] == sorted({v.number for v in listed})
        assert all(v.note in {"anna", "bert", "cleo"} for v in listed)


@contextmanager
def suppress_code(code):
    try:
        yield
    except StoreError as error:
        if error.code != code:
            raise


def race_with_keep(folder):
    race(folder, keep=2, other=read_meanwhile)
    assert len(Store.open(folder / "kb").numbers()) == 2


def race(folder, keep="all", other=drop_and_read_meanwhile):
    path, last = folder / "kb", 15
    Store.create_or_open(path)
    names = ("anna", "bert", "cleo")
    actors = [fork(write_in_competition, path, last, name, keep) for name in names]
    actors += [fork(other, path, last) for _ in range(2)]
    assert [ending(actor) for actor in actors] == [0] * len(actors)
    assert ending(fork(check_race, folder, path, last)) == 0


def check_race(folder, path, last):
    won = {name: (folder / name).read_text().split() for name in ("anna", "bert", "cleo")}
    claimed = sorted(int(number) for numbers in won.values() for number in numbers)
    assert claimed == list(range(1, check_store(path) + 1))
    assert len(claimed) >= last
    for version in Store.open(path).versions():
        assert str(version.number) in won[version.note]
    check_next_commit(path)


def commit_with_little_space(path, limit):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    store = Store.open(path)
    before = sorted(path.rglob("*"))
    try:
        commit(store, 3)
    except StoreError as error:
        failed = error
    else:
        return
    assert failed.code == "T106", failed
    assert "too large" in str(failed)
    assert "free some space" in str(failed)
    assert sorted(path.rglob("*")) == before
    os._exit(KILLED)


def fill_the_disk(folder):
    path = folder / "kb"
    assert ending(fork(template, path)) == 0
    needed = (path / "versions" / "00000002.json").stat().st_size  # the next one needs as much
    for limit in range(0, needed, needed // 8):
        assert ending(fork(commit_with_little_space, path, limit)) == KILLED, limit
        assert ending(fork(check_store, path, 2)) == 0
    assert ending(fork(commit_with_little_space, path, 1 << 20)) == 0
    assert ending(fork(check_next_commit, path)) == 0


ROLES = [
    pytest.param(kill_at_every_operation, marks=pytest.mark.slow),
    kill_at_random_times,
    kill_at_random_times_with_keep,
    race,
    race_with_keep,
    fill_the_disk,
]


@pytest.mark.parametrize("role", ROLES)
def test_a_store_survives(role, tmp_path):
    command = [sys.executable, "-W", "ignore", __file__, role.__name__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr


# Failures that a process lives through.


def operations(monkeypatch, chosen, error, *, after=False):
    """Make the chosen call of os.open, os.fsync, os.link or os.unlink fail."""
    count = 0

    def failing(call):
        def run(*args, **options):
            nonlocal count
            count += 1
            if count != chosen:
                return call(*args, **options)
            if after:
                call(*args, **options)
            raise error

        return run

    for name in ("open", "fsync", "link", "unlink"):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))
    return lambda: count >= chosen


@contextmanager
def refused_as_full():
    failed = None
    try:
        yield
    except StoreError as error:
        failed = error
    assert failed is None or failed.code == "T106"
    assert failed is None or "No space left" in str(failed)


FAILURES = {
    "full": (OSError(errno.ENOSPC, "No space left on device"), False),
    "interrupt": (KeyboardInterrupt(), False),
    "interrupt just after": (KeyboardInterrupt(), True),
}


@pytest.mark.parametrize("keep", ["all", 1])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_operation_leaves_whole_versions(failure, keep, tmp_path, monkeypatch):
    error, after = FAILURES[failure]
    template(tmp_path / "start")
    is_reached, chosen = True, 0
    while is_reached:
        chosen += 1
        path = tmp_path / str(chosen)
        shutil.copytree(tmp_path / "start", path)
        with monkeypatch.context() as patch:
            was_reached = operations(patch, chosen, error, after=after)
            with suppress(KeyboardInterrupt), refused_as_full():
                commit(Store.open(path), 3, keep=keep)
            is_reached = was_reached()
        check_store(path, 2)
        check_next_commit(path)
        shutil.rmtree(path)
    assert chosen > 10


if __name__ == "__main__":
    sys.meta_path.insert(0, NoPandas())
    globals()[sys.argv[1]](Path(sys.argv[2]))
