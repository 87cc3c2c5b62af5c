"""Casts: a datatype's IRI used as a function.

Text is read as the datatype's spelling, without the space around it. A number becomes a decimal by
its exact value and an integer by leaving out what follows the dot. xsd:string gives the canonical
spelling.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from stratalog.lang.builtins.arithmetic import quotient
from stratalog.lang.builtins.strings import to_string
from stratalog.lang.builtins.values import (
    DECIMAL_RANK,
    DOUBLE_RANK,
    FLOAT_RANK,
    INTEGER_RANK,
    TRUE,
    ExpressionError,
    boolean_term,
    effective_boolean,
    moment_of,
    number_of,
    number_term,
    promote,
)
from stratalog.lang.terms import BOOLEAN, DATE, DATETIME, DECIMAL, DOUBLE, INTEGER, STRING, Term
from stratalog.lang.values.canonical import canonical_text
from stratalog.lang.values.dates import date_text, datetime_text
from stratalog.lang.values.numbers import FLOAT


def to_integer(term: Term) -> Term:
    """Return the term as an xsd:integer."""
    found = number_of(term)
    if found is None:
        return _from_text(term, INTEGER, "1", "0")
    if isinstance(found.value, float) and not math.isfinite(found.value):
        raise ExpressionError(f"{term} is no integer")
    return number_term(INTEGER_RANK, math.trunc(found.value))


def to_decimal(term: Term) -> Term:
    """Return the term as an xsd:decimal."""
    found = number_of(term)
    if found is None:
        return _from_text(term, DECIMAL, "1.0", "0.0")
    if isinstance(found.value, float):
        if not math.isfinite(found.value):
            raise ExpressionError(f"{term} is no decimal")
        return number_term(DECIMAL_RANK, quotient(Fraction(found.value)))
    return number_term(DECIMAL_RANK, Decimal(found.value))


def to_double(term: Term) -> Term:
    """Return the term as an xsd:double."""
    found = number_of(term)
    if found is None:
        return _from_text(term, DOUBLE, "1.0E0", "0.0E0")
    return number_term(DOUBLE_RANK, promote(found, DOUBLE_RANK))


def to_float(term: Term) -> Term:
    """Return the term as an xsd:float."""
    found = number_of(term)
    if found is None:
        return _from_text(term, FLOAT, "1.0E0", "0.0E0")
    if found.rank == DOUBLE_RANK:
        return number_term(FLOAT_RANK, found.value)
    return number_term(FLOAT_RANK, promote(found, FLOAT_RANK))


def to_boolean(term: Term) -> Term:
    """Return the term as an xsd:boolean: numbers are true unless they are zero or NaN."""
    if number_of(term) is not None:
        return boolean_term(effective_boolean(term))
    return _from_text(term, BOOLEAN, "true", "false")


def to_date(term: Term) -> Term:
    """Return the term as an xsd:date; of a dateTime, its day."""
    moment = moment_of(term)
    if moment is not None and term.kind in {DATE, DATETIME}:
        return Term(DATE, date_text(moment))
    return _from_text(term, DATE)


def to_datetime(term: Term) -> Term:
    """Return the term as an xsd:dateTime; of a date, its first moment."""
    moment = moment_of(term)
    if moment is None or term.kind not in {DATE, DATETIME}:
        return _from_text(term, DATETIME)
    return Term(DATETIME, canonical_text(datetime_text(moment), DATETIME) or term.text)


CASTS: dict[str, Callable[[Term], Term]] = {
    f"<{kind}>": cast
    for kind, cast in {
        INTEGER: to_integer,
        DECIMAL: to_decimal,
        DOUBLE: to_double,
        FLOAT: to_float,
        BOOLEAN: to_boolean,
        STRING: to_string,
        DATE: to_date,
        DATETIME: to_datetime,
    }.items()
}


def _from_text(term: Term, kind: str, true: str | None = None, false: str | None = None) -> Term:
    if term.kind == BOOLEAN and true is not None and false is not None:
        if term.text not in {"true", "false"}:
            raise ExpressionError(f"{term} is ill-typed")
        return Term(kind, true if term == TRUE else false)
    canonical = canonical_text(term.text.strip(" \t\n\r"), kind) if term.kind == STRING else None
    if canonical is None:
        raise ExpressionError(f"{term} cannot be read as <{kind}>")
    return Term(kind, canonical)
