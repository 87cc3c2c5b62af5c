"""Parts of bodies as the parser meets them, before it is known what they are.

`(` may begin a comparison, `(?x + 1) > 2`, or a part of a body, `(p(?x) ; q(?x))`; and `f(?x)` is
an atom, but in `(f(?x)) > 2` the call of a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lark import Token

from stratalog.lang.builtins.functions import FUNCTIONS, evaluate
from stratalog.lang.expressions import OPERATORS
from stratalog.lang.syntax import Anonymous, Atom, Call, Expression, Literal, Pattern, Variable
from stratalog.lang.terms import Term


@dataclass(frozen=True, slots=True)
class Called:
    """`f(?x)`: an atom, or the call of a function."""

    children: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """`?x + 1 > 2`: a comparison, or the operand of another."""

    children: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Group:
    """`(...)`: alternatives of items, or a value."""

    start: Token
    body: Sequence[Sequence[Unbuilt]]
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        inside = (_depth(item) for items in self.body for item in items)
        object.__setattr__(self, "depth", 1 + max(inside))


Operand = Group | Called | Compared | Token | Term | Variable | Call
Unbuilt = Literal | Operand
"""An item of a body."""


def _depth(item: Unbuilt) -> int:
    if isinstance(item, Compared):
        return _depth(item.children[0])
    return item.depth if isinstance(item, Group) else 0


def ground(pattern: Pattern) -> Atom | Pattern:
    """Return the pattern with the values of its expressions, as it is if they need variables.

    Raises ExpressionError where an expression has no value. Calls of functions that do not exist
    are left to the check of the program.
    """
    args: list[Variable | Term] = []
    for arg in pattern.args:
        if isinstance(arg, Anonymous) or not _is_ground(arg):
            return pattern
        args.append(evaluate(arg, {}))
    return Atom(pattern.predicate, tuple(args), pattern.place)


def _is_ground(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return isinstance(expression, Term)
    least, most = FUNCTIONS.get(expression.name, (1, 0))
    is_known = least <= len(expression.args) and (most is None or len(expression.args) <= most)
    return (expression.name in OPERATORS or is_known) and all(map(_is_ground, expression.args))
