"""What one evaluation of expressions may take, and how it is asked to stop.

Built-ins know no engine. Whoever evaluates says what is to be called while they work, and how many
digits a number may have; built-ins whose cost grows with their arguments call `check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from stratalog.errors import EngineError

MAX_DIGITS = 4_300  # of a number, unless told otherwise: as many as Python lists by default
LONGEST_TEXT = 1 << 24  # characters of a text that a built-in makes
ABOVE_DIGITS = 3  # sign and dot, with the zero that stands before or after it

TOO_LARGE = "E111"

Check = Callable[[], None]


def unchecked() -> None:
    """Look at no limit."""


_check: ContextVar[Check] = ContextVar("check", default=unchecked)
_digits: ContextVar[int] = ContextVar("digits", default=MAX_DIGITS)


@contextmanager
def checked_by(check: Check) -> Iterator[None]:
    """Call `check` while built-ins work; it raises where a limit is reached."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


class digits_up_to:  # noqa: N801  # used like a function
    """Refuse numbers of more digits until the block ends."""

    def __init__(self, most: int) -> None:
        self._most = most

    def __enter__(self) -> None:
        self._token = _digits.set(self._most)

    def __exit__(self, *error: object) -> None:
        _digits.reset(self._token)


def check() -> None:
    """Look at the limits of whoever evaluates."""
    _check.get()()


def max_digits() -> int:
    """Return how many digits a number may have."""
    return _digits.get()


def check_digits(digits: int) -> None:
    """Refuse a result of arithmetic that is too long."""
    if digits > _digits.get():
        raise EngineError(
            TOO_LARGE,
            f"a built-in makes a number of about {digits:,} digits;"
            f" max_digits={_digits.get():,} is the most",
            help="bound the values with FILTER, or raise max_digits=",
        )


def check_length(characters: int) -> None:
    """Refuse a text that is too long to be made."""
    if characters > LONGEST_TEXT:
        raise EngineError(
            TOO_LARGE,
            f"a built-in makes a text of {characters:,} characters; {LONGEST_TEXT:,} are the most",
            help="bound the texts with FILTER(STRLEN(...) < ...)",
        )
