"""Whose turn it is, where several threads use one knowledge base.

Two locks, always taken in this order:

    a writer's turn   who changes, saves, publishes or replaces what the knowledge base is
    the engine        its facts, its scratch space and the dictionary, while they are looked at

Only writers change facts. So one that only reads them, such as `save`, has the engine for one
relation at a time, and questions are answered in between; one that changes them has the engine from
the first change until what it did is committed or undone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock, RLock, get_ident
from typing import Protocol

from stratalog.errors import EngineError
from stratalog.runtime import interrupts
from stratalog.runtime.interrupts import held
from stratalog.tracebacks import shown_briefly

POLL_SECONDS = 0.05  # seconds after which one that waits looks whether Ctrl-C was pressed
MAX_TURN_SECONDS = 0.02  # seconds that a reader of input has the engine before it lets others in
MOMENT = 0.0002  # seconds that others have to wake up


class Waiting(Protocol):
    """A lock that one can wait for in slices."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Return whether the lock was had in time."""


class Turns:
    """The locks of one knowledge base; they stay the same whatever becomes of it."""

    def __init__(self) -> None:
        self.engine = RLock()
        self._writers = Lock()
        self._writer: int | None = None  # its thread
        self._others = Condition(self.engine)
        self._had_since = 0.0  # by one that reads its input

    @contextmanager
    def writing(self, doing: str) -> Iterator[None]:
        """Have a writer's turn; Ctrl-C is held back, except while it is waited for."""
        self.refuse_within(doing)
        with shown_briefly(), held():
            wait_for(self._writers)
            try:
                self._writer = get_ident()
                yield
            finally:
                self._writer = None
                self._writers.release()

    def refuse_within(self, doing: str) -> None:
        """Raise E109 in a function that was called by whoever has the writer's turn."""
        if self._writer == get_ident():
            raise within(doing)

    @contextmanager
    def touching(self) -> Iterator[None]:
        """Have the engine; Ctrl-C is held back, except while it is waited for."""
        with shown_briefly(), held():
            wait_for(self.engine)
            try:
                self._had_since = time.monotonic()
                yield
            finally:
                self.engine.release()

    def pause(self) -> None:
        """Release the engine for a moment, if the last time is some while ago.

        For a writer that reads its input: it has not changed a fact, and adds to the dictionary,
        which others leave as it was. It cannot go on, nor be undone, before it has the engine back.
        """
        if time.monotonic() - self._had_since < MAX_TURN_SECONDS:
            return
        with held():
            self._others.wait(MOMENT)
        self._had_since = time.monotonic()


def wait_for(lock: Waiting) -> None:
    """Take a lock; Ctrl-C is heard meanwhile, also where it is held back."""
    while not lock.acquire(timeout=POLL_SECONDS):
        interrupts.check()


def within(doing: str) -> EngineError:
    """Return the error for a call from a function that an unfinished call has called."""
    return EngineError(
        "E109",
        f"{doing} was called by a function that another call of this knowledge base has called",
        help="call it when the other call has returned",
    )
