"""Constants as values of Python, both ways, and the public classes for what Python cannot hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from stratalog.errors import DataError
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
from stratalog.lang.values.canonical import LANG_STRING, canonical_text, literal
from stratalog.lang.values.spelling import LABEL, spell, unspell

__all__ = ["IRI", "BNode", "Literal", "literal", "python_value", "spell", "term_of", "unspell"]

_LONGEST = 100_000  # a Decimal such as 1E+999999999 is short only with an exponent
_MICROSECOND_DIGITS = 6
_NULLS = frozenset({"NoneType", "NaTType", "NAType"})


@dataclass(frozen=True, slots=True)
class IRI:
    """An IRI, as written: relative IRIs are not resolved."""

    value: str

    @property
    def term(self) -> Term:
        """Return the constant that this stands for."""
        return Term(IRI_KIND, self.value)

    def __repr__(self) -> str:
        return f"IRI({self.value!r})"

    def __str__(self) -> str:
        return spell(self.term)


@dataclass(frozen=True, slots=True)
class BNode:
    """A blank node, named by its label."""

    label: str

    def __post_init__(self) -> None:
        if not LABEL.fullmatch(self.label):
            raise DataError(
                "D203",
                f"not a label of a blank node: {self.label!r}",
                help="use letters, digits, _, - and, inside, dots",
            )

    @property
    def term(self) -> Term:
        """Return the constant that this stands for."""
        return Term(BNODE_KIND, self.label)

    def __repr__(self) -> str:
        return f"BNode({self.label!r})"

    def __str__(self) -> str:
        return spell(self.term)


@dataclass(frozen=True, slots=True, init=False)
class Literal:
    """A literal in canonical spelling; `datatype` is always an IRI's text, `lang` in lower case."""

    text: str
    datatype: str
    lang: str | None

    def __init__(
        self, text: str, datatype: str | IRI | None = None, lang: str | None = None
    ) -> None:
        kind, canonical = literal(
            text, datatype.value if isinstance(datatype, IRI) else datatype, lang
        )
        tagged = kind.startswith(LANG)
        object.__setattr__(self, "text", canonical)
        object.__setattr__(self, "datatype", LANG_STRING if tagged else kind)
        object.__setattr__(self, "lang", kind[len(LANG) :] if tagged else None)

    @property
    def term(self) -> Term:
        """Return the constant that this stands for."""
        _check_unicode(self.datatype)
        return Term(self.datatype if self.lang is None else LANG + self.lang, self.text)

    def __repr__(self) -> str:
        if self.lang is not None:
            return f"Literal({self.text!r}, lang={self.lang!r})"
        shown = "" if self.datatype == STRING else f", {self.datatype!r}"
        return f"Literal({self.text!r}{shown})"

    def __str__(self) -> str:
        return spell(self.term)


def python_value(term: Term) -> object:
    """Return the value of Python that the term means; IRI, BNode or Literal if there is none."""
    kind, text = term
    if kind == STRING:
        return text
    if kind == IRI_KIND:
        return IRI(text)
    if kind == BNODE_KIND:
        return BNode(text)
    read = _READERS.get(kind)
    value = None if read is None else read(text)
    if value is not None:
        return value
    return Literal(text, lang=kind[1:]) if kind.startswith(LANG) else Literal(text, kind)


def term_of(value: object) -> Term:
    """Return the constant that a value of Python, NumPy, pandas or rdflib means."""
    known = _WRITERS.get(type(value))
    if known is not None:
        return known(value)
    for base in type(value).__mro__:
        if base.__module__ == "rdflib.term" and base.__name__ in _RDFLIB:
            return _RDFLIB[base.__name__](value)
    if type(value).__name__ in _NULLS:
        raise _null()
    for base, write in _WRITERS.items():
        if isinstance(value, base):
            return write(value)
    return _of_other(value)


def _of_other(value: object) -> Term:
    if type(value).__name__ == "datetime64":
        return _of_datetime64(value)
    unwrap: Callable[[], object] | None = getattr(value, "item", None)
    if unwrap is not None and getattr(value, "shape", None) == ():
        return term_of(unwrap())
    raise _unsupported(value)


def _of_datetime64(value: object) -> Term:
    text = str(value)
    if text == "NaT":
        raise _null()
    day, _, clock = text.partition("T")
    if not clock:
        canonical = canonical_text(day, DATE)
    else:  # NumPy leaves out minutes and seconds finer than the array's unit
        canonical = canonical_text(f"{day}T{clock}{':00' * (2 - clock.count(':'))}", DATETIME)
    if canonical is None:
        raise _unsupported(value)
    return Term(DATETIME if clock else DATE, canonical)


