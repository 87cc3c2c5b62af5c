"""Parts of dates and times. A dateTime with a time zone is held, and taken apart, in UTC."""

from __future__ import annotations

from decimal import Decimal

from stratalog.lang.builtins.values import (
    DECIMAL_RANK,
    INTEGER_RANK,
    ExpressionError,
    moment_of,
    number_term,
)
from stratalog.lang.terms import DATE, DATETIME, STRING, Term
from stratalog.lang.values.canonical import DAY_TIME, TIME, YEAR
from stratalog.lang.values.dates import Moment, civil, days_text, zone_text


def year(term: Term) -> Term:
    """Return the year of a date, dateTime or gYear."""
    return number_term(INTEGER_RANK, civil(_moment(term, DATE, DATETIME, YEAR).day)[0])


def month(term: Term) -> Term:
    """Return the month of a date or dateTime."""
    return number_term(INTEGER_RANK, civil(_moment(term, DATE, DATETIME).day)[1])


def day(term: Term) -> Term:
    """Return the day of the month of a date or dateTime."""
    return number_term(INTEGER_RANK, civil(_moment(term, DATE, DATETIME).day)[2])


def hours(term: Term) -> Term:
    """Return the hour of a dateTime or time."""
    return number_term(INTEGER_RANK, _moment(term, DATETIME, TIME).second // 3600)


def minutes(term: Term) -> Term:
    """Return the minute of a dateTime or time."""
    return number_term(INTEGER_RANK, _moment(term, DATETIME, TIME).second // 60 % 60)


def seconds(term: Term) -> Term:
    """Return the second of a dateTime or time, with its fraction, as a decimal."""
    moment = _moment(term, DATETIME, TIME)
    return number_term(DECIMAL_RANK, Decimal(f"{moment.second % 60}.{moment.fraction or 0}"))


def timezone(term: Term) -> Term:
    """Return the time zone as a dayTimeDuration; having none is an error."""
    zone = _moment(term, DATE, DATETIME, TIME, YEAR).zone
    if zone is None:
        raise ExpressionError(f"{term} has no time zone")
    return Term(DAY_TIME, days_text(Decimal(60 * zone)))


def zone_name(term: Term) -> Term:
    """Return the spelling of the time zone, empty if there is none."""
    return Term(STRING, zone_text(_moment(term, DATE, DATETIME, TIME, YEAR).zone))


def _moment(term: Term, *kinds: str) -> Moment:
    moment = moment_of(term)
    if moment is None or term.kind not in kinds:
        raise ExpressionError(f"{term} has no such part")
    return moment
