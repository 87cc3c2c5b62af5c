"""Every spelling of other systems really occurs in the random programs, joins by value too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from stratalog.errors import ProgramError
from stratalog.lang.spellings import plain_rules
from stratalog.lang.syntax import (
    Aggregate,
    Anonymous,
    Bind,
    Call,
    Choice,
    Equation,
    Literal,
    Negation,
    Pattern,
    Program,
    Rule,
)
from stratalog.plan.program import plan_program
from tests import naive, strategies

SPELLINGS = {
    "_ in a body", "_ inside NOT", "_ inside AGGREGATE", "an expression in a body",
    "an expression in a head", "an equation that binds", "an equation that compares",
    "alternatives", "alternatives inside NOT", "alternatives inside alternatives",
    "a join by value", "a join by value in recursion",
}  # fmt: skip


def spellings_of(rule: Rule) -> set[str]:
    """Return the spellings in a rule that it could not do without."""
    found = set(_spellings_in(rule.body, "in a body"))
    for head in rule.heads:
        found |= {"an expression in a head"} if isinstance(head, Pattern) else set()
    for plain in plain_rules(rule):
        binds = [each for each in plain.body if isinstance(each, Bind)]
        equations = [each for each in rule.body if isinstance(each, Equation)]
        bound = {bind.variable for bind in binds}
        for equation in equations:
            is_bind = equation.left in bound or equation.right in bound
            found.add(f"an equation that {'binds' if is_bind else 'compares'}")
    return found


def _spellings_in(body: tuple[Literal, ...], where: str) -> Iterator[str]:
    for literal in body:
        match literal:
            case Pattern(_, args):
                if Anonymous.ANY in args:
                    yield f"_ {where}"
                if any(isinstance(arg, Call) for arg in args):
                    yield "an expression in a body"
            case Choice(bodies):
                inside = where in {"inside NOT", "inside alternatives"}
                yield f"alternatives {where}" if inside else "alternatives"
                for each in bodies:
                    yield from _spellings_in(each, "inside alternatives")
            case Negation(inner):
                yield from _spellings_in(inner, "inside NOT")
            case Aggregate(inner):
                yield from _spellings_in(inner, "inside AGGREGATE")


def joins_by_value(program: Program) -> set[str]:
    """Return how the planned program joins by value, where it does and derives something."""
    try:
        plan = plan_program(program)
        if not any(predicate.name.startswith("$value") for predicate in plan.hidden):
            return set()
        facts = naive.planned_facts(plan, naive.explicit_facts(program))
    except (ProgramError, naive.TooLargeError):
        return set()
    held = {predicate for predicate, _ in facts if predicate.name.startswith("$value")}
    derived = {predicate for predicate, _ in facts}
    found = set()
    for stratum in plan.strata:
        for rule in (*stratum.recursive, *stratum.nonrecursive):
            if rule.head.predicate in derived and any(a.predicate in held for a in rule.body):
                is_recursive = rule in stratum.recursive
                found.add(f"a join by value{' in recursion' if is_recursive else ''}")
    return found


@pytest.mark.slow
def test_every_spelling_occurs_in_random_programs():
    found: Counter[str] = Counter()

    @seed(1)
    @settings(
        max_examples=1000,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(strategies.programs())
    def count(program: Program) -> None:
        for rule in program.rules:
            found.update(spellings_of(rule))
        found.update(joins_by_value(program))

    count()
    assert {spelling for spelling in SPELLINGS if found[spelling] < 2} == set(), found
