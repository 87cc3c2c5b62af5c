"""Operators of expressions: their names, how tightly they bind, and how deep expressions are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from stratalog.lang.syntax import (
    Aggregate,
    Anonymous,
    Bind,
    Call,
    Choice,
    Equation,
    Expression,
    Filter,
    Literal,
    Negation,
    Pattern,
    Place,
)

OR, AND, COMPARE, ADD, MULTIPLY, UNARY, PRIMARY = range(1, 8)

BINDING = {
    "||": OR,
    "&&": AND,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "IN", "NOT IN"), COMPARE),
    **dict.fromkeys(("+", "-"), ADD),
    **dict.fromkeys(("*", "/"), MULTIPLY),
}
COMPARISONS = frozenset(name for name, level in BINDING.items() if level == COMPARE) | {"!"}
UNARY_OPERATORS = frozenset({"!", "NEG"})
OPERATORS = frozenset(BINDING) - {"NOT IN"} | UNARY_OPERATORS


class Operation(NamedTuple):
    """An operator and what stands to its right: one operand, or the choices of IN."""

    name: str
    token: Any  # where an error points
    right: Sequence[Expression]
    place: Place


def fold(first: Expression, operations: Iterable[Operation]) -> Call | Operation:
    """Return the calls of a chain by precedence, or the operation that compares a comparison."""
    operands: list[Sequence[Expression]] = [(first,)]
    waiting: list[Operation] = []

    def apply_last() -> None:
        right, left = operands.pop(), operands.pop()
        operation = waiting.pop()
        operands.append((_call(operation, left[0], right),))

    for operation in operations:
        level = BINDING[operation.name]
        while waiting and BINDING[waiting[-1].name] >= level:
            if level == COMPARE and BINDING[waiting[-1].name] == COMPARE:
                return operation
            apply_last()
        waiting.append(operation)
        operands.append(operation.right)
    while waiting:
        apply_last()
    call = operands[0][0]
    assert isinstance(call, Call), "a chain has at least one operator"  # noqa: S101
    return call


def _call(operation: Operation, left: Expression, right: Sequence[Expression]) -> Call:
    if operation.name == "NOT IN":
        return Call("!", (Call("IN", (left, *right), operation.place),), operation.place)
    return Call(operation.name, (left, *right), operation.place)


Node = Literal | Expression | Anonymous | None


def nesting(body: Iterable[Literal]) -> int:
    """Return how many levels deep literals and calls are nested, however deep that is."""
    depth = 0
    level: list[Node] = list(body)
    while level:
        depth += 1
        level = [part for node in level for part in _parts(node)]
    return depth


def _parts(node: Node) -> Iterable[Node]:
    match node:
        case Call(args=parts) | Negation(body=parts) | Pattern(args=parts):
            return parts
        case Equation(left=left, right=right):
            return (left, right)
        case Choice(alternatives=bodies):
            return chain.from_iterable(bodies)
        case Filter(expression=expression) | Bind(expression=expression):
            return (expression,)
        case Aggregate(body=parts, reductions=reductions):
            return (*parts, *(reduction.expression for reduction in reductions))
    return ()
