"""What Soufflé, Prolog, ASP and programming languages write, and how Stratalog writes it."""

from __future__ import annotations

import re

from stratalog.lang.builtins.functions import FUNCTIONS
from stratalog.lang.diagnostics import last_end
from stratalog.lang.stop import Explanation, Stop

_NAME = r"(?:[^\W\d]\w*|<[^<>\s]*>|[\w.-]*:[\w.-]+)"
_COMMENT = re.compile(r"#|%|//")
_OPERAND = re.compile(r"\s*[?(\d]")
_OPERAND_BEFORE = re.compile(r"(?:\?\w+|\b\d[\d.]*)\Z")
_CODE_TO_THE_END = re.compile(r"[)\]]\s*[.,]\s*\Z")
_DIRECTIVE = re.compile(
    r"\.(decl|input|output|printsize|limitsize|type|comp|init|functor|pragma|plan|include)\b"
)
_DECLARED = re.compile(r"\.decl\s+(\w+)\s*\(([^()]*)\)")
_COLUMN = re.compile(r"\s*(\w+)\s*:\s*(\w+)\s*\Z")
_TYPES = {"number": "integer", "unsigned": "integer", "float": "double", "symbol": "string"}
_NEGATED = re.compile(rf"!\s*({_NAME})\s*\(")
_STARTS_ATOM = re.compile(rf"({_NAME})\s*[(\[]")


def comment_inside(stop: Stop) -> tuple[Explanation, int] | None:
    """Return the error of a statement that a comment cuts, where it was probably not meant."""
    text = stop.text
    end = last_end(text, stop.position)
    line = text[end : stop.position].partition("\n")[0]
    found = _COMMENT.search(line)
    if found is None:
        return None
    sign, comment = found[0], line[found.end() :]
    is_operator = _OPERAND.match(comment) and _OPERAND_BEFORE.search(text, 0, end)
    is_address = sign == "//" and text[:end].endswith(("http:", "https:"))
    if not (is_operator or is_address or _CODE_TO_THE_END.search(comment)):
        return None
    if is_address:
        advice = "write an IRI in <>, a text in quotes: <http://example.org/a>"
    elif is_operator and sign == "%":
        advice = "write MOD(?x, 2) for a remainder, or end the statement before the comment"
    elif is_operator and sign == "//":
        advice = "write FLOOR(?x / 2) for a division without remainder, or end the statement"
    else:
        advice = (
            "end the statement before it; #, % and // are no comments inside quotes and <> alone"
        )
    message = f"{sign} begins a comment: the rest of the line is not read"
    return ("S125", message, advice), end + found.start()


def directive(stop: Stop) -> Explanation | None:
    """Return the error of a directive of Soufflé."""
    found = _DIRECTIVE.match(stop.text, stop.position)
    if found is None:
        return None
    return "S126", f"{found[0]} is no directive here", _directive_help(found[1], stop)


def _directive_help(name: str, stop: Stop) -> str:
    if name == "decl":
        shown = _declaration(stop) or "@declare edge(x integer, y string) ."
        return f"write  {shown}  or leave it out: predicates need no declaration"
    if name == "input":
        return 'leave it out, and give facts beside the program: edge.csv, or {"edge": rows}'
    if name in {"output", "printsize", "limitsize"}:
        return 'leave it out: every predicate can be read, with  kb["path"]  or  stratalog facts'
    return "leave it out: the directives are @prefix, @base and @declare"


def _declaration(stop: Stop) -> str | None:
    """Return the declaration as this language writes it, if it is a plain one."""
    declared = _DECLARED.match(stop.text, stop.position)
    if declared is None:
        return None
    columns = [_COLUMN.match(column) for column in declared[2].split(",")]
    shown = ", ".join(f"{c[1]} {_TYPES.get(c[2], 'string')}" for c in columns if c)
    return f"@declare {declared[1]}({shown}) ." if all(columns) else None


def negated_atom(text: str, position: int) -> Explanation | None:
    """Return the error of `!r(?x)`, if that is what begins there."""
    found = _NEGATED.match(text, position)
    end = -1 if found is None else _closing(text, found.end() - 1)
    if found is None or end < 0:
        return None
    atom = text[found.start(1) : end + 1]
    advice = f"write FILTER(!{atom})" if found[1].upper() in FUNCTIONS else f"write NOT {atom}"
    return "S102", "! does not negate an atom", advice


def _closing(text: str, opening: int) -> int:
    """Return where the parenthesis that opens at `opening` is closed, -1 if it is not."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return -1


def sign_after_atom(text: str, position: int, sign: str) -> Explanation:
    """Return the error of an atom that is compared, or that an arrow follows."""
    name, atom = _last_atom(text[:position].rstrip())
    if name.upper() in FUNCTIONS:
        advice = "functions are called in FILTER and BIND: write FILTER(STRLEN(?x) > 3)"
        return "S117", f"{sign} after an atom", advice
    following = _STARTS_ATOM.match(text[position + len(sign) :].lstrip())
    if following is not None and following[1].upper() not in FUNCTIONS:
        advice = "write a comma between atoms; a rule has one  :-  and it follows the head"
        return "S117", f"{sign} between two atoms", advice
    advice = f"{atom} has no value: name one by a variable, such as ?n, and write ?n {sign} 3"
    return "S117", f"{sign} after an atom", advice


def arrow_after_atom(stop: Stop) -> tuple[Explanation, int] | None:
    """Return the error of `q(?x) -> r(?x)`; the parser stops in the middle of the arrow."""
    start = stop.position - 1
    if not stop.found.startswith(">") or stop.text[start : start + 2] != "->":
        return None
    if not stop.text[:start].rstrip().endswith(")"):
        return None
    return sign_after_atom(stop.text, start, "->"), start


def _last_atom(before: str) -> tuple[str, str]:
    """Return name and text of the atom with which a text ends, empty where it is longer."""
    for found in _STARTS_ATOM.finditer(before):
        if _closing(before, found.end() - 1) == len(before) - 1:
            return found[1], before[found.start() :]
    return "", "an atom"


def subsumption(stop: Stop) -> Explanation | None:
    """Return the error of `p(?x, ?a) <= p(?x, ?b) :- ...`, which Soufflé knows."""
    statement = re.split(r"\.\s", stop.text[stop.position :], maxsplit=1)[0]
    if stop.found != "<=" or "_ARROW" not in stop.wanted or ":-" not in statement:
        return None
    advice = "AGGREGATE(p(?x, ?n) ON ?x BIND MIN(?n) AS ?least) keeps the least of each group"
    return "S107", "<= between two heads: there is no subsumption", advice
