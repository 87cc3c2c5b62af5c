"""Arithmetic on numbers: + - * /, rounding, and MOD, POW, SQRT, EXP, LOG.

Integers and decimals are exact and never wrap. Dividing them gives a decimal: exact if its
expansion ends, otherwise rounded (half to even) to 28 significant digits. Floats are computed as
doubles and rounded. MOD has the sign of its first argument, as in XPath. POW of an integer and a
non-negative integer is an integer, otherwise POW is a double, as SQRT, EXP and LOG always are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from stratalog.lang import effort
from stratalog.lang.builtins.values import (
    DECIMAL_RANK,
    DOUBLE_RANK,
    INTEGER_RANK,
    ExpressionError,
    number,
    number_term,
    promote,
)
from stratalog.lang.terms import Term
from stratalog.lang.values.numbers import EXACT, to_double

_QUOTIENT = Context(prec=28, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_CHECKED = 1 << 6  # divisions of a long number, between which limits are looked at
_DIGITS_PER_BIT = 0.30102


def add(left: Term, right: Term) -> Term:
    """Return the sum."""
    rank, first, second = _promoted(left, right)
    if rank == DECIMAL_RANK:
        return number_term(rank, EXACT.add(first, second))
    return number_term(rank, first + second)


def subtract(left: Term, right: Term) -> Term:
    """Return the difference."""
    rank, first, second = _promoted(left, right)
    if rank == DECIMAL_RANK:
        return number_term(rank, EXACT.subtract(first, second))
    return number_term(rank, first - second)


def multiply(left: Term, right: Term) -> Term:
    """Return the product."""
    rank, first, second = _promoted(left, right)
    if rank == DECIMAL_RANK:
        return number_term(rank, EXACT.multiply(first, second))
    return number_term(rank, first * second)


def divide(left: Term, right: Term) -> Term:
    """Return the quotient; a decimal if both are integers."""
    rank, first, second = _promoted(left, right)
    if rank <= DECIMAL_RANK:
        if second == 0:
            raise ExpressionError("division by zero")
        return number_term(DECIMAL_RANK, quotient(Fraction(first) / Fraction(second)))
    return number_term(rank, _divide_doubles(first, second))


def quotient(value: Fraction) -> Decimal:
    """Return a fraction as a decimal: exact if it ends, otherwise to 28 significant digits."""
    rest, digits = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest //= prime
            power += 1
            if not power % _CHECKED:
                effort.check()
        digits = max(digits, power)
    if rest != 1:
        return _QUOTIENT.divide(Decimal(value.numerator), Decimal(value.denominator))
    return EXACT.scaleb(Decimal(int(value * 10**digits)), -digits)


def negate(term: Term) -> Term:
    """Return the number with its sign changed."""
    rank, value = number(term)
    return number_term(rank, value.copy_negate() if isinstance(value, Decimal) else -value)


def absolute(term: Term) -> Term:
    """Return the number without its sign."""
    rank, value = number(term)
    return number_term(rank, value.copy_abs() if isinstance(value, Decimal) else abs(value))


def round_half_up(term: Term) -> Term:
    """Return the nearest integer in the number's own type; halves go up, also below zero."""
    return _rounded(term, _half_up)


def ceiling(term: Term) -> Term:
    """Return the smallest integer that is not below the number, in the number's own type."""
    return _rounded(term, math.ceil)


def floor(term: Term) -> Term:
    """Return the largest integer that is not above the number, in the number's own type."""
    return _rounded(term, math.floor)


def modulo(left: Term, right: Term) -> Term:
    """Return the remainder of the division that truncates; it has the sign of `left`."""
    rank, first, second = _promoted(left, right)
    if rank > DECIMAL_RANK:
        undefined = math.isinf(first) or second == 0
        return number_term(rank, math.nan if undefined else math.fmod(first, second))
    if second == 0:
        raise ExpressionError("division by zero")
    exact = abs(Fraction(first)) % abs(Fraction(second))
    signed = -exact if first < 0 else exact
    return number_term(rank, int(signed) if rank == INTEGER_RANK else quotient(signed))


def power(left: Term, right: Term) -> Term:
    """Return `left` to the power of `right`."""
    base, exponent = number(left), number(right)
    whole = base.rank == exponent.rank == INTEGER_RANK
    if whole and exponent.value >= 0:
        bits = max(int(base.value).bit_length() - 1, 0) * int(exponent.value)
        effort.check_digits(int(bits * _DIGITS_PER_BIT))
        return number_term(INTEGER_RANK, int(base.value) ** int(exponent.value))
    return number_term(DOUBLE_RANK, _power(to_double(base.value), to_double(exponent.value)))


def square_root(term: Term) -> Term:
    """Return the square root, NaN below zero."""
    value = to_double(number(term).value)
    return number_term(DOUBLE_RANK, math.nan if value < 0 else math.sqrt(value))


def exponential(term: Term) -> Term:
    """Return e to the power of the number."""
    value = to_double(number(term).value)
    try:
        return number_term(DOUBLE_RANK, math.exp(value))
    except OverflowError:
        return number_term(DOUBLE_RANK, math.inf)


def logarithm(term: Term) -> Term:
    """Return the natural logarithm: -INF at zero, NaN below."""
    value = to_double(number(term).value)
    if value <= 0:
        return number_term(DOUBLE_RANK, math.nan if value < 0 else -math.inf)
    return number_term(DOUBLE_RANK, math.log(value))


def _promoted(left: Term, right: Term) -> tuple[int, Any, Any]:
    first, second = number(left), number(right)
    rank = max(first.rank, second.rank)
    return rank, promote(first, rank), promote(second, rank)


def _divide_doubles(first: float, second: float) -> float:
    if second != 0:
        return first / second
    if first == 0 or math.isnan(first):
        return math.nan
    return math.copysign(math.inf, first) * math.copysign(1.0, second)


def _rounded(term: Term, rule: Callable[[Any], int]) -> Term:
    rank, value = number(term)
    if not isinstance(value, float):
        return number_term(rank, rule(value))
    if not math.isfinite(value):
        return number_term(rank, value)
    # A negative number that is rounded to zero keeps its sign.
    return number_term(rank, math.copysign(float(rule(value)), value))


def _half_up(value: Decimal | float) -> int:
    return math.floor(Fraction(value) + Fraction(1, 2))


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = math.fmod(exponent, 2) != 0
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:  # a negative base and a fraction, or zero and a negative exponent
        if base != 0:
            return math.nan
        odd = math.fmod(exponent, 2) in (1, -1)
        return math.copysign(math.inf, base) if odd else math.inf
