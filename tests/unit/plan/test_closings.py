"""Strata whose rules say that their relations are one closure, and strata that do not."""

from __future__ import annotations

import pytest

from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.plan.program import plan_program
from stratalog.plan.rules import ModuleKind

TRANSITIVE = "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) . "
T, R, Q, E = (Predicate(name, 2) for name in "trqe")
DATA = [T, R, Q, E, Predicate("n", 1)]


def closing(rules: str) -> ClosureSpec | None:
    plan = plan_program(parse_program(rules), DATA, modules="auto")
    (found,) = [s for s in plan.strata if s.recursive]
    return found.closing


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        (TRANSITIVE, ClosureSpec((ClosureSide(T),))),
        ("t(?a, ?c) :- t(?b, ?c), t(?a, ?b) .", ClosureSpec((ClosureSide(T),))),
        (
            TRANSITIVE + "t(?x, ?y) :- t(?y, ?x) .",
            ClosureSpec((ClosureSide(T),), is_symmetric=True),
        ),
        (TRANSITIVE + "t(?x, ?x) :- t(?x, ?y) .", ClosureSpec((ClosureSide(T),), has_sources=True)),
        (TRANSITIVE + "t(?y, ?y) :- t(?x, ?y) .", ClosureSpec((ClosureSide(T),), has_targets=True)),
        (
            TRANSITIVE + "t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?y, ?x) .",
            ClosureSpec((ClosureSide(R), ClosureSide(T, is_turned=True))),
        ),
        (
            "r(?x, ?z) :- t(?y, ?x), r(?y, ?z) . t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?y, ?x) .",
            ClosureSpec((ClosureSide(R), ClosureSide(T, is_turned=True))),
        ),
        (
            TRANSITIVE
            + "t(?x, ?y) :- r(?x, ?y) . r(?x, ?y) :- q(?y, ?x) . q(?x, ?y) :- t(?y, ?x) .",
            ClosureSpec(
                (ClosureSide(Q), ClosureSide(R, is_turned=True), ClosureSide(T, is_turned=True))
            ),
        ),
        (
            TRANSITIVE + "t(?x, ?y) :- r(?x, ?y) . r(?x, ?y) :- t(?y, ?x) .",
            ClosureSpec((ClosureSide(R), ClosureSide(T)), is_symmetric=True),
        ),
        (
            TRANSITIVE
            + "t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?y, ?x) . r(?x, ?x) :- t(?x, ?y) .",
            ClosureSpec((ClosureSide(R), ClosureSide(T, is_turned=True)), has_targets=True),
        ),
        (
            "t(?x, ?z) :- e(?x, ?y), t(?y, ?z) .",
            ClosureSpec((ClosureSide(T),), steps=ClosureSide(E)),
        ),
        (
            "t(?x, ?z) :- e(?y, ?x), t(?y, ?z) .",
            ClosureSpec((ClosureSide(T),), steps=ClosureSide(E, is_turned=True)),
        ),
        (
            "t(?x, ?z) :- t(?x, ?y), e(?y, ?z) .",
            ClosureSpec((ClosureSide(T, is_turned=True),), steps=ClosureSide(E, is_turned=True)),
        ),
        (
            "t(?x, ?z) :- t(?x, ?y), e(?z, ?y) .",
            ClosureSpec((ClosureSide(T, is_turned=True),), steps=ClosureSide(E)),
        ),
    ],
)
def test_closures_are_told_by_their_rules(rules: str, wanted: ClosureSpec):
    assert closing(rules) == wanted


@pytest.mark.parametrize(
    "rules",
    [
        "t(?x, ?y) :- t(?y, ?x) .",  # no rule joins
        "t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?y, ?x) .",
        TRANSITIVE + "t(?x, ?y) :- t(?y, ?x), n(?x) .",  # symmetric for some only
        TRANSITIVE + "t(?x, ?z) :- t(?x, ?y), e(?y, ?z) .",
        "t(?x, ?z) :- t(?x, ?y), t(?y, ?z), n(?y) .",
        "t(?x, ?z) :- t(?x, ?y), t(?y, ?z), ?x != ?z .",
        "t(?x, ?z) :- t(?x, ?y), t(?y, ?z), NOT e(?x, ?z) .",
        "t(?x, ?z) :- t(?x, ?y), t(?z, ?y) .",  # not a chain
        "t(?x, ?z) :- t(?x, ?z), t(?z, ?z) .",
        "t(?x, 1) :- t(?x, ?y), t(?y, 1) .",
        "r(?x, ?z) :- t(?x, ?y), t(?y, ?z) . t(?x, ?y) :- r(?x, ?y) .",  # not all of t is r
        "t(?x, ?z) :- e(?x, ?y), t(?y, ?z) . t(?x, ?z) :- t(?x, ?y), e(?y, ?z) .",  # both sides
        "t(?x, ?z) :- e(?x, ?y), t(?y, ?z) . t(?x, ?z) :- q(?x, ?y), t(?y, ?z) .",  # two kinds
        "t(?x, ?z) :- e(?x, ?y), t(?z, ?y) .",
        "t(?x, ?z) :- e(?x, ?x), t(?x, ?z) .",
        TRANSITIVE + "t(?x, ?x) :- t(?x, ?x) .",
        TRANSITIVE + "t(?x, ?x) :- t(?y, ?y), t(?y, ?x) .",
    ],
)
def test_other_rules_are_no_closure(rules: str):
    assert closing(rules) is None


def test_what_other_rules_mix_with_is_a_module_of_its_own():
    rules = TRANSITIVE + "t(?x, ?y) :- t(?y, ?x), n(?x) ."
    plan = plan_program(parse_program(rules), DATA, modules="auto")
    (module,) = [module for stratum in plan.strata for module in stratum.modules]
    assert (module.kind, module.is_alone) == (ModuleKind.TRANSITIVE, False)


def test_the_papers_modules_are_no_closures():
    plan = plan_program(parse_program(TRANSITIVE), DATA, modules="paper")
    (module,) = [module for stratum in plan.strata for module in stratum.modules]
    assert module.closing is None
