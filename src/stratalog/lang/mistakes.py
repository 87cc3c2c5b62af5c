"""Syntax errors in words: what the parser met, where, and the likely fix."""

from __future__ import annotations

import re

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from stratalog.errors import ProgramError
from stratalog.lang.diagnostics import last_end, line_at, mistake
from stratalog.lang.other_languages import (
    arrow_after_atom,
    comment_inside,
    directive,
    subsumption,
)
from stratalog.lang.stop import Explanation, Stop
from stratalog.lang.syntax import Place

_WORD = re.compile(
    r"[^\W\d]\w*|\d+\w*|\?\w*|:=|:-|<-+|<=+|=+>|-+>|==|<>|\|\||&&|[\x00-\x20\x7f]|\S"
)
_ARROWS = {"<-", "<--", ":=", "<=", "->", "-->", "=>", "==>", "<==", "=", ":", "\u2190", "\u21d0"}
_STARTS_STATEMENT = {
    *("BARE", "PNAME", "IRIREF", "LSQB"),
    *("AT_DECLARE", "_AT_PREFIX", "_AT_BASE", "_PREFIX", "_BASE"),
}
_CLOSING = {"_RPAR": ")", "_RSQB": "]"}
_SHOWN = {
    "DOT": "a dot",
    "_COMMA": "a comma",
    **_CLOSING,
    "_LPAR": "(",
    "_ARROW": ":-",
    "_AS": "AS",
    "_IN": "IN",
    "_ON": "ON",
    "BIND": "BIND",
    "NAMESPACE": "a prefix with its colon",
    "BARE": "a name",
    "VARIABLE": "a variable",
    "STRING": "a string",
    "IRIREF": "an IRI in <>",
    "OPERATOR": "an operator",
}
_COMPARISONS = {"==": "=", "<>": "!=", "=>": ">=", "=<": "<="}  # as other languages write them
_FEW = 6


def explain(problem: UnexpectedInput, text: str, path: str | None) -> ProgramError:
    """Return the error that tells a person what is wrong at the place where the parser stopped."""
    stop = _stop(problem, text)
    (code, message, advice), position = _explained(stop)
    line, column, source = line_at(text, position)
    return mistake(code, message, Place(path, line, column), source, advice)


def _explained(stop: Stop) -> tuple[Explanation, int]:
    """Return what is wrong, and where: not always where the parser stopped."""
    if found := comment_inside(stop):
        return found
    if explanation := _quotes_and_brackets(stop):
        return explanation, stop.position
    if found := arrow_after_atom(stop):
        return found
    if explanation := _ends_early(stop):
        return explanation, max(0, last_end(stop.text, stop.position) - 1)
    explanation = directive(stop) or subsumption(stop) or _habit(stop) or _incomplete(stop)
    return explanation or _missing_mark(stop) or _other(stop), stop.position


def stopping_word(problem: UnexpectedInput, text: str) -> str:
    """Return the word at which the parser stopped, empty at the end of the text."""
    return _stop(problem, text).found


def _stop(problem: UnexpectedInput, text: str) -> Stop:
    parser = getattr(problem, "interactive_parser", None)
    wanted = frozenset(parser.accepts()) if parser is not None else frozenset()
    position, terminal = len(text), "$END"
    if isinstance(problem, UnexpectedCharacters):
        position, terminal = problem.pos_in_stream or 0, ""
    elif isinstance(problem, UnexpectedToken) and problem.token.type != "$END":
        position, terminal = problem.token.start_pos or 0, problem.token.type
    word = _WORD.match(text, position)
    return Stop(text, position, word[0] if word else "", terminal, wanted)


def _ends_early(stop: Stop) -> Explanation | None:
    """Return the error of a statement that lacks its end, which is shown at its last word."""
    is_end = stop.terminal == "$END"
    is_next = (
        stop.terminal in _STARTS_STATEMENT
        and "\n" in stop.text[last_end(stop.text, stop.position) : stop.position]
    )
    if not (is_end or is_next):
        return None
    if "DOT" in stop.wanted:
        rule = "; between a head and its body write  :-" if "_ARROW" in stop.wanted else ""
        return "S105", "a dot is missing at the end of the statement", f"end it with  .{rule}"
    for terminal, shown in _CLOSING.items():
        if terminal in stop.wanted:
            return "S106", f"a {shown} is missing", f"close it with {shown}"
    if is_end:
        return "S102", "the text ends in the middle of a statement", _expected(stop)
    return None


