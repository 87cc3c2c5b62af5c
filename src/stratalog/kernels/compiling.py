"""Compile kernels before they are called: each after those that it calls, on all cores.

Numba compiles in one thread, so several processes do it. They leave the kernels in the folder of
compiled ones, from where they are loaded. A file lock for each kernel sees to it that none is
compiled twice, whichever processes start together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from threading import Condition, RLock, Thread

from stratalog.kernels.cache import Place, is_kept
from stratalog.kernels.forms import called_by
from stratalog.runtime import interrupts

Watcher = Callable[[int, int], None]

MIN_KERNELS_PER_PROCESS = 6  # a process takes as long to start as these take to be compiled
MAX_PROCESSES = 8
POLL_SECONDS = 0.2

WATCHERS: list[Watcher] = []
"""Functions that are told how many of how many kernels have been compiled.

At the end both numbers are those that were compiled, also if Ctrl-C came before all were.
"""

_TURN = RLock()
_compiled_here: set[Place] = set()


def compile_kernels(places: Iterable[Place]) -> bool:
    """Compile kernels and all that they call; return False if Ctrl-C came before the end."""
    with _TURN:
        unfinished = Unfinished([each for each in in_order(places) if not is_there(each)])
        if unfinished.total and not interrupts.is_stopping():
            try:
                _compile(unfinished)
            finally:
                _compiled_here.update(unfinished.done)
                _tell(len(unfinished.done), len(unfinished.done))
    return unfinished.total == len(unfinished.done)


def is_there(place: Place) -> bool:
    """Return whether a kernel is in the folder of compiled ones, as far as this process knows."""
    return place in _compiled_here or is_kept(place)


def in_order(places: Iterable[Place]) -> list[Place]:
    """Return kernels and all that they call, each after those that it calls."""
    ordered: dict[Place, None] = {}

    def visit(place: Place) -> None:
        if place not in ordered:
            for each in called_by(place):
                visit(each)
            ordered[place] = None

    for place in places:
        visit(place)
    return list(ordered)


class Unfinished:
    """Kernels that are to be compiled, for several threads to take."""

    def __init__(self, ordered: Sequence[Place]) -> None:
        self.total = len(ordered)
        self.done: set[Place] = set()
        self.changed = Condition()
        self._left = dict.fromkeys(ordered)
        self._taken: set[Place] = set()
        self._is_stopped = False

    def take(self) -> Place | None:
        """Return a kernel to compile now, as soon as there is one; None if none is left."""
        with self.changed:
            while not self._is_stopped and len(self._taken) < len(self._left):
                if (place := self._next()) is not None:
                    self._taken.add(place)
                    return place
                self.changed.wait()
            return None

    def finish(self, place: Place) -> None:
        """Note that a kernel has been compiled."""
        with self.changed:
            self._taken.discard(place)
            self._left.pop(place, None)
            self.done.add(place)
            self.changed.notify_all()

    def give_back(self, place: Place) -> None:
        """Note that a kernel has not been compiled; another thread may take it."""
        with self.changed:
            self._taken.discard(place)
            self.changed.notify_all()

    def stop(self, *, is_stopped: bool = True) -> None:
        """End the taking of kernels: `take` returns None. Or allow it again."""
        with self.changed:
            self._is_stopped = is_stopped
            self.changed.notify_all()

    def _next(self) -> Place | None:
        """Return a kernel that calls none that is left, or any where those call each other."""
        waiting = [place for place in self._left if place not in self._taken]
        ready = (p for p in waiting if not any(each in self._left for each in called_by(p)))
        return next(ready, None if self._taken else waiting[0])


def _compile(unfinished: Unfinished) -> None:
    """Compile in other processes, and here what they have left because they cannot run."""
    count = min(_cores(), MAX_PROCESSES, unfinished.total // MIN_KERNELS_PER_PROCESS)
    if count > 1:
        _compile_in_processes(unfinished, count)
    with interrupts.held():  # Numba that is half imported cannot be imported again
        from stratalog.kernels.versions import compile_versions
    while len(unfinished.done) < unfinished.total:
        _tell(len(unfinished.done), unfinished.total)
        if interrupts.is_pending() or (place := unfinished.take()) is None:
            break
        compile_versions(place)
        unfinished.finish(place)


def _compile_in_processes(unfinished: Unfinished, count: int) -> None:
    from stratalog.kernels.compiler_process import CompilerProcess

    processes = [CompilerProcess() for _ in range(count)]
    threads = [Thread(target=each.compile_all, args=(unfinished,)) for each in processes]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) and not interrupts.is_pending():
            _tell(len(unfinished.done), unfinished.total)
            with unfinished.changed:
                unfinished.changed.wait(POLL_SECONDS)
    finally:
        unfinished.stop()
        for process in processes:
            process.end()
        for thread in threads:
            thread.join()
        unfinished.stop(is_stopped=False)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _tell(done: int, total: int) -> None:
    for watcher in WATCHERS:
        watcher(done, total)
