"""Bulk evaluation gives the facts and both counts of going round by round on the reference engine.

Its thresholds are lowered, so that small random programs take it; `kind` also forces every hop of a
path to be laid out, or to be read along chains.
"""

from contextlib import contextmanager
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stratalog
from stratalog.engine.columnar import path_joins as bulk
from stratalog.kernels.sizes import TINY
from stratalog.lang.parse import parse_program
from stratalog.plan.program import plan_program
from stratalog.plan.shapes import passing, path_of

ENGINES = ("columnar", "reference")
NAMES = st.sampled_from(["p", "q", "t", "u"])
PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)


@contextmanager
def bulk_always(kind):
    """Let every path be followed in bulk; `kind` says how its hops after the first are read."""
    survey = bulk.PathJoins._survey

    def forced(self, planned, path):
        _, laid_out = survey(self, planned, path)
        delta = planned.version.start
        kinds = [i == 0 or hop.atom == delta or kind == "laid out" for i, hop in enumerate(path)]
        return 0.0, laid_out if kind == "as estimated" else kinds

    with patch.object(bulk, "MIN_BULK_ROWS", 1), patch.object(bulk.PathJoins, "_survey", forced):
        yield


@st.composite
def path_rules(draw):
    """A rule whose body is a path, its atoms in any order and direction."""
    length = draw(st.integers(2, 4))
    variables = [f"?v{i}" for i in range(length + 1)]
    atoms = []
    for a, b in pairwise(variables):
        first, second = draw(st.permutations([a, b]))
        atoms.append(f"{draw(NAMES)}({first}, {second})")
    body = ", ".join(draw(st.permutations(atoms)))
    return f"{draw(st.sampled_from(['t', 'u']))}({variables[0]}, {variables[-1]}) :- {body} ."


@st.composite
def passing_rules(draw):
    """One to three rules that pass a variable through the same column of t."""
    group = draw(st.integers(0, 1))
    rules = ["t(?x, ?y) :- p(?x, ?y) ."]
    for _ in range(draw(st.integers(1, 3))):
        inner, head = ("t(?x, ?y)", "t(?x, ?z)") if group == 0 else ("t(?y, ?x)", "t(?z, ?x)")
        edge = draw(st.sampled_from(["p(?y, ?z)", "p(?z, ?y)", "q(?y, ?z)", "q(?z, ?y)"]))
        rules.append(f"{head} :- {', '.join(draw(st.permutations([inner, edge])))} .")
    return " ".join(rules)


def counts(program, facts, engine):
    return stratalog.materialise(program, facts, engine=engine, modules="off").counts()


@pytest.mark.parametrize("kind", ["laid out", "chained", "as estimated"])
@given(rules=st.lists(path_rules(), min_size=1, max_size=3), p=PAIRS, q=PAIRS, t=PAIRS)
def test_paths_followed_in_bulk_agree_with_the_definition(kind, rules, p, q, t):
    program, facts = " ".join(rules), {"p": p, "q": q, "t": t, "u": []}
    with bulk_always(kind):
        found = counts(program, facts, "columnar")
    assert found == counts(program, facts, "reference")


@given(rules=passing_rules(), p=PAIRS, q=PAIRS, t=PAIRS)
def test_recursion_closed_group_by_group_agrees_with_the_definition(rules, p, q, t):
    facts = {"p": p, "q": q, "t": t}
    assert counts(rules, facts, "columnar") == counts(rules, facts, "reference")


def rules_of(text):
    return plan_program(parse_program(text)).rules


@pytest.mark.parametrize(
    ("rule", "is_path"),
    [
        ("h(?x, ?y) :- p(?a, ?x), s(?a, ?b), p(?b, ?y) .", True),
        ("h(?x, ?y) :- p(?x, ?y), q(?x, ?y) .", False),
        ("h(?x, ?x) :- p(?x, ?y), q(?y, ?x) .", False),
        ("h(?x, ?y) :- p(?x, ?z), q(?z, ?y), r(?z) .", False),
        ("h(?x, ?y) :- p(?x, 1), q(1, ?y) .", False),
        ("h(?x, ?y) :- p(?x, ?z), q(?w, ?y) .", False),
        ("h(?x, ?y) :- p(?x, ?z), q(?z, ?y), NOT p(?x, ?y) .", False),
    ],
)
def test_which_bodies_are_paths(rule, is_path):
    assert (path_of(rules_of(rule)[0]) is not None) == is_path


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("t(?x, ?z) :- t(?x, ?y), e(?y, ?z) .", True),
        ("t(?x, ?z) :- e(?x, ?y), t(?y, ?z) .", True),
        ("t(?x, ?z) :- t(?x, ?y), e(?z, ?y) . t(?x, ?z) :- t(?x, ?y), f(?y, ?z) .", True),
        ("t(?x, ?z) :- t(?x, ?y), e(?y, ?z) . t(?x, ?z) :- e(?x, ?y), t(?y, ?z) .", False),
        ("t(?x, ?z) :- t(?x, ?y), t(?y, ?z) .", False),
        ("t(?z, ?x) :- t(?x, ?y), e(?y, ?z) .", False),
        ("t(?x, ?z) :- t(?x, ?y), e(?y, ?z), f(?y) .", False),
    ],
)
def test_which_recursion_passes_a_variable_through(text, passes):
    assert (passing(rules_of(text)) is not None) == passes


@pytest.mark.skipif(TINY, reason="no delta is small then")
def test_bulk_is_left_alone_for_small_deltas():
    with patch.object(bulk.PathJoins, "run", side_effect=AssertionError):
        stratalog.materialise("h(?x, ?z) :- p(?x, ?y), p(?y, ?z) .", {"p": [(1, 2), (2, 3)]})


@given(rules=passing_rules(), p=PAIRS, q=PAIRS, t=PAIRS)
def test_closing_at_once_counts_the_rounds_of_the_loop(rules, p, q, t):
    facts = {"p": p, "q": q, "t": t}
    rounds = [
        stratalog.materialise(rules, facts, engine=e, modules="off").stats["rounds"]
        for e in ENGINES
    ]
    assert len(set(rounds)) == 1
