"""Each engine gives the facts and the counts that the judge computes from the definitions."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

import stratalog
from stratalog.lang.syntax import Program
from stratalog.plan.rules import Plan
from tests import naive, strategies


def judged(program: Program) -> set[naive.Fact]:
    """Return what follows from the program; programs too large for the judge are passed over."""
    try:
        return naive.materialise(program)
    except naive.TooLargeError:
        assume(condition=False)
        raise


def materialise(program: str | list[str], **options: str) -> stratalog.KnowledgeBase:
    """Materialise; pass over what is refused: a built-in inside NOT that looks at a recursion."""
    try:
        return stratalog.materialise(program, {}, **options)
    except stratalog.ProgramError as error:
        assume(error.code != "S303")
        raise


def agree(program: Program, engine: str) -> None:
    """Fail unless the engine's facts and counts are the judge's."""
    expected = judged(program)
    text = strategies.program_text(program)
    kb = materialise(text, engine=engine, modules="off")
    plan: Plan = kb._plan
    found = kb._counts()
    assert naive.visible(plan, found.keys()) == expected, text
    check_plan(plan)
    try:
        counts = naive.counts(plan, naive.explicit_facts(program))
    except naive.TooLargeError:
        return
    assert naive.visible(plan, counts.keys()) == expected, text
    assert keyed(plan, found) == keyed(plan, counts), text


def keyed(plan: Plan, counts: dict[naive.Fact, Any]) -> dict[naive.Fact, Any]:
    """Return the counts by the facts as they are kept when no rule writes triples."""
    if not plan.stored_as_triples:
        return counts
    return {fact: pair for key, pair in counts.items() if (fact := naive.stored(*key))}


def check_plan(plan: Plan) -> None:
    """Fail unless each stratum reads only earlier ones, and negates only what is complete."""
    done: set[object] = set()
    written = {rule.head.predicate for rule in plan.rules}
    for stratum in plan.strata:
        for rule in (*stratum.nonrecursive, *stratum.recursive):
            here = {atom.predicate for atom in rule.body} & stratum.predicates
            assert bool(here) == (rule in stratum.recursive)
            assert {atom.predicate for atom in rule.body} & written <= done | stratum.predicates
            strict = {atom.predicate for atom in rule.negated}
            if rule.grouping is not None:
                strict |= {atom.predicate for atom in rule.body}
            assert strict & written <= done
        done |= stratum.predicates


@given(program=strategies.programs())
def test_a_random_program_gives_the_facts_and_counts_of_the_judge(engine: str, program: Program):
    agree(program, engine)


@given(data=st.data())
def test_facts_given_outside_the_program_are_the_same_as_inside(engine: str, data: st.DataObject):
    program = data.draw(strategies.programs())
    expected = judged(program)
    rules = strategies.program_text(Program(rules=program.rules))
    facts = strategies.program_text(Program(facts=program.facts))
    kb = materialise([rules, facts], engine=engine)
    assert naive.visible(kb._plan, kb._counts().keys()) == expected
