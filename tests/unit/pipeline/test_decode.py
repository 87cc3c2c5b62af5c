"""Encoded columns to Arrow tables."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from stratalog.errors import DataError
from stratalog.lang.syntax import Column, Declaration, Predicate
from stratalog.lang.terms import DATE, DATETIME, DOUBLE, INTEGER
from stratalog.lang.values.terms import IRI, BNode, Literal
from stratalog.pipeline.decode import decode_table, rows
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.objects import encode_facts
from stratalog.pipeline.spelling import spell_ids


def encoded(values):
    dictionary = Dictionary()
    found = encode_facts({"p": [(value,) for value in values]}, dictionary=dictionary)
    return found.columns(Predicate("p", 1)), len(values), dictionary


def column(values, target=None, *, rdf=False):
    declaration = target and Declaration(Predicate("p", 1), (Column("x", target),))
    table = decode_table(*encoded(values), declaration, rdf=rdf)
    table.validate(full=True)
    return table.column(0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 1], pa.int64()),
        (["a", "", "é"], pa.string()),
        ([1.5, float("inf")], pa.float64()),
        ([True, False], pa.bool_()),
        ([Decimal("1.25"), Decimal(10)], pa.decimal128(38, 2)),
        ([dt.date(2020, 1, 1), dt.date(1, 1, 1)], pa.date32()),
        ([dt.datetime(2020, 1, 1, 1, 2, 3, 4)], pa.timestamp("us")),  # noqa: DTZ001  # no zone, on purpose
        ([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC")),
        ([2**64, 1], pa.decimal256(76, 0)),
        ([Decimal(10**40), Decimal("0.5")], pa.decimal256(76, 1)),
    ],
)
def test_one_native_kind_gives_a_native_column(values, expected):
    found = column(values)
    assert found.type == expected
    assert found.to_pylist() == values


def test_what_no_arrow_number_holds_is_text():
    assert column([10**80, 1]).to_pylist() == [str(10**80), "1"]
    assert column([Decimal("1e-80")], "decimal").to_pylist() == ["0." + "0" * 79 + "1"]


def test_several_kinds_are_spelled_as_terms():
    values = [1, "a", IRI("http://a"), BNode("b"), Literal("x\ny", lang="en")]
    assert column(values).to_pylist() == [
        f'"1"^^<{INTEGER}>',
        '"a"',
        "<http://a>",
        "_:b",
        '"x\\ny"@en',
    ]


def test_rdf_is_always_spelled_as_terms():
    assert column([IRI("http://a"), IRI("http://b")], rdf=True).to_pylist() == [
        "<http://a>",
        "<http://b>",
    ]
    assert column(["a"], rdf=True).to_pylist() == ['"a"']


def test_ill_typed_literals_are_spelled():
    assert column([Literal("0x1F", INTEGER)]).to_pylist() == [f'"0x1F"^^<{INTEGER}>']
    assert column([Literal("x", DOUBLE), 1.0]).to_pylist()[0] == f'"x"^^<{DOUBLE}>'


def test_declared_columns_have_their_names_and_types():
    declaration = Declaration(Predicate("p", 1), (Column("who", "iri"),))
    table = decode_table(*encoded([IRI("http://a")]), declaration)
    assert table.to_pylist() == [{"who": "http://a"}]
    assert column([IRI("http://a"), 1], "term").to_pylist() == ["<http://a>", f'"1"^^<{INTEGER}>']


@pytest.mark.parametrize(
    ("values", "target"),
    [([1, "a"], "integer"), ([1], "string"), (["http://a"], "iri"), ([Literal("x", DATE)], "date")],
)
def test_a_value_that_the_declaration_forbids_is_named(values, target):
    with pytest.raises(DataError, match=f"in column x of p is no {target}") as caught:
        column(values, target)
    assert caught.value.code == "D310"


def test_moments():
    nanoseconds = Literal("2020-01-01T00:00:00.123456789", DATETIME)
    assert column([nanoseconds]).type == pa.timestamp("ns")
    mixed = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]  # noqa: DTZ001  # no zone, on purpose
    assert column(mixed, "dateTime").to_pylist() == [
        f'"2020-01-01T00:00:00"^^<{DATETIME}>',
        f'"2020-01-01T00:00:00Z"^^<{DATETIME}>',
    ]
    far = Literal("99999-01-01T00:00:00", DATETIME)
    assert column([far]).type == pa.timestamp("us")
    assert column([Literal("2020-01-01Z", DATE)], "date").to_pylist() == [
        f'"2020-01-01Z"^^<{DATE}>'
    ]


def test_empty_relations():
    assert decode_table([], 2, Dictionary()).num_rows == 2
    found = column([])
    assert found.to_pylist() == []
    for target in ("integer", "decimal", "double", "boolean", "date", "dateTime", "iri", "term"):
        assert column([], target).to_pylist() == []


def test_a_decoded_table_given_back_means_the_same_facts():
    values = [[1, "a", IRI("http://a")], [10**80, 1], [2**70, 3], [Decimal("1.5")], [IRI("a:b")]]
    for each in values:
        table = decode_table(*encoded(each))
        dictionary = Dictionary()
        again = encode_facts({"p": table}, dictionary=dictionary)
        [(_, columns, size)] = list(again)
        assert [value for (value,) in rows(columns, size, dictionary)] == each


def test_rows_are_python_values_in_order(monkeypatch):
    monkeypatch.setattr("stratalog.pipeline.decode.ROWS_AT_ONCE", 3)
    values = [IRI("a"), 1, 1.0, True, "x", 1, dt.date(2020, 1, 1)]
    columns, size, dictionary = encoded(values)
    assert [value for (value,) in rows(columns, size, dictionary)] == values
    assert list(rows([], 2, dictionary)) == [(), ()]


def test_spellings_agree_with_those_made_one_by_one():
    from stratalog.lang.values.terms import spell

    values = [
        'a"b',
        "tab\t",
        "\x00\x7f",
        IRI("a b"),
        IRI("http://é"),
        1,
        Literal("x", "http://d t"),
        BNode("q"),
    ]
    [ids], _, dictionary = encoded(values)
    assert spell_ids(ids, dictionary).to_pylist() == [
        spell(term) for term in dictionary.decode(ids)
    ]


def test_decimals_that_are_whole_need_no_scale():
    assert column([Decimal(1), Decimal(2)]).type == pa.decimal128(38, 0)
