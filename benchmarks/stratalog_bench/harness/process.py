"""A worker in a process of its own, watched: its stages, its time, its memory."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from stratalog.knowledge.options import available_memory
from stratalog_bench.harness.results import DONE, FAILED, LEFT_OUT, OUT_OF_MEMORY, OVER_LIMIT
from stratalog_bench.systems.registry import ONE_THREAD

INTERVAL = 0.2  # seconds between two looks at a worker
SHARE_OF_MEMORY = 0.85  # of what is free; beyond it the machine, not the system, would be measured
MEASURED = ("load", "reason")
COMPILED = {"STRATALOG_KERNELS": "compiled"}
"""The environment of a worker: no kernel is interpreted while it is measured."""

Watch = Callable[[str, float], None]  # hears the stage, and the seconds since loading began


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a worker ended: its answer, or why there is none."""

    status: str
    answer: dict[str, Any]
    detail: str = ""


def run_worker(
    arguments: Sequence[str],
    limit: float,
    watch: Watch = lambda *_: None,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Run `python -m ARGUMENTS` and return its outcome; it is killed on the limit and on Ctrl-C.

    Only loading and reasoning count against the limit, neither imports nor compiling.
    """
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603  # our own module
            [sys.executable, "-m", *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **COMPILED, **(ONE_THREAD if environment is None else environment)},
            start_new_session=True,  # Ctrl-C comes to us, and we end the worker
        ) as process,
    ):
        try:
            outcome = _Watched(process, limit, watch).wait()
        finally:
            process.kill()
            process.wait()
        if outcome is not None:
            return outcome
        return Outcome(FAILED, {}, _last_words(errors, process.returncode))


class _Watched:
    """Listens to a worker until it answers, ends or exceeds a limit."""

    def __init__(self, process: subprocess.Popen[bytes], limit: float, watch: Watch) -> None:
        assert process.stdout is not None  # noqa: S101  # asked for above
        self._process, self._stdout = process, process.stdout
        self._limit, self._watch = limit, watch
        self._stage, self._begun = "starting", 0.0
        free = available_memory()
        self._most = int(SHARE_OF_MEMORY * free) if free else None

    def wait(self) -> Outcome | None:
        """Return the outcome, or None if the worker ended without a word."""
        pending = b""
        while True:
            if select.select([self._stdout], [], [], INTERVAL)[0]:
                read = os.read(self._stdout.fileno(), 1 << 16)
                if not read:
                    return None
                *lines, pending = (pending + read).split(b"\n")
                for line in lines:
                    if (outcome := self._hear(json.loads(line))) is not None:
                        return outcome
            elif (outcome := self._look()) is not None:
                return outcome

    def _hear(self, message: dict[str, Any]) -> Outcome | None:
        if "result" in message:
            return Outcome(DONE, message["result"])
        if "left_out" in message:
            return Outcome(LEFT_OUT, {}, message["left_out"])
        self._stage = message["stage"]
        if not self._begun and self._stage in MEASURED:
            self._begun = time.monotonic()
        self._watch(self._stage, self._seconds())
        return None

    def _look(self) -> Outcome | None:
        self._watch(self._stage, self._seconds())
        if self._stage in MEASURED and self._seconds() > self._limit:
            return Outcome(OVER_LIMIT, {}, f"> {self._limit:g} s")
        if self._most is not None and _resident(self._process.pid) > self._most:
            return Outcome(OUT_OF_MEMORY, {}, f"> {self._most / 2**30:.1f} GiB")
        return None

    def _seconds(self) -> float:
        return time.monotonic() - self._begun if self._begun else 0.0


def _resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):  # it has ended, or there is no such file on this system
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _last_words(errors: IO[bytes], status: int) -> str:
    """Return the last line that a worker wrote, or how it ended."""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return lines[-1][:300] if lines else f"it ended with {how}"
