"""CPU seconds that kernels take only at first: to be compiled, loaded, or interpreted.

They say nothing about how long the same work takes again, so that whoever chooses by costs leaves
them out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local

INTERPRETED_FACTOR = 100  # about how many times as long an interpreted kernel takes


class Preparation:
    """Adds up the CPU seconds that went into preparing kernels, in all threads."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = Lock()
        self._here = local()

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Count the CPU time of the block as preparation, once if blocks are nested."""
        if getattr(self._here, "is_measured", False):
            yield
            return
        self._here.is_measured = True
        begun = time.thread_time()
        try:
            yield
        finally:
            self._here.is_measured = False
            self._add(time.thread_time() - begun)

    def interpreted(self, seconds: float) -> None:
        """Count what an interpreted kernel took beyond what a compiled one would have taken."""
        self._add(seconds * (1 - 1 / INTERPRETED_FACTOR))

    def _add(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds


PREPARATION = Preparation()


def work_time() -> float:
    """Return the CPU seconds of this process, without those that prepared kernels."""
    return time.process_time() - PREPARATION.seconds
