"""Kernels on several cores: jobs that run at once, each in a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from stratalog.kernels import jit

Result = TypeVar("Result")


class Threads:
    """Runs jobs at once. Kernels release the interpreter's lock, so they share the cores."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.stop: npt.NDArray[np.int64] = np.zeros(1, np.int64)
        """Not zero once a job has stopped: kernels that look at it end soon."""
        self._pool: ThreadPoolExecutor | None = None

    def run(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        """Return what the jobs return, the first of which runs in this thread."""
        self.stop[0] = 0
        if len(jobs) == 1:
            return [self._stopping(jobs[0])]
        with jit.THREADS.sharing():
            return self._run_at_once(jobs)

    def _run_at_once(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.count - 1, "stratalog")
        others = [self._pool.submit(self._stopping, job) for job in jobs[1:] if self._pool]
        try:
            first = self._stopping(jobs[0])
        finally:
            for other in others:  # nothing may change under a kernel that still runs
                other.exception()
        return [first, *(other.result() for other in others)]

    def _stopping(self, job: Callable[[], Result]) -> Result:
        try:
            return job()
        finally:
            self.stop[0] = 1
