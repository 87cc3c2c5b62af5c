from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stratalog.engine.values.expression_columns import DOUBLE, WHOLE
from stratalog.kernels.numbers import groups, sums
from stratalog.lang.builtins.values import DOUBLE_RANK, number_term
from stratalog.lang.reductions import average_of_doubles, reduce_terms, sum_of_doubles
from stratalog.lang.values.terms import term_of

LARGEST = math.ldexp(2**53 - 1, 971)
powers = st.builds(
    math.ldexp, st.sampled_from([1.0, -1.0, 1.5, -1 - 2**-52]), st.integers(-1074, 1023)
)
large = [LARGEST, 2.0**970, 1e308, 2.0**53, 2.0**53 + 2, 1e16]
small = [0.0, 5e-324, 2.0**-1022, 1.0, 2.0**-53, 2.0**-54, 0.1, 0.3]
corners = st.sampled_from([sign * value for value in large + small for sign in (1.0, -1.0)])
finite = st.one_of(corners, powers, st.floats(allow_nan=False, allow_infinity=False))
specials = st.sampled_from([math.inf, -math.inf, math.nan])
whole = st.integers(-(10**18) + 1, 10**18 - 1)


def columns(values):
    """Return the states, numbers and groups of the values of many groups."""
    flat = [value for group in values for value in group]
    states = np.array([DOUBLE if isinstance(v, float) else WHOLE for v in flat], np.uint8)
    numbers = np.array(
        [np.float64(v).view(np.int64) if isinstance(v, float) else v for v in flat], np.int64
    )
    group = np.repeat(np.arange(len(values)), [len(g) for g in values]).astype(np.uint32)
    return states, numbers, group


def by_limbs(values, divisors):
    states, numbers, group = columns(values)
    count = len(values)
    halves, seen = np.zeros((count, 2), np.int64), np.zeros(count, np.uint8)
    limbs, results = np.zeros((count, sums.LIMBS), np.int64), np.zeros(count, np.uint64)
    sums.add_to_limbs(states, numbers, group, halves, limbs, seen)
    sums.settle(limbs)
    sums.add_to_limbs(states[:0], numbers[:0], group[:0], halves, limbs, seen)
    sums.take_limbs(halves, limbs, seen, np.array(divisors), results)
    return results.view(np.float64).tolist()


def by_pairs(values, divisors):
    """Return the sums by pairs, and None where a pair is not enough."""
    states, numbers, group = columns(values)
    count = len(values)
    halves, seen = np.zeros((count, 2), np.int64), np.zeros(count, np.uint8)
    pairs, results = np.zeros((count, 2), np.float64), np.zeros(count, np.uint64)
    doubles = numbers.view(np.float64)
    sums.add_to_pairs(states, numbers, doubles, group, halves, pairs, seen)
    sums.take_pairs(halves, pairs, seen, np.array(divisors), results)
    inexact = (seen & sums.INEXACT).tolist()
    return [
        None if i else r for i, r in zip(inexact, results.view(np.float64).tolist(), strict=True)
    ]


def by_runs(values, divisors):
    states, numbers, group = columns(values)
    count = len(values)
    sizes = np.array([len(g) for g in values])
    order = np.random.default_rng(0).permutation(group.size)
    halves, seen = np.zeros((count, 2), np.int64), np.zeros(count, np.uint8)
    pairs, results = np.zeros((count, 2), np.float64), np.zeros(count, np.uint64)
    sums.add_to_pairs(states, numbers, numbers.view(np.float64), group, halves, pairs, seen)
    starts = np.cumsum(sizes) - sizes
    places, collected = starts.copy(), np.zeros(group.size, np.int64)
    chosen = np.ones(count, np.bool_)
    groups.collect_doubles(states[order], numbers[order], group[order], chosen, places, collected)
    numbered = np.arange(count)
    sums.sum_runs(collected, starts, places, numbered, halves, np.array(divisors), results)
    return results.view(np.float64).tolist()


