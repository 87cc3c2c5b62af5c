"""Names that look like slips of each other: `egde` and `edge`, `Edge` and `edge`."""

from __future__ import annotations

import re
from collections.abc import Iterable

SHORT = 4  # below so many letters, one other letter makes another word
LONG = 8  # from so many letters on, two slips are still slips
_DIGITS = re.compile(r"\d+")
_PARTS = re.compile(r"(.*[/#:])?(.*?)>?", re.DOTALL)


def slip_of(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` is most likely meant to be, or None.

    Names with other digits are different on purpose, and so are short ones with other letters. Of
    IRIs and prefixed names the last part counts, and what stands before it must be the same.
    """
    slips = [(distance, each) for each in known if (distance := _slips(name, each)) is not None]
    return min(slips)[1] if slips else None


def _slips(name: str, other: str) -> int | None:
    """Return the number of slips between two names, or None if they are no slips."""
    (space, left), (other_space, right) = _split(name), _split(other)
    if name == other or space != other_space or _digits(left) != _digits(right):
        return None
    left, right = _plain(left), _plain(right)
    if left == right:
        return 0
    length = max(len(left), len(right))
    most = 0 if length < SHORT else 1 if length < LONG else 2
    if abs(len(left) - len(right)) > most:
        return None
    found = distance(left, right)
    return found if found <= most else None


def _split(name: str) -> tuple[str, str]:
    found = _PARTS.fullmatch(name)
    assert found is not None, "every text has the two parts"  # noqa: S101
    return found[1] or "", found[2]


def _digits(name: str) -> list[str]:
    return _DIGITS.findall(name)


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def distance(left: str, right: str) -> int:
    """Return the number of letters to add, drop, replace, or swap with their neighbour."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        earlier, before, row = before, row, [i]
        for j, other in enumerate(right, 1):
            best = min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                best = min(best, earlier[j - 2] + 1)
            row.append(best)
    return row[-1]
