"""REGEX and REPLACE with the regular expressions of XPath, in time that is bounded."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from stratalog.lang import effort
from stratalog.lang.regex.errors import RegexError

if TYPE_CHECKING:
    from stratalog.lang.regex.backtracking import Backtracking
    from stratalog.lang.regex.linear import Linear
    from stratalog.lang.regex.parse import Regex

MOST_KEPT = 64  # compiled patterns, of a few megabytes each at the most
_REPLACEMENT = re.compile(r"\$[0-9]+|\\[\\$]|[^\\$]+|.", re.DOTALL)

Parts = list[str | int]


def matches(text: str, pattern: str, flags: str = "") -> bool:
    """Return whether the pattern matches somewhere in the text."""
    return runner(pattern, flags, ends_line=text.endswith("\n")).search(text)


def replaced(text: str, pattern: str, replacement: str, flags: str = "") -> str:
    """Return the text with all matches replaced; $1 in the replacement is the first group."""
    _refuse_empty(pattern, flags)
    parts = template(replacement, pattern, flags)
    written: list[str] = []
    length = 0
    for before, found in runner(pattern, flags, ends_line=text.endswith("\n")).pieces(text):
        written.append(before)
        if found is not None:
            new = "".join([part if isinstance(part, str) else found[part] for part in parts])
            written.append(new)
            length += len(new)
        length += len(before)
        effort.check_length(length)
    return "".join(written)


def template(replacement: str, pattern: str, flags: str) -> Parts:
    """Return the parts of a replacement: texts and numbers of groups."""
    if "q" in flags:
        return [replacement]
    return _parts(replacement, _parsed(pattern, flags).groups)


def check_constants(pattern: str, flags: str, replacement: str | None) -> None:
    """Raise RegexError if REGEX, or with a replacement REPLACE, has no value for any text."""
    runner(pattern, flags, ends_line=False)
    runner(pattern, flags, ends_line=True)
    if replacement is not None:
        template(replacement, pattern, flags)
        _refuse_empty(pattern, flags)


def _refuse_empty(pattern: str, flags: str) -> None:
    if matches("", pattern, flags):
        raise RegexError(f"REPLACE with {pattern!r}, which matches the empty string")


def runner(pattern: str, flags: str, *, ends_line: bool) -> Linear | Backtracking:
    """Return what runs the pattern on texts that end with a line end, or do not."""
    return _runner(pattern, flags, ends_line and "m" in flags)


@lru_cache(maxsize=MOST_KEPT)
def _runner(pattern: str, flags: str, in_last_line: bool) -> Linear | Backtracking:  # a key
    from stratalog.lang.regex.backtracking import Backtracking
    from stratalog.lang.regex.linear import Linear

    regex = _parsed(pattern, flags)
    # RE2's ^ and $ match after a line end at the end of the text, those of XPath do not.
    if regex.has_back_references or (in_last_line and regex.has_edges and "m" in regex.flags):
        return Backtracking(regex)
    return Linear(regex)


def _parsed(pattern: str, flags: str) -> Regex:
    from stratalog.lang.regex.parse import parse  # loaded where a program has patterns

    return parse(pattern, flags)


def _parts(replacement: str, groups: int) -> Parts:
    parts: Parts = []
    for found in _REPLACEMENT.finditer(replacement):
        piece = found[0]
        if piece[0] == "$" and len(piece) > 1:
            number, rest = _group(piece[1:], groups)
            parts += [number if number <= groups else "", rest]
        elif piece in {"\\\\", "\\$"}:
            parts.append(piece[1])
        elif piece in {"\\", "$"}:
            raise RegexError(f"{replacement!r} has a lone $ or backslash: write \\$ or \\\\")
        else:
            parts.append(piece)
    return parts


def _group(digits: str, groups: int) -> tuple[int, str]:
    """Return the group that digits name, and the rest: $12 is $1 and 2 if there is no group 12."""
    zeros = len(digits) - len(digits.lstrip("0"))
    size = min(len(digits), max(1, zeros + len(str(groups))))
    while size > 1 and int(digits[:size]) > groups:
        size -= 1
    return int(digits[:size]), digits[size:]
