"""Which equality filters become join keys, and which sides are held."""

import pytest

from stratalog.lang.parse import parse_program
from stratalog.lang.printer import show
from stratalog.plan.lower import lower_rules
from stratalog.plan.program import plan_program
from stratalog.plan.value_keys import with_value_keys


def planned(text, **options):
    """Return the rules as text, without the signs of what is hidden."""
    rules = with_value_keys(lower_rules(parse_program(text).rules), **options)
    return [shown(rule) for rule in rules]


def shown(rule):
    parts = [*rule.body, *rule.builtins]
    return f"{show(rule.head)} :- {', '.join(map(show, parts))}".replace("$", "").replace("=k", "k")


def test_both_sides_are_held_where_updates_may_begin_at_either():
    assert planned("r(?x, ?y) :- p(?x, _), q(?y, 3), ?y = ?x + 1 .") == [
        "any1(?x) :- p(?x, _)",
        "value1(?y, ?k2) :- q(?y, 3), BIND(KEY(?y) AS ?k2)",
        "value2(?x, ?k2) :- any1(?x), BIND(KEY(?x + 1) AS ?k2)",
        "r(?x, ?y) :- any1(?x), q(?y, 3), value1(?y, ?k2), value2(?x, ?k2)",
    ]


def test_rules_share_what_is_held():
    first = "r(?x, ?y) :- p(?x), q(?y), ?x = ?y ."
    found = planned(f"{first} s(?a) :- p(?a), t(?b), ?b = ?a .")
    assert [text for text in found if text.startswith("value")] == [
        "value1(?x, ?k2) :- p(?x), BIND(KEY(?x) AS ?k2)",
        "value2(?y, ?k2) :- q(?y), BIND(KEY(?y) AS ?k2)",
        "value3(?b, ?k2) :- t(?b), BIND(KEY(?b) AS ?k2)",
    ]


def test_a_side_over_several_atoms_and_a_recursive_one_are_computed_in_the_rule():
    assert planned("r(?x, ?y) :- p(?x), s(?z), q(?y), ?x + ?z = ?y .")[1:] == [
        "r(?x, ?y) :- p(?x), s(?z), q(?y), value1(?y, ?k3), BIND(KEY(?x + ?z) AS ?k3)"
    ]
    assert planned("p(?y) :- p(?x), q(?y), ?y = ?x + 1 .")[1:] == [
        "p(?y) :- p(?x), q(?y), value1(?y, ?k2), BIND(KEY(?x + 1) AS ?k2)"
    ]
    assert len(planned("p(?y) :- p(?x), p(?y), ?y = ?x + 1 .")) == 3


def test_a_query_holds_one_side():
    assert planned("r(?x, ?y) :- p(?x), q(?y), ?y = ?x + 1 .", are_answers=True) == [
        "value1(?x, ?k2) :- p(?x), BIND(KEY(?x + 1) AS ?k2)",
        "r(?x, ?y) :- p(?x), q(?y), value1(?x, ?k2), BIND(KEY(?y) AS ?k2)",
    ]


def test_what_a_bind_computes_is_computed_where_it_is_held():
    rules = planned("r(?y) :- p(?x), BIND(?x + 1 AS ?m), BIND(?m * 2 AS ?n), q(?y), ?n = ?y .")
    assert rules[0] == (
        "value1(?x, ?k2) :- p(?x), BIND(?x + 1 AS ?m), BIND(?m * 2 AS ?n), BIND(KEY(?n) AS ?k2)"
    )
    assert "BIND(?m * 2 AS ?n)" in rules[-1]


def test_each_condition_of_a_conjunction_may_be_a_key():
    text = "r(?x, ?v) :- p(?x, ?u), q(?y, ?v), FILTER(?x < 3 && (?x = ?y && ?u = ?v)) ."
    assert planned(text)[-1] == (
        "r(?x, ?v) :- p(?x, ?u), q(?y, ?v), value1(?x, ?k2), value2(?y, ?k2),"
        " FILTER(?x < 3), FILTER(?u = ?v)"
    )


def test_an_expression_in_an_atom_is_held_under_its_own_value():
    assert planned("r(?x) :- p(?x), q(?x + 1) .") == [
        "value1(?x, ?=1) :- p(?x), BIND(?x + 1 AS ?=1)",
        "r(?x) :- p(?x), q(?=1), value1(?x, ?=1)",
    ]
    recursive = "r(?x) :- r(?x), q(?=1), BIND(?x + 1 AS ?=1)"
    assert planned("r(?x) :- r(?x), q(?x + 1) .") == [recursive]
    asked = "r(?x) :- p(?x), q(?=1), BIND(?x + 1 AS ?=1)"
    assert planned("r(?x) :- p(?x), q(?x + 1) .", are_answers=True) == [asked]


@pytest.mark.parametrize(
    "text",
    [
        "r(?x) :- p(?x, ?y), ?y = ?x + 1 .",
        "r(?x) :- p(?x, ?z), q(?z, ?y), ?y = ?x + 1 .",
        "r(?x) :- p(?x), q(?y), FILTER(?x = ?y || ?x = 1) .",
        "r(?x) :- p(?x), q(?y), FILTER(?x < ?y) .",
        "r(?x) :- p(?x), q(?y), FILTER(?x = 3) .",
        "r(?x) :- a(?x), b(?y), c(?z), d(?w), FILTER(?x + ?y = ?z + ?w) .",
        "r(?x) :- p(?x), q(?y), s(?x, ?y), FILTER(?x = ?y && ?x < 3) .",
        "r(?y) :- p(?x), BIND(?x + 1 AS ?y), FILTER(?y = ?x) .",
    ],
)
def test_other_filters_stay_as_they_are(text):
    plain = lower_rules(parse_program(text).rules)
    assert [shown(rule) for rule in plain] == planned(text)


def test_a_plan_can_be_made_without_keys_as_in_older_stores():
    program = parse_program("r(?x) :- p(?x), q(?y), ?y = ?x .")
    assert len(plan_program(program).rules) == 3
    assert len(plan_program(program, has_keys=False).rules) == 1
