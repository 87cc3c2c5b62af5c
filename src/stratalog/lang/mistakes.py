"""Syntax errors in words: what the parser met, where, and the likely fix."""

from __future__ import annotations

import re

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from stratalog.errors import ProgramError
from stratalog.lang.diagnostics import last_end, line_at, mistake
from stratalog.lang.syntax import Place

_WORD = re.compile(r"[^\W\d]\w*|\d+\w*|\?\w*|:=|<-+|<=+|=+>|-+>|==|<>|:-|\S", re.UNICODE)
_ARROWS = {"<-", "<--", ":=", "<=", "->", "-->", "=>", "==>", "<==", "=", ":"}
_STARTS_STATEMENT = {"BARE", "PNAME", "IRIREF", "LSQB", "AT_DECLARE", "LANGTAG", "VARIABLE"}
_ENDS = {"DOT", "_ARROW"}
_SHOWN = {
    "DOT": "a dot",
    "_COMMA": "a comma",
    "_RPAR": ")",
    "_RSQB": "]",
    "_LPAR": "(",
    "_ARROW": ":-",
    "VARIABLE": "a variable",
    "BARE": "a name",
    "_AS": "AS",
    "_IN": "IN",
    "_ON": "ON",
    "STRING": "a string",
    "IRIREF": "an IRI",
    "NAMESPACE": "a prefix and its colon",
}

Explanation = tuple[str, str, str]  # code, message, help


def explain(problem: UnexpectedInput, text: str, path: str | None) -> ProgramError:
    """Return the error that tells a person what is wrong at the place where the parser stopped."""
    position, wanted, kind = _where(problem, text)
    found = found_text(problem, text)
    at_end = _ends_early(text, position, found, wanted, kind)
    if at_end is not None:
        position, (code, message, advice) = last_end(text, position), at_end
        position = max(0, position - 1)
    else:
        explanation = (
            _quotes_and_brackets(text, position)
            or _known_habit(text, position, found, wanted)
            or _missing_mark(found, wanted)
        )
        code, message, advice = explanation or _unexpected(found, wanted)
    line, column, source = line_at(text, position)
    return mistake(code, message, Place(path, line, column), source, advice)


def found_text(problem: UnexpectedInput, text: str) -> str:
    """Return the word at which the parser stopped, empty at the end of the text."""
    position, _, _ = _where(problem, text)
    word = _WORD.match(text, position)
    return word[0] if word else ""


def _where(problem: UnexpectedInput, text: str) -> tuple[int, set[str], str]:
    if isinstance(problem, UnexpectedCharacters):
        return problem.pos_in_stream or 0, set(problem.allowed or ()), ""
    if isinstance(problem, UnexpectedToken) and problem.token.type != "$END":
        return problem.token.start_pos or 0, set(problem.expected), problem.token.type
    return len(text), set(getattr(problem, "expected", ())), "$END"


def _ends_early(
    text: str, position: int, found: str, wanted: set[str], kind: str
) -> Explanation | None:
    """Return the error of a statement that lacks its end, shown at its last word."""
    is_new_line = "\n" in text[last_end(text, position) : position]
    is_next = is_new_line and kind in _STARTS_STATEMENT | {""}
    if "DOT" in wanted and (kind == "$END" or (is_next and found != ",")):
        if "_ARROW" in wanted and kind != "$END":
            return "S105", "the statement does not end", "end a fact or rule with a dot"
        return "S105", "a dot is missing at the end of the statement", "end it with  ."
    if kind == "$END" or is_next:
        for mark, shown in (("_RPAR", ")"), ("_RSQB", "]")):
            if mark in wanted:
                return "S106", f"a {shown} is missing", f"close the parenthesis with {shown}"
    if kind == "$END":
        return "S102", "the text ends in the middle of a statement", _expected(wanted)
    return None


