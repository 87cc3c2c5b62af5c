r"""Regular expressions of XPath by Python's `re`: REGEX and REPLACE.

Only what both languages have, or what can be translated, is accepted: groups `(...)`, `(?:...)`,
classes without subtraction, quantifiers, back-references, and the escapes \d \D \w \W \s \S \n \r
\t. Everything else (\p{L}, \i, \c, \b, look-around) is an error.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stratalog.lang.builtins_values import ExpressionError

_FLAGS = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "x": 0, "q": 0}
_SPACE = r" \t\n\r"
_ESCAPES = frozenset(r"dDwWSnrt.\?*+(){}[]|^$-123456789")
_QUANTIFIERS = frozenset("*+?}")
_PIECE = re.compile(r"\\.|\(\?:|\(\?|\[\^|.|\\", re.DOTALL)
_REPLACEMENT = re.compile(r"\$[0-9]+|\\[\\$]|[^\\$]+|.", re.DOTALL)


def matches(text: str, pattern: str, flags: str = "") -> bool:
    """Return whether the pattern matches somewhere in the text."""
    return compiled(pattern, flags).search(text) is not None


def replaced(text: str, pattern: str, replacement: str, flags: str = "") -> str:
    """Return the text with all matches replaced; $1 in the replacement is the first group."""
    expression = compiled(pattern, flags)
    if expression.search("") is not None:
        raise ExpressionError(f"the pattern {pattern!r} matches the empty string")
    if "q" in flags:
        return expression.sub(lambda _: replacement, text)
    parts = _parts(replacement, expression.groups)

    def fill(found: re.Match[str]) -> str:
        return "".join(p if isinstance(p, str) else found[p] or "" for p in parts)

    return expression.sub(fill, text)


@lru_cache(maxsize=256)
def compiled(pattern: str, flags: str) -> re.Pattern[str]:
    """Return the pattern of XPath as one of Python."""
    options = 0
    for flag in flags:
        if flag not in _FLAGS:
            raise ExpressionError(f"unknown flag {flag!r} of a regular expression")
        options |= _FLAGS[flag]
    try:
        return re.compile(
            re.escape(pattern) if "q" in flags else _translated(pattern, flags), options
        )
    except (re.error, OverflowError, RecursionError) as error:
        raise ExpressionError(f"{pattern!r} is not a regular expression: {error}") from error


def _translated(pattern: str, flags: str) -> str:
    parts: list[str] = []
    in_class = False
    before = ""
    for found in _PIECE.finditer(pattern):
        piece = found[0]
        if len(piece) > 1 and piece[0] == "\\":
            parts.append(_escape(piece[1], in_class=in_class))
        elif in_class:
            parts.append(_class_character(piece, before))
            in_class = piece != "]"
        else:
            parts.append(_character(piece, before, flags))
            in_class = piece[0] == "["
        before = piece
    return "".join(parts)


def _escape(letter: str, *, in_class: bool) -> str:
    if letter == "s":
        return _SPACE if in_class else f"[{_SPACE}]"
    if letter == "S" and not in_class:
        return f"[^{_SPACE}]"
    if letter in _ESCAPES and not (in_class and letter.isdigit()):
        return "\\" + letter
    raise ExpressionError(f"the escape \\{letter} is not supported in a regular expression")


def _class_character(piece: str, before: str) -> str:
    if piece[0] in "[\\" or (piece == "]" and before[0] == "[") or before + piece == "--":
        raise ExpressionError("a class of this kind is not supported in a regular expression")
    # Python reserves doubled signs of these inside a class.
    return "\\" + piece if piece in "&~|" else piece


def _character(piece: str, before: str, flags: str) -> str:
    if piece in {"(?", "\\"} or (piece == "+" and before in _QUANTIFIERS):
        raise ExpressionError("the pattern has something that XPath does not know")
    if piece.isspace() and "x" in flags:
        return ""
    if piece == "." and "s" not in flags:
        return r"[^\n\r]"
    # Python's $ also matches before a newline at the end of the text.
    return r"\Z" if piece == "$" and "m" not in flags else piece


def _parts(replacement: str, groups: int) -> list[str | int]:
    parts: list[str | int] = []
    for found in _REPLACEMENT.finditer(replacement):
        piece = found[0]
        if piece[0] == "$" and len(piece) > 1:
            # $12 is group 12 if there is one, otherwise group 1 and the digit 2.
            digits = piece[1:]
            while len(digits) > 1 and int(digits) > groups:
                digits = digits[:-1]
            parts += [int(digits) if int(digits) <= groups else "", piece[1 + len(digits) :]]
        elif piece in {"\\\\", "\\$"}:
            parts.append(piece[1])
        elif piece in {"\\", "$"}:
            raise ExpressionError(f"{replacement!r} has a lone $ or backslash")
        else:
            parts.append(piece)
    return parts