def check(values, *ways):
    for average, reduce in ((False, sum_of_doubles), (True, average_of_doubles)):
        expected = [reduce(group) for group in values]
        divisors = [len(group) if average else 1 for group in values]
        for way in ways:
            for found, wanted, group in zip(way(values, divisors), expected, values, strict=True):
                assert found is None or repr(found) == repr(wanted), (way.__name__, average, group)


def groups_of(kind):
    return st.lists(st.lists(kind, min_size=1, max_size=12), min_size=1, max_size=4)


@settings(deadline=None)
@given(groups_of(finite))
@example([[-0.0], [-0.0, -0.0], [LARGEST, LARGEST], [LARGEST, LARGEST, -LARGEST]])
@example([[LARGEST, 2.0**970], [LARGEST, 2.0**970, -5e-324], [-LARGEST, -(2.0**970)]])
@example([[5e-324] * 3, [5e-324, 0.0], [5e-324, 0.0, 0.0], [5e-324, 5e-324, 5e-324, 0.0]])
@example([[1.0, 2.0**-53], [1.0, 2.0**-53, 5e-324], [1.0, 2.0**-53, -5e-324]])
@example(
    [
        [3.0, 3 * 2.0**-53, 2.0**-114],
        [3.0, 3 * 2.0**-53, 2.0**-200],
        [3.0, 3 * 2.0**-53, -(2.0**-114)],
    ]
)
@example([[1.0, -5e-324, 0.0], [2.0**-1022, -5e-324], [1e16, 1.0, -1e16, 1e-300]])
def test_sums_and_averages_are_those_of_the_definition(values):
    check(values, by_limbs, by_pairs, by_runs)


@settings(deadline=None)
@given(groups_of(st.one_of(finite, specials)))
@example([list(pair) for pair in product([math.inf, -math.inf, math.nan, 1.0], repeat=2)])
@example([[LARGEST, LARGEST, math.inf], [LARGEST, LARGEST, -math.inf], [1e308, 1e308, math.nan]])
def test_infinities_and_nan_win(values):
    check(values, by_limbs, by_pairs)


@settings(deadline=None)
@given(st.lists(st.lists(st.one_of(finite, whole), max_size=8), min_size=1, max_size=4))
@example([[10**18 - 1, 2**53 + 1], [-(10**18) + 1, -1, -(2**40)]])
def test_integers_of_any_size_are_added_exactly(values):
    values = [[*group, 0.0] for group in values]
    for function in ("SUM", "AVG"):
        divisors = [len(group) if function == "AVG" else 1 for group in values]
        terms = [[term_of(value) for value in group] for group in values]
        expected = [reduce_terms(function, distinct=False, terms=group) for group in terms]
        for way in (by_limbs, by_pairs, by_runs):
            for found, wanted in zip(way(values, divisors), expected, strict=True):
                assert found is None or number_term(DOUBLE_RANK, found) == wanted, way.__name__


@pytest.mark.parametrize("spread", [1, 60, 1000])
def test_the_order_of_rows_does_not_matter(spread):
    source = random.Random(spread)
    values = [
        math.ldexp(source.uniform(-1, 1), source.randint(-spread, spread)) for _ in range(500)
    ]
    values += [-value * (1 + 2**-50) for value in values[:250]]
    shuffled = source.sample(values, len(values))
    check([values, shuffled, values[::-1]], by_limbs, by_pairs, by_runs)


def test_pairs_are_enough_for_usual_numbers():
    source = random.Random(0)
    values = [[round(source.uniform(-1e4, 1e4), 2) for _ in range(20)] for _ in range(200)]
    assert None not in by_pairs(values, [20] * 200)
    check(values, by_pairs)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 2**20, 2**32 - 1])
def test_any_number_of_rows_divides(count):
    source = random.Random(count)
    values = [math.ldexp(source.uniform(-1, 1), source.randint(-1074, 1023)) for _ in range(2000)]
    values += [5e-324, 5e-324 * count, 5e-324 * (count // 2), 2.0**-1022, LARGEST]
    expected = [float(Fraction(value) / count) + 0.0 for value in values]
    rows = [[value] for value in values]
    for way in (by_limbs, by_pairs, by_runs):
        assert way(rows, [count] * len(rows)) == expected
