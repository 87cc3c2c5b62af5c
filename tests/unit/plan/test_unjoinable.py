"""Which joins never match because of types, and what is said about them."""

import pytest

from stratalog.lang import column_types as t
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import TRIPLE, Atom, Bind, Call, Predicate, Variable
from stratalog.plan.program import plan_program
from stratalog.plan.rules import PlannedRule
from stratalog.plan.type_flow import TypeFlow
from stratalog.plan.unjoinable import Unjoinable

I, S, D, IRI = t.INTEGERS, t.STRINGS, t.DOUBLES, t.IRIS
PREFIX = "@prefix : <http://e/> . "


def flow_of(program, given):
    named = {Predicate(name, len(types)): types for name, types in given.items()}
    return TypeFlow(plan_program(program, named).rules, named)


def told(text, given, rdf=()):
    program = parse_program(text)
    rdf = [p for p in plan_program(program).predicates if p.name in rdf]
    return Unjoinable(program, flow_of(program, given), rdf).warnings(lambda *_: "")


def messages(text, given, rdf=()):
    return [warning.message for warning in told(text, given, rdf)]


@pytest.mark.parametrize(
    ("left", "right"),
    [(I, S), (I, D), (S, D), (t.DATES, t.DATETIMES), (t.DATES, S), (I, t.DECIMALS), (IRI, S)],
)
def test_columns_without_a_common_type_never_match(left, right):
    (warning,) = told("r(?x) :- p(?x, ?y), q(?y) .", {"p": [I, left], "q": [right]})
    assert warning.code == "W305"
    assert warning.message == (
        f"?y never matches: column 2 of p holds {t.words_of(left)}, "
        f"but column 1 of q holds {t.words_of(right)}"
    )
    assert warning.source[warning.caret - 1 :].startswith("q(?y)")


@pytest.mark.parametrize(
    ("left", "right"), [(I, I), (I | S, S), (t.ANY, D), (t.NONE, S), (t.OTHERS, t.OTHERS)]
)
def test_columns_with_a_common_type_or_without_facts_may_match(left, right):
    assert told("r(?x) :- p(?x, ?y), q(?y) .", {"p": [I, left], "q": [right]}) == []


def test_types_flow_through_rules():
    text = """
    path(?x, ?y) :- edge(?x, ?y) .
    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
    found(?x) :- path(?x, ?y), name(?y) .
    """
    (message,) = messages(text, {"edge": [I, I], "name": [S]})
    assert "column 2 of path holds integers, but column 1 of name holds strings" in message
    text += "path(?x, ?y) :- other(?x, ?y) ."
    assert messages(text, {"edge": [I, I], "name": [S], "other": [I, S]}) == []


def test_what_derives_nothing_is_told_once_where_it_begins():
    text = "a(?x) :- p(?x), q(?x) . b(?x) :- a(?x), p(?x) . c(?x) :- b(?x), q(?x) ."
    assert len(messages(text, {"p": [I], "q": [S]})) == 1


def test_values_of_functions_have_types():
    text = "next(?y) :- n(?x), BIND(?x + 1 AS ?y) . r(?x) :- next(?x), s(?x) ."
    assert "column 1 of next holds integers" in messages(text, {"n": [I], "s": [S]})[0]
    text = "next(?y) :- n(?x), BIND(STR(?x) AS ?y) . r(?x) :- next(?x), s(?x) ."
    assert messages(text, {"n": [I], "s": [S]}) == []


def test_results_of_aggregates_have_types():
    text = "r(?x) :- AGGREGATE(p(?x, ?y) ON ?x BIND COUNT(?y) AS ?n), s(?n) ."
    told = "?n never matches: COUNT gives integers, but column 1 of s holds strings"
    assert messages(text, {"p": [S, S], "s": [S]}) == [told]
    text = "r(?x) :- s(?n), AGGREGATE(p(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) ."
    assert messages(text, {"p": [S, S], "s": [S]}) == [told]
    text = "r(?x) :- AGGREGATE(p(?x, ?y) ON ?x BIND MAX(?y) AS ?n), s(?n) ."
    assert messages(text, {"p": [S, S], "s": [S]}) == []