def _quotes_and_brackets(text: str, position: int) -> Explanation | None:
    char = text[position : position + 1]
    if text[max(0, position - 2) : position + 1] in {'"""', "'''"} or text.startswith(
        ('"""', "'''"), position
    ):
        return "S103", "the string is not closed", f"close the long string with {char * 3}"
    if char in {'"', "'"} and text.count(char, position, _line_end(text, position)) == 1:
        advice = f'close it with {char} on the same line, or write """...""" for several lines'
        return "S103", "the string is not closed", advice
    rest = text[position : _line_end(text, position)]
    if re.match(r"<[A-Za-z][\w+.-]*:|</|<#", rest):
        if ">" not in rest:
            return "S104", "the IRI is not closed", "close it with >"
        advice = (
            "an IRI holds no blanks, quotes, braces or backslashes: write them as %20 or \\u0020"
        )
        if re.match(r"<[^>]*[\s\"{}|^`\\<]", rest):
            return "S104", "the IRI holds a character that no IRI may hold", advice
    return None


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _known_habit(text: str, position: int, found: str, wanted: set[str]) -> Explanation | None:
    """Return the error for what other languages write in this place."""
    before = text[:position].rstrip()[-1:]
    if "_ARROW" in wanted and found in _ARROWS:
        return "S107", f"{found} does not separate head and body", "write  :-  between them"
    if found == ":-":
        advice = "end the statement before with a dot; a rule has one  :-"
        return "S107", "a second :- in one statement", advice
    if found in {"&", "&&", "∧", ";"} or found.upper() == "AND":
        return "S102", f"{found} between atoms", "separate the atoms of a body by commas"
    if found in {"|", "||", "∨"} or found.upper() == "OR":
        return "S102", f"{found} between atoms", "write one rule for each alternative"
    if found in {"¬", "\\"} or (found in {"!", "-"} and "NOT" in wanted):
        return "S102", f"unexpected {found}", "write NOT before the atom"
    if found in {"==", "<>"}:
        right = "=" if found == "==" else "!="
        return "S102", f"{found} is no comparison", f"write  {right}"
    if found == "$":
        return "S102", "a name cannot begin with $", "such names are made by Stratalog itself"
    if (
        found == "("
        and before
        and re.search(r"\?\w+\s*\Z", text[max(0, position - 200) : position])
    ):
        return (
            "S112",
            "a variable cannot be a predicate here",
            "write [?x, ?p, ?y] instead of ?p(?x, ?y)",
        )
    return _comparison_of_call(before, found, wanted)


def _comparison_of_call(before: str, found: str, wanted: set[str]) -> Explanation | None:
    signs = {"=", "<", ">", "!", "<=", "=>", "+", "-", "*", "/"}
    if before == ")" and found in signs and "_COMMA" in wanted:
        advice = "functions are called in FILTER and BIND: write FILTER(STRLEN(?x) > 3)"
        return "S117", f"{found} after an atom", advice
    return None


def _missing_mark(found: str, wanted: set[str]) -> Explanation | None:
    if found == "." and not wanted & _ENDS:
        for mark, shown in (("_RPAR", ")"), ("_RSQB", "]")):
            if mark in wanted:
                return "S106", f"a {shown} is missing before the dot", f"close it with {shown}"
        advice = "add an atom after the comma, or remove the comma"
        return "S102", "the statement ends too early", advice
    if "_COMMA" in wanted and re.match(r"[\w?<\[\"':]", found):
        shown = "a comma or a dot" if "DOT" in wanted else "a comma"
        return (
            "S102",
            f"{shown} is missing before {found}",
            "separate arguments and atoms by commas",
        )
    if re.match(r"\d+[^\W\d]", found):
        return "S102", f"{found} is no number and no name", "a name cannot begin with a digit"
    return None


def _unexpected(found: str, wanted: set[str]) -> Explanation:
    return "S102", f"unexpected {found}", _expected(wanted)


def _expected(wanted: set[str]) -> str:
    shown = [words for name, words in _SHOWN.items() if name in wanted]
    if not shown:
        return "see the reference for what a statement may look like"
    return "expected " + (" or ".join(shown) if len(shown) < 5 else ", ".join(shown[:6]) + ", ...")  # noqa: PLR2004
