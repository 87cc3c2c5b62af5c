"""Program text -> abstract syntax; every failure is a ProgramError that points into the text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from lark import Lark, UnexpectedInput

from stratalog.errors import ProgramError
from stratalog.lang.builder.program import Builder
from stratalog.lang.diagnostics import line_at, mistake
from stratalog.lang.mistakes import explain, stopping_word
from stratalog.lang.syntax import Atom, Literal, Place, Program, Rule

_ONE_AT_A_TIME = Lock()  # the parser is built once, with the one builder that it calls


def parse_program(
    text: str,
    path: str | None = None,
    prefixes: Iterable[tuple[str, str]] = (),
    base: str | None = None,
) -> Program:
    """Return the program that `text` spells; it may use prefixes and base undeclared."""
    program: Program = _parse("program", text, path, prefixes, base)
    return program


def parse_file(
    path: str | Path, prefixes: Iterable[tuple[str, str]] = (), base: str | None = None
) -> Program:
    """Return the program in a UTF-8 file; it may use prefixes and base undeclared."""
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as problem:  # a path with a character that none can have
        reason = getattr(problem, "strerror", None) or problem
        raise ProgramError(
            "S100",
            f"the program cannot be read: {reason}",
            path=str(path),
            help="check the path and its permissions",
        ) from None
    try:
        text = content.decode()
    except UnicodeDecodeError as problem:
        line, byte = content.count(b"\n", 0, problem.start) + 1, content[problem.start]
        raise ProgramError(
            "S101",
            f"the program is not UTF-8: byte {byte:#04x} at offset {problem.start}",
            path=str(path),
            line=line,
            help=f"save the file as UTF-8; line {line} holds the first byte that is not",
        ) from None
    return parse_program(text, str(path), prefixes, base)


def parse_query(
    text: str, prefixes: Iterable[tuple[str, str]] = (), base: str | None = None
) -> Rule | tuple[Literal, ...]:
    """Return the body, or the rule, that `text` spells; the dot at the end may be left out."""
    prefixes = tuple(prefixes)
    try:
        body: tuple[Literal, ...] = _run("query", text, None, prefixes, base)
    except UnexpectedInput as problem:
        if stopping_word(problem, text) != ":-":
            raise explain(problem, text, None) from None
    else:
        return body
    return _rule_query(text, prefixes, base)


def _rule_query(text: str, prefixes: Iterable[tuple[str, str]], base: str | None) -> Rule:
    ending = "" if text.rstrip().endswith(".") else "\n."  # the line may end in a comment
    program: Program = _parse("program", text + ending, None, prefixes, base)
    if len(program.rules) != 1 or program.facts or program.declarations:
        raise ProgramError(
            "S119", "a query is one body or one rule", help="ask several queries one by one"
        )
    return program.rules[0]


def parse_atom(text: str, prefixes: Iterable[tuple[str, str]] = ()) -> Atom:
    """Return the atom that `text` spells; the dot at the end may be left out."""
    atom: Atom = _parse("single", text, None, prefixes)
    return atom


def merge(programs: Sequence[Program]) -> Program:
    """Return the union of programs; of two meanings of a prefix, or two bases, the later wins."""
    prefixes = {name: iri for program in programs for name, iri in program.prefixes}
    bases = [program.base for program in programs if program.base is not None]
    return Program(
        tuple(rule for program in programs for rule in program.rules),
        tuple(fact for program in programs for fact in program.facts),
        tuple(declaration for program in programs for declaration in program.declarations),
        tuple(prefixes.items()),
        bases[-1] if bases else None,
    )


@cache
def _parser() -> tuple[Lark, Builder]:
    builder = Builder()
    grammar = files("stratalog.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    starts = ["program", "query", "single"]
    return Lark(grammar, parser="lalr", start=starts, transformer=builder), builder


def _parse(
    start: str,
    text: str,
    path: str | None,
    prefixes: Iterable[tuple[str, str]] = (),
    base: str | None = None,
) -> Any:  # noqa: ANN401  # what the start symbol builds
    text = text.removeprefix("\ufeff")
    try:
        return _run(start, text, path, prefixes, base)
    except UnexpectedInput as problem:
        raise explain(problem, text, path) from None


def _run(
    start: str,
    text: str,
    path: str | None,
    prefixes: Iterable[tuple[str, str]],
    base: str | None,
) -> Any:  # noqa: ANN401  # what the start symbol builds
    _check_characters(text, path)
    with _ONE_AT_A_TIME:
        parser, builder = _parser()
        builder.begin(text, path, prefixes, base)
        try:
            return parser.parse(text, start=start)
        finally:
            builder.begin("", None, (), None)


def _check_characters(text: str, path: str | None) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        line, column, _ = line_at(text, problem.start)
        raise mistake(
            "S101",
            f"half of a surrogate pair, {text[problem.start]!a}, is not a character",
            Place(path, line, column),
            None,
            "remove it, or read the program as UTF-8",
        ) from None
