"""`stratalog stream`: what it prints, how it ends, and what stops it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stratalog as sl

SETTINGS = ["--master", "local[1]", "--conf", "spark.driver.memory=512m"]


def put(name, *rows, columns=("c0", "c1", "_change_type")):
    folder = Path("feed/edge")
    folder.mkdir(parents=True, exist_ok=True)
    arrays = [pa.array(list(column)) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(arrays, names=list(columns)), folder / name)


def told(done):
    return [re.sub(r"\d+\.\d\d s", "T s", line) for line in done.err.splitlines()]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_line_per_batch_and_a_summary(command, store):
    put("a.parquet", ("d", "e", "insert"), ("a", "b", "delete"))
    done = command("stream", store, "--source", "feed", "--output", "out", "--once")
    assert (done.status, done.out) == (0, "")
    assert told(done) == [
        "feed -> kb version 1",
        "batch 0: 2 rows, +4 -4 facts, T s -> kb version 2",
        "1 batch, 2 rows, +4 -4 facts, T s -> kb version 2",
    ]
    assert len(list(Path("out/path").iterdir())) == 1
    again = command("stream", store, "--source", "feed", "--output", "out", "--once")
    assert told(again)[1:] == ["0 batches, 0 rows, +0 -0 facts, T s -> kb version 2"]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_text_of_one_predicate_and_an_answer_in_json(command, store):
    Path("changes").mkdir()
    Path("changes/1.csv").write_text("x,y,_change_type\nd,e,insert\n")
    done = command("stream", store, "--source", "edge=changes", "--available-now", "--json", "-q")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert {name: found[name] for name in ("batches", "rows", "added", "removed", "version")} == {
        "batches": 1, "rows": 1, "added": 5, "removed": 0, "version": 2
    }  # fmt: skip


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_row_that_does_not_tell_what_happened_ends_the_command(command, store):
    put("a.parquet", ("d", "e", "insert"), ("d", "f", None))
    done = command("stream", store, "--source", "feed", "--once")
    assert done.status == 1
    assert "D330: _change_type in row 2 is None" in done.err
    assert "feed/edge/a.parquet" in done.err
    assert sl.open(store).version == 1


def test_what_is_wrong_with_the_command_is_told_before_spark_starts(command, store):
    assert command("stream", store).status == 2
    done = command("stream", store, "--source", "nowhere")
    assert (done.status, "D100" in done.err) == (1, True)
    Path("feed").mkdir()
    assert "D320" in command("stream", store, "--source", "feed", "--emit", "x").err
    assert "T101" in command("stream", "none", "--source", "feed").err
    assert "T108" in command("stream", store, "--source", "feed", "--output", "feed").err
    assert command("stream", store, "--source", "feed", "--interval", "-1").status == 2
    shown = command("stream", "--help").out
    assert all(word in shown for word in ("Examples:", "_change_type", "--source", "--output"))


# In processes of their own.


def start(*words):
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "stratalog", *words],
        stderr=subprocess.PIPE, text=True, env={**os.environ}, start_new_session=True,
    )  # fmt: skip
    line = ""
    while "batch 0" not in line:
        line = child.stderr.readline()
        assert line, child.wait()
    return child


@pytest.fixture
def running(store):
    put("a.parquet", ("d", "e", "insert"))
    child = start("stream", store, "--source", "feed", "--interval", "0.2", *SETTINGS)
    yield child
    child.kill()
    child.wait()
    child.stderr.close()


@pytest.mark.spark
@pytest.mark.slow
def test_ctrl_c_ends_it_cleanly_and_meanwhile_no_other_stream_runs(command, store, running):
    done = command("stream", store, "--source", "feed", "--once")
    assert (done.status, "T114: another stream runs on this store" in done.err) == (1, True)
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(60) == 0
    assert "stopped: 1 batch, 1 row" in running.stderr.read()


@pytest.mark.spark
@pytest.mark.slow
def test_a_lost_jvm_is_an_error_of_the_engine(running):
    time.sleep(0.5)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    names = {child: Path(f"/proc/{child}/comm").read_text().strip() for child in children}
    for child in (child for child, name in names.items() if name == "java"):
        os.kill(int(child), signal.SIGKILL)
    assert running.wait(60) == 4
    assert "E204: the JVM of Spark has ended" in running.stderr.read()