def _of_text(value: str) -> Term:
    text = str(value)
    _check_unicode(text)
    return Term(STRING, text)


def _check_unicode(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                "D202",
                f"the text {text!r} holds half of a surrogate pair, which is no character",
                help="decode the text with the encoding that it was written in",
            ) from error


def _of_integer(value: int) -> Term:
    most = effort.max_digits()
    if numbers.least_digits(value) > most:  # the text itself could take minutes
        raise DataError(
            "D302",
            f"an integer of about {numbers.least_digits(value):,} digits;"
            f" max_digits={most:,} is the most",
            help="give it as text, leave it out, or raise max_digits=",
        )
    return Term(INTEGER, numbers.integer_text(int(value)))


def _of_decimal(value: Decimal) -> Term:
    if not value.is_finite() or abs(value.adjusted()) > _LONGEST:
        raise DataError(
            "D202",
            f"xsd:decimal cannot hold {value!s:.60}",
            help="leave the row out, or give the value as a float",
        )
    return Term(DECIMAL, numbers.decimal_text(value))


def _of_datetime(value: datetime) -> Term:
    if value.utcoffset() is not None:
        try:
            value = value.astimezone(UTC)
        except OverflowError:  # the first and the last day that Python knows
            return literal(value.isoformat(), DATETIME)
    text = value.replace(tzinfo=None).isoformat()
    nanosecond = getattr(value, "nanosecond", 0)  # pandas
    if nanosecond and len(text.partition(".")[2]) <= _MICROSECOND_DIGITS:
        text = f"{text if '.' in text else text + '.000000'}{nanosecond:03}"
    return literal(text + ("" if value.tzinfo is None else "Z"), DATETIME)


def _of_rdflib_literal(value: object) -> Term:
    datatype, lang = getattr(value, "datatype", None), getattr(value, "language", None)
    return literal(str(value), None if datatype is None else str(datatype), lang)


def _null() -> DataError:
    return DataError(
        "D201",
        "a fact has no place for a missing value (None, NaT)",
        help="leave the row out, or write ? after the column's type in @declare",
    )


def _unsupported(value: object) -> DataError:
    return DataError(
        "D202",
        f"a value of type {type(value).__name__} is no constant: {value!r:.80}",
        help="give int, Decimal, float, str, bool, date, datetime, IRI, BNode or Literal; "
        "turn lists and structs into facts of their own, and other values into text",
    )


def _read_date(text: str) -> date | None:
    moment = dates.parse_date(text)
    if moment is None or moment.zone is not None or not _in_python(moment):
        return None
    return date(*dates.civil(moment.day))


def _read_datetime(text: str) -> datetime | None:
    moment = dates.parse_datetime(text)
    if moment is None or len(moment.fraction) > _MICROSECOND_DIGITS or not _in_python(moment):
        return None
    minutes, second = divmod(moment.second, 60)
    microsecond = int(moment.fraction.ljust(_MICROSECOND_DIGITS, "0"))
    zone = None if moment.zone is None else UTC
    clock = (*divmod(minutes, 60), second, microsecond)
    return datetime(*dates.civil(moment.day), *clock, tzinfo=zone)


def _in_python(moment: dates.Moment) -> bool:
    return date.min.year <= dates.civil(moment.day)[0] <= date.max.year


_READERS: dict[str, Callable[[str], object | None]] = {
    INTEGER: numbers.parse_integer,
    DECIMAL: numbers.parse_decimal,
    DOUBLE: numbers.parse_double,
    BOOLEAN: {"true": True, "false": False}.get,
    DATE: _read_date,
    DATETIME: _read_datetime,
}
# Subclasses stand before their bases: True is an int, and a datetime is a date.
_WRITERS: dict[type, Callable[[Any], Term]] = {
    str: _of_text,
    bool: lambda value: Term(BOOLEAN, "true" if value else "false"),
    int: _of_integer,
    float: lambda value: Term(DOUBLE, numbers.double_text(float(value))),
    Decimal: _of_decimal,
    datetime: _of_datetime,
    date: lambda value: Term(DATE, value.isoformat()),
    IRI: lambda value: value.term,
    BNode: lambda value: value.term,
    Literal: lambda value: value.term,
    Term: lambda value: value,
}
_RDFLIB: dict[str, Callable[[object], Term]] = {
    "URIRef": lambda value: Term(IRI_KIND, str(value)),
    "BNode": lambda value: BNode(str(value)).term,
    "Literal": _of_rdflib_literal,
}