def _quotes_and_brackets(stop: Stop) -> Explanation | None:
    text, position = stop.text, stop.position
    char, rest = text[position : position + 1], text[position : _line_end(text, position)]
    if rest.startswith(('"""', "'''")):
        return "S103", "the string is not closed", f"close the long string with {char * 3}"
    if char in {'"', "'"} and stop.terminal == "":
        advice = f'close it with {char} on the same line, or write """...""" for several lines'
        return "S103", "the string is not closed", advice
    if re.match(r"<(?:[A-Za-z][\w+.-]*:|/|#)", rest) and stop.terminal != "IRIREF":
        if ">" not in rest:
            return "S104", "the IRI is not closed", "close it with >"
        advice = "blanks, quotes, braces and backslashes are written as %20 or \\u0020"
        return "S104", "the IRI holds a character that no IRI may hold", advice
    return None


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _habit(stop: Stop) -> Explanation | None:
    """Return the error for what other languages write in this place."""
    found, word = stop.found, stop.found.upper()
    pair = stop.text[max(0, stop.position - 1) : stop.position + 1]
    if "_ARROW" in stop.wanted and found in _ARROWS:
        return "S107", f"{found} does not separate head and body", "write  :-  between them"
    if found == ":-" and "DOT" in stop.wanted:
        advice = "end the statement before with a dot; a rule has one  :-"
        return "S107", "a second :- in one statement", advice
    if found in {"&", "&&", "\u2227"} or word == "AND":
        return "S102", f"{found} does not separate atoms", "write a comma between atoms"
    if found in {"|", "||", "\u2228", ";"} or word == "OR":
        advice = "write ; or OR between the alternatives of a body"
        return "S102", f"{found} does not separate atoms", advice
    if found in {"¬", "\\"}:
        return "S102", f"unexpected {found}", "write NOT before the atom"
    if pair in _COMPARISONS:
        return "S102", f"{pair} is no comparison", f"write  {_COMPARISONS[pair]}"
    if found == "$":
        advice = "write ?x for a variable; names with $ are made by Stratalog itself"
        return "S102", "a name cannot begin with $", advice
    if found == "@":
        return "S102", "unexpected @", "a directive is @prefix, @base or @declare"
    return _habit_of_place(stop)


def _habit_of_place(stop: Stop) -> Explanation | None:
    """Return the error for a word that is wrong only after what stands before it."""
    before, found = stop.before, stop.found
    if found == "(" and re.search(r"\?\w+\Z", before):
        advice = "write [?x, ?p, ?y] instead of ?p(?x, ?y)"
        return "S112", "a variable cannot be a predicate here", advice
    if re.search(r"(?:\bnot|~)\Z", before, re.IGNORECASE):
        advice = "write NOT p(?x), or ?x != ?y for a comparison"
        return "S102", "NOT stands before an atom, or atoms in parentheses", advice
    if re.search(r",\s*on\Z", before, re.IGNORECASE):
        return "S102", "a comma before ON", "remove the comma"
    if "BIND" in stop.wanted and found.upper() in {"COUNT", "SUM", "MIN", "MAX", "AVG"}:
        return "S102", f"unexpected {found}", f"write BIND {found}(...) AS ?n"
    if re.match(r"[^\W\d]", found) and stop.text[stop.position - 1 : stop.position].isdigit():
        return "S102", "a name cannot begin with a digit", "begin it with a letter or _"
    return None


def _incomplete(stop: Stop) -> Explanation | None:
    """Return the error of a statement whose dot, comma or arrow comes too early."""
    found, wanted = stop.found, stop.wanted
    if found not in {".", ",", ":-"}:
        return None
    for terminal, shown in _CLOSING.items():
        if terminal in wanted and found != ",":
            return "S106", f"a {shown} is missing before {found}", f"close it with {shown}"
    if "EQ" in wanted and "_COMMA" not in wanted:
        advice = "write an atom p(?x), its negation NOT p(?x), or a comparison ?x < 3"
        return "S117", "neither an atom nor a comparison", advice
    if found != ".":
        return None
    if stop.before.endswith(","):
        advice = "remove the comma before the dot, or add what should follow it"
        return "S102", "the statement ends after a comma", advice
    if stop.before.endswith(":-"):
        return "S102", "the rule has no body", "add a body, or remove  :-  if it is a fact"
    return "S102", "a dot without a statement", "remove it"


def _missing_mark(stop: Stop) -> Explanation | None:
    if "_COMMA" in stop.wanted and re.match(r"[\w?<\[\"':]", stop.found):
        shown = "a comma or a dot" if "DOT" in stop.wanted else "a comma"
        advice = "separate atoms and arguments by commas"
        return "S102", f"{shown} is missing before {stop.found}", advice
    return None


def _other(stop: Stop) -> Explanation:
    shown = stop.found if stop.found.isprintable() else ascii(stop.found)
    return "S102", f"unexpected {shown}", _expected(stop)


def _expected(stop: Stop) -> str:
    shown = [words for terminal, words in _SHOWN.items() if terminal in stop.wanted]
    if len(shown) > _FEW:
        return "an atom, a variable or a constant may stand here"
    return "expected " + " or ".join(shown) if shown else "nothing may stand here"
