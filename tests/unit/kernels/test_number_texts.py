from __future__ import annotations

import math
import random
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stratalog.kernels.numbers import texts as number_texts
from stratalog.lang.reductions import average_of_integers
from stratalog.lang.values.numbers import double_text


def texts_of(write, longest, *columns):
    size = len(columns[-1]) - (write is number_texts.write_doubles)
    data, offsets = np.zeros(size * longest, np.uint8), np.zeros(size + 1, np.int64)
    write(*columns, data, offsets)
    raw = data.tobytes()
    return [raw[a:b].decode() for a, b in pairwise(offsets)]


def written_doubles(values):
    shortest = pa.array(values, pa.float64()).cast(pa.large_string())
    _, offsets, data = shortest.buffers()
    spans = np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int64)
    return texts_of(number_texts.write_doubles, number_texts.LONGEST_DOUBLE, *spans)


def written_averages(pairs):
    totals, counts = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    return texts_of(number_texts.write_averages, number_texts.LONGEST_AVERAGE, totals, counts)


@settings(deadline=None)
@given(st.lists(st.floats(), min_size=1, max_size=20))
@example([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, -1e-10])
@example([1e5, 1e15, 1e16, 1e21, 1e22, 1e23, 0.0001, 0.00001, 1e-7, 123456.789, 100.5, 10.0])
def test_doubles_are_written_as_one_by_one(values):
    assert written_doubles(values) == [double_text(value) for value in values]


def test_powers_of_two_and_their_neighbours_are_written_as_one_by_one():
    powers = np.ldexp(1.0, np.arange(-1074, 1024))
    values = np.concatenate([powers, np.nextafter(powers, 0), -np.nextafter(powers, math.inf)])
    assert written_doubles(values) == [double_text(value) for value in values.tolist()]


largest = 2**63 - 1
totals = st.one_of(st.integers(-100, 100), st.integers(-(2**63), largest))
counts = st.one_of(
    st.integers(1, 1000),
    st.integers(1, 2**32 - 1),
    st.integers(1, number_texts.DIVISORS - 1),
    st.builds(lambda a, b: 2**a * 5**b, st.integers(0, 30), st.integers(0, 12)),
)


@settings(deadline=None)
@given(st.lists(st.tuples(totals, counts), min_size=1, max_size=20))
@example([(0, 3), (1, 3), (-1, 3), (2, 3), (1, 7), (1, 2**31), (largest, 2**31), (-(2**63), 3)])
@example([(1, 2**59), (1, 2**59 + 2**58), (largest, 2**34 - 1), (largest, 2**34), (7, 10**17 * 3)])
@example([(1, 30), (1, 3 * 10**9), (2**63 - 2, 2**32 - 1), (10**18, 2**32 - 1), (1, 2**32 - 1)])
@example([(4294967294 * 2147483648 + 4294967294, 4294967295), (9 * 10**18, 1), (95, 10)])
@example([(2**31 * 4 * 10**9 + 4 * 10**9 - 1, 4 * 10**9), (2 * 10**9 * 4 * 10**9 - 1, 4 * 10**9)])
def test_averages_are_written_as_one_by_one(pairs):
    assert written_averages(pairs) == [average_of_integers(*pair).text for pair in pairs]


def test_many_nines_after_the_dot_are_written_as_one_by_one():
    source = random.Random(0)
    pairs = []
    for _ in range(500):
        count = source.randint(2**32 - 10**6, 2**32 - 1)
        pairs.append((source.randint(10**18 // count, largest // count) * count - 1, count))
    assert written_averages(pairs) == [average_of_integers(*pair).text for pair in pairs]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-(10**20), 10**20), st.integers(0, 20)), min_size=1))
@example([(2**63 * 10, 0), (-(2**63) * 10, 1)])
@example([(0, 1), (-5, 1), (10**18 - 1, 0), (10**18 - 1, 17), (10**18, 1), (10**18, 0)])
def test_decimals_of_up_to_18_digits_are_read(parts):
    spelt = [format(Decimal(number).scaleb(-scale), "f") for number, scale in parts]
    numbers, scales = read(spelt)
    for text, number, scale in zip(spelt, numbers, scales, strict=True):
        digits = sum(letter.isdigit() for letter in text)
        assert (scale >= 0) == (digits <= 18)
        assert scale < 0 or Decimal(number).scaleb(-scale) == Decimal(text)


def test_texts_that_are_no_decimals_are_not_read():
    assert read(["", "-", ".", "1.2.3", "1e5", "abc", "1 ", "--1", "\u0661"])[1] == [-1] * 9


def read(spelt):
    _, offsets, data = pa.array(spelt, pa.large_string()).buffers()
    spans = np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int64)
    numbers, scales = np.zeros(len(spelt), np.int64), np.zeros(len(spelt), np.int64)
    number_texts.read_scaled(*spans, numbers, scales)
    return numbers.tolist(), scales.tolist()
