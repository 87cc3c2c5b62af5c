"""Aggregates over the terms of one group: COUNT SUM MIN MAX AVG.

The order of the terms never matters. Sums are exact and rounded once, into the largest type present
(integer, decimal, float, double); a sum of zero is positive. AVG divides the exact sum: of integers
and decimals as `/` does. MIN and MAX use one total order: blank nodes, IRIs, numbers by value (NaN
first), strings, other literals by datatype and value (or text if it has no order); equal values of
different types by datatype and text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from stratalog.lang import effort
from stratalog.lang.builtins.arithmetic import quotient
from stratalog.lang.builtins.values import (
    DECIMAL_RANK,
    FLOAT_RANK,
    INTEGER_RANK,
    number,
    number_term,
    order_key,
)
from stratalog.lang.terms import BNODE_KIND, IRI_KIND, STRING, Term
from stratalog.lang.values.numbers import EXACT, nearest_float, to_double

_FAMILIES = {BNODE_KIND: 0, IRI_KIND: 1, "": 2, STRING: 3}
_OTHER_FAMILY = 4
_TINY_BITS = 1074
_AT_ONCE = 1 << 10  # values, between which limits are looked at

Item = TypeVar("Item")


def reduce_terms(function: str, distinct: bool, terms: Sequence[Term]) -> Term:
    """Return COUNT, SUM, MIN, MAX or AVG of terms; all but COUNT need at least one."""
    chosen: Sequence[Term] = list(dict.fromkeys(terms)) if distinct else terms
    match function:
        case "COUNT":
            return number_term(INTEGER_RANK, len(chosen))
        case "SUM":
            return _total(chosen)
        case "AVG":
            return _average(chosen)
        case "MIN":
            return min(chosen, key=total_order)
        case _:
            return max(chosen, key=total_order)


def total_order(term: Term) -> tuple[Any, ...]:
    """Return a key that orders all terms: family by family, and by value within one."""
    if term.kind in {BNODE_KIND, IRI_KIND}:
        return (_FAMILIES[term.kind], term.text)
    key = order_key(term)
    if key is None:
        return (_OTHER_FAMILY, term.kind, 1, term.text)
    family, *value = key
    if family in _FAMILIES:
        return (_FAMILIES[family], value, term.kind, term.text)
    return (_OTHER_FAMILY, family, 0, value, term.text)


def average_of_integers(total: int, count: int) -> Term:
    """Return the average of `count` integers whose sum is `total`."""
    return number_term(DECIMAL_RANK, quotient(Fraction(total, count)))


def sum_of_doubles(values: Sequence[float]) -> float:
    """Return the exact sum of doubles, rounded once."""
    try:
        return math.fsum(values) + 0.0  # which turns -0.0 into 0.0
    except (OverflowError, ValueError):  # too large on the way, or INF and -INF
        return _sum_of_floats(values, 1)


def average_of_doubles(values: Sequence[float]) -> float:
    """Return the exact average of doubles, rounded once."""
    return _sum_of_floats(values, len(values))


def exact_sum(values: Sequence[int | Decimal | float]) -> Fraction:
    """Return the exact sum of finite numbers."""
    whole, tiny, decimal = 0, 0, Decimal(0)
    for value in _checked(values):
        if isinstance(value, float):  # a multiple of 2 to the power of -1074
            numerator, denominator = value.as_integer_ratio()
            tiny += numerator << (_TINY_BITS + 1 - denominator.bit_length())
        elif isinstance(value, int):
            whole += value
        else:
            decimal = EXACT.add(decimal, value)
    return whole + Fraction(tiny, 1 << _TINY_BITS) + Fraction(decimal)


def _total(terms: Sequence[Term]) -> Term:
    rank, values = _numbers(terms)
    if rank > DECIMAL_RANK:
        return number_term(rank, _sum_of_floats(values, 1, single=rank == FLOAT_RANK))
    total = exact_sum(values)
    return number_term(rank, int(total) if rank == INTEGER_RANK else quotient(total))


def _average(terms: Sequence[Term]) -> Term:
    rank, values = _numbers(terms)
    if rank > DECIMAL_RANK:
        return number_term(rank, _sum_of_floats(values, len(values), single=rank == FLOAT_RANK))
    return number_term(DECIMAL_RANK, quotient(exact_sum(values) / len(values)))


def _numbers(terms: Sequence[Term]) -> tuple[int, list[int | Decimal | float]]:
    found = [number(term) for term in _checked(terms)]
    return max(each.rank for each in found), [each.value for each in found]


def _checked(values: Sequence[Item]) -> Iterator[Item]:
    """Yield the values, and look at limits between some."""
    for start in range(0, len(values), _AT_ONCE):
        effort.check()
        yield from values[start : start + _AT_ONCE]


def _sum_of_floats(
    values: Sequence[int | Decimal | float], divisor: int, *, single: bool = False
) -> float:
    special = [v for v in values if isinstance(v, float) and not math.isfinite(v)]
    if special:
        return sum(special)
    exact = exact_sum(values) / divisor
    return nearest_float(exact) if single else to_double(exact)
