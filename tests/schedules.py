"""Two calls in two threads, interleaved at every point where a knowledge base's locks are used.

One call is stopped before it takes a lock, or before it gives one back; the other call then runs to
its end, or until it has to wait. So what happens depends on no clock.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Iterator
from typing import Any

LONG = 120.0  # seconds: no call takes so long, unless two wait for each other


class Schedule:
    """Stops one thread at its n-th point, and hears of the other when it must wait."""

    def __init__(self, point: int) -> None:
        self.point = point
        self.passed = 0
        self.first: int | None = None  # the thread that is stopped
        self.second: int | None = None
        self.is_stopped = threading.Event()
        self.goes_on = threading.Event()
        self.second_rests = threading.Event()  # it has ended, or waits for the first
        self.wrong_order: list[str] = []

    def reach(self) -> None:
        """Note that a thread is about to take a lock or to give one back."""
        if threading.get_ident() != self.first:
            return
        self.passed += 1
        if self.passed == self.point:
            self.is_stopped.set()
            assert self.goes_on.wait(LONG)

    def wait(self) -> None:
        """Note that a thread waits for a lock."""
        if threading.get_ident() == self.second:
            self.second_rests.set()


class EngineLock(_thread.RLock):
    """A knowledge base's lock of its engine."""

    schedule = Schedule(0)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._is_owned():
            return super().acquire()
        self.schedule.reach()
        if super().acquire(blocking=False):
            return True
        self.schedule.wait()
        return super().acquire(blocking, timeout)

    def release(self) -> None:
        if self._recursion_count() == 1:
            self.schedule.reach()
        super().release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class WritersLock:
    """A knowledge base's lock of those who write."""

    schedule = Schedule(0)

    def __init__(self, engine: EngineLock) -> None:
        self._engine = engine
        self._lock = threading.Lock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._engine._is_owned():
            self.schedule.wrong_order.append(
                "the engine is had while a writer's turn is waited for"
            )
        self.schedule.reach()
        if self._lock.acquire(blocking=False):
            return True
        self.schedule.wait()
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        self.schedule.reach()
        self._lock.release()


def watch(kb: Any) -> None:
    """Let the locks of a knowledge base, which no thread has, tell of their use."""
    engine = EngineLock()
    kb._turns.engine = kb._lock = engine
    kb._turns._others = threading.Condition(engine)
    kb._turns._writers = WritersLock(engine)


def interleaved(
    first: Callable[[], Any], second: Callable[[], Any], scene: Any, prepare: Callable[[], None]
) -> Iterator[tuple[Any, Any]]:
    """Yield what both calls return or raise, for each point at which the first can be stopped.

    `scene.kb` is the knowledge base that they use, which `prepare` may make anew.
    """
    for point in range(1, 1000):
        prepare()
        schedule = Schedule(point)
        turns = scene.kb._turns
        turns._writers.schedule = turns.engine.schedule = schedule
        results: dict[str, Any] = {}
        one = threading.Thread(target=_run, args=(first, "first", results, schedule), daemon=True)
        two = threading.Thread(target=_run, args=(second, "second", results, schedule), daemon=True)
        one.start()
        assert schedule.is_stopped.wait(LONG)
        was_stopped = schedule.passed >= point
        two.start()
        assert schedule.second_rests.wait(LONG)
        schedule.goes_on.set()
        one.join(LONG)
        two.join(LONG)
        assert not one.is_alive()
        assert not two.is_alive()
        assert schedule.wrong_order == []
        yield results["first"], results["second"]
        if not was_stopped:
            return


def _run(call: Callable[[], Any], name: str, results: dict[str, Any], schedule: Schedule) -> None:
    setattr(schedule, name, threading.get_ident())
    try:
        results[name] = call()
    except Exception as error:  # noqa: BLE001  # the test looks at it
        results[name] = error
    finally:
        setattr(schedule, name, None)  # another thread may get its number
        (schedule.is_stopped if name == "first" else schedule.second_rests).set()
