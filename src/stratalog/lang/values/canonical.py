"""Literals in canonical spelling, so that two of one datatype and value are the same term."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from stratalog.errors import DataError
from stratalog.lang.terms import (
    BOOLEAN,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    LANG,
    RDF,
    STRING,
    XSD,
    Term,
)
from stratalog.lang.values import dates, numbers

LANG_STRING = RDF + "langString"
TIME = XSD + "time"
YEAR = XSD + "gYear"
DAY_TIME = XSD + "dayTimeDuration"
YEAR_MONTH = XSD + "yearMonthDuration"

Value = TypeVar("Value")
_LANGUAGE = re.compile(r"[a-zA-Z]+(?:-[a-zA-Z0-9]+)*")
_BOOLEANS = {"true": "true", "1": "true", "false": "false", "0": "false"}


def literal(text: str, datatype: str | None = None, lang: str | None = None) -> Term:
    """Return the literal as a term in canonical spelling; ill-typed text is kept as written."""
    if lang is not None:
        return _with_language(text, datatype, lang)
    if datatype is None or datatype == STRING:
        return Term(STRING, text)
    canonical = canonical_text(text, datatype)
    return Term(datatype, text if canonical is None else canonical)


def canonical_text(text: str, datatype: str) -> str | None:
    """Return the canonical spelling, or None if `text` is ill-typed or the datatype is unknown."""
    spell = _SPELLERS.get(datatype)
    return None if spell is None else spell(text)


def _with_language(text: str, datatype: str | None, lang: str) -> Term:
    if not _LANGUAGE.fullmatch(lang):
        raise DataError(
            "D204", f"{lang!r} is not a language tag", help="write a tag such as en or de-CH"
        )
    if datatype not in (None, LANG_STRING):
        raise DataError(
            "D204",
            f"a literal has either a language or a datatype, not both: @{lang}, <{datatype}>",
            help="drop the language or the datatype",
        )
    return Term(LANG + lang.lower(), text)


def _speller(
    parse: Callable[[str], Value | None], spell: Callable[[Value], str]
) -> Callable[[str], str | None]:
    def canonical(text: str) -> str | None:
        value = parse(text)
        return None if value is None else spell(value)

    return canonical


_SPELLERS: dict[str, Callable[[str], str | None]] = {
    kind: partial(numbers.canonical_integer, kind=kind) for kind in numbers.INTEGER_RANGES
} | {
    DECIMAL: _speller(numbers.parse_decimal, numbers.decimal_text),
    DOUBLE: _speller(numbers.parse_double, numbers.double_text),
    numbers.FLOAT: _speller(numbers.parse_float, numbers.float_text),
    BOOLEAN: _BOOLEANS.get,
    DATE: _speller(dates.parse_date, dates.date_text),
    DATETIME: _speller(dates.parse_datetime, dates.datetime_text),
    TIME: _speller(dates.parse_time, dates.time_text),
    YEAR: _speller(dates.parse_year, dates.year_text),
    DAY_TIME: _speller(dates.parse_days, dates.days_text),
    YEAR_MONTH: _speller(dates.parse_months, dates.months_text),
}
