"""What `_`, expressions in atoms, `=` and `;` say in plain literals."""

import pytest

from stratalog.errors import ProgramError
from stratalog.lang.check import check
from stratalog.lang.parse import parse_program, parse_query
from stratalog.lang.printer import show
from stratalog.lang.spellings import is_anonymous, plain_rules
from stratalog.lang.syntax import Anonymous, Atom, Pattern, Variable


def plain(text):
    """Return the plain rules of one rule as text, without its dots; fresh variables as `?1`."""
    (rule,) = parse_program(text).rules
    return [show(each).replace("$=", "")[:-2] for each in plain_rules(rule)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(?x + 1) :- q(?x) .", "p(?1) :- q(?x), BIND(?x + 1 AS ?1)"),
        ("p(?x) :- q(?x), r(?x * 2, 1) .", "p(?x) :- q(?x), r(?1, 1), BIND(?x * 2 AS ?1)"),
        ("p(?x) :- q(?x), NOT r(?x + 1) .", "p(?x) :- q(?x), NOT (r(?1), BIND(?x + 1 AS ?1))"),
        ("p(?y) :- q(?x), ?y = ?x + 1 .", "p(?y) :- q(?x), BIND(?x + 1 AS ?y)"),
        ("p(?y) :- q(?x), ?x + 1 = ?y .", "p(?y) :- q(?x), BIND(?x + 1 AS ?y)"),
        ("p(?y) :- ?y = ?x, q(?x) .", "p(?y) :- BIND(?x AS ?y), q(?x)"),
        ("p(?x) :- q(?x, ?y), ?y = ?x .", "p(?x) :- q(?x, ?y), FILTER(?y = ?x)"),
        ("p(?x) :- q(?x), ?x = 1 .", "p(?x) :- q(?x), FILTER(?x = 1)"),
        ("p(?x) :- ?x = 1, ?x = 1.0 .", "p(?x) :- BIND(1 AS ?x), FILTER(?x = 1.0)"),
        (
            "p(?z) :- ?z = ?y, ?y = ?x, q(?x), ?z = 2 .",
            "p(?z) :- BIND(?y AS ?z), BIND(?x AS ?y), q(?x), FILTER(?z = 2)",
        ),
        (
            "p(?y) :- q(?x), BIND(?x AS ?z), ?y = ?z, ?y = ?x .",
            "p(?y) :- q(?x), BIND(?x AS ?z), BIND(?z AS ?y), FILTER(?y = ?x)",
        ),
        (
            "p(?x) :- q(?x, ?y), NOT (r(?z), ?z = ?y, ?w = ?z, s(?w)) .",
            "p(?x) :- q(?x, ?y), NOT (r(?z), FILTER(?z = ?y), FILTER(?w = ?z), s(?w))",
        ),
        (
            "p(?x) :- q(?x, ?y), NOT (r(?z), ?w = ?z, ?w > 1) .",
            "p(?x) :- q(?x, ?y), NOT (r(?z), BIND(?z AS ?w), FILTER(?w > 1))",
        ),
        ("p(?x) :- q(?x), (?x + 1) * 2 > 3 .", "p(?x) :- q(?x), FILTER((?x + 1) * 2 > 3)"),
        ("p(?x) :- q(?x), ((STRLEN(?x))) = 3 .", "p(?x) :- q(?x), FILTER(STRLEN(?x) = 3)"),
        ("p(?x) :- ((q(?x)), (r(?x), (?x < 3))) .", "p(?x) :- q(?x), r(?x), FILTER(?x < 3)"),
    ],
)
def test_a_rule_in_plain_literals(text, expected):
    assert plain(text) == [expected]


def test_each_anonymous_variable_is_another_one():
    (rule,) = plain_rules(parse_program("p(?_) :- q(_, _, ?_, ?x), r(?_, _) .").rules[0])
    atoms = [atom for atom in rule.body if isinstance(atom, Atom)]
    names = [arg for atom in atoms for arg in atom.args if is_anonymous(arg)]
    assert len(set(names)) == len(names) == 3
    assert atoms[0].args[2] == atoms[1].args[0] == Variable("_")


def test_an_anonymous_variable_stands_in_triples_and_its_word_is_still_a_name():
    body = parse_query("[?x, _, ?y], [?x, a, _], [_, rdf:type, ?x], _(?x), q[_]")
    assert [isinstance(atom, Pattern) for atom in body] == [True, True, True, False, True]
    assert [arg for atom in body for arg in atom.args].count(Anonymous.ANY) == 4


