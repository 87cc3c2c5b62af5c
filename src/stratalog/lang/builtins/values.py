"""What a literal means to functions and operators: numbers with their type, moments, booleans.

Numbers are promoted from integer (derived types included) to decimal, float and double. Values are
compared exactly across these types: 9007199254740993 is not 9007199254740992e0, nor 0.1 0.1e0.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from stratalog.lang import effort
from stratalog.lang.terms import (
    BNODE_KIND,
    BOOLEAN,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    LANG,
    STRING,
    Term,
)
from stratalog.lang.values import dates, numbers
from stratalog.lang.values.canonical import DAY_TIME, TIME, YEAR, YEAR_MONTH, canonical_text

INTEGER_RANK, DECIMAL_RANK, FLOAT_RANK, DOUBLE_RANK = range(4)
TRUE, FALSE = Term(BOOLEAN, "true"), Term(BOOLEAN, "false")
NODES = frozenset({IRI_KIND, BNODE_KIND})
LONG_NUMBER = 600  # characters from which digits are counted
LONG_TEXT = 1 << 14  # characters from which each call of a built-in looks at limits

_RANKS = dict.fromkeys(numbers.INTEGER_RANGES, INTEGER_RANK) | {
    DECIMAL: DECIMAL_RANK,
    numbers.FLOAT: FLOAT_RANK,
    DOUBLE: DOUBLE_RANK,
}
_MOMENTS = {
    DATE: dates.parse_date,
    DATETIME: dates.parse_datetime,
    TIME: dates.parse_time,
    YEAR: dates.parse_year,
}
_DURATIONS = {DAY_TIME: dates.parse_days, YEAR_MONTH: dates.parse_months}


class ExpressionError(Exception):
    """A type error of SPARQL: the expression has no value for these constants."""


class Number(NamedTuple):
    """A number; its rank tells its type, and how it is held: int, Decimal, float (two ranks)."""

    rank: int
    value: int | Decimal | float


def number_of(term: Term) -> Number | None:
    """Return the number that the term means, or None if it is none or ill-typed."""
    rank = _RANKS.get(term.kind)
    if rank is None:
        return None
    if len(term.text) > LONG_NUMBER:
        _check_long(term)
    value: int | Decimal | float | None
    if rank == INTEGER_RANK:
        value = numbers.parse_integer(term.text, term.kind)
    elif rank == DECIMAL_RANK:
        value = numbers.parse_decimal(term.text)
    else:  # a canonical float is the shortest text of its double, too
        value = numbers.parse_double(term.text)
        if value is not None and rank == FLOAT_RANK:
            value = numbers.to_float(value)
    return None if value is None else Number(rank, value)


def _check_long(term: Term) -> None:
    """Refuse a long number before it is counted with; ill-typed texts may have any length."""
    effort.check()
    if canonical_text(term.text, term.kind) is not None:
        effort.check_digits(numbers.digits_in(term.text))


def number(term: Term) -> Number:
    """Return the number that the term means."""
    found = number_of(term)
    if found is None:
        raise ExpressionError(f"{term} is not a number")
    return found


def integer(term: Term) -> int:
    """Return the integer that the term means."""
    rank, value = number(term)
    if rank != INTEGER_RANK:
        raise ExpressionError(f"{term} is not an integer")
    return int(value)


def number_term(rank: int, value: Decimal | float) -> Term:
    """Return the term of a number; integers are xsd:integer, whatever they were made of."""
    if rank == INTEGER_RANK:
        whole = int(value)
        effort.check_digits(numbers.least_digits(whole))
        return Term(INTEGER, _checked(numbers.integer_text(whole)))
    if rank == DECIMAL_RANK:
        decimal = Decimal(value)
        effort.check_digits(numbers.least_digits(decimal))
        return Term(DECIMAL, _checked(numbers.decimal_text(decimal)))
    if rank == FLOAT_RANK:
        return Term(numbers.FLOAT, numbers.float_text(numbers.to_float(float(value))))
    return Term(DOUBLE, numbers.double_text(float(value)))


def _checked(text: str) -> str:
    """Return the spelling of a number that is not too long."""
    effort.check_digits(numbers.digits_in(text))
    return text


def promote(found: Number, rank: int) -> int | Decimal | float:
    """Return the value of a number as a type of the rank, which is at least its own."""
    if found.rank == rank:
        return found.value
    if rank == DECIMAL_RANK:
        return Decimal(found.value)
    if rank == FLOAT_RANK:
        return numbers.nearest_float(Fraction(found.value))
    return numbers.to_double(found.value)


def string_of(term: Term) -> str:
    """Return the text of a string, with a language or without."""
    if term.kind != STRING and not term.kind.startswith(LANG):
        raise ExpressionError(f"{term} is not a string")
    if len(term.text) > LONG_TEXT:
        effort.check()
    return term.text


def boolean_term(value: bool) -> Term:
    """Return the term true or false."""
    return TRUE if value else FALSE


def moment_of(term: Term) -> dates.Moment | None:
    """Return the moment of a date, dateTime, time or gYear, or None if it is none or ill-typed."""
    parse = _MOMENTS.get(term.kind)
    return None if parse is None else parse(term.text)


def is_known(term: Term) -> bool:
    """Return whether the value of the literal is known: its datatype is, and it is well-typed."""
    if term.kind == STRING or term.kind.startswith(LANG):
        return True
    return canonical_text(term.text, term.kind) is not None


def order_key(term: Term) -> tuple[Any, ...] | None:
    """Return what orders the literal among those of its family, or None if it has no order.

    The first item is the family: only keys of one family may be compared, and then by value.
    """
    found = number_of(term)
    if found is not None:
        return number_key(found)
    if term.kind in {STRING, BOOLEAN}:
        return (term.kind, term.text) if is_known(term) else None
    moment = moment_of(term)
    if moment is not None:
        return (term.kind, moment.zone is not None, moment.instant)
    parse = _DURATIONS.get(term.kind)
    length = None if parse is None else parse(term.text)
    return None if length is None else (term.kind, length)


def number_key(found: Number) -> tuple[Any, ...]:
    """Return the key of a number: NaN is below -INF, all others by exact value."""
    value = found.value
    if isinstance(value, float) and not math.isfinite(value):
        return ("", -2 if math.isnan(value) else math.copysign(1, value), 0)
    return ("", 0, value if isinstance(value, int) else Fraction(value))


def effective_boolean(term: Term) -> bool:
    """Return the effective boolean value of SPARQL: ill-typed booleans and numbers are false."""
    if term.kind == BOOLEAN:
        return term == TRUE
    if term.kind == STRING or term.kind.startswith(LANG):
        return term.text != ""
    if term.kind not in _RANKS:
        raise ExpressionError(f"{term} is neither true nor false")
    found = number_of(term)
    return found is not None and found.value != 0 and found.value == found.value
