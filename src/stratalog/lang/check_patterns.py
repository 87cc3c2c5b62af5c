"""Checks the constant patterns of REGEX and REPLACE when a program is read."""

from __future__ import annotations

from typing import NamedTuple

from stratalog.lang.builtins.regex import check_constants
from stratalog.lang.printer import show
from stratalog.lang.regex.errors import RegexError
from stratalog.lang.syntax import Call, Expression
from stratalog.lang.terms import STRING, Term

PATTERNS = {"REGEX": (1, None, 2), "REPLACE": (1, 2, 3)}
"""Where functions have their pattern, replacement and flags."""


class PatternMistake(NamedTuple):
    """What is wrong, the word of the rule where it is, and what to do."""

    code: str
    message: str
    word: str
    advice: str


def pattern_mistake(call: Call) -> PatternMistake | None:
    """Return what is wrong with the constants of a call, None if nothing is."""
    pattern_at, replacement_at, flags_at = PATTERNS[call.name]
    pattern = _text(call, pattern_at)
    flags = "" if len(call.args) <= flags_at else _text(call, flags_at)
    replacement = None if replacement_at is None else _text(call, replacement_at)
    if pattern is None or flags is None:
        return None  # known only when rules run
    try:
        check_constants(pattern, flags, replacement)
    except RegexError as error:
        word = show(call.args[pattern_at])
        if error.is_supported:
            advice = "patterns and flags are those of XPath; after a backslash a sign is itself"
            return PatternMistake("S212", str(error), word, advice)
        return PatternMistake("S213", str(error), word, "write a simpler pattern")
    return None


def _text(call: Call, at: int) -> str | None:
    term: Expression = call.args[at]
    return term.text if isinstance(term, Term) and term.kind == STRING else None
