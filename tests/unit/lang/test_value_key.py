"""Two values are equal if and only if they have one key."""

from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratalog.engine.values.expressions import ERROR, Evaluator
from stratalog.lang.builtins.compare import equal, value_key
from stratalog.lang.builtins.functions import VALUE_KEY, ExpressionError, evaluate
from stratalog.lang.syntax import Call, Variable
from stratalog.lang.terms import BNODE_KIND, DATE, DATETIME, IRI_KIND, XSD, Term
from stratalog.lang.values.terms import literal, term_of
from stratalog.pipeline.dictionary import Dictionary

DAY, TIME, YEAR = XSD + "dayTimeDuration", XSD + "time", XSD + "gYear"
X = Variable("x")
TERMS = [
    *map(term_of, (0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, 3**80)),
    *map(term_of, (0.0, -0.0, 1.0, 0.5, 0.1, 1e300, 5e-324, 2.0**53, 2.0**63, -(2.0**63), 1e30)),
    *map(term_of, (float("inf"), float("-inf"), float("nan"))),
    *map(term_of, map(Decimal, ("0.0", "1.0", "0.5", "0.1", "-1.0", "9007199254740993.0"))),
    term_of(Decimal(10) ** 30),
    term_of(Decimal("0.1000000000000000055511151231257827021181583404541015625")),
    *(literal(t, XSD + "float") for t in ("0.1", "0.5", "1", "INF", "NaN", "-0.0", "1e30")),
    *(literal("1", XSD + kind) for kind in ("byte", "int", "nonNegativeInteger", "boolean")),
    literal("300", XSD + "byte"),
    literal("x", XSD + "integer"),
    literal("x", DATE),
    *(literal(text) for text in ("", "1", "1.0", "true", "a")),
    literal("a", lang="en"),
    literal("a", lang="de"),
    Term(IRI_KIND, "1"),
    Term(BNODE_KIND, "1"),
    term_of(True),
    literal("1", "urn:unknown"),
    *(
        literal(text, DATE)
        for text in ("2020-01-01", "2020-01-01Z", "2020-01-01+12:00", "2019-12-31-12:00")
    ),
    *(
        literal(text, DATETIME)
        for text in (
            "2020-01-01T00:00:00",
            "2020-01-01T00:00:00Z",
            "2020-01-01T01:00:00+01:00",
            "2019-12-31T24:00:00Z",
            "2019-12-31T12:00:00Z",
            "2020-01-01T00:00:00.500Z",
        )
    ),
    *(literal(text, TIME) for text in ("12:00:00Z", "13:00:00+01:00", "12:00:00", "12:00:00.0Z")),
    *(literal(text, YEAR) for text in ("2020", "2020Z", "2020+00:00", "2020+14:00")),
    *(literal(text, DAY) for text in ("P1D", "PT24H", "PT0S", "-PT0S")),
    literal("P0M", XSD + "yearMonthDuration"),
    literal("1577793600.", DATE + "#instant"),
    literal("1577793600.", DATE + "#instant#instant"),
]
"""Of each family some that are equal, some that are nearly so, and some that are no values."""


def key(term):
    try:
        return value_key(term)
    except ExpressionError:
        return None


def holds(left, right):
    try:
        return equal(left, right)
    except ExpressionError:
        return False


def test_two_terms_are_equal_if_and_only_if_they_have_one_key():
    for left, right in product(TERMS, TERMS):
        same = key(left) is not None and key(left) == key(right)
        assert same == holds(left, right), (left, right, key(left), key(right))


def test_a_moment_has_a_key_that_no_literal_has():
    moment = literal("2020-01-01+12:00", DATE)
    assert key(moment) not in {key(term) for term in (*TERMS, key(moment)) if term != moment} - {
        key(literal("2019-12-31-12:00", DATE))
    }


@given(
    st.one_of(st.integers(), st.floats(), st.decimals(allow_nan=False, allow_infinity=False)),
    st.one_of(st.integers(-3, 3), st.floats(-3, 3)),
)
def test_numbers_are_equal_if_and_only_if_they_have_one_key(first, second):
    for left, right in product(map(term_of, (first, second)), repeat=2):
        same = key(left) is not None and key(left) == key(right)
        assert same == holds(left, right)


def test_whole_columns_have_the_keys_that_terms_have():
    dictionary = Dictionary()
    ids = np.asarray(dictionary.encode(TERMS * 2), np.uint32)
    found = Evaluator(dictionary).evaluate(Call(VALUE_KEY, (X,)), {X: ids}, ids.size)
    for term, number in zip(TERMS * 2, found.tolist(), strict=True):
        wanted = key(term)
        assert (None if number == ERROR else dictionary.decode(np.array([number]))[0]) == wanted


def test_the_key_of_an_expression_that_is_an_error_is_an_error():
    call = Call(VALUE_KEY, (Call("+", (X, term_of(1))),))
    with pytest.raises(ExpressionError):
        evaluate(call, {X: term_of("a")})
    dictionary = Dictionary()
    ids = np.asarray(dictionary.encode([term_of("a"), term_of(1.0)]), np.uint32)
    found = Evaluator(dictionary).evaluate(call, {X: ids}, 2)
    assert found[0] == ERROR
    assert dictionary.decode(found[1:])[0] == term_of(2)
