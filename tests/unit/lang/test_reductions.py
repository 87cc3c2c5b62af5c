# ruff: noqa: DTZ001  # a dateTime without a time zone is a value of its own
from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratalog.lang.builtins.functions import ExpressionError
from stratalog.lang.reductions import average_of_doubles, reduce_terms, sum_of_doubles
from stratalog.lang.terms import XSD
from stratalog.lang.values.terms import IRI, BNode, Literal, python_value, term_of

values = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, math.nan]),
    st.decimals(allow_nan=False, allow_infinity=False, places=1, min_value=-9, max_value=9),
    st.text(max_size=2),
    st.booleans(),
    st.sampled_from([IRI("a"), IRI("b"), BNode("a"), Literal("a", lang="en"), Literal("a", "u:v")]),
    st.sampled_from([Literal("1", XSD + "int"), Literal("1", XSD + "float"), date(2020, 1, 1)]),
    st.sampled_from([datetime(2020, 1, 1), datetime(2019, 1, 1, tzinfo=UTC)]),
    st.sampled_from([Literal("x", XSD + "integer"), Literal("2020-01-01Z", XSD + "date")]),
)
numbers = st.one_of(st.integers(), st.floats(), st.decimals(allow_nan=False, allow_infinity=False))


def reduced(function, items, *, distinct=False):
    return reduce_terms(function, distinct=distinct, terms=[term_of(item) for item in items])


@pytest.mark.parametrize(
    ("function", "items", "expected"),
    [
        ("COUNT", ["a", "a"], 2),
        ("SUM", [2**62] * 4, 2**64),
        ("SUM", [1, Decimal("0.5")], Decimal("1.5")),
        ("SUM", [0.1] * 10, 1.0),
        ("SUM", [1e308, 1e308, -1e308], 1e308),
        ("SUM", [1e308, 1e308], math.inf),
        ("SUM", [2**53, 1, 0.5], float(2**53 + 2)),
        ("SUM", [math.inf, -math.inf], math.nan),
        ("SUM", [math.inf, 1], math.inf),
        ("SUM", [-0.0, -0.0], 0.0),
        ("SUM", [Literal("16777216", XSD + "float"), 1, 1], Literal("16777218", XSD + "float")),
        ("AVG", [1], Decimal("1.0")),
        ("AVG", [1, 2], Decimal("1.5")),
        ("AVG", [1, 1, 2], Decimal("1.333333333333333333333333333")),
        ("AVG", [0.1, 0.2, 0.3], 0.2),
        ("AVG", [1e308, 1e308], 1e308),
        ("MIN", [10, 9.5, Decimal("9.7")], 9.5),
        ("MAX", ["a", "b"], "b"),
        ("MIN", [date(2020, 1, 1), date(2019, 1, 1)], date(2019, 1, 1)),
        ("MIN", [1, IRI("a"), BNode("z")], BNode("z")),
        ("MAX", [1, math.nan], 1),
        ("MIN", [0.0, -0.0], -0.0),
    ],
)
def test_aggregates(function, items, expected):
    assert reduced(function, items) == term_of(expected)


def test_distinct_is_by_term():
    assert reduced("COUNT", [1, 1, 1.0], distinct=True) == term_of(2)
    assert reduced("SUM", [1, 1, 1.0], distinct=True) == term_of(2.0)


@pytest.mark.parametrize("function", ["SUM", "AVG"])
def test_what_is_no_number_has_no_sum(function):
    with pytest.raises(ExpressionError):
        reduced(function, [1, "a"])


@given(st.lists(values, min_size=1, max_size=6), st.randoms())
def test_the_order_of_terms_never_matters(items, random):
    shuffled = random.sample(items, len(items))
    for function in ("COUNT", "MIN", "MAX"):
        assert reduced(function, items) == reduced(function, shuffled)


@given(st.lists(numbers, min_size=1, max_size=8), st.randoms())
def test_the_order_of_numbers_never_matters(items, random):
    shuffled = random.sample(items, len(items))
    for function in ("SUM", "AVG"):
        assert reduced(function, items) == reduced(function, shuffled)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_sums_of_doubles_are_rounded_once(items):
    total = sum(map(Fraction, items))
    try:
        expected = float(total)
    except OverflowError:
        expected = math.inf if total > 0 else -math.inf
    assert python_value(reduced("SUM", items)) == expected == sum_of_doubles(items)
    average = python_value(reduced("AVG", items))
    assert average == float(total / len(items)) == average_of_doubles(items)
