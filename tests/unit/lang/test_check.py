"""What a program means: errors S2xx in the order of the text, and warnings."""

import pytest

from stratalog.errors import ProgramError
from stratalog.lang.check import check, undefined_predicates
from stratalog.lang.parse import merge, parse_program
from stratalog.lang.syntax import Atom, Predicate, Program, Rule, Variable

PREFIX = "@prefix : <http://e/> .\n"


def error_of(text):
    with pytest.raises(ProgramError) as caught:
        check(parse_program(PREFIX + text, "f.dlog"))
    return caught.value


def pointed_at(error):
    return error.source[error.column - 1 :]


MISTAKES = [
    ("grand(?x, ?z) :- parent(?x, ?y) .", "S201", "?z) :-"),
    ("[?x, ?p, ?z] :- [?x, ?p, ?y] .", "S201", "?z]"),
    ("a(?x), b(?y) :- c(?x) .", "S201", "?y)"),
    ("p(?x, ?y) :- q(?x), NOT r(?x, ?y) .", "S201", "?y) :-"),
    ("p(?x) :- FILTER(?x = 1) .", "S201", "?x) :-"),
    ("p(?x) :- q(?x), FILTER(?y > 1) .", "S203", "?y > 1"),
    ("p(?x) :- q(?x), ?yy > ?y, r(?yy) .", "S203", "?y, r"),
    ("p(?x) :- q(?x), BIND(?y + 1 AS ?z) .", "S203", "?y + 1"),
    ("p(?x) :- q(?x), BIND(?x + 1 AS ?x) .", "S203", "?x) ."),
    ("p(?a) :- q(?x), BIND(?x AS ?a), BIND(2 AS ?a) .", "S203", "?a) ."),
    ("p(?a) :- q(?x), BIND(?b AS ?a), BIND(?a AS ?b) .", "S203", "?a), BIND"),
    ("p(?x) :- q(?x), NOT (r(?x, ?y), FILTER(?y > ?z)) .", "S204", "?z))"),
    ("p(?x) :- q(?x), NOT EXISTS ?x IN (r(?y), FILTER(?x > 3)) .", "S204", "?x > 3"),
    ("p(?x) :- q(?x), NOT (r(?y), BIND(?y AS ?x)) .", "S204", "?x)) ."),
    ("p(?n) :- AGGREGATE(q(?x) ON ?z BIND COUNT(?x) AS ?n) .", "S205", "?z BIND"),
    ("p(?n) :- AGGREGATE(q(?x) BIND COUNT(?z) AS ?n) .", "S205", "?z)"),
    ("p(?x, ?n) :- AGGREGATE(q(?x, ?y) BIND COUNT(?y) AS ?n) .", "S205", "?x, ?y) BIND"),
    ("p(?n) :- AGGREGATE(q(?y) BIND COUNT(?y) AS ?n), r(?y) .", "S205", "?y) BIND"),
    ("p(?n) :- AGGREGATE(q(?y) BIND COUNT(?y) AS ?n), FILTER(?y > 1) .", "S205", "?y) BIND"),
    ("p(?n) :- AGGREGATE(q(?y) BIND COUNT(?y) AS ?n), r(?n) .", "S205", "?n), r"),
    ("p(?y) :- AGGREGATE(q(?y) BIND COUNT(?y) AS ?y) .", "S205", "?y) ."),
    (
        "p(?n) :- AGGREGATE(q(?y) BIND COUNT(?y) AS ?n BIND SUM(?y) AS ?n) .",
        "S205",
        "?n BIND",
    ),
    (
        "p(?n) :- AGGREGATE(AGGREGATE(q(?x) BIND MAX(?x) AS ?m) BIND COUNT(?m) AS ?n) .",
        "S205",
        "AGGREGATE(q",
    ),
    ("p(?n) :- AGGREGATE(q(?y), FILTER(?y > ?k) BIND COUNT(?y) AS ?n) .", "S205", "?k)"),
    ("p(?x) :- q(?x), FILTER(STRLN(?x) > 3) .", "S206", "STRLN"),
    ("p(?x) :- q(?x), NOT (r(?x), FILTER(foo(?x))) .", "S206", "foo"),
    ("p(?x) :- q(?x), FILTER(xsd:intger(?x) > 3) .", "S206", "xsd:intger"),
    ("p(?n) :- AGGREGATE(q(?y) BIND CONT(?y) AS ?n) .", "S206", "CONT"),
    ("p(?n) :- AGGREGATE(q(?y) BIND SUM(foo(?y)) AS ?n) .", "S206", "foo"),
    ("p(?x) :- q(?x), FILTER(strlen(?x, 1) > 3) .", "S207", "strlen"),
    ("p(?x) :- q(?x), FILTER(xsd:integer() > 3) .", "S207", "xsd:integer"),
    ("p(?n) :- AGGREGATE(q(?y) BIND SUM(*) AS ?n) .", "S207", "SUM"),
    ("?x = ?y :- q(?x, ?y) .", "S208", "= ?y"),
    (":a = :b .", "S208", "= :b"),
    ("p(?x) .", "S210", "?x) ."),
    ("p(1) . p(?x) :- q(?x) . r(?x) .", "S210", "?x) ."),
    ("p(1) . p(1, 2) .", "S202", "p(1, 2)"),
    ("p(?x) :- q(?x) .  p(?x) :- q(?x, ?x) .", "S202", "q(?x, ?x)"),
    ("p(1) . q(?x) :- r(?x), NOT (s(?x), p()) .", "S202", "p()"),
    ("q(?n) :- AGGREGATE(p(?y) BIND MAX(?y) AS ?n) . p(1, 2) .", "S202", "p(1, 2)"),
    ("@declare p(a string) . p(1, 2) .", "S202", "p(1, 2)"),
    ("p(1, 2) .\n@declare p(a string) .", "S202", "p(a string)"),
    ("@declare p(a strng) .", "S209", "p(a strng)"),
    ("@declare p(a string, a date) .", "S209", "p(a"),
    ("@declare p(a string) .   @declare p(b string) .", "S209", "p(b"),
    ("@declare :p(a string) . @declare <http://e/p>(b string) .", "S209", ""),
]