def test_alternatives_bind_weaker_than_commas_and_may_be_nested():
    assert plain("p(?x) :- a(?x), b(?x) ; c(?x) OR d(?x) .") == [
        "p(?x) :- a(?x), b(?x)",
        "p(?x) :- c(?x)",
        "p(?x) :- d(?x)",
    ]
    assert plain("p(?x) :- (a(?x) ; b(?x)), (c(?x) ; d(?x), (e(?x) or f(?x))) .") == [
        f"p(?x) :- {first}(?x), {second}"
        for first in "ab"
        for second in ("c(?x)", "d(?x), e(?x)", "d(?x), f(?x)")
    ]
    assert plain("p(?x) :- a(?x), NOT (b(?x) ; c(?x, _), ?x > 1) .") == [
        "p(?x) :- a(?x), NOT b(?x), NOT (c(?x, _), FILTER(?x > 1))"
    ]
    assert plain("p(?x) :- a(?x), NOT EXISTS ?y ?z IN (b(?y) ; c(?z)) .") == [
        "p(?x) :- a(?x), NOT EXISTS ?y IN b(?y), NOT EXISTS ?z IN c(?z)".replace(
            "b(?y)", "(b(?y))"
        ).replace("c(?z)", "(c(?z))")
    ]


def test_an_equation_is_decided_in_each_alternative():
    assert plain("p(?y) :- q(?x), ?y = ?x ; r(?x, ?y), ?y = ?x .") == [
        "p(?y) :- q(?x), BIND(?x AS ?y)",
        "p(?y) :- r(?x, ?y), FILTER(?y = ?x)",
    ]


def test_or_is_still_a_name_where_an_atom_begins():
    assert plain("or(?x) :- or(?x) or OR(?x) .") == ["or(?x) :- or(?x)", "or(?x) :- OR(?x)"]


def test_expressions_in_facts_are_evaluated():
    program = parse_program('p(1 + 2, -(3), CONCAT("a", "b")) .')
    assert program == parse_program('p(3, -3, "ab") .')
    assert not program.rules


MISTAKES = [
    ("p(?x) :- q(?x), FILTER(_ > 1) .", "S121", 24, "variable"),
    ("p(?x) :- q(?x), r(_ + 1) .", "S121", 19, "variable"),
    ("p(?x) :- q(?x), _ = ?x .", "S121", 17, "variable"),
    ("p(?x) :- q(?x), BIND(_ AS ?y) .", "S121", 22, "variable"),
    ("p(_) :- q(?x) .", "S214", 3, "variable"),
    ("p(1, _) .", "S214", 6, "constant"),
    ("[?x, :p, _] :- q(?x) .", "S214", 10, "variable"),
    ("p(1 / 0) .", "S123", 1, "constant"),
    ("p(foo(1)) .", "S206", 3, "function"),
    ("p(?n) :- AGGREGATE(q(?x) ; r(?x) BIND COUNT(?x) AS ?n) .", "S124", 10, "rule"),
    ("p(?x) :- a(?x) ; b(?y) .", "S201", 3, "?x"),
    ("p(?x) :- q(?x), r(?y + 1) .", "S203", 19, "?y"),
    ("p(?x) :- q(?x), ?y = ?z .", "S203", 22, "?z"),
    ("p(?y) :- q(?x), ?y = ?y + 1 .", "S203", 17, "cycle"),
    ("p(?x) :- q(?x), FILTER(?y = ?x) .", "S203", 24, "?y"),
    ("p(?x) :- q(?x), ?x .", "S117", 17, "comparison"),
    ('p(?x) :- q(?x), "a"@en .', "S117", 17, "comparison"),
    ("p(?x) :- q(?x), -?x .", "S117", 17, "comparison"),
    ("p(?x) :- q(?x), + ?x .", "S117", 17, "comparison"),
    ("p(?x) :- (q(?x), r(?x)) > 2 .", "S117", 10, "commas"),
    ("p(?x) :- (q(?x)) .", "", 0, ""),
    ("p(?x) :- q(?x) | r(?x) .", "S102", 16, "OR"),
    ("p(?x) ; r(?x) :- q(?x) .", "S102", 7, "body"),
]


@pytest.mark.parametrize(("text", "code", "column", "advice"), MISTAKES)
def test_a_mistake_with_a_spelling_has_a_place_and_a_fix(text, code, column, advice):
    text = f"@prefix : <http://e/> . {text}"
    if not code:
        assert check(parse_program(text)) == []
        return
    with pytest.raises(ProgramError) as caught:
        check(parse_program(text))
    error = caught.value
    assert (error.code, error.column) == (code, column + 24)
    assert advice in error.help + error.message


def test_too_many_alternatives_are_refused_before_they_are_combined():
    text = f"p() :- {', '.join(['(a() ; b())'] * 60)} ."
    with pytest.raises(ProgramError) as caught:
        parse_program(text)
    assert caught.value.code == "S122"
    assert "1,152,921,504,606,846,976" in caught.value.message
    inside = f"p() :- a(), NOT ({', '.join(['(a() ; b())'] * 10)}) ."
    with pytest.raises(ProgramError) as caught:
        parse_program(inside)
    assert caught.value.code == "S122"
    assert len(plain(f"p() :- {', '.join(['(a() ; b())'] * 9)} .")) == 512


@pytest.mark.parametrize("inside", ["?x", "a()", "?x > 1", "a() ; b()"])
def test_deep_parentheses_are_an_error_not_a_crash(inside):
    with pytest.raises(ProgramError) as caught:
        parse_program("p() :- " + "(" * 5000 + inside + ")" * 5000 + " .")
    assert caught.value.code in {"S116", "S117"}
