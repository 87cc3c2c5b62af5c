"""What a run may use, and how it is stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from stratalog.errors import EngineError
from stratalog.runtime import interrupts


@dataclass(slots=True)
class Limits:
    """Limits of a run; None is no limit."""

    memory: int | None = None  # bytes of the engine's arrays and of the dictionary
    max_facts: int | None = None
    timeout: float | None = None  # seconds
    _deadline: float | None = field(default=None, init=False)
    _absent: int = field(default=0, init=False)

    def start(self, absent: int = 0) -> None:
        """Begin a run, before which an engine stores so many facts that do not count."""
        self._deadline = None if self.timeout is None else time.monotonic() + self.timeout
        self._absent = absent

    def seconds_left(self) -> float | None:
        """Return how long the run may still take, None if there is no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def check_time(self, rule: str) -> None:
        """Raise if time is up, or if somebody has pressed Ctrl-C."""
        interrupts.check()
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise EngineError(
                "E102",
                f"time limit of {self.timeout:g} s reached while evaluating: {rule}",
                help="raise timeout=, or simplify the rule; nothing was changed",
            )

    def check_memory(self, needed: int, rule: str) -> None:
        if self.memory is not None and needed > self.memory:
            raise EngineError(
                "E101",
                f"memory limit of {_amount(self.memory)} reached"
                f" ({_amount(needed)} needed) while evaluating: {rule}",
                help="raise memory=; if it is a rule, look at it: does its body make a product?",
            )

    def check_stored(self, stored: int, rule: str) -> None:
        """Raise if an engine stores too many facts: those that are in no set any more count too."""
        self.check_facts(stored - self._absent, rule)

    def room(self, stored: int) -> int | None:
        """Return how many more facts an engine may store, None if there is no limit."""
        return None if self.max_facts is None else max(0, self.max_facts - stored + self._absent)

    def check_facts(self, facts: int, rule: str) -> None:
        if self.max_facts is not None and facts > self.max_facts:
            raise EngineError(
                "E103",
                f"more than max_facts={self.max_facts:,} facts while evaluating: {rule}",
                help="raise max_facts=; if a BIND makes values without end, bound them with FILTER",
            )


def _amount(nbytes: int) -> str:
    return f"{nbytes >> 20:,} MiB" if nbytes >> 20 else f"{nbytes:,} bytes"


class full_memory_explained:  # noqa: N801  # used like a function
    """Make an error that users can act on of the machine's refusal to give memory."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MemoryError):
            raise EngineError(
                "E101",
                f"the machine's memory is full while {self._doing}",
                help="close other programs, use less data, or set memory= to stop earlier",
            ) from error
