"""Whatever ends `stratalog update`: the store is the version before it or the one after.

Run as a program, this file plays the processes that are killed (see test_store_crash.py).
"""

import os
import random
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402  # the path is set for the program

import stratalog as sl  # noqa: E402
from stratalog.cli.main import main  # noqa: E402
from stratalog.pipeline import commit  # noqa: E402
from stratalog.pipeline.store import Store  # noqa: E402
from tests.unit.pipeline import test_store_crash as crash  # noqa: E402

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
last(?y) :- edge(?x, ?y), NOT edge(?y, ?z) .
degree(?x, ?n) :- AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
"""
FEW_DELTAS = 1  # of a relation: most versions merge some
BEFORE = 3  # versions: the next one is a compaction
ROUNDS = 6  # of random kills
WRITERS = (100, 200, 300)


def changes(number):
    """The edges that version `number` loses and gets."""
    n = number % 12
    return [(n, n + 1)], [(n, 20 + number)]


def edges(number):
    """The explicit facts of version `number`."""
    found = {(i, i + 1) for i in range(12)}
    for each in range(2, number + 1):
        gone, new = changes(each)
        found = (found - set(gone)) | set(new)
    return found


@cache
def expected(number):
    """The facts and counts of version `number`."""
    return sl.materialise(RULES, {"edge": edges(number)}, engine="reference").counts()


def write_csv(path, rows):
    path.write_text("".join(f"{x},{y}\n" for x, y in rows))
    return f"edge={path}"


def command(path, number):
    """The command that makes version `number`; its files lie beside the store."""
    gone, new = changes(number)
    files = path.with_name(f"{path.name}-{number}-gone.csv"), path.with_name(f"{path.name}-new.csv")
    told = [write_csv(file, rows) for file, rows in zip(files, (gone, new), strict=True)]
    return ["update", str(path), "--delete", told[0], "--insert", told[1], "--quiet"]


def make_deltas():
    """Let small relations have deltas, and few of them."""
    commit._FEW_ROWS, commit._FEW_DELTAS = 0, FEW_DELTAS


def create(path, engine="reference", keep=None):
    program = RULES + "@declare edge(from integer, to integer) ."
    sl.materialise(program, {"edge": edges(1)}, engine=engine, store=path, keep=keep)
    for number in range(2, BEFORE + 1):
        assert main(command(path, number)) == 0


def check(path, at_least=1):
    """Assert that every version has the facts and counts that it must have."""
    store = Store.open(path)
    assert store.version >= at_least
    for version in store.versions():
        assert sl.open(path, version=version.number).counts() == expected(version.number)


def check_and_go_on(path, at_least=1):
    """Assert also that a next update works, and leaves nothing but what versions name."""
    check(path, at_least)
    number = Store.open(path).version + 1
    assert main(command(path, number)) == 0
    check(path, number)
    store = Store.open(path)
    numbers = [version.number for version in store.versions()]
    named = {file.path for n in numbers for file in store._manifest(n).files}
    assert {f"data/{file.name}" for file in (path / "data").iterdir()} == named


def compactions(path):
    """How many versions have a relation that was written anew, all others having deltas."""
    store = Store.open(path)
    found = [store._manifest(v.number) for v in store.versions() if v.number > 1]
    return sum(any(not r.deltas for r in manifest.relations) for manifest in found)


# Processes that are killed.


def update_twice(path):
    """A compaction, then deltas."""
    for number in (BEFORE + 1, BEFORE + 2):
        assert main(command(path, number)) == 0


def kill_at_every_operation(folder):
    start = folder / "start"
    assert crash.ending(crash.fork(create, start)) == 0
    assert crash.kill_everywhere(update_twice, start, folder / "killed") > 25  # operations
    assert crash.ending(crash.fork(check_remains, folder / "killed")) == 0


def kill_at_every_operation_with_keep(folder):
    start = folder / "start"
    assert crash.ending(crash.fork(create, start, "reference", 2)) == 0
    assert crash.kill_everywhere(update_twice, start, folder / "killed") > 25  # operations
    assert crash.ending(crash.fork(check_remains_with_keep, folder / "killed")) == 0


def check_remains_with_keep(folder):
    for path in folder.iterdir():
        if path.is_dir():
            check_and_go_on(path, BEFORE)
            assert len(Store.open(path).numbers()) == 2


def check_remains(folder):
    found = [path for path in folder.iterdir() if path.is_dir()]
    for path in found:
        check_and_go_on(path, BEFORE)
    assert all(compactions(path) for path in found)


def update_forever(path):
    while True:
        assert main(command(path, Store.open(path).version + 1)) == 0


def kill_at_random_times(folder):
    """SIGKILL, whatever the columnar engine or the store is doing."""
    path = folder / "kb"
    assert crash.ending(crash.fork(create, path, "columnar")) == 0
    moments, current = random.Random(4), BEFORE
    for _ in range(ROUNDS):
        child = crash.fork(update_forever, path)
        while Store.open(path).version == current:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.2))
        os.kill(child, signal.SIGKILL)
        assert crash.ending(child) == -signal.SIGKILL
        assert crash.ending(crash.fork(check, path, current + 1)) == 0
        current = Store.open(path).version
    assert crash.ending(crash.fork(check_and_go_on, path)) == 0


def update_with_little_space(path, limit):
    """Let files be small only: the update fails with T106 and leaves what was there."""
    import resource

    before = sorted(path.rglob("*"))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    arguments = command(path, BEFORE + 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    if main(arguments) == 0:
        return
    assert sorted(path.rglob("*")) == before
    os._exit(crash.KILLED)


def fill_the_disk(folder):
    path = folder / "kb"
    assert crash.ending(crash.fork(create, path)) == 0
    for limit in (0, 300, 700, 1000, 1500):
        ended = crash.ending(crash.fork(update_with_little_space, path, limit))
        assert ended == crash.KILLED, limit
        assert crash.ending(crash.fork(check, path, BEFORE)) == 0
    assert crash.ending(crash.fork(update_with_little_space, path, 1 << 20)) == 0
    assert crash.ending(crash.fork(check_and_go_on, path, BEFORE + 1)) == 0


# Writers at once.


def insert_all(path, name):
    """Insert ten facts one by one, again whenever another process was first."""
    kb = sl.open(path)
    for number in range(10):
        while not is_first(kb, (100 * name + number, name)):
            kb.refresh()


def is_first(kb, edge):
    """Insert a fact; False if another process has committed since the last look."""
    try:
        kb.update(insert={"edge": [edge]})
    except sl.StoreError as error:
        if error.code != "T105":
            raise
        return False
    return True


def write_at_once(folder):
    path = folder / "kb"
    assert crash.ending(crash.fork(create, path)) == 0
    writers = [crash.fork(insert_all, path, name) for name in WRITERS]
    assert [crash.ending(writer) for writer in writers] == [0, 0, 0]
    assert crash.ending(crash.fork(check_writers, path)) == 0


def check_writers(path):
    """Nothing that a writer was told to be done is lost."""
    kb = sl.open(path)
    assert kb.version == BEFORE + 30
    given = edges(BEFORE) | {(100 * name + i, name) for name in WRITERS for i in range(10)}
    assert set(kb["edge"]) == given
    fresh = sl.materialise(RULES, {"edge": given}, engine="reference")
    assert kb.counts() == fresh.counts()


# Ctrl-C.


def interrupt(folder):
    """Press Ctrl-C at random moments: what the command says is what the store holds."""
    path = folder / "kb"
    assert crash.ending(crash.fork(create, path, "columnar")) == 0
    assert crash.ending(crash.fork(be_interrupted, path)) == 0
    assert crash.ending(crash.fork(check_and_go_on, path)) == 0


def be_interrupted(path):
    """Update again and again, while a timer presses Ctrl-C."""
    import contextlib
    import io

    signal.alarm(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it for us
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    moments, tried, stopped = random.Random(5), 0, 0
    assert main(command(path, BEFORE + 1)) == 0
    usual = min(seconds_of(path, BEFORE + number) for number in (2, 3, 4))
    while tried < 25 or stopped <= 5:  # on a busy machine the timer may come late
        tried += 1
        assert tried < 1_000, stopped
        version = Store.open(path).version
        arguments, told = command(path, version + 1), io.StringIO()
        with contextlib.redirect_stderr(told):
            status = run_interrupted(arguments, moments.uniform(0, usual))
        written = Store.open(path).version - version
        if status is None:
            assert written in (0, 1)
        elif status:
            stopped += 1
            words = "nothing was written" if not written else f"version {version + 1} had been"
            assert (status, words in told.getvalue()) == (4, True), (status, told.getvalue())
        else:
            assert written == 1


def seconds_of(path, version):
    begun = time.monotonic()
    assert main(command(path, version)) == 0
    return time.monotonic() - begun


def run_interrupted(arguments, moment):
    """Return the command's status, None if Ctrl-C came before its first or after its last step."""
    try:
        signal.setitimer(signal.ITIMER_REAL, max(moment, 1e-4))
        try:
            return main(arguments)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return None


ROLES = [
    kill_at_every_operation,
    kill_at_every_operation_with_keep,
    kill_at_random_times,
    fill_the_disk,
    write_at_once,
    interrupt,
]


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_a_store_survives_updates(role, tmp_path):
    words = [sys.executable, "-W", "ignore", __file__, role.__name__, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


if __name__ == "__main__":
    sys.meta_path.insert(0, crash.NoPandas())
    make_deltas()
    for kind in ("reference", "columnar"):  # loads all kernels, once for all processes
        create(Path(sys.argv[2]) / f"warm-{kind}", kind)
    globals()[sys.argv[1]](Path(sys.argv[2]))
