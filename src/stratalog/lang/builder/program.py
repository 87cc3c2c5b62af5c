"""What the parser calls for each statement: builds the abstract syntax, without a tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lark import Token

from stratalog.lang.builder.literals import DEEPEST, Literals
from stratalog.lang.builder.parts import ground
from stratalog.lang.builtins.values import ExpressionError
from stratalog.lang.diagnostics import mistake, one_line
from stratalog.lang.expressions import nesting
from stratalog.lang.spellings import MOST_ALTERNATIVES, count_alternatives
from stratalog.lang.syntax import (
    Atom,
    Column,
    Declaration,
    Equality,
    Head,
    Literal,
    Pattern,
    Place,
    Predicate,
    Program,
    Rule,
)
from stratalog.lang.terms import Term


class Builder(Literals):
    """Builds one program at a time: `begin`, then a parse, which calls the grammar's names."""

    def begin(
        self, text: str, path: str | None, prefixes: Iterable[tuple[str, str]], base: str | None
    ) -> None:
        """Forget the last program and expect `text`."""
        super().begin(text, path, prefixes, base)
        self._declared: dict[str, str] = {}
        self._rules: list[Rule] = []
        self._facts: list[Atom] = []
        self._declarations: list[Declaration] = []
        self._line_starts: list[int] = []

    def program(self, _: Sequence[None]) -> Program:
        return Program(
            tuple(self._rules),
            tuple(self._facts),
            tuple(self._declarations),
            tuple(self._declared.items()),
            self._base,
        )

    def query(self, children: Sequence[Any]) -> tuple[Literal, ...]:
        body = self._literals(children[-2])  # after prefixes, before the dot
        self._check_size(body, self._text)
        return body

    def single(self, children: Sequence[Any]) -> Head:
        return self._evaluated(children[0])

    def prefix(self, children: Sequence[Token]) -> None:
        name = str(children[0])[:-1]
        self._declared.pop(name, None)
        self._declared[name] = self._prefixes[name] = self._iri(children[1])
        self._forget_spellings()

    def base(self, children: Sequence[Token]) -> None:
        self._base = self._iri(children[0])
        self._forget_spellings()

    def declare(self, children: Sequence[Any]) -> None:
        columns = tuple(children[2:-1])
        predicate = Predicate(self._spelled(children[1]), len(columns))
        self._declarations.append(Declaration(predicate, columns, self._place(children[1])))

    def column(self, children: Sequence[Token | None]) -> Column:
        name, kind, nullable, _, source = children
        path = None if source is None else self._string(source)
        return Column(str(name), str(kind), nullable is not None, path)

    def facts(self, children: Sequence[Any]) -> None:
        for head in map(self._evaluated, children[0]):
            if isinstance(head, Atom) and all(isinstance(arg, Term) for arg in head.args):
                self._facts.append(head)
            else:
                text = self._source_from(head.place, children[1])
                self._rules.append(Rule((head,), (), head.place, text))

    def rule(self, children: Sequence[Any]) -> None:
        heads, unbuilt, dot = children
        text = self._source_from(heads[0].place, dot)
        body = self._literals(unbuilt)
        self._check_size(body, text)
        self._rules.append(Rule(heads, body, heads[0].place, text))

    def _source_from(self, place: Place | None, dot: Token) -> str:
        assert place is not None, "the parser knows where heads stand"  # noqa: S101
        starts = self._line_starts
        if not starts:
            starts.append(0)
            starts.extend(at + 1 for at, char in enumerate(self._text) if char == "\n")
        return one_line(self._text[starts[place.line - 1] + place.column - 1 : dot.end_pos])

    def _check_size(self, body: Sequence[Literal], text: str) -> None:
        if nesting(body) > DEEPEST:
            self._refuse_depth(body[0].place, text)
        number = count_alternatives(body)
        if number > MOST_ALTERNATIVES:
            raise mistake(
                "S122",
                f"the rule has {number:,} alternatives; {MOST_ALTERNATIVES:,} are the most",
                body[0].place,
                text[:200],
                "give alternatives that several parts of the rule have a predicate of their own",
            )

    def heads(self, children: Sequence[Head]) -> tuple[Head, ...]:
        return tuple(children)

    def _evaluated(self, head: Head) -> Head:
        """Return a fact with the values of its expressions."""
        try:
            return ground(head) if isinstance(head, Pattern) else head
        except ExpressionError:
            raise mistake(
                "S123",
                "an expression of this fact has no value",
                head.place,
                self._line_of(head.place),
                "correct it, or write the constant that is meant",
            ) from None

    def equality(self, children: Sequence[Any]) -> Equality:
        left, sign, right = children
        place = self._place(left if isinstance(left, Token) else sign)
        return Equality(self._argument(left), self._argument(right), place)
