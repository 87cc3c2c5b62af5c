"""Lines of N-Triples and N-Quads that the scanner leaves to a parser, which explains mistakes.

Beyond the standard, a literal may be a subject: rules derive such facts, and what is written can be
read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import pyoxigraph as ox

from stratalog.errors import DataError
from stratalog.lang.terms import BNODE_KIND, IRI_KIND, Term
from stratalog.lang.values.numbers import is_long, too_long
from stratalog.lang.values.terms import literal
from stratalog.pipeline.files import BadLine, ReadReport

FORMATS = {"nt": ox.RdfFormat.N_TRIPLES, "nq": ox.RdfFormat.N_QUADS}
LINES_PER_CALL = 512
SHOWN = 200  # characters of a bad line in a message

_SUBJECT = re.compile(rb'[ \t]*("(?:[^"\\]|\\.)*"(?:@[a-zA-Z0-9-]+|\^\^[ \t]*<[^<>]*>)?)')
_PLACEHOLDER = b"<subject:of> "

Statement = tuple[Term, Term, Term, Term | None]


class OddLine(NamedTuple):
    """A line and its number in the file; the first is 1."""

    number: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Reading:
    """What is being read, and how: the same for all lines of a file."""

    path: str
    data_format: str = "nt"  # nt or nq
    graphs: str = "drop"  # or keep
    on_bad_input: str = "error"  # or skip
    numbers_lines: bool = True  # False if the lines are not those of the file
    max_digits: int | None = None  # of a number


class _Mistake(Exception):  # noqa: N818  # never leaves this file
    def __init__(self, code: str, reason: str, help_line: str | None = None) -> None:
        super().__init__(reason)
        self.code, self.reason, self.help_line = code, reason, help_line


def read_odd_lines(
    lines: list[OddLine], reading: Reading, report: ReadReport
) -> list[tuple[int, Statement]]:
    """Return the statements of `lines`, each with its line's place in that list, in order.

    A bad line is an error, or is counted where skipped.
    """
    found: list[tuple[int, Statement]] = []
    for first in range(0, len(lines), LINES_PER_CALL):
        part = lines[first : first + LINES_PER_CALL]
        together = _parse_together(part, reading)
        if together is not None:
            found += enumerate(together, first)
            continue
        for place, line in enumerate(part, first):
            found += ((place, each) for each in _parse_alone(line, reading, report))
    return found


def _parse_together(lines: list[OddLine], reading: Reading) -> list[Statement] | None:
    """Return one statement per line, None if a line has none: one call is cheaper than many."""
    if any(_SUBJECT.match(line.text) for line in lines):
        return None
    try:
        statements = _parse(b"\n".join(line.text for line in lines), reading)
    except _Mistake:
        return None
    return statements if len(statements) == len(lines) else None


def _parse_alone(line: OddLine, reading: Reading, report: ReadReport) -> list[Statement]:
    try:
        return _parse_line(line.text, reading)
    except _Mistake as mistake:
        number = line.number if reading.numbers_lines else None
        text = line.text.decode(errors="backslashreplace").rstrip("\r")
        if reading.on_bad_input != "skip":
            raise DataError(
                mistake.code,
                mistake.reason,
                path=reading.path,
                line=number,
                source=text if len(text) <= SHOWN else text[:SHOWN] + "...",
                help=mistake.help_line,
            ) from None
        report.reject(BadLine(reading.path, number, mistake.reason, text))
        return []


def _parse_line(text: bytes, reading: Reading) -> list[Statement]:
    subject = _SUBJECT.match(text)
    if not subject:
        return _parse(text, reading)
    stand_in = _parse(_PLACEHOLDER * 2 + subject[1] + b" .", reading)
    rest = _parse(_PLACEHOLDER + text[subject.end() :], reading)
    return [(stand_in[0][2], *statement[1:]) for statement in rest]


def _parse(text: bytes, reading: Reading) -> list[Statement]:
    try:
        quads = ox.parse(text, format=FORMATS[reading.data_format])
        return [_statement(quad, reading) for quad in quads]
    except SyntaxError as error:
        raise _explained(error, text) from None


def _statement(quad: ox.Quad | ox.Triple, reading: Reading) -> Statement:
    graph = getattr(quad, "graph_name", None)
    name = None if graph is None or isinstance(graph, ox.DefaultGraph) else term_of(graph)
    if name is not None and name.kind == BNODE_KIND and reading.graphs == "keep":
        raise _Mistake(
            "D107",
            f"a graph named by the blank node _:{name.text} cannot be kept as a predicate",
            "give the graph an IRI, or drop graph names",
        )
    terms = term_of(quad.subject), term_of(quad.predicate), term_of(quad.object)
    _refuse_long_number(terms[2], reading.max_digits)  # subjects are parsed as objects
    return *terms, name


def _refuse_long_number(term: Term, most: int | None) -> None:
    if most is not None and is_long(term, most):
        error = too_long(term.text, most)
        raise _Mistake(error.code, error.message, error.help)


def term_of(term: object) -> Term:
    """Return a term of the parser as ours, in canonical spelling."""
    match term:
        case ox.NamedNode(value=value):
            return Term(IRI_KIND, value)
        case ox.BlankNode(value=value):
            return Term(BNODE_KIND, value)
        case ox.Literal(value=value, language=language, datatype=datatype):
            if getattr(term, "direction", None) is not None:
                raise _unsupported("a text with a base direction")
            return literal(value, None if language else datatype.value, language)
    raise _unsupported("a triple as a term")


def _unsupported(what: str) -> _Mistake:
    return _Mistake(
        "D103",
        f"{what} is not supported: Stratalog reads RDF 1.1",
        "remove it, or replace it by an ordinary term",
    )


def parser_reason(error: SyntaxError) -> str:
    """Return the parser's reason without the place, which the error states itself."""
    reason = error.args[0] if error.args else str(error)
    return re.sub(r"^Parser error (?:at|between) [^:]*: ", "", str(reason))


def _explained(error: SyntaxError, text: bytes) -> _Mistake:
    if not _is_unicode(text):
        return _Mistake("D102", "the line is not valid UTF-8", "save the file as UTF-8")
    if text.startswith(b"\xef\xbb\xbf"):
        help_line = "the file begins with a byte order mark: save it as UTF-8 without one"
        return _Mistake("D101", parser_reason(error), help_line)
    column = error.args[1][2] if len(error.args) > 1 else None
    place = f" (column {column})" if column else ""
    help_line = "correct the line, or skip bad lines with --on-bad-input skip"
    return _Mistake("D101", parser_reason(error) + place, help_line)


def _is_unicode(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
