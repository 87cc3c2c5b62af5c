from __future__ import annotations

import math
import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.engine.values.expressions import ERROR, Evaluator
from stratalog.lang.builtins import functions as builtins
from stratalog.lang.builtins.functions import ExpressionError
from stratalog.lang.syntax import Call, Variable
from stratalog.lang.terms import INTEGER, XSD
from stratalog.lang.values.terms import IRI, BNode, Literal, term_of
from stratalog.pipeline.dictionary import Dictionary

A, B, C, UNBOUND = (Variable(name) for name in ("a", "b", "c", "unbound"))
LARGE = [2**31, 2**53, 2**53 + 1, 10**18 - 1, 10**18, 2**62, 2**63 - 1, -(2**63), 2**63, 10**30]
values = st.one_of(
    st.integers(-3, 3),
    st.sampled_from(LARGE),
    st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e300, 2.0**53, math.inf, -math.inf, math.nan]),
    st.booleans(),
    st.sampled_from(
        ["", "a", "1", "true", IRI("a"), IRI("b"), BNode("a"), Literal("a", lang="en")]
    ),
    st.sampled_from(
        [Decimal("1.0"), Decimal("0.5"), Literal("1", XSD + "int"), Literal("1", "u:v")]
    ),
    st.sampled_from(
        [Literal("1", XSD + "float"), Literal("x", INTEGER), Literal("x", XSD + "double")]
    ),
    st.sampled_from([Literal("x", XSD + "boolean"), Literal("2020-01-01", XSD + "date")]),
)
terms = values.map(term_of)
leaves = st.one_of(st.sampled_from([A, B, C]), st.sampled_from([A, B, C, UNBOUND]), terms)
BINARY = [
    "+",
    "-",
    "*",
    "/",
    "MOD",
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "IN",
    "CONCAT",
    "SAMETERM",
]
UNARY = [
    "NEG",
    "!",
    "ABS",
    "STR",
    "STRLEN",
    "ISIRI",
    "BOUND",
    "FLOOR",
    f"<{XSD}integer>",
    "IN",
    "COALESCE",
]


def calls(inner):
    return st.one_of(
        st.builds(lambda name, *args: Call(name, args), st.sampled_from(BINARY), inner, inner),
        st.builds(lambda name, *args: Call(name, args), st.sampled_from(BINARY[:13]), inner, inner),
        st.builds(lambda name, *args: Call(name, args), st.sampled_from(UNARY), inner),
        st.builds(
            lambda name, *args: Call(name, args),
            st.sampled_from(["IF", "IN", "&&"]),
            inner,
            inner,
            inner,
        ),
    )


expressions = st.recursive(leaves, calls, max_leaves=6)
rows = st.lists(st.tuples(terms, terms, terms), max_size=12)


def scalar(expression, row):
    binding = dict(zip((A, B, C), row, strict=True))
    try:
        value = builtins.evaluate(expression, binding)
    except ExpressionError:
        value = None
    return value, builtins.holds(expression, binding)


def columns_of(dictionary, found):
    encoded = [dictionary.encode([row[place] for row in found]) for place in range(3)]
    return dict(zip((A, B, C), encoded, strict=True))


@settings(deadline=None)
@given(expressions, rows)
def test_columns_give_what_single_rows_give(expression, found):
    dictionary = Dictionary()
    evaluator = Evaluator(dictionary)
    columns = columns_of(dictionary, found)
    expected = [scalar(expression, row) for row in found]
    for _ in range(2):
        ids = evaluator.evaluate(expression, columns, len(found))
        assert ids.dtype == np.uint32
        decoded = [None if i == ERROR else dictionary.decode(np.array([i]))[0] for i in ids]
        assert decoded == [value for value, _ in expected]
        holds = evaluator.holds(expression, columns, len(found))
        assert holds.dtype == np.bool_
        assert holds.tolist() == [truth for _, truth in expected]


@settings(deadline=None)
@given(
    st.sampled_from(["+", "-", "*", "MOD", "<", "="]),
    st.lists(st.tuples(st.integers(), st.integers())),
)
def test_integers_never_wrap(name, pairs):
    large = [(left * 2**50, right * 2**10) for left, right in pairs]
    found = [tuple(map(term_of, (*pair, 0))) for pair in pairs + large]
    dictionary = Dictionary()
    ids = Evaluator(dictionary).evaluate(
        Call(name, (A, B)), columns_of(dictionary, found), len(found)
    )
    decoded = [None if i == ERROR else dictionary.decode(np.array([i]))[0] for i in ids]
    assert decoded == [scalar(Call(name, (A, B)), row)[0] for row in found]


def test_what_was_read_is_forgotten_with_the_ids_taken_back():
    dictionary = Dictionary()
    evaluator = Evaluator(dictionary)
    kept = len(dictionary)
    column = dictionary.encode([term_of(1)])
    assert evaluator.holds(Call("=", (A, A)), {A: column}, 1).all()
    evaluator.numbers(column)
    dictionary.truncate(kept)
    evaluator.forget(kept)
    again = dictionary.encode([term_of("x")])
    assert again == column
    assert evaluator.evaluate(Call("+", (A, A)), {A: again}, 1) == ERROR


def test_intermediate_values_do_not_fill_the_dictionary():
    dictionary = Dictionary()
    column = dictionary.encode([term_of(number) for number in range(100)])
    two, ten = dictionary.encode([term_of(2), term_of(10)])
    before = len(dictionary)
    doubled = Call("*", (A, term_of(2)))
    found = Evaluator(dictionary).holds(Call("<", (doubled, term_of(10))), {A: column}, 100)
    assert found.sum() == 5
    assert len(dictionary) == before
    assert two != ten


def test_limits_are_looked_at_between_rows_that_are_evaluated_as_terms():
    dictionary = Dictionary()
    column = dictionary.encode([term_of(f"text {number}") for number in range(10_000)])
    looked = []
    evaluator = Evaluator(dictionary, lambda: looked.append(True))
    evaluator.evaluate(Call("UCASE", (A,)), {A: column}, 10_000)
    assert len(looked) >= 10
    evaluator.holds(Call("CONTAINS", (A, term_of("9"))), {A: column}, 10_000)
    assert len(looked) >= 20


@pytest.mark.parametrize("spread", [10**3, 10**12])
def test_a_million_sums_are_computed_on_whole_columns(spread):
    dictionary = Dictionary()
    numbers = np.unique(np.random.default_rng(0).integers(0, spread, 1000))
    known = dictionary.intern(INTEGER, pa.array(numbers).cast(pa.large_string()))
    picks = np.random.default_rng(1).integers(0, len(known), (2, 1_000_000))
    evaluator = Evaluator(dictionary)
    columns = {A: known[picks[0]], B: known[picks[1]]}
    evaluator.evaluate(Call("+", (A, B)), {A: known, B: known}, len(known))
    start = time.process_time()
    ids = evaluator.evaluate(Call("+", (A, B)), columns, 1_000_000)
    assert time.process_time() - start < 3
    sample = slice(0, 1000)
    expected = (numbers[picks[0]] + numbers[picks[1]])[sample].tolist()
    assert dictionary.decode(ids[sample]) == [term_of(number) for number in expected]
