"""The comparisons of SPARQL: `=` and `<` by value, sameTerm by spelling.

Moments compare only if both or neither have a time zone; anything else is a type error, as are two
different literals one of which is ill-typed or of an unknown datatype.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from stratalog.lang.builtins.values import (
    DECIMAL_RANK,
    DOUBLE_RANK,
    INTEGER_RANK,
    NODES,
    ExpressionError,
    Number,
    boolean_term,
    is_known,
    moment_of,
    number_of,
    number_term,
    order_key,
)
from stratalog.lang.terms import DATETIME, Term
from stratalog.lang.values.numbers import to_double

_INSTANT = "#instant"  # ends the datatype of a key that says which moment is meant
_SMALL = 2**63


def equal(left: Term, right: Term) -> bool:
    """Return whether two terms have the same value, or are the same term."""
    if left.kind in NODES or right.kind in NODES:
        return left == right
    first, second = number_of(left), number_of(right)
    if first is not None and second is not None:
        return _is_number(first) and _is_number(second) and order_key(left) == order_key(right)
    if left == right:
        return True
    if not (is_known(left) and is_known(right)):
        raise ExpressionError(f"whether {left} and {right} are equal is unknown")
    if left.kind != right.kind:
        return False
    _check_zones(left, right)
    keys = order_key(left), order_key(right)
    return keys[0] is not None and keys[0] == keys[1]


def less(left: Term, right: Term) -> bool:
    """Return whether one value is below another; values of different families have no order."""
    first, second = number_of(left), number_of(right)
    if first is not None and second is not None:
        if not (_is_number(first) and _is_number(second)):
            return False
    elif left.kind != right.kind:
        raise ExpressionError(f"{left} and {right} have no order")
    _check_zones(left, right)
    low, high = order_key(left), order_key(right)
    if low is None or high is None:
        raise ExpressionError(f"{left} and {right} have no order")
    return low < high


def less_or_equal(left: Term, right: Term) -> bool:
    """Return whether one value is below another or equal to it."""
    return less(left, right) or equal(left, right)


def compare(operator: str, left: Term, right: Term) -> Term:
    """Return true or false, as one of the operators = != < <= > >= says."""
    match operator:
        case "=":
            return boolean_term(equal(left, right))
        case "!=":
            return boolean_term(not equal(left, right))
        case "<":
            return boolean_term(less(left, right))
        case "<=":
            return boolean_term(less_or_equal(left, right))
        case ">":
            return boolean_term(less(right, left))
        case _:
            return boolean_term(less_or_equal(right, left))


def value_key(term: Term) -> Term:
    """Return the constant that stands for all that are equal to the term, and for nothing else."""
    found = number_of(term)
    if found is not None:
        return _number_key(found.value)
    if term.kind.endswith(_INSTANT):  # so that no such literal is the key of a moment
        return Term(term.kind + _INSTANT, term.text)
    moment = moment_of(term)
    if moment is None or moment.zone is None or term.kind == DATETIME:
        return term  # written in one way only
    second, fraction = moment.instant
    return Term(term.kind + _INSTANT, f"{second}.{fraction}")


def _number_key(value: Decimal | float) -> Term:
    """Return a small integer, otherwise a double, otherwise what is exact."""
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            raise ExpressionError("NaN is not equal to itself")
        return number_term(DOUBLE_RANK, value)
    exact = Fraction(value)
    is_whole = exact.denominator == 1
    if is_whole and -_SMALL <= exact < _SMALL:
        return number_term(INTEGER_RANK, int(exact))
    double = to_double(exact)
    if math.isfinite(double) and Fraction(double) == exact:
        return number_term(DOUBLE_RANK, double)
    return number_term(INTEGER_RANK if is_whole else DECIMAL_RANK, Decimal(value))


def _is_number(found: Number) -> bool:
    return found.value == found.value  # NaN is not equal to itself


def _check_zones(left: Term, right: Term) -> None:
    first, second = moment_of(left), moment_of(right)
    if first and second and (first.zone is None) != (second.zone is None):
        raise ExpressionError(f"only one of {left} and {right} has a time zone")
