# ruff: noqa: DTZ001  # a dateTime without a time zone is a value of its own
from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from stratalog.errors import DataError
from stratalog.lang.terms import DATE, DATETIME, DECIMAL, DOUBLE, INTEGER, STRING, XSD, Term
from stratalog.lang.values.dates import civil, day_number
from stratalog.lang.values.terms import (
    IRI,
    BNode,
    Literal,
    literal,
    python_value,
    spell,
    term_of,
    unspell,
)

texts = st.text(st.characters(exclude_categories=["Cs"]))
literals = st.one_of(
    st.integers().map(str).map(lambda text: literal(text, INTEGER)),
    st.decimals(allow_nan=False, allow_infinity=False).map(
        lambda value: literal(format(value, "f"), DECIMAL)
    ),
    st.floats().map(lambda value: literal(repr(value).replace("inf", "INF"), DOUBLE)),
    st.floats(width=32).map(
        lambda value: literal(repr(value).replace("inf", "INF"), XSD + "float")
    ),
    st.datetimes().map(lambda value: literal(value.isoformat(), DATETIME)),
    st.datetimes(timezones=st.just(timezone(timedelta(hours=-5)))).map(
        lambda value: literal(value.isoformat(), DATETIME)
    ),
    st.dates().map(lambda value: literal(value.isoformat(), DATE)),
    st.builds(literal, texts),
    st.builds(literal, texts, st.sampled_from([XSD + "int", INTEGER, DATE, "http://a#b c"])),
    st.builds(literal, texts, lang=st.sampled_from(["en", "DE-ch"])),
)
terms = st.one_of(
    literals,
    texts.map(lambda text: IRI(text).term),
    st.from_regex(r"[A-Za-z0-9]([a-z.-]*[a-z])?", fullmatch=True).map(
        lambda text: BNode(text).term
    ),
)


@given(terms)
def test_a_term_survives_python_and_text(term):
    assert term_of(python_value(term)) == term
    assert unspell(spell(term)) == term
    assert "\n" not in spell(term)


@given(literals)
def test_canonical_spelling_is_a_fixpoint(term):
    if not term.kind.startswith("@"):
        assert literal(term.text, term.kind) == term


@pytest.mark.parametrize(
    ("written", "datatype", "canonical"),
    [
        ("01", "integer", "1"),
        ("-0", "integer", "0"),
        ("+7", "nonNegativeInteger", "7"),
        ("300", "byte", "300"),
        ("-01", "unsignedInt", "-01"),
        ("1_0", "integer", "1_0"),
        (" 1", "integer", " 1"),
        ("\u0661", "integer", "\u0661"),
        ("9" * 5000, "integer", "9" * 5000),
        ("1.50", "decimal", "1.5"),
        ("1", "decimal", "1.0"),
        ("-.5", "decimal", "-0.5"),
        ("-0.00", "decimal", "0.0"),
        ("1e3", "decimal", "1e3"),
        ("1", "double", "1.0E0"),
        ("0.0015", "double", "1.5E-3"),
        ("-0", "double", "-0.0E0"),
        ("+INF", "double", "INF"),
        ("1e400", "double", "INF"),
        ("inf", "double", "inf"),
        ("0.1", "float", "1.0E-1"),
        ("16777217", "float", "1.6777216E7"),
        ("3.5e38", "float", "INF"),
        ("1", "boolean", "true"),
        ("TRUE", "boolean", "TRUE"),
        ("2020-01-01T24:00:00", "dateTime", "2020-01-02T00:00:00"),
        ("2020-01-01T01:30:00.500+02:00", "dateTime", "2019-12-31T23:30:00.5Z"),
        ("2020-01-01T00:00:00+14:01", "dateTime", "2020-01-01T00:00:00+14:01"),
        ("-0001-12-31T23:00:00-05:00", "dateTime", "0000-01-01T04:00:00Z"),
        ("12345-01-01T00:00:00", "dateTime", "12345-01-01T00:00:00"),
        ("2020-02-30", "date", "2020-02-30"),
        ("2020-02-29+00:00", "date", "2020-02-29Z"),
        ("2020-02-29-05:00", "date", "2020-02-29-05:00"),
        ("24:00:00", "time", "00:00:00"),
        ("2020+00:00", "gYear", "2020Z"),
        ("P1DT36H", "dayTimeDuration", "P2DT12H"),
        ("-PT0.50S", "dayTimeDuration", "-PT0.5S"),
        ("-P0D", "dayTimeDuration", "PT0S"),
        ("P", "dayTimeDuration", "P"),
        ("P14M", "yearMonthDuration", "P1Y2M"),
        ("-P12M", "yearMonthDuration", "-P1Y"),
    ],
)
def test_literals_are_canonical_or_kept_as_written(written, datatype, canonical):
    assert literal(written, XSD + datatype) == Term(XSD + datatype, canonical)


