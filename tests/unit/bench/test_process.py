"""A worker is watched: its answer, its limits, its end."""

from __future__ import annotations

import os
import time

import pytest

from stratalog_bench.harness import process
from stratalog_bench.harness.results import DONE, FAILED, LEFT_OUT, OUT_OF_MEMORY, OVER_LIMIT

SLEEPING = """
import os, pathlib, time
pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
print('{"stage": "starting"}', flush=True)
time.sleep(0.5)
print('{"stage": "reason"}', flush=True)
time.sleep(60)
"""


@pytest.fixture
def worker(tmp_path):
    """Run a module with this text as a worker."""

    def run(text, limit=20.0, watch=lambda *_: None):
        (tmp_path / "some_worker.py").write_text(text)
        return process.run_worker(["some_worker"], limit, watch, {"PYTHONPATH": str(tmp_path)})

    return run


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_answer_comes_through(worker):
    outcome = worker("""print('{"stage": "count"}\\n{"result": {"cpu": 1.5}}')""")
    assert (outcome.status, outcome.answer) == (DONE, {"cpu": 1.5})


def test_a_system_can_say_that_it_cannot(worker):
    outcome = worker("""print('{"left_out": "built-ins"}')""")
    assert (outcome.status, outcome.detail) == (LEFT_OUT, "built-ins")


def test_a_failure_tells_the_worker_s_last_words(worker):
    outcome = worker("raise SystemError('no luck')")
    assert outcome.status == FAILED
    assert "no luck" in outcome.detail


def test_a_worker_over_the_limit_is_killed_and_only_reasoning_counts(worker, tmp_path):
    begun = time.monotonic()
    outcome = worker(SLEEPING, limit=0.4)
    assert (outcome.status, outcome.detail) == (OVER_LIMIT, "> 0.4 s")
    assert time.monotonic() - begun < 30
    assert not is_running(int((tmp_path / "pid").read_text()))


def test_a_worker_that_takes_all_memory_is_killed(worker, monkeypatch):
    monkeypatch.setattr(process, "available_memory", lambda: 1 << 20)
    assert worker(SLEEPING).status == OUT_OF_MEMORY


def test_control_c_kills_the_worker(worker, tmp_path):
    def interrupt(stage, _):
        if stage == "reason":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker(SLEEPING, watch=interrupt)
    assert not is_running(int((tmp_path / "pid").read_text()))
