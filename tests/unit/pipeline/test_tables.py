"""Arrow tables to encoded columns: which columns are taken, and as what."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.errors import DataError
from stratalog.lang.syntax import Column, Declaration, Predicate
from stratalog.lang.terms import (
    BOOLEAN,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    STRING,
    Term,
)
from stratalog.lang.values.canonical import canonical_text
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.tables import TYPE_KEY, Source, Vocabulary, encode_table


def declare(name, *columns):
    return Declaration(Predicate(name, len(columns)), columns)


def read(table, *declarations, arities=None, report=None, skip=False):
    dictionary = Dictionary()
    vocabulary = Vocabulary(declarations, arities or {})
    source = Source("t.parquet", skip=skip)
    report = ReadReport() if report is None else report
    columns, size = encode_table(table, "p", vocabulary, dictionary, report, source)
    assert all(len(column) == size for column in columns)
    return [dictionary.decode(column) for column in columns]


def one(array, target=None):
    """Read a single column and return its terms."""
    table = pa.table({"x": array})
    return read(table, *([declare("p", Column("x", target))] if target else []))[0]


def texts(array, kind, target=None):
    found = one(array, target)
    assert {term.kind for term in found} <= {kind}
    return [term.text for term in found]


@pytest.mark.parametrize("width", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_integers_of_any_width_are_one_type(width):
    assert texts(pa.array([1, -5, 1], width), INTEGER) == ["1", "-5", "1"]


def test_the_largest_unsigned_integer_is_exact():
    assert texts(pa.array([2**64 - 1], pa.uint64()), INTEGER) == [str(2**64 - 1)]


def test_decimals_are_canonical_and_exact():
    values = [Decimal("1.50"), Decimal("-0.00"), Decimal(100)]
    assert texts(pa.array(values, pa.decimal128(38, 2)), DECIMAL) == ["1.5", "0.0", "100.0"]
    huge = Decimal(10**70 + 1)
    assert texts(pa.array([huge], pa.decimal256(76, 0)), DECIMAL) == [f"{10**70 + 1}.0"]
    tiny = Decimal("0.00000000001")
    assert texts(pa.array([tiny], pa.decimal128(38, 12)), DECIMAL) == ["0.00000000001"]


@pytest.mark.parametrize("width", [pa.float16(), pa.float32(), pa.float64()])
def test_floats_of_any_width_are_doubles(width):
    import numpy as np

    values = pa.array([np.float16(1.5), np.float16("inf"), np.float16("nan")], pa.float16())
    assert texts(
        values.cast(pa.float32()).cast(width) if width != pa.float16() else values, DOUBLE
    ) == [
        "1.5E0",
        "INF",
        "NaN",
    ]


def test_all_kinds_of_text_are_strings():
    for text_type in (pa.string(), pa.large_string(), pa.string_view()):
        assert texts(pa.array(["a", "", "é"], text_type), STRING) == ["a", "", "é"]
    assert texts(pa.array(["a", "b", "a"]).dictionary_encode(), STRING) == ["a", "b", "a"]


def test_dates_of_any_year():
    values = pa.array([0, -719529, 2932897], pa.int32()).cast(pa.date32())
    assert texts(values, DATE) == ["1970-01-01", "-0001-12-31", "10000-01-01"]
    assert texts(pa.array([dt.date(2020, 2, 29)], pa.date64()), DATE) == ["2020-02-29"]


def test_timestamps_keep_every_digit():
    assert texts(pa.array([0], pa.timestamp("s")), DATETIME) == ["1970-01-01T00:00:00"]
    assert texts(pa.array([10_000], pa.timestamp("ms")), DATETIME) == ["1970-01-01T00:00:10"]
    assert texts(pa.array([1_500_100], pa.timestamp("us")), DATETIME) == [
        "1970-01-01T00:00:01.5001"
    ]
    assert texts(pa.array([1], pa.timestamp("ns")), DATETIME) == ["1970-01-01T00:00:00.000000001"]


def test_timestamps_with_a_zone_are_utc():
    moment = dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    values = pa.array([moment], pa.timestamp("us", "Europe/Paris"))
    assert texts(values, DATETIME) == ["2020-01-01T10:00:00Z"]


def test_booleans():
    assert texts(pa.array([True, False]), BOOLEAN) == ["true", "false"]


def test_chunks_are_read_in_order():
    values = pa.chunked_array([[1, 2], [], [3]])
    assert texts(values, INTEGER) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("text", "target", "kind", "expected"),
    [
        ("042", "integer", INTEGER, "42"),
        (" 42 ", "integer", INTEGER, "42"),
        ("1.50", "decimal", DECIMAL, "1.5"),
        ("1e3", "double", DOUBLE, "1.0E3"),
        ("1", "boolean", BOOLEAN, "true"),
        ("2020-01-31", "date", DATE, "2020-01-31"),
        ("2020-01-31T01:00:00+01:00", "dateTime", DATETIME, "2020-01-31T00:00:00Z"),
        ("http://a/b", "iri", IRI_KIND, "http://a/b"),
        ("<http://a>", "term", IRI_KIND, "http://a"),
        ('"a\\nb"@EN', "term", "@en", "a\nb"),
        ("9" * 100, "integer", INTEGER, "9" * 100),
    ],
)
def test_text_is_read_as_the_declared_type(text, target, kind, expected):
    assert one(pa.array([text]), target) == [Term(kind, expected)]


@pytest.mark.parametrize(
    ("array", "target", "expected"),
    [
        (pa.array([1]), "decimal", Term(DECIMAL, "1.0")),
        (pa.array([1]), "double", Term(DOUBLE, "1.0E0")),
        (pa.array([1]), "string", Term(STRING, "1")),
        (pa.array([3.0]), "integer", Term(INTEGER, "3")),
        (pa.array([0.1]), "decimal", Term(DECIMAL, "0.1")),
        (pa.array([Decimal("3.00")]), "integer", Term(INTEGER, "3")),
        (pa.array([dt.datetime(2020, 1, 2)]), "date", Term(DATE, "2020-01-02")),  # noqa: DTZ001  # no zone, on purpose
        (pa.array([7]), "term", Term(INTEGER, "7")),
    ],
)
def test_a_declared_type_converts_what_has_the_same_value(array, target, expected):
    assert one(array, target) == [expected]


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array(["1", "x"]), "integer"),
        (pa.array(["1", "1.5"]), "integer"),
        (pa.array([1.0, 1.5]), "integer"),
        (pa.array([1.0, float("inf")]), "decimal"),
        (pa.array(["true", "yes"]), "boolean"),
        (pa.array(["2020-01-01", "2020-02-30"]), "date"),
        (pa.array(["http://a", "<http://b>"]), "iri"),
        (pa.array(["http://a", "a b"]), "iri"),
        (pa.array(["<a>", "a"]), "term"),
        (pa.array([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 1)]), "date"),  # noqa: DTZ001  # no zone, on purpose
    ],
)
def test_a_value_that_the_type_does_not_have_is_named_with_its_row(array, target):
    with pytest.raises(DataError, match="column x in row 2") as caught:
        one(array, target)
    assert caught.value.code == "D302"
    assert caught.value.help


def test_booleans_are_no_integers():
    with pytest.raises(DataError) as caught:
        one(pa.array([True]), "integer")
    assert caught.value.code == "D302"


def test_null_is_an_error_with_column_and_row():
    with pytest.raises(DataError, match="column x in row 2 is null") as caught:
        one(pa.array([1, None, 3]))
    assert caught.value.code == "D304"


def test_null_in_an_optional_column_gives_no_fact_and_is_counted():
    report = ReadReport()
    table = pa.table({"x": [1, None, 3], "y": ["a", "b", None]})
    declaration = declare(
        "p", Column("x", "integer", nullable=True), Column("y", "string", nullable=True)
    )
    assert read(table, declaration, report=report) == [[Term(INTEGER, "1")], [Term(STRING, "a")]]
    assert (report.rows, report.null_rows) == (1, 2)


def test_a_column_of_nothing_but_nulls():
    declaration = declare("p", Column("x", "integer", nullable=True))
    assert read(pa.table({"x": pa.nulls(3)}), declaration) == [[]]


def test_declared_columns_are_found_by_name_and_others_ignored():
    table = pa.table({"b": ["y"], "junk": [[1]], "a": [1]})
    declaration = declare("p", Column("a", "integer"), Column("second", "string", source="b"))
    assert read(table, declaration) == [[Term(INTEGER, "1")], [Term(STRING, "y")]]


def test_a_path_leads_into_structs():
    table = pa.table({"buyer": [{"id": {"n": "a"}}, None]})
    declaration = declare("p", Column("buyer", "string", nullable=True, source="buyer.id.n"))
    assert read(table, declaration) == [[Term(STRING, "a")]]


def test_a_column_name_with_a_dot_wins_over_a_path():
    table = pa.table({"a.b": ["name"], "a": [{"b": "path"}]})
    assert read(table, declare("p", Column("x", "string", source="a.b"))) == [
        [Term(STRING, "name")]
    ]


def test_a_missing_column_lists_those_that_are_there():
    with pytest.raises(DataError, match="no column x for p; the columns are a, b") as caught:
        read(pa.table({"a": [1], "b": [2]}), declare("p", Column("x", "integer")))
    assert caught.value.code == "D301"


def test_a_wrong_width_lists_the_columns():
    with pytest.raises(DataError, match="3 columns: a, b, c") as caught:
        read(pa.table({"a": [1], "b": [2], "c": [3]}), arities={"p": {2}})
    assert caught.value.code == "D301"
    assert caught.value.path == "t.parquet"


@pytest.mark.parametrize(
    ("array", "advice"),
    [
        (pa.array([[1]]), "one row per element"),
        (pa.array([b"a"]), "decode the bytes"),
        (pa.array([{"a": 1}]), "by its path"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "one row per element"),
        (pa.array([dt.timedelta(1)]), "convert the column"),
    ],
)
def test_what_is_no_constant_says_what_to_do(array, advice):
    with pytest.raises(DataError, match=advice) as caught:
        one(array)
    assert caught.value.code == "D305"


def test_bad_rows_are_skipped_and_sampled_if_asked():
    report = ReadReport()
    declaration = declare("p", Column("x", "integer"))
    table = pa.table({"x": ["1", "bad", "3"]})
    assert read(table, declaration, report=report, skip=True) == [
        [Term(INTEGER, "1"), Term(INTEGER, "3")]
    ]
    assert report.bad_lines == 1
    assert "bad" in report.samples[0].text


def test_a_field_that_tells_its_type_is_read_as_that():
    field = pa.field("x", pa.string(), metadata={TYPE_KEY: b"term"})
    table = pa.table([pa.array(["<http://a>", '"b"'])], schema=pa.schema([field]))
    assert read(table) == [[Term(IRI_KIND, "http://a"), Term(STRING, "b")]]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_doubles_are_spelled_as_one_by_one(values):
    expected = [canonical_text(repr(value), DOUBLE) for value in values]
    assert texts(pa.array(values), DOUBLE) == expected
    spelled = pa.array([repr(value) for value in values])
    assert texts(spelled, DOUBLE, "double") == expected


def test_moments_that_have_no_spelling_are_named():
    with pytest.raises(DataError, match="in row 1") as caught:
        one(pa.array([10**15], pa.timestamp("s")))
    assert caught.value.code == "D302"
