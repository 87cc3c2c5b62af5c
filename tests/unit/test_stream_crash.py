"""Whatever ends a stream: started again, it ends in the state and output of an undisturbed one.

Run as a program, this file plays the processes that are killed (see pipeline/test_store_crash.py).
Most of them play batches as Spark does, without Spark: from the first one that may not be done.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import pyarrow as pa  # noqa: E402  # the path is set for the program
import pyarrow.parquet as pq  # noqa: E402
import pytest  # noqa: E402

import stratalog as sl  # noqa: E402
from stratalog.knowledge.stream.batches import Batches  # noqa: E402
from stratalog.pipeline.feed import feed_of  # noqa: E402
from stratalog.pipeline.feed_output import opened  # noqa: E402
from stratalog.pipeline.store import Store  # noqa: E402
from tests.unit.pipeline import test_store_crash as crash  # noqa: E402

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
last(?y) :- edge(?x, ?y), NOT edge(?y, ?z) .
"""
STREAM = "0b5e55ed-0000-4000-8000-000000000000"
BATCHES = [
    [(4, 5, "insert", 1), (1, 2, "delete", 1), (1, 2, "insert", 2)],
    [(2, 3, "delete", 3), (2, 9, "insert", 3)],
    [(4, 5, "insert", 4)],  # changes nothing
    [(9, 4, "insert", 5), (3, 4, "delete", 6), (8, 8, "delete", 6)],
]


def changes(rows):
    columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
    return pa.table(columns, names=["c0", "c1", "_change_type", "_commit_version"])


def create(path, engine="reference"):
    facts = {"edge": [(i, i + 1) for i in range(1, 4)]}
    sl.materialise(RULES, facts, engine=engine, store=path / "kb")


def play(path, first=0):
    """Apply all batches from the first one on."""
    kb = sl.open(path / "kb")
    with opened(path / "out", path / "kb") as output:
        batches = Batches(kb, output, keep=3)
        batches.recover()
        for number, rows in list(enumerate(BATCHES))[first:]:
            batches.apply(STREAM, number, lambda _, rows=rows: [feed_of("edge", changes(rows))])


def state(path):
    """The facts and counts of the store, and all rows of the output with their files."""
    kb = sl.open(path / "kb")
    rows = {}
    for file in sorted((path / "out").glob("*/*")):
        found = pq.ParquetFile(file).read().to_pylist()
        name = f"{file.parent.name}/{file.name.partition('-')[2][:8]}"
        rows[name] = sorted(tuple(row.values()) for row in found)
    return kb.version, kb.counts(), rows


def check(path, expected):
    """Assert that a stream that goes on ends as the undisturbed one, and leaves nothing over."""
    play(path)
    assert state(path) == state(expected)
    names = {entry.name for entry in (path / "out").iterdir()}
    assert names == {"last", "path", "_stratalog.json", "_stratalog.lock"}
    assert len(kept := sl.open(path / "kb").versions()) == 3, kept


def kill_at_every_operation(folder, step=1):
    """Kill before the first, second, ... file operation of all batches, and go on from there."""
    start, expected = folder / "start", folder / "expected"
    assert crash.ending(crash.fork(create, start)) == 0
    shutil.copytree(start, expected)
    assert crash.ending(crash.fork(play, expected)) == 0
    status, chosen = crash.KILLED, 1
    while status == crash.KILLED:
        path = folder / "killed" / str(chosen)
        shutil.copytree(start, path)
        status = crash.ending(crash.fork(crash.run_until, play, path, chosen))
        assert crash.ending(crash.fork(check, path, expected)) == 0, path
        chosen += step
    assert status == 0
    assert chosen > 100


def kill_at_some_operations(folder):
    kill_at_every_operation(folder, step=7)


def play_with_little_space(path, limit):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        play(path)
    except sl.StoreError as error:
        assert error.code == "T106", error  # noqa: PT017
        assert not list((path / "out").glob("_pending*"))
        os._exit(crash.KILLED)


