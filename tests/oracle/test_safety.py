"""Random rules are safe whatever is drawn, and what is safe for the judge is so for Stratalog."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import stratalog
from stratalog.lang.parse import parse_program
from stratalog.lang.printer import show
from stratalog.lang.syntax import (
    Atom,
    Bind,
    Call,
    Choice,
    Equation,
    Expression,
    Filter,
    Literal,
    Predicate,
    Program,
    Rule,
    Variable,
)
from tests import lives, naive, strategies
from tests.lives import Life
from tests.oracle.test_materialise import agree
from tests.safety import bound_in, unbound_in
from tests.signatures import INTEGERS, NAMES, Draw, Signature, integer
from tests.spellings import OFTEN, SPELLINGS

UNSAFE = (
    "p(?x) :- ?x = ?x, q(_) .",
    "p(?x) :- q(_), ?x = ?y + 1, ?y = ?x .",
    "p(?y) :- q(_), BIND(?x + 1 AS ?y), ?x = ?y .",
    "p(?z) :- q(?z), ?x = ?y, ?y = ?x .",
    "p(?z) :- q(?z), r(?x + 1), ?x = ?x .",
    "p(?x) :- q(?x) ; q(_), ?x = ?x .",
    "p(?z) :- q(?z), NOT (r(?y), ?x = ?x, ?x > ?y) .",
    "p(?z) :- q(?z), NOT EXISTS ?x IN (r(_), ?x = ?x) .",
    "p(?n) :- AGGREGATE(q(?z), ?x = ?x BIND COUNT(?x) AS ?n) .",
)
SAFE = (
    "p(?z) :- q(?x), ?x = ?x, ?y = ?x, ?z = ?y + 1 .",
    "p(?x) :- 1 = ?y, ?x = ?y, ?y = ?x .",
    "p(?z) :- ?y + 1 = ?z, q(_), (q(?x) ; ?x = 2), ?x = ?y .",
    "p(?z) :- ?x = ?y, ?z = ?x, (q(?x) ; q(?y)) .",
    "p(?z) :- q(?z), NOT (r(?y), ?x = ?z, ?x > ?y) .",
    "p(?n) :- AGGREGATE(q(?z), ?x = ?z BIND COUNT(?x) AS ?n) .",
)
FACTS = "q(0) . q(1) . q(2) . r(1) . "


def rule_of(text: str) -> Rule:
    return parse_program(text).rules[0]


@pytest.mark.parametrize("text", UNSAFE)
def test_the_judge_refuses_an_unsafe_rule_in_words(text: str):
    assert unbound_in(rule_of(text))
    with pytest.raises(ValueError, match=r"an unsafe rule, nothing gives \?") as caught:
        naive.materialise(parse_program(FACTS + text))
    assert show(rule_of(text)) in str(caught.value)
    with pytest.raises(stratalog.ProgramError, match=r"S20[1345]"):
        stratalog.materialise(FACTS + text, {})


def test_the_judge_refuses_to_match_a_body_whose_equations_wait_for_ever():
    relations = naive.Relations(naive.explicit_facts(parse_program(FACTS)))
    with pytest.raises(ValueError, match="an unsafe body"):
        naive.matches(rule_of("p(?x) :- q(_), ?x = ?y + 1, ?y = ?x .").body, relations, {})


@pytest.mark.parametrize("text", SAFE)
def test_a_rule_whose_equations_wait_for_each_other_is_safe(text: str, engine: str):
    assert unbound_in(rule_of(text)) == []
    agree(parse_program(FACTS + text), engine)


def test_an_equation_of_what_only_equations_bind_gives_no_value():
    assert bound_in(rule_of("p(1) :- ?x = ?x, ?y = ?z + 1, ?z = ?y, q(?w) .").body) == [NAMES[3]]
    assert bound_in(rule_of("p(1) :- ?x = ?y, ?y + 1 = ?z, q(?y) .").body) == [
        Variable(name) for name in "yxz"
    ]


# ---- Spellings of rules with equations ---------------------------------------------------------

P, Q, R = (Predicate(name, arity) for name, arity in (("p", 1), ("q", 1), ("r", 2)))
SIGNATURE = Signature({Q: 0, R: 0, P: 1}, INTEGERS, "none")
WITH_EQUATIONS = (
    "p(?x) :- ?x = ?x, q(?x) .",
    "p(?x) :- r(?x, ?y), ?x = ?y, ?y = ?x .",
    "p(?x) :- r(?x, ?y), ?x = ?y + 1, ?y = ?x .",
    "p(?m) :- q(?x), BIND(?x + 1 AS ?m), ?x = ?m, ?m < 5 .",
    "p(?y) :- q(?x), r(?x, ?y), ?new = ?y, ?x = ?new .",
)


@pytest.mark.parametrize("text", WITH_EQUATIONS)
@pytest.mark.parametrize("name", SPELLINGS)
@given(data=st.data())
def test_a_spelling_takes_no_variable_its_only_value(name: str, text: str, data: st.DataObject):
    rule = SPELLINGS[name](data.draw, SIGNATURE, rule_of(text))
    again = SPELLINGS[data.draw(st.sampled_from(OFTEN))](data.draw, SIGNATURE, rule)
    assert (unbound_in(rule), unbound_in(again)) == ([], []), f"{show(rule)}\n{show(again)}"


@given(program=strategies.programs())
def test_random_rules_are_safe(program: Program):
    assert [show(rule) for rule in program.rules if unbound_in(rule)] == []


@given(life=lives.foreign_lives())
def test_rules_of_foreign_lives_are_safe(life: Life):
    assert [show(rule) for rule in life.pool if unbound_in(rule)] == []


# ---- Equations alone ---------------------------------------------------------------------------


@st.composite
def parts(draw: Draw) -> Literal:
    """Return a literal over four variables that binds, computes or compares."""
    kind = draw(st.sampled_from(("atom", "=", "=", "=", "=", "BIND", "FILTER")))
    side, name = draw(sides()), draw(st.sampled_from(NAMES))
    if kind == "atom":
        return Atom(Q, (name,))
    if kind == "BIND":
        return Bind(side, name)
    if kind == "FILTER":
        return Filter(Call("<", (side, name)))
    return Equation(*draw(st.permutations((side, draw(sides())))))


def sides() -> st.SearchStrategy[Expression]:
    name = st.sampled_from(NAMES)
    more = st.builds(lambda left, n: Call("+", (left, integer(n))), name, st.integers(0, 1))
    return st.one_of(name, name, more, st.sampled_from(INTEGERS[:2]))


@st.composite
def rules_of_equations(draw: Draw) -> Rule:
    """Return a rule that may be unsafe, or give a variable a value twice."""
    body: list[Literal] = draw(st.lists(parts(), min_size=1, max_size=6))
    if draw(st.integers(0, 3)) == 3:
        others = draw(st.lists(parts(), min_size=1, max_size=2))
        body = [Choice((tuple(body[:2]), tuple(others))), *body[2:]]
    return Rule((Atom(P, (draw(st.sampled_from(NAMES)),)),), tuple(body))


@given(rule=rules_of_equations())
@settings(max_examples=4 * settings().max_examples)
def test_the_judge_and_stratalog_agree_on_what_is_safe(rule: Rule, engine: str):
    note(show(rule))
    refusal = _refusal(rule)
    assume("is bound already" not in refusal)  # another mistake, of a safe rule or not
    assert bool(unbound_in(rule)) == bool(refusal), refusal
    if not refusal:
        agree(Program((rule,), parse_program(FACTS).facts), engine)


def _refusal(rule: Rule) -> str:
    """Return what Stratalog says of a rule that it refuses: what is unbound, or bound already."""
    try:
        stratalog.materialise(show(rule), {})
    except stratalog.ProgramError as error:
        return str(error)
    return ""
