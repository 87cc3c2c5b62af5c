"""Sets of characters as sorted, disjoint ranges of code points: categories, negation, case."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
ALL: Ranges = ((0, LAST),)
SPACE: Ranges = ((0x9, 0xA), (0xD, 0xD), (0x20, 0x20))
LINE_ENDS: Ranges = ((0xA, 0xA), (0xD, 0xD))
NAME_START: Ranges = (  # NameStartChar of XML 1.1: what \i means
    *((0x3A, 0x3A), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6)),
    *((0xF8, 0x2FF), (0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F)),
    *((0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFFD), (0x10000, 0xEFFFF)),
)
_MORE_IN_NAMES: Ranges = (
    *((0x2D, 0x2E), (0x30, 0x39), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)),
)
_KINDS = {
    "L": "ultmo",
    "M": "nce",
    "N": "dlo",
    "P": "cdseifo",
    "Z": "slp",
    "S": "mcko",
    "C": "cfon",
}
CATEGORIES = _KINDS.keys() | {family + kind for family in _KINDS for kind in _KINDS[family]}
_CASED = 0x1F000  # no character above has another case


def union(parts: Iterable[Ranges]) -> Ranges:
    """Return the characters of any of the sets."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(each for part in parts for each in part):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def negated(ranges: Ranges) -> Ranges:
    """Return all other characters."""
    found: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if low > start:
            found.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        found.append((start, LAST))
    return tuple(found)


def without(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the characters of the first set that are not in the second."""
    return negated(union([negated(ranges), others]))


def contains(ranges: Ranges, code: int) -> bool:
    """Return whether a character is in the set."""
    place = bisect_right(ranges, (code, LAST)) - 1
    return place >= 0 and code <= ranges[place][1]


@cache
def escaped(letter: str) -> Ranges:
    r"""Return the set of an escape of several characters: \s \d \w \i \c, or in upper case."""
    if letter.isupper():
        return negated(escaped(letter.lower()))
    match letter:
        case "s":
            return SPACE
        case "d":
            return category("Nd")
        case "i":
            return NAME_START
        case "c":
            return union([NAME_START, _MORE_IN_NAMES])
    return negated(union(map(category, "PZC")))


@cache
def category(name: str) -> Ranges:
    """Return the characters of a general category of Unicode, such as L or Lu."""
    return union(ranges for each, ranges in _categories().items() if each.startswith(name))


@cache
def _categories() -> Mapping[str, Ranges]:
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    start = 0
    for name, run in groupby(map(unicodedata.category, map(chr, range(LAST + 1)))):
        end = start + sum(1 for _ in run)
        found[name].append((start, end - 1))
        start = end
    return {name: tuple(ranges) for name, ranges in found.items()}


def in_any_case(ranges: Ranges) -> Ranges:
    """Return the set with all characters that differ from one of it only by case."""
    variants = _variants()
    cased = _cased()
    other = [
        (code, code)
        for low, high in ranges
        for char in cased[bisect_left(cased, low) : bisect_right(cased, high)]
        for code in variants[char]
    ]
    return union([ranges, tuple(other)]) if other else ranges


def same_but_for_case(left: str, right: str) -> bool:
    """Return whether two texts have the same length and differ at most by case."""
    return len(left) == len(right) and all(
        one == other or ord(other) in _variants().get(ord(one), ())
        for one, other in zip(left, right, strict=True)
    )


@cache
def _cased() -> list[int]:
    return sorted(_variants())


@cache
def _variants() -> Mapping[int, frozenset[int]]:
    """Return for each character that has cases those whose upper or lower case is the same."""
    cased = {c for c in map(chr, range(_CASED)) if c.lower() != c or c.upper() != c}
    cased |= {other for c in cased for other in (c.lower(), c.upper()) if len(other) == 1}
    by_case: defaultdict[tuple[str, bool], set[int]] = defaultdict(set)
    for char in cased:
        by_case[char.lower(), False].add(ord(char))
        by_case[char.upper(), True].add(ord(char))
    return {
        ord(char): frozenset(by_case[char.lower(), False] | by_case[char.upper(), True])
        for char in cased
    }
