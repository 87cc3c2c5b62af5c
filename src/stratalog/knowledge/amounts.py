"""Limits as people write them, in Python and on the command line: bytes, counts, seconds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from stratalog.errors import EngineError

UNITS = {"": 1, "B": 1}
UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {letter: 1024**power for power, letter in enumerate("KMGT", 1)}

MOST_THREADS = 256
LEAST_DIGITS, MOST_DIGITS = 20, 100_000
MOST_BYTES = 1 << 62

_AMOUNT = re.compile(r"\s*([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z]{0,3})\s*")
_LEAVE_OUT = "leave it out for none"


def memory_amount(value: object) -> int:
    """Return bytes: a number, or a text such as 4GiB or 500MB."""
    found = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    amount: Any = value
    if found is not None and found[2].upper() in UNITS:
        amount = float(found[1]) * UNITS[found[2].upper()]
    if not _is_number(amount) or not 1 <= amount <= MOST_BYTES:
        raise _wrong("memory", value, "an amount of memory", 'bytes, or a text such as "4GiB"')
    return int(amount)


def thread_count(value: object) -> int:
    """Return a number of threads."""
    if not _is_whole(value) or not 1 <= value <= MOST_THREADS:
        advice = f"a whole number from 1 to {MOST_THREADS}; more than there are cores gain nothing"
        raise _wrong("threads", value, "a number of threads", advice)
    return value


def fact_count(value: object) -> int:
    """Return a number of facts."""
    if not _is_whole(value) or value < 1:
        advice = f"a whole number from 1; {_LEAVE_OUT}"
        raise _wrong("max_facts", value, "a number of facts", advice)
    return value


def digit_count(value: object) -> int:
    """Return how many digits a number may have."""
    if not _is_whole(value) or not LEAST_DIGITS <= value <= MOST_DIGITS:
        advice = f"a whole number from {LEAST_DIGITS} to {MOST_DIGITS:,}"
        raise _wrong("max_digits", value, "a number of digits", advice)
    return value


def duration(value: object) -> float:
    """Return a number of seconds."""
    if not _is_number(value) or value <= 0:
        advice = f"a number above 0; {_LEAVE_OUT}"
        raise _wrong("timeout", value, "a number of seconds", advice)
    return float(value)


READERS: Mapping[str, Callable[[object], object]] = {
    "memory": memory_amount,
    "threads": thread_count,
    "max_facts": fact_count,
    "max_digits": digit_count,
    "timeout": duration,
}
"""What reads the value of each option that is an amount."""


def _is_number(value: object) -> TypeGuard[float]:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and (isinstance(value, int) or math.isfinite(value))  # type: ignore[arg-type]


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(name: str, value: object, what: str, advice: str) -> EngineError:
    return EngineError("E120", f"{name}={value!r:.60} is not {what}", help=advice)