def test_a_negation_that_excludes_nothing_is_told():
    (message,) = messages("r(?x) :- p(?x), NOT q(?x) .", {"p": [I], "q": [S]})
    assert message == (
        "NOT excludes nothing: column 1 of p holds integers, but column 1 of q holds strings"
    )
    (message,) = messages("r(?x) :- p(?x), NOT (q(?x, ?y), p(?y)) .", {"p": [I], "q": [S, I]})
    assert message.endswith("but column 1 of q holds strings")


def test_a_join_inside_a_negation_is_told():
    (message,) = messages(
        "r(?x) :- p(?x), NOT (q(?x, ?y), s(?y)) .", {"p": [I], "q": [I, I], "s": [S]}
    )
    assert message.startswith("?y never matches: column 2 of q holds integers")


def test_a_constant_of_another_type_than_its_column_never_matches():
    (warning,) = told('r(?y) :- p("1", ?y) .', {"p": [I, I]})
    assert warning.code == "W306"
    assert warning.message == '"1" never matches: column 1 of p holds integers'
    assert warning.help.startswith("integers are written 42; ")
    assert told("r(?y) :- p(1, ?y) .", {"p": [I, I]}) == []
    assert told('r(?y) :- p("1", ?y) .', {"p": [I | S, I]}) == []


def test_iris_and_strings_in_rdf_are_no_mistake():
    text = PREFIX + "r(?x) :- :p(?x, ?y), :q(?y, ?z) . s(?x) :- r(?x), t(?x) ."
    given = {"<http://e/p>": [IRI, S], "<http://e/q>": [IRI, S], "t": [S]}
    assert told(text, given, rdf=["t"]) == []
    assert len(told(text, given | {"<http://e/p>": [IRI, IRI]})) == 1  # t is a table


def test_numbers_of_other_types_in_rdf_are_told():
    text = PREFIX + "r(?x) :- :p(?x, ?y), :q(?z, ?y) ."
    (message,) = messages(text, {"<http://e/p>": [IRI, I], "<http://e/q>": [IRI, D]})
    assert message == (
        "?y never matches: column 2 of :p holds integers, but column 2 of :q holds doubles"
    )


def test_triples_with_any_predicate_are_no_mistake():
    text = (
        "[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] . r(?x) :- [?x, ?p, 1], s(?x) ."
    )
    program = parse_program(text)
    flow = TypeFlow(plan_program(program).rules, {TRIPLE: [t.ANY] * 3, Predicate("s", 1): [I]})
    assert Unjoinable(program, flow, []).warnings(lambda *_: "") == []


def test_declared_names_of_columns_are_told():
    text = "@declare sale(id integer, buyer integer) . r(?x) :- sale(?x, ?y), q(?y) ."
    (message,) = messages(text, {"sale": [I, I], "q": [S]})
    assert "column buyer of sale" in message


def test_many_conflicts_are_told_as_few():
    rules = [f"r{n}(?x) :- p(?x), q{n}(?x) ." for n in range(9)]
    found = messages("\n".join(rules), {"p": [I], **{f"q{n}": [S] for n in range(9)}})
    assert len(found) == 3
    assert found[-1].endswith("; and 6 more of this kind")


def test_the_same_columns_are_told_once():
    text = "a(?x) :- p(?x), q(?x) . b(?x) :- p(?x), q(?x), a(?x) ."
    assert len(messages(text, {"p": [I], "q": [S]})) == 1


def test_a_value_that_an_atom_looks_up_has_types_too():
    x, y = Variable("x"), Variable("$1")
    p, r = Atom(Predicate("p", 1), (x,)), Atom(Predicate("r", 1), (x,))
    half = Bind(Call("/", (x, parse_program("q(2) .").facts[0].args[0])), y)
    rule = PlannedRule(0, r, (p, Atom(Predicate("q", 1), (y,))), (), (half,))
    flow = TypeFlow([rule], {Predicate("p", 1): [I], Predicate("q", 1): [I]})
    (conflict,) = flow.conflicts()
    assert conflict.first.atom == half
    assert conflict.first.types == t.DECIMALS
