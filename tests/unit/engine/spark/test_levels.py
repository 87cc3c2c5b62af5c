"""Strata that do not depend on each other become one, and rules keep their kind."""

from __future__ import annotations

from stratalog.engine.spark.levels import merged_levels
from stratalog.lang.parse import parse_program
from stratalog.plan.program import plan_program, predicates_of
from stratalog.plan.rules import Stratum


def merged(text: str) -> tuple[Stratum, ...]:
    program = parse_program(text)
    return merged_levels(plan_program(program, predicates_of(program)).strata)


def names(strata: tuple[Stratum, ...]) -> list[str]:
    return ["".join(sorted(p.name for p in stratum.predicates)) for stratum in strata]


def test_a_stratum_per_level():
    strata = merged(
        """b(?x) :- a(?x) . c(?x) :- a(?x) . d(?x) :- b(?x), NOT c(?x) . e(?x) :- d(?x) .
           f(?x) :- c(?x) ."""
    )
    assert names(strata) == ["a", "bc", "df", "e"]


def test_a_rule_is_recursive_only_within_its_component():
    strata = merged("b(?x) :- a(?x) . c(?x) :- c(?x) . c(?x) :- a(?x) . d(?x) :- d(?x) .")
    assert names(strata) == ["a", "bcd"]
    assert [r.head.predicate.name for r in strata[1].recursive] == ["c", "d"]
    assert [r.head.predicate.name for r in strata[1].nonrecursive] == ["b", "c"]


def test_what_is_a_closure_is_a_stratum_of_its_own():
    text = """p(?x, ?z) :- p(?x, ?y), p(?y, ?z) . q(?x, ?z) :- e(?x, ?y), q(?y, ?z) .
    b(?x) :- b(?x), e(?x, ?y) ."""
    program = parse_program(text)
    strata = merged_levels(plan_program(program, predicates_of(program), modules="auto").strata)
    assert sorted(names(strata)) == ["b", "e", "p", "q"]
    assert all(stratum.closing is not None for stratum in strata if stratum.modules)
