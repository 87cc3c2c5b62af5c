"""Which variables a body gives a value, and whether a rule is safe: for generators and the judge.

A rule is safe if all that it computes, tests and derives has a value in every match of its body.
Only the abstract syntax is imported, and what prints a refused rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from stratalog.lang.printer import show
from stratalog.lang.syntax import (
    Aggregate,
    Atom,
    Bind,
    Call,
    Choice,
    Equation,
    Filter,
    Literal,
    Negation,
    Pattern,
    Rule,
    Variable,
)


def check_safe(rule: Rule) -> None:
    """Raise ValueError, with the rule and a variable, if the rule is not safe."""
    for variable in unbound_in(rule):
        raise ValueError(f"an unsafe rule, nothing gives ?{variable.name} a value: {show(rule)}")


def unbound_in(rule: Rule) -> list[Variable]:
    """Return the variables that the rule looks at, but that get no value in some alternative."""
    found: dict[Variable, None] = {}
    for body in alternatives(rule.body):
        heads = [v for head in rule.heads for v in names_in(head)]
        found.update(dict.fromkeys(_unbound(body, [], heads)))
    return list(found)


def bound_in(body: Sequence[Literal]) -> list[Variable]:
    """Return the variables that every alternative of a body gives a value, in order."""
    first, *others = [_bound(each, []) for each in alternatives(body)]
    return [variable for variable in first if all(variable in more for more in others)]


def alternatives(body: Sequence[Literal]) -> list[list[Literal]]:
    """Return the bodies, none with alternatives of its own, that a body stands for."""
    options = [
        [one for body in literal.alternatives for one in alternatives(body)]
        if isinstance(literal, Choice)
        else [[literal]]
        for literal in body
    ]
    return [[literal for part in chosen for literal in part] for chosen in product(*options)]


def names_in(part: object) -> list[Variable]:
    """Return the variables that a part of a rule shows to the rest, each as often as it does."""
    match part:
        case Variable():
            return [part]
        case Atom() | Pattern() | Call():
            return [v for arg in part.args for v in names_in(arg)]
        case Filter(expression):
            return names_in(expression)
        case Equation(left, right):
            return [*names_in(left), *names_in(right)]
        case Bind(expression, variable):
            return [*names_in(expression), variable]
        case Negation(body):
            return [v for literal in body for v in names_in(literal)]
        case Aggregate(_, group, reductions):
            return [*group, *(reduction.variable for reduction in reductions)]
        case Choice(bodies):
            return [v for body in bodies for literal in body for v in names_in(literal)]
    return []


# ---- One alternative ---------------------------------------------------------------------------


def _bound(body: Sequence[Literal], outer: Iterable[Variable]) -> list[Variable]:
    """Return `outer` and the variables that a body without alternatives gives a value.

    A variable of a BIND gets its value there, not by an equation.
    """
    found = dict.fromkeys(outer)
    of_binds = {literal.variable for literal in body if isinstance(literal, Bind)}
    before = -1
    while before < len(found):
        before = len(found)
        for literal in body:
            for variable in _given_by(literal, found.keys()):
                if variable not in of_binds or not isinstance(literal, Equation):
                    found[variable] = None
    return list(found)


def _given_by(literal: Literal, known: Iterable[Variable]) -> list[Variable]:
    """Return the variables to which a literal gives a value once others have theirs."""
    match literal:
        case Atom(_, args) | Pattern(_, args):
            return [arg for arg in args if isinstance(arg, Variable)]
        case Aggregate():
            return names_in(literal)
        case Bind(expression, variable):
            return _given_if_known(variable, expression, known)
        case Equation(left, right):
            return [*_given_if_known(left, right, known), *_given_if_known(right, left, known)]
    return []


def _given_if_known(side: object, other: object, known: Iterable[Variable]) -> list[Variable]:
    return [side] if isinstance(side, Variable) and set(names_in(other)) <= set(known) else []


def _unbound(
    body: Sequence[Literal], outer: Iterable[Variable], wanted: Iterable[Variable] = ()
) -> list[Variable]:
    """Return the variables, of those wanted and those in the body, that get no value."""
    known = _bound(body, outer)
    missing = [v for v in wanted if v not in known]
    for literal in body:
        if isinstance(literal, Negation):
            around = [v for v in known if v not in literal.local]
            missing += [v for one in alternatives(literal.body) for v in _unbound(one, around)]
        elif isinstance(literal, Aggregate):
            used = [
                *literal.group,
                *(v for r in literal.reductions for v in names_in(r.expression)),
            ]
            missing += [v for one in alternatives(literal.body) for v in _unbound(one, [], used)]
        else:
            missing += [v for v in names_in(literal) if v not in known]
    return missing
