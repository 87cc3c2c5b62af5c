"""What people bring from other languages: the message shows how it is written here."""

import pytest

import stratalog as sl
from stratalog.errors import ProgramError
from stratalog.lang.check import check, undefined_predicates
from stratalog.lang.parse import parse_program, parse_query

MISTAKES = [
    ("p(?x) :- q(?x), ?x % 2 = 0 .", "S125", 1, 20, "MOD(?x, 2)"),
    ("p(?x) :- q(?x), ?y = ?x % 2, r(?y) .", "S125", 1, 25, "MOD(?x, 2)"),
    ("p(?x) :- q(?x), BIND(?x % 2 AS ?y),\n  r(?y) .", "S125", 1, 25, "MOD(?x, 2)"),
    ("p(?x) :- q(?x), ?x // 2 = 1 .", "S125", 1, 20, "FLOOR(?x / 2)"),
    ("p(?x) :- q(?x), # r(?x) .\n", "S125", 1, 17, "comments"),
    ("p(http://e/a) .\nq(1) .", "S125", 1, 8, "<http://"),
    (".decl edge(x: number, y: symbol)\n", "S126", 1, 1, "@declare edge(x integer, y string) ."),
    (".decl edge(x: Node)\n", "S126", 1, 1, "@declare edge(x string) ."),
    (".decl edge", "S126", 1, 1, "@declare edge(x integer, y string) ."),
    (".input edge\n", "S126", 1, 1, "edge.csv"),
    ("a(1) .\n.output a(IO=stdout)\n", "S126", 2, 1, 'kb["path"]'),
    (".type Node = symbol\n", "S126", 1, 1, "leave it out"),
    ("p(?x) :- q(?x), !r(?x) .", "S102", 1, 17, "write NOT r(?x)"),
    ("p(?x) :- !:r(?x, f), q(?x) .", "S110", 1, 18, "?f"),
    ("p(?x) :- ! <r>(?x), q(?x) .", "S102", 1, 10, "write NOT <r>(?x)"),
    ("p(?x) :- q(?x), !contains(?x, 'a') .", "S102", 1, 17, "write FILTER(!contains(?x, 'a'))"),
    ("p(?x) :- q(?x) <= r(?x) .", "S117", 1, 16, "a comma between atoms"),
    ("p(?x) :- q(?x) -> r(?x) .", "S117", 1, 16, "a comma between atoms"),
    ("p(?x) :- q(?x), r(?x) <= 3 .", "S117", 1, 23, "r(?x) has no value"),
    ("p(?x) :- q(?x), STRLEN(?x) <= 3 .", "S117", 1, 28, "FILTER(STRLEN"),
    ("p(?x, ?a) <= p(?x, ?b) :- ?b <= ?a .", "S107", 1, 11, "AGGREGATE"),
    ("p(?x) <= q(?x) .", "S107", 1, 7, ":-"),
]


@pytest.mark.parametrize(("text", "code", "line", "column", "advice"), MISTAKES)
def test_a_habit_of_another_language_is_told_how_it_is_written_here(
    text, code, line, column, advice
):
    with pytest.raises(ProgramError) as caught:
        parse_program(text)
    error = caught.value
    assert (error.code, error.line, error.column) == (code, line, column)
    assert advice in error.help


@pytest.mark.parametrize(
    "text",
    [
        "p(?x) :- q(?x)   # the end of all, as (was) told\nr(?x) :- q(?x) .",
        "p(?x) :- q(?x)   % two atoms\n",
        'p("a#b") . p(1)  # one\n',
    ],
)
def test_a_comment_after_a_statement_without_its_dot_is_not_blamed(text):
    with pytest.raises(ProgramError) as caught:
        parse_program(text)
    assert caught.value.code == "S105"


def test_an_exclamation_mark_at_the_end_of_a_query_is_shown():
    with pytest.raises(ProgramError) as caught:
        parse_query("q(?x),\n !r(?x)")
    assert (caught.value.code, caught.value.line, caught.value.column) == ("S102", 2, 2)
    assert caught.value.help == "write NOT r(?x)"


@pytest.mark.parametrize(
    ("atom", "advice"),
    [
        ('match("a.*", ?x)', 'FILTER(REGEX(?x, "a.*"))'),
        ("match(?p, ?x)", "FILTER(REGEX(?x, ?p))"),
        ('regex(?x, "a", "i")', 'FILTER(REGEX(?x, "a", "i"))'),
        ('contains(?x, "a")', 'FILTER(CONTAINS(?x, "a"))'),
        ('contains("a", ?x)', 'FILTER(CONTAINS(?x, "a"))'),
        ('startswith(?x, "a")', 'FILTER(STRSTARTS(?x, "a"))'),
        ("strlen(?x, ?n)", "BIND(STRLEN(?x) AS ?n)"),
        ("strlen(?x)", "BIND(STRLEN(?x) AS ?value)"),
        ('cat(?x, "a", ?n)', 'BIND(CONCAT(?x, "a", ?n) AS ?value)'),
    ],
)
def test_an_atom_with_the_name_of_a_function_is_told_how_to_call_it(atom, advice):
    program = parse_program(f"p(?x) :- q(?x), {atom} . q(1) .")
    assert check(program) == []
    (warning,) = undefined_predicates(program)
    assert (warning.code, warning.column) == ("W301", 17)
    assert warning.help.endswith(f"write {advice}")
    with pytest.raises(ProgramError, match="S192") as caught:
        sl.materialise("q(1) .", engine="reference").query(f"q(?x), {atom}")
    assert caught.value.help.endswith(f"write {advice}")


def test_a_relation_may_have_the_name_of_a_function():
    program = parse_program('p(?x) :- contains(?x, "a") . contains("b", "a") .')
    assert undefined_predicates(program) == []


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("min(?x, ?y)", "write IF(?x < ?y, ?x, ?y)"),
        ("MAX(?x + 1, 2)", "write IF(?x + 1 > 2, ?x + 1, 2)"),
        ("max(?x, ?y, 3)", "write IF(?x > ?y, ?x, ?y)"),
        ("min(?x)", "AGGREGATE"),
    ],
)
def test_the_lesser_of_two_values_is_an_if(call, advice):
    with pytest.raises(ProgramError, match="S206") as caught:
        check(parse_program(f"p(?z) :- q(?x, ?y), BIND({call} AS ?z) ."))
    assert advice in caught.value.help
