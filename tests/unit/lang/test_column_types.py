"""The types of columns, and what functions make of them."""

import pytest

from stratalog.lang import column_types as t
from stratalog.lang.builtins.functions import FUNCTIONS, ExpressionError, evaluate
from stratalog.lang.parse import parse_program
from stratalog.lang.reductions import reduce_terms
from stratalog.lang.syntax import Reduction, Variable
from stratalog.lang.terms import BNODE_KIND, IRI_KIND, XSD, Term
from stratalog.lang.values.terms import literal

SOME = [
    Term(IRI_KIND, "http://e/a"),
    Term(BNODE_KIND, "b"),
    literal("abc"),
    literal("1"),
    literal("abc", lang="en"),
    *(literal("1", XSD + kind) for kind in ("integer", "decimal", "double", "float", "int")),
    literal("true", XSD + "boolean"),
    literal("2026-01-31", XSD + "date"),
    literal("2026-01-31T12:00:00Z", XSD + "dateTime"),
    literal("P1D", XSD + "duration"),
]
X, Y = Variable("x"), Variable("y")


def test_each_kind_has_a_type():
    assert t.type_of_kind(XSD + "integer") == t.INTEGERS
    assert t.type_of_kind(XSD + "int") == t.OTHER_NUMBERS
    assert t.type_of_kind("@en") == t.type_of_kind("@de") == t.TEXTS
    assert t.type_of_kind("http://e/mine") == t.OTHERS
    assert not t.ANY & ~sum(t._WORDS)


def test_types_are_said_as_people_say_them():
    assert t.words_of(t.INTEGERS) == "integers"
    assert t.words_of(t.INTEGERS | t.STRINGS) == "strings and integers"
    assert t.words_of(t.INTEGERS | t.STRINGS | t.DATES) == "strings, integers and dates"


def expression(text):
    program = parse_program(f"p(?z) :- q(?x, ?y), BIND({text} AS ?z) .")
    return program.rules[0].body[1].expression


CALLS = [
    *(f"?x {sign} ?y" for sign in ("+", "-", "*", "/", "=", "<", "&&", "||")),
    *("-?x", "IF(?x, ?x, ?y)", "COALESCE(?x / 0, ?y)", "!?x", "?x IN (?y)"),
    *(
        f"{name}({', '.join(['?x', '?y', '?y'][: max(least, 1)])})"
        for name, (least, most) in FUNCTIONS.items()
        if name not in {"IF", "COALESCE", "BOUND"}
    ),
    "SUBSTR(?x, 1)", "CONCAT(?x, ?y)", 'REPLACE(?x, "a", "b")', 'STRLANG("a", "en")', "MOD(?x, ?y)",
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_a_value_has_one_of_the_types_that_are_foretold(text):
    call = expression(text)
    for x in SOME:
        for y in SOME:
            types = {X: t.type_of_kind(x.kind), Y: t.type_of_kind(y.kind)}
            try:
                value = evaluate(call, {X: x, Y: y})
            except ExpressionError:
                continue
            foretold = t.types_of_value(call, types)
            assert t.type_of_kind(value.kind) & foretold, (text, x, y, value)
            wider = {X: types[X] | t.STRINGS, Y: types[Y] | t.DOUBLES}
            assert not foretold & ~t.types_of_value(call, wider)


@pytest.mark.parametrize("function", ["COUNT", "SUM", "MIN", "MAX", "AVG"])
def test_a_result_has_one_of_the_types_that_are_foretold(function):
    reduction = Reduction(function, False, X, Y)
    for x in SOME:
        for y in SOME:
            foretold = t.types_of_result(
                reduction, {X: t.type_of_kind(x.kind) | t.type_of_kind(y.kind)}
            )
            try:
                value = reduce_terms(function, False, [x, y])
            except ExpressionError:
                continue
            assert t.type_of_kind(value.kind) & foretold, (function, x, y, value)


def test_arithmetic_on_integers_gives_integers_alone():
    assert t.types_of_value(expression("?x + 1"), {X: t.INTEGERS}) == t.INTEGERS
    assert t.types_of_value(expression("?x / 2"), {X: t.INTEGERS}) == t.DECIMALS
    assert t.types_of_value(expression("?x * 2.5"), {X: t.INTEGERS}) == t.DECIMALS
    assert t.types_of_value(expression("?x + ?y"), {X: t.STRINGS, Y: t.INTEGERS}) == t.NONE


def test_what_is_not_known_may_have_any_type():
    assert t.types_of_value(expression("?x"), {}) == t.ANY
    assert t.types_of_value(expression("STRDT(?x, ?y)"), {X: t.STRINGS, Y: t.IRIS}) == t.ANY