@pytest.mark.parametrize(("text", "code", "caret"), MISTAKES)
def test_mistake(text, code, caret):
    error = error_of(text)
    assert error.code == code
    assert pointed_at(error).startswith(caret)
    assert error.path == "f.dlog"
    assert error.line == 2 + text.count("\n")
    assert error.help


GOOD = [
    "p(?x) :- q(?x), NOT r(?x, ?y) .",
    "p(?x) :- q(?x), NOT (r(?x, ?y), NOT s(?y, ?x)) .",
    "p(?x) :- q(?x), NOT (r(?y), FILTER(?y > ?x)) .",
    "p(?x) :- q(?x), NOT r(?x, ?y), NOT s(?x, ?y) .",
    "p(?x) :- FILTER(?c > 3), BIND(?b + 1 AS ?c), BIND(?x * 2 AS ?b), q(?x) .",
    "p(?n) :- q(?x), BIND(?x + 1 AS ?n), NOT r(?n) .",
    "p(?x) :- BIND(1 + 1 AS ?x) .",
    "p(1) :- q(2) .",
    "p() :- NOT q() .",
    "p(?x, ?n) :- AGGREGATE(q(?x, ?y) ON ?x BIND COUNT(?y) AS ?n), FILTER(?n > 2), r(?x) .",
    "p(?n) :- AGGREGATE(q(?y) BIND MIN(?y) AS ?n), AGGREGATE(r(?y) BIND MAX(?y) AS ?m) .",
    "p(?n) :- AGGREGATE(q(?x, ?y), BIND(?x * ?y AS ?z), NOT r(?x) BIND SUM(?z + 1) AS ?n) .",
    ":p(1) . :p(1, 2) . :p(?x) :- :p(?x, ?y) .",
    "@declare :p(a string) . :p(1, 2) .",
    "@declare :p(a string) . @declare :p(a string, b date) .",
    "[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .",
    "owl:sameAs(?x, ?y) :- q(?x, ?y) .",
    "p(?x) :- q(?x), FILTER(-?x < 1 && !BOUND(?x) || ?x NOT IN (1, 2)) .",
]


