"""Checks of what generators are given."""

from __future__ import annotations

from collections.abc import Collection

from stratalog.errors import DataError

MOST = 2**31 - 1  # the number of a pair of nodes fits 64 bits


def whole(name: str, value: object, *, least: int = 0, most: int = MOST) -> int:
    """Return the value if it is a whole number in the range, or raise."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise DataError(
        "D401",
        f"{name} = {value!r} is no whole number from {least:,} to {most:,}",
        help=f"choose another value for {name}",
    )


def one_of(name: str, value: object, choices: Collection[str]) -> str:
    """Return the value if it is one of the choices, or raise."""
    if isinstance(value, str) and value in choices:
        return value
    raise DataError(
        "D401",
        f"{name} = {value!r} is not one of {', '.join(choices)}",
        help=f"choose another value for {name}",
    )
