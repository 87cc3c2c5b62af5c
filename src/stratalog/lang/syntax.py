"""The abstract syntax of a program: frozen, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from stratalog.lang.terms import Term


class Predicate(NamedTuple):
    """A predicate's name and arity.

    A bare name is spelled as written (`path`), an IRI in angle brackets (`<http://a#p>`); names
    that begin with `$` are hidden: made by the planner, never shown to users.
    """

    name: str
    arity: int


TRIPLE = Predicate("$triple", 3)
"""The union of the IRI-named unary and binary relations, read or written by `[?x, ?p, ?y]`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the program text; lines and columns count from one."""

    path: str | None
    line: int
    column: int


class Variable(NamedTuple):
    """A variable, without its question mark. Variables that begin with `$` are made by us."""

    name: str


Argument = Variable | Term


@dataclass(frozen=True, slots=True)
class Atom:
    """`predicate(args)`; `[s, p, o]` with a variable p is an atom over TRIPLE."""

    predicate: Predicate
    args: tuple[Argument, ...]
    place: Place | None = field(default=None, compare=False)


class Anonymous(Enum):
    """The anonymous variable `_`: any constant, another one at each place."""

    ANY = "_"


@dataclass(frozen=True, slots=True)
class Equality:
    """`?x = ?y` in a head."""

    left: Argument
    right: Argument
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator with its arguments; names are upper case (`STRLEN`) or signs (`+`)."""

    name: str
    args: tuple[Expression, ...]
    place: Place | None = field(default=None, compare=False)


Expression = Variable | Term | Call


@dataclass(frozen=True, slots=True)
class Pattern:
    """An atom with `_` or with expressions among its arguments: `p(?x + 1, _)`."""

    predicate: Predicate
    args: tuple[Expression | Anonymous, ...]
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """`FILTER(expression)`, or a comparison in a body that is not by `=`."""

    expression: Expression
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Bind:
    """`BIND(expression AS ?variable)`."""

    expression: Expression
    variable: Variable
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Equation:
    """`?y = ?x + 1` in a body: a BIND if nothing else gives ?y a value, otherwise a FILTER."""

    left: Expression
    right: Expression
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT a`, `NOT (a, b)`, `NOT EXISTS ?y IN (a, b)`; `local` are the variables after EXISTS."""

    body: tuple[Literal, ...]
    local: tuple[Variable, ...] = ()
    place: Place | None = field(default=None, compare=False)


class Reduction(NamedTuple):
    """`BIND COUNT(DISTINCT ?y) AS ?n` inside AGGREGATE; the expression of `COUNT(*)` is None."""

    function: str  # COUNT SUM MIN MAX AVG
    distinct: bool
    expression: Expression | None
    variable: Variable


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`AGGREGATE(body ON ?group ... BIND ...)`."""

    body: tuple[Literal, ...]
    group: tuple[Variable, ...]
    reductions: tuple[Reduction, ...]
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """`a, b ; c`, also written with OR: each alternative is a body."""

    alternatives: tuple[tuple[Literal, ...], ...]
    place: Place | None = field(default=None, compare=False)


Literal = Atom | Pattern | Negation | Filter | Bind | Equation | Aggregate | Choice
Head = Atom | Pattern | Equality


@dataclass(frozen=True, slots=True)
class Rule:
    """`heads :- body .`; `text` is the rule as the user wrote it, on one line."""

    heads: tuple[Head, ...]
    body: tuple[Literal, ...]
    place: Place | None = field(default=None, compare=False)
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `@declare`: `buyer string? = "buyer.id"`.

    `type` is one of integer decimal double string boolean date dateTime iri term; `source` is the
    column's name in the table, or the path into a struct, if it is not `name`.
    """

    name: str
    type: str
    nullable: bool = False
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """The columns of a predicate: `@declare predicate(columns) .`."""

    predicate: Predicate
    columns: tuple[Column, ...]
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Program:
    """All that a program's text says; `facts` are ground atoms in the order of the text."""

    rules: tuple[Rule, ...] = ()
    facts: tuple[Atom, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    prefixes: tuple[tuple[str, str], ...] = ()  # the user's, without the colon: ("ex", "http://…")
    base: str | None = None
