"""Threads that each do one thing over and over, until a time or a number of turns is reached."""

from __future__ import annotations

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

SHOWN = 40  # problems that are told in full


@dataclass
class Run:
    """How long it goes on, what was done, and what was wrong."""

    seconds: float | None = None
    turns: int = 0  # of each thread, if there are no seconds
    begun: float = field(default_factory=time.monotonic)
    done: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    n_problems: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def goes_on(self, turns: int) -> bool:
        """Tell whether a thread that has had so many turns has another one."""
        if self.seconds is None:
            return turns < self.turns
        return time.monotonic() < self.begun + self.seconds

    def count(self, what: str, n: int = 1) -> None:
        with self._lock:
            self.done[what] += n

    def note(self, problem: str) -> None:
        """Note what is wrong."""
        with self._lock:
            self.n_problems += 1
            if len(self.problems) < SHOWN:
                self.problems.append(problem)

    def note_error(self, what: str, error: BaseException) -> None:
        """Note an error, and where it was raised."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        self.note(f"{what}: {text} ({last.filename.rpartition('/')[2]}:{last.lineno})")

    def repeat(self, what: str, turn: Callable[[], object]) -> threading.Thread:
        """Start a thread that has its turn over and over; errors are problems, and it goes on."""

        def work() -> None:
            turns = 0
            while self.goes_on(turns):
                try:
                    turn()
                except Exception as error:  # noqa: BLE001  # whatever it is, the soak tells it
                    self.note_error(what, error)
                    time.sleep(0.05)
                turns += 1
                self.count(what)

        thread = threading.Thread(target=work, name=what, daemon=True)
        thread.start()
        return thread