def fill_the_disk(folder):
    """A full disk is T106; with more space the stream goes on."""
    path, expected = folder / "kb", folder / "expected"
    for each in (path, expected):
        assert crash.ending(crash.fork(create, each)) == 0
    assert crash.ending(crash.fork(play, expected)) == 0
    for limit in (0, 100, 500, 900, 1100, 1400, 1700):
        ended = crash.ending(crash.fork(play_with_little_space, path, limit))
        assert ended == crash.KILLED, limit
    assert crash.ending(crash.fork(check, path, expected)) == 0


LONG = pytest.mark.skipif("STRATALOG_LONG" not in os.environ, reason="long: STRATALOG_LONG=1")
SOME = pytest.param(kill_at_some_operations, marks=pytest.mark.slow)
EVERY = pytest.param(kill_at_every_operation, marks=LONG)


@pytest.mark.parametrize("role", [SOME, EVERY, fill_the_disk])
def test_a_stream_survives(role, tmp_path):
    words = [sys.executable, "-W", "ignore", __file__, role.__name__, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


# The command, with Spark.


def write_feed(path):
    """Write a file per batch; all are there before the stream begins."""
    folder = path / "feed" / "edge"
    folder.mkdir(parents=True)
    for number, rows in enumerate(BATCHES):
        file = folder / f"{number}.parquet"
        pq.write_table(changes(rows), file)
        os.utime(file, ns=(0, (1_700_000_000 + number) * 1_000_000_000))


def command(path):
    words = ["stream", "kb", "--source", "feed", "--output", "out", "--max-files", "1", "--once"]
    settings = ["--keep", "3", "--master", "local[1]", "--conf", "spark.driver.memory=512m"]
    return [sys.executable, "-W", "ignore", __file__, "run", str(path), *words, *settings]


def run(path, words):
    from stratalog.cli.main import main

    os.chdir(path)
    chosen = int(os.environ.get("KILLED_AT", "0"))
    if chosen:
        crash.at_file_operation(chosen, lambda: os.kill(os.getpid(), signal.SIGKILL))
    sys.exit(main(words))


def killed_run(path, seconds=None, operation=None):
    """Run the command until it ends or is killed; return its status."""
    environment = {**os.environ, "KILLED_AT": str(operation or 0)}
    child = subprocess.Popen(command(path), env=environment, stderr=subprocess.PIPE, text=True)
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    assert child.returncode in {0, -signal.SIGKILL}, child.stderr.read()
    child.stderr.close()
    return child.returncode


def prepared(path):
    """A store and a feed, and nothing done yet."""
    path.mkdir()
    write_feed(path)
    create(path, "columnar")
    return path


@pytest.fixture
def expected(tmp_path):
    path = prepared(tmp_path / "undisturbed")
    play(path)
    return path


@pytest.mark.spark
@pytest.mark.slow
def test_a_killed_stream_ends_as_an_undisturbed_one(expected):
    path = prepared(expected.with_name("killed"))
    assert killed_run(path, operation=75) == -signal.SIGKILL
    assert killed_run(path) == 0
    assert state(path) == state(expected)


@LONG
@pytest.mark.spark
def test_a_stream_killed_at_ten_random_times_ends_as_an_undisturbed_one(expected):
    begun = time.monotonic()
    assert killed_run(prepared(expected.with_name("timed"))) == 0
    usual = time.monotonic() - begun
    path = prepared(expected.with_name("killed"))
    moments, versions = random.Random(7), []
    for _ in range(10):
        killed_run(path, seconds=moments.uniform(0.5 * usual, usual))
        versions.append(Store.open(path / "kb").version)
    assert killed_run(path) == 0, versions
    assert state(path) == state(expected), versions


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2], sys.argv[3:])
    sys.meta_path.insert(0, crash.NoPandas())
    for kind in ("reference", "columnar"):  # loads all kernels, once for all processes
        create(Path(sys.argv[2]) / f"warm-{kind}", kind)
    globals()[sys.argv[1]](Path(sys.argv[2]))
