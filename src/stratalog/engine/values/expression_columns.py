"""Whole columns of values, and the operators on them that need no text.

A row that an operator cannot decide here is SLOW: its expression is evaluated on terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]
States = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

UNREAD, SLOW, FAILED, NODE, TEXT, TRUTH, WHOLE, DOUBLE = (np.uint8(code) for code in range(8))
EXACT_DOUBLE = np.int64(2**53)  # up to here integers and doubles compare exactly as doubles
SAFE_PRODUCT = float(2**62)
SMALL_DOUBLE = float(2**63)


@dataclass(frozen=True, slots=True)
class Column:
    """Values of n rows, or one for all: arrays of length n or 1.

    `states` says what a row holds: WHOLE an integer in `numbers`, DOUBLE a double's bits there,
    TRUTH 0 or 1 there; NODE (IRI or blank node) and TEXT (xsd:string) only an id; FAILED an error.
    """

    states: States
    numbers: Integers
    ids: Ids | None = None

    @property
    def doubles(self) -> Doubles:
        """Return the rows as doubles; rows that are no numbers hold anything."""
        return np.where(
            self.states == WHOLE, self.numbers.astype(np.float64), self.numbers.view(np.float64)
        )


def add(left: Column, right: Column) -> Column:
    """Return the sums."""
    return _arithmetic(left, right, _add_integers, np.add)


def subtract(left: Column, right: Column) -> Column:
    """Return the differences."""
    return _arithmetic(left, right, _subtract_integers, np.subtract)


def multiply(left: Column, right: Column) -> Column:
    """Return the products."""
    return _arithmetic(left, right, _multiply_integers, np.multiply)


def divide(left: Column, right: Column) -> Column:
    """Return the quotients of doubles; of integers they are decimals, which are SLOW."""
    return _arithmetic(left, right, _undecided, np.divide)


def modulo(left: Column, right: Column) -> Column:
    """Return the remainders of integers, with the sign of the dividend."""
    return _arithmetic(left, right, _modulo_integers, np.fmod)


def negate(column: Column) -> Column:
    """Return the numbers with their signs changed."""
    states, numbers = column.states, column.numbers
    lowest = (states == WHOLE) & (numbers == np.iinfo(np.int64).min)
    flipped = np.where(states == WHOLE, -numbers, (-numbers.view(np.float64)).view(np.int64))
    return Column(np.where(lowest, SLOW, _numeric(states)), flipped)


def equal(left: Column, right: Column) -> Column:
    """Return where the values are equal."""
    decided, same = _compare_numbers(left, right, np.equal)
    first, second = left.states, right.states
    same = np.where(decided == FAILED, np.False_, same)
    both_named = (first == second) & ((first == NODE) | (first == TEXT))
    if left.ids is not None and right.ids is not None:
        same = np.where(both_named, left.ids == right.ids, same)
    # Terms of two different families are never equal.
    decided = np.where((first >= NODE) & (second >= NODE), decided, SLOW)
    decided = np.where(decided == FAILED, TRUTH, decided)
    decided = np.where((first == FAILED) | (second == FAILED), FAILED, decided)
    return Column(decided.astype(np.uint8), same.astype(np.int64))


def unequal(left: Column, right: Column) -> Column:
    """Return where the values are not equal."""
    return invert(equal(left, right))


def less(left: Column, right: Column) -> Column:
    """Return where the left value is below the right one."""
    return _ordered(left, right, np.less)


def less_or_equal(left: Column, right: Column) -> Column:
    """Return where the left value is not above the right one."""
    return _ordered(left, right, np.less_equal)


def truth(column: Column) -> Column:
    """Return the effective boolean values."""
    states, numbers = column.states, column.numbers
    if np.all(states == TRUTH):
        return Column(states, numbers)
    doubles = numbers.view(np.float64)
    with np.errstate(invalid="ignore"):  # rows that hold no double may look like any
        as_double = (doubles != 0) & (doubles == doubles)  # noqa: PLR0124  # NaN is false
    value = np.where(states == DOUBLE, as_double, numbers != 0)
    decided = np.where(states >= TRUTH, TRUTH, np.where(states == TEXT, SLOW, states))
    return Column(np.where(decided == NODE, FAILED, decided), value.astype(np.int64))


def whole(column: Column) -> tuple[Integers, Mask]:
    """Return the doubles that are whole numbers of 64 bits, and which rows these are."""
    doubles = column.numbers.view(np.float64)
    with np.errstate(invalid="ignore"):  # rows that hold no double may look like any
        is_small = (column.states == DOUBLE) & (np.floor(doubles) == doubles)
        is_small &= (doubles >= -SMALL_DOUBLE) & (doubles < SMALL_DOUBLE)
    return np.where(is_small, doubles, 0.0).astype(np.int64), is_small


def is_nan(column: Column) -> Mask:
    """Return which rows hold NaN."""
    found: Mask = (column.states == DOUBLE) & np.isnan(column.numbers.view(np.float64))
    return found


def invert(column: Column) -> Column:
    """Return the opposite of effective boolean values."""
    return Column(column.states, column.numbers ^ np.int64(1))


def both(left: Column, right: Column) -> Column:
    """Return the conjunction of effective boolean values: false beats an error."""
    return _connect(left, right, decisive=0)


def either(left: Column, right: Column) -> Column:
    """Return the disjunction of effective boolean values: true beats an error."""
    return _connect(left, right, decisive=1)


def _connect(left: Column, right: Column, decisive: int) -> Column:
    first, second = left.states, right.states
    settled = (first == TRUTH) & (left.numbers == decisive)
    settled = settled | ((second == TRUTH) & (right.numbers == decisive))
    # SLOW is below FAILED is below TRUTH: what is undecided stays so, errors beat the rest.
    states = np.where(settled, TRUTH, np.minimum(first, second))
    return Column(states, np.where(settled, decisive, 1 - decisive).astype(np.int64))


def _numeric(states: States) -> States:
    return np.where((states >= WHOLE) | (states == SLOW), states, FAILED)


def _arithmetic(
    left: Column,
    right: Column,
    whole: Callable[[Integers, Integers], tuple[Integers, Any]],
    double: Callable[[Doubles, Doubles], Doubles],
) -> Column:
    lowest = np.minimum(left.states, right.states)
    highest = np.maximum(left.states, right.states)
    numbers, states = whole(left.numbers, right.numbers)
    if np.all(lowest == WHOLE) and np.all(highest == WHOLE):
        return Column(np.broadcast_to(states, numbers.shape), numbers)
    if np.any(highest == DOUBLE):
        with np.errstate(all="ignore"):
            bits = double(left.doubles, right.doubles).view(np.int64)
        numbers = np.where(highest == DOUBLE, bits, numbers)
        states = np.where(highest == DOUBLE, DOUBLE, states)
    undecided = np.where((left.states == SLOW) | (right.states == SLOW), SLOW, FAILED)
    return Column(np.where(lowest >= WHOLE, states, undecided), numbers)


def _add_integers(left: Integers, right: Integers) -> tuple[Integers, Any]:
    result = left + right
    return result, _unless((left ^ result) & (right ^ result) < 0)


def _subtract_integers(left: Integers, right: Integers) -> tuple[Integers, Any]:
    result = left - right
    return result, _unless((left ^ right) & (left ^ result) < 0)


def _multiply_integers(left: Integers, right: Integers) -> tuple[Integers, Any]:
    size = np.abs(left.astype(np.float64) * right.astype(np.float64))
    return left * right, _unless(size >= SAFE_PRODUCT)


def _modulo_integers(left: Integers, right: Integers) -> tuple[Integers, Any]:
    zero = right == 0
    result = np.fmod(left, np.where(zero, 1, right))
    return result, np.where(zero, FAILED, WHOLE)


def _undecided(left: Integers, right: Integers) -> tuple[Integers, Any]:
    return np.zeros(np.broadcast_shapes(left.shape, right.shape), np.int64), SLOW


def _unless(overflow: Mask) -> Any:  # noqa: ANN401  # an array of states, or one state for all
    return np.where(overflow, SLOW, WHOLE) if overflow.any() else WHOLE


def _compare_numbers(
    left: Column, right: Column, compare: Callable[[Any, Any], Any]
) -> tuple[States, Mask]:
    first, second = left.states, right.states
    same = compare(left.numbers, right.numbers)
    if np.all(first == WHOLE) and np.all(second == WHOLE):
        return np.full(1, TRUTH), same
    numeric = (first >= WHOLE) & (second >= WHOLE)
    states = np.where(numeric | ((first == TRUTH) & (second == TRUTH)), TRUTH, FAILED)
    states = np.where((first == SLOW) | (second == SLOW), SLOW, states)
    double = numeric & ((first == DOUBLE) | (second == DOUBLE))
    if double.any():
        same = np.where(double, compare(left.doubles, right.doubles), same)
        inexact = beyond_doubles(left) | beyond_doubles(right)
        states = np.where(double & inexact, SLOW, states)
    return states, same


def beyond_doubles(column: Column) -> Mask:
    """Return which rows hold an integer that may not be a double."""
    large: Mask = (column.numbers > EXACT_DOUBLE) | (column.numbers < -EXACT_DOUBLE)
    whole: Mask = column.states == WHOLE
    return large & whole


def _ordered(left: Column, right: Column, compare: Callable[[Any, Any], Any]) -> Column:
    states, result = _compare_numbers(left, right, compare)
    text = (left.states == TEXT) & (right.states == TEXT)
    return Column(np.where(text, SLOW, states), result.astype(np.int64))
