"""Facts for predicates that nothing mentions, but a similar name."""

from stratalog.lang.misspelt import misspelt_facts, misspelt_update
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate

EDGE, EGDE = Predicate("edge", 2), Predicate("egde", 2)
PATHS = parse_program(
    "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .", "f.dlog"
)


def told(program, given, with_facts=()):
    return misspelt_facts(program, given, {*given, *with_facts})


def test_facts_under_a_name_like_one_without_facts_are_doubted():
    warning = told(PATHS, [EGDE])[EDGE]
    assert warning.code == "W304"
    assert str(warning).startswith(
        "W304: there are facts for egde, which no rule mentions, and none for edge\n  f.dlog:1:17"
    )
    assert warning.help.startswith("did you mean edge?")


def test_a_name_that_rules_derive_and_read_is_meant_too():
    assert list(told(PATHS, [Predicate("paht", 2)], [EDGE])) == [Predicate("path", 2)]


def test_a_declared_name_is_meant_too():
    program = parse_program("@declare sale(id string) . p(?x) :- q(?x) .")
    assert list(told(program, [Predicate("sales", 1)])) == [Predicate("sale", 1)]


def test_data_may_hold_more_than_rules_read():
    assert told(PATHS, [EGDE, EDGE]) == {}
    assert told(PATHS, [Predicate("colour", 2)]) == {}
    assert told(PATHS, [Predicate("egde", 3)]) == {}
    assert (
        told(parse_program("@declare egde(a term, b term) . p(?x) :- edge(?x, ?y) ."), [EGDE]) == {}
    )


def test_a_name_that_only_heads_have_is_no_reason_to_doubt():
    program = parse_program("parents(?x) :- child(?x) .")
    assert told(program, [Predicate("parent", 1)]) == {}


def test_names_of_iris_are_shown_with_prefixes():
    program = parse_program("@prefix : <http://e/> . p(?x) :- :knows(?x, ?y) .")
    (warning,) = told(program, [Predicate("<http://e/knwos>", 2)]).values()
    assert ":knwos" in warning.message
    assert warning.message.endswith("none for :knows")


def test_a_name_is_meant_once():
    given = [EGDE, Predicate("edgee", 2)]
    assert len(told(PATHS, given)) == 1


def test_an_update_of_an_unknown_name_is_doubted():
    (warning,) = misspelt_update(PATHS, [EGDE], [EDGE, Predicate("path", 2)], "insert")
    assert warning.code == "W304"
    assert "facts to insert for egde" in warning.message
    assert warning.help == "did you mean edge?"
    assert misspelt_update(PATHS, [Predicate("colour", 2)], [EDGE], "delete") == []


def test_a_name_that_an_atom_with_another_spelling_has_is_mentioned():
    program = parse_program("p(?x) :- follows(?x, _) . r(?x) :- folows(?x, ?y) .")
    assert told(program, [Predicate("follows", 2)]) == {}