@pytest.mark.parametrize("text", GOOD)
def test_what_is_right_has_no_warnings(text):
    assert check(parse_program(PREFIX + text)) == []


def test_the_whole_message():
    error = error_of("\n  grand(?x, ?z) :- parent(?x, ?y) .")
    assert str(error) == (
        "S201: variable ?z is in the head but in no positive body atom\n"
        "  f.dlog:3:13\n"
        "      grand(?x, ?z) :- parent(?x, ?y) .\n"
        "                ^\n"
        "  help: add an atom that binds ?z, or remove ?z from the head"
    )


def test_the_first_error_of_the_text_is_raised():
    assert error_of("p(1) .\nq(?x) :- p(?x, ?x) .\nr(?z) :- p(?y) .").code == "S202"
    assert error_of("r(?z) :- p(?y) .\nq(?x) :- p(?x, ?x) .").code == "S201"


def test_an_arity_clash_names_both_places_also_across_files():
    programs = [parse_program("\np(1) .", "a.dlog"), parse_program("p(1, 2) .", "b.dlog")]
    with pytest.raises(ProgramError) as caught:
        check(merge(programs))
    assert (caught.value.path, caught.value.line) == ("b.dlog", 1)
    assert "in a.dlog, line 2, column 1" in caught.value.message


def test_a_rule_of_several_lines_is_shown_on_one():
    error = error_of("p(?x) :-\n  q(?x),  # why\n  ?x < ?y .")
    assert error.line == 4
    assert error.source == "p(?x) :- q(?x), ?x < ?y ."
    assert pointed_at(error) == "?y ."


def test_a_rule_without_text_is_printed():
    program = Program((Rule((Atom(Predicate("p", 1), (Variable("x"),)),), ()),))
    with pytest.raises(ProgramError, match="S210") as caught:
        check(program)
    assert caught.value.source == "p(?x) ."


def test_suggestions():
    assert "STRLEN" in error_of("p(?x) :- q(?x), FILTER(STRLN(?x) > 3) .").help
    assert "xsd:integer" in error_of("p(?x) :- q(?x), FILTER(xsd:intger(?x) = 3) .").help
    assert "COUNT" in error_of("p(?n) :- AGGREGATE(q(?y) BIND CONT(?y) AS ?n) .").help
    assert "AGGREGATE" in error_of("p(?x) :- q(?x), FILTER(COUNT(?x) > 3) .").help
    assert "string" in error_of("@declare p(a strng) .").help
    assert "owl:sameAs(?x, ?y)" in error_of("?x = ?y :- q(?x, ?y) .").help


def test_a_local_variable_that_is_not_used_is_a_warning():
    (warning,) = check(parse_program("p(?x) :- q(?x), NOT EXISTS ?z IN (r(?x)) ."))
    assert warning.code == "W303"
    assert "help:" in str(warning)


def test_undefined_predicates():
    program = parse_program(
        "p(?x) :- edge(?x, ?y), NOT path(?x, ?x), AGGREGATE(lost(?z) BIND MAX(?z) AS ?n) .\n"
        "paths(?x, ?y) :- edge(?x, ?y), path(?y, ?x) .\nedge(1, 2) .",
        "f.dlog",
    )
    warnings = undefined_predicates(program, {Predicate("lost", 1)})
    assert [warning.code for warning in warnings] == ["W301"]
    assert str(warnings[0]).startswith(
        "W301: path with 2 arguments has no facts and no rules\n  f.dlog:1:28"
    )
    assert warnings[0].help == "did you mean paths?"
    assert len(undefined_predicates(program)) == 2


def test_a_head_with_a_variable_predicate_defines_all_triples():
    head = "[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .\n"
    rule = PREFIX + "p(?x) :- :q(?x, ?y), :C(?x), :wide(?x, ?y, ?x) ."
    assert len(undefined_predicates(parse_program(rule))) == 3
    (warning,) = undefined_predicates(parse_program(head + rule))
    assert ":wide" in warning.message
