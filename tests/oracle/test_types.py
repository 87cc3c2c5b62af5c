"""The types of columns against the judge: what rules derive has them, and conflicts are real."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import assume, given, note

import stratalog
from stratalog.lang.column_types import NONE, Types, type_of_kind
from stratalog.lang.syntax import Atom, Predicate, Program
from stratalog.lang.terms import Term
from stratalog.plan.program import plan_program
from stratalog.plan.rules import Plan
from stratalog.plan.type_flow import Position, TypeFlow
from stratalog.plan.unjoinable import Unjoinable
from tests import naive, strategies

Columns = dict[Predicate, list[set[Term]]]


def columns_of(facts: set[naive.Fact]) -> Columns:
    """Return the constants of each column."""
    found: Columns = defaultdict(list)
    for predicate, args in facts:
        if not found[predicate]:
            found[predicate] = [set() for _ in args]
        for column, arg in zip(found[predicate], args, strict=True):
            column.add(arg)
    return found


def types_of(columns: list[set[Term]]) -> list[Types]:
    found = []
    for column in columns:
        types = NONE
        for term in column:
            types |= type_of_kind(term.kind)
        found.append(types)
    return found


def constants(at: Position | Term, columns: Columns) -> set[Term]:
    """Return the constants that a place may have, as far as facts tell that users see."""
    if isinstance(at, Term):
        return {at}
    if not isinstance(at.atom, Atom) or at.atom.predicate not in columns:
        return set()
    return columns[at.atom.predicate][at.column]


def check(program: Program) -> None:
    """Fail unless all facts have the types foretold, and no conflict has a constant in common."""
    explicit = naive.explicit_facts(program)
    given_types = {p: types_of(columns) for p, columns in columns_of(explicit).items()}
    plan = plan_program(program, list(given_types))
    if plan.stored_as_triples:
        return
    found = columns_of(facts_of(plan, explicit))
    flow = TypeFlow(plan.rules, given_types)
    for predicate, columns in found.items():
        for foretold, types in zip(flow.columns[predicate], types_of(columns), strict=True):
            assert not types & ~foretold, predicate
    for conflict in flow.conflicts():
        assert not constants(conflict.first, found) & constants(conflict.second, found)
    told = Unjoinable(program, flow, []).warnings(lambda *_: "")
    assert {warning.code for warning in told} <= {"W305", "W306"}


def facts_of(plan: Plan, explicit: set[naive.Fact]) -> set[naive.Fact]:
    """Return all facts, hidden ones too; what is too large for the judge is passed over."""
    try:
        return naive.planned_facts(plan, explicit)
    except naive.TooLargeError:
        assume(condition=False)
        raise


def planned(program: Program) -> Program:
    """Return the program; pass over what is refused."""
    try:
        plan_program(program)
    except stratalog.ProgramError as error:
        assume(error.code != "S303")
        raise
    return program


@given(program=strategies.programs())
def test_types_of_random_programs_hold(program: Program):
    note(strategies.program_text(program))
    check(planned(program))