def test_a_float_is_rounded_once():
    # Just above the middle of two floats; as a double it is the middle, which would go down.
    just_above = "1.00000005960464477539062500001"
    assert literal(just_above, XSD + "float").text == "1.0000001E0"
    assert literal("1.000000059604644775390625", XSD + "float").text == "1.0E0"


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_spelling_of_a_float_gives_it_back(value):
    text = literal(repr(value), XSD + "float").text
    assert struct.pack("f", float(text)) == struct.pack("f", value)


@given(st.dates())
def test_day_numbers_agree_with_python(value):
    number = day_number(value.year, value.month, value.day)
    assert number == (value - date(1970, 1, 1)).days
    assert civil(number) == (value.year, value.month, value.day)


def test_days_are_consecutive_around_year_zero():
    first = day_number(-401, 1, 1)
    days = [civil(first + place) for place in range(150_000)]
    assert days == sorted(set(days))
    assert [day_number(*day) for day in days] == list(range(first, first + 150_000))


def test_python_values_become_terms():
    assert term_of(True) == Term(XSD + "boolean", "true")
    assert term_of(1) == Term(INTEGER, "1")
    assert term_of(10**4000) == Term(INTEGER, "1" + "0" * 4000)
    assert term_of(Decimal("1E+3")) == Term(DECIMAL, "1000.0")
    assert term_of(math.nan) == Term(DOUBLE, "NaN")
    assert term_of("<a>") == Term(STRING, "<a>")
    assert term_of(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))).text == (
        "0000-12-31T22:00:00Z"
    )
    assert term_of(IRI("a")) == Term("iri", "a")
    assert term_of(Term("iri", "a")) == Term("iri", "a")


def test_numpy_and_pandas_values_become_terms():
    assert term_of(np.int8(3)) == term_of(3)
    assert term_of(np.float32(0.5)) == term_of(0.5)
    assert term_of(np.bool_(True)) == term_of(True)
    assert term_of(np.str_("a")) == term_of("a")
    assert term_of(np.datetime64("2020-01-02")) == term_of(date(2020, 1, 2))
    assert term_of(np.datetime64("2020-01-02T03")) == term_of(datetime(2020, 1, 2, 3))
    assert term_of(np.datetime64(5, "ns")).text == "1970-01-01T00:00:00.000000005"
    assert term_of(pd.Timestamp(5)).text == "1970-01-01T00:00:00.000000005"
    assert term_of(pd.Timestamp("2020-01-01", tz="Europe/Vienna")).text == "2019-12-31T23:00:00Z"


def test_rdflib_terms_become_terms():
    assert term_of(rdflib.URIRef("http://a")) == IRI("http://a").term
    assert term_of(rdflib.BNode("b")) == BNode("b").term
    assert term_of(rdflib.Literal("a", lang="en")) == Literal("a", lang="en").term
    assert term_of(rdflib.Literal("01", datatype=rdflib.XSD.integer)) == term_of(1)
    assert term_of(rdflib.Literal("a")) == term_of("a")


@pytest.mark.parametrize("missing", [None, pd.NaT, pd.NA, np.datetime64("NaT")])
def test_a_missing_value_is_an_error(missing):
    with pytest.raises(DataError, match="D201"):
        term_of(missing)


@pytest.mark.parametrize(
    "value",
    [
        [1],
        {},
        b"a",
        object(),
        timedelta(1),
        np.array([1, 2]),
        np.timedelta64(1, "s"),
        Decimal("NaN"),
        Decimal("1E+999999999"),
        "\ud800",
        np.datetime64("2020"),
    ],
)
def test_other_values_are_errors_that_say_what_to_do(value):
    with pytest.raises(DataError, match="D202") as caught:
        term_of(value)
    assert caught.value.help


def test_what_python_cannot_hold_is_a_literal():
    for text, kind in [
        ("0000-01-01", DATE),
        ("10000-01-01", DATE),
        ("2020-01-01Z", DATE),
        ("2020-01-01T00:00:00.1234567", DATETIME),
        ("5", XSD + "int"),
        ("x", INTEGER),
    ]:
        assert python_value(Term(kind, text)) == Literal(text, kind)
    assert python_value(Term(DATETIME, "2020-01-01T00:00:00Z")) == datetime(2020, 1, 1, tzinfo=UTC)


def test_public_classes_are_values():
    assert Literal("01", IRI(INTEGER)) == Literal("1", INTEGER)
    assert len({Literal("a", lang="EN"), Literal("a", lang="en"), Literal("a")}) == 2
    assert repr(Literal("a", lang="en")) == "Literal('a', lang='en')"
    assert (str(IRI("a b")), str(BNode("x")), str(Literal('"\x7f'))) == (
        r"<a\u0020b>",
        "_:x",
        r'"\"\u007F"',
    )
    assert IRI("a") != "a"
    with pytest.raises(AttributeError):
        IRI("a").value = "b"
    with pytest.raises(DataError, match="D204"):
        Literal("a", INTEGER, lang="en")


@pytest.mark.parametrize(
    "text", ["", "a", "<a", '"a', r'"\x"', '"a"@', '"a"^^b', "_:", "_:a.", r'"\uD800"', '"a" ', "1"]
)
def test_malformed_spellings_are_errors(text):
    with pytest.raises(DataError, match="D203"):
        unspell(text)
