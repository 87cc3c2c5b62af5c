"""CSV, TSV, .facts and JSON lines to facts."""

from __future__ import annotations

import csv
import io
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.errors import DataError
from stratalog.lang.syntax import Column, Declaration, Predicate
from stratalog.lang.terms import BOOLEAN, DECIMAL, DOUBLE, INTEGER, STRING, Term
from stratalog.lang.values.terms import python_value
from stratalog.pipeline import delimited
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.tables import Vocabulary, encode_block
from stratalog.pipeline.text_tables import TextFile, read_text


def declare(*columns):
    return Declaration(Predicate("p", len(columns)), columns)


def terms(data, data_format="csv", *declarations, arities=None, report=None, **options):
    """Read the bytes of a file and return its rows."""
    dictionary = Dictionary()
    vocabulary = Vocabulary(declarations, {} if arities is None else {"p": arities})
    report = ReadReport() if report is None else report
    file = TextFile("p." + data_format, data_format, "p", **options)
    rows = []
    for block, source in read_text(file, io.BytesIO(data), vocabulary, report):
        columns, size = encode_block(block, "p", vocabulary, dictionary, report, source)
        decoded = [dictionary.decode(column) for column in columns]
        rows += list(zip(*decoded, strict=True)) if columns else [()] * size
    return rows


def values(*args, **options):
    return [tuple(map(python_value, row)) for row in terms(*args, **options)]


def failure(*args, **options):
    with pytest.raises(DataError) as caught:
        terms(*args, **options)
    assert caught.value.path
    assert caught.value.help
    return caught.value.code, caught.value.line


def test_fields_are_strings_unless_declared():
    assert terms(b"2048,a\n") == [(Term(STRING, "2048"), Term(STRING, "a"))]


def test_an_empty_file_has_no_facts():
    for data_format in ("csv", "tsv", "facts", "jsonl"):
        assert terms(b"", data_format) == []
        assert terms(b"\n\n" if data_format != "tsv" else b"", data_format, arities={2}) == []


def test_the_last_line_needs_no_end():
    assert values(b"a,b\nc,d") == [("a", "b"), ("c", "d")]
    assert values(b"a\tb", "tsv") == [("a", "b")]


def test_quotes_hold_commas_quotes_and_line_ends():
    assert values(b'"a,b","c""d"\r\n"e\r\nf",g\r\n') == [("a,b", 'c"d'), ("e\r\nf", "g")]
    assert values(b'"",""""\n') == [("", '"')]


def test_tsv_quotes_nothing():
    assert values(b'"a\t"b"\r\n', "tsv") == [('"a', '"b"')]


def test_an_empty_field_is_the_empty_string():
    assert values(b"a,\n,\n") == [("a", ""), ("", "")]
    assert values(b"a\t\n", "facts") == [("a", "")]


def test_blank_lines_are_passed_over():
    assert values(b"\na,b\n\n\nc,d\n\n") == [("a", "b"), ("c", "d")]
    assert values(b'a\n\n""\n', arities={1}) == [("a",), ("",)]


def test_a_blank_line_of_a_single_tsv_column_is_the_empty_string():
    assert values(b"a\n\nb\n", "tsv", arities={1}) == [("a",), ("",), ("b",)]
    assert values(b"\n", "tsv", arities={1}) == [("",)]


def test_a_byte_order_mark_is_dropped():
    assert values(b"\xef\xbb\xbfa,b\n") == [("a", "b")]
    assert values(b'\xef\xbb\xbf["a"]\n', "jsonl") == [("a",)]


def test_a_predicate_without_arguments_is_fed_by_brackets():
    assert terms(b"()\n()\n", arities={0}) == [(), ()]
    assert failure(b"()\na\n", arities={0}) == ("D105", 2)


def test_a_line_with_too_many_fields_is_named():
    assert failure(b'a,b\n"c\n",d\ne,f,g\n') == ("D105", 4)
    assert failure(b"a\tb\nc\n", "tsv") == ("D105", 2)
    assert failure(b"a,b\n", arities={3}) == ("D105", 1)


def test_bytes_that_are_no_text_are_named():
    assert failure(b"a,b\nc,\xff\n") == ("D102", 2)
    assert failure(b'["a"]\n["\xff"]\n', "jsonl") == ("D102", 2)


@pytest.mark.parametrize(
    "data", [b'a,b\nc"d,e\nf,g\n', b'a,b\n"c"d,e\n', b'a,b\n"c,d\n', b'a,b\n"c"d"",e\n']
)
def test_a_quote_out_of_place_is_named(data):
    assert failure(data) == ("D110", 2)


def test_a_value_that_is_no_number_is_named():
    declaration = declare(Column("a", "string"), Column("n", "integer"))
    assert failure(b'"x\ny",1\nb,two\n', "csv", declaration) == ("D302", 3)


def test_bad_lines_are_skipped_and_stored_if_asked():
    report = ReadReport()
    declaration = declare(Column("a", "string"), Column("n", "integer"))
    data = b'a,1\nb\nc"x,2\nd,4\ne,\xff\nf,no\n"g,7\nh,8\n'
    found = values(data, "csv", declaration, report=report, skip=True)
    assert found == [("a", 1), ("d", 4), ("h", 8)]
    assert report.bad_lines == 5
    assert sorted(line for _, line, _ in report.rejected) == [2, 3, 5, 6, 7]
    assert ("p.csv", 6, "f,no") in report.rejected


def test_empty_fields_of_typed_columns_are_null():
    required = declare(Column("a", "string"), Column("n", "integer"))
    assert failure(b"a,1\nb,\n", "csv", required) == ("D304", 2)
    optional = declare(Column("a", "string"), Column("n", "integer", nullable=True))
    assert values(b"a,1\nb,\n", "csv", optional) == [("a", 1)]


def test_a_first_line_with_all_declared_names_is_a_header():
    declaration = declare(Column("a", "integer"), Column("b", "string", source="bee"))
    assert values(b"bee,junk,a\nx,-,1\n", "csv", declaration) == [(1, "x")]
    assert values(b"1,x\n", "csv", declaration) == [(1, "x")]


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (b'x,y,"z\n', "D110", 1),
        (b'x"y,z\n1,2\n', "D110", 1),
        (b'\n"x,y\n1,2\n', "D110", 2),
        (b'a"b"c,d\n1,2\n', "D110", 1),
        (b"\xff", "D102", 1),
        (b"\n\xff,y\n1,2\n", "D102", 2),
    ],
)
def test_a_bad_header_is_an_error_with_its_line_even_if_bad_input_is_skipped(
    text, code, line, skip
):
    assert failure(text, header=True, skip=skip) == (code, line)


def test_an_empty_line_of_tsv_can_be_a_header():
    assert values(b"\n\n", "tsv", header=True) == [("",)]


def test_a_header_that_is_announced_is_dropped():
    assert values(b"x,y\na,b\n", header=True) == [("a", "b")]
    with pytest.raises(DataError, match="columns: x, y"):
        terms(b"x,y\na,b\n", header=True, arities={3})


def test_small_blocks_change_nothing(monkeypatch):
    data = b"".join(b'"%d\n",x""y\n'.replace(b'x""y', b'"x""y"') % i for i in range(200))
    expected = values(data)
    monkeypatch.setattr(delimited, "BLOCK", 16)
    monkeypatch.setattr(delimited, "SMALL_BLOCK", 4)
    assert values(data) == expected
    assert len(expected) == 200


ROWS = st.lists(st.tuples(st.text(), st.text(alphabet='",\r\n a\t')), max_size=8)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_csv_agrees_with_the_standard_library(rows):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    assert values(text.getvalue().encode()) == rows


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=40), st.booleans())
def test_any_bytes_are_read_or_refused(data, tabs):
    with suppress(DataError):
        terms(data, "tsv" if tabs else "csv")
    terms(data, "tsv" if tabs else "csv", skip=True)


def test_json_arrays_keep_their_types():
    found = terms(b'["a", 1, 2.50, true]\n', "jsonl")
    assert found == [
        (Term(STRING, "a"), Term(INTEGER, "1"), Term(DOUBLE, "2.5E0"), Term(BOOLEAN, "true"))
    ]


def test_json_numbers_are_exact_where_the_type_is():
    big = "9" * 5000
    declaration = declare(Column("n", "integer"), Column("d", "decimal"))
    found = terms(f"[{big}, 0.10000000000000000000001]\n".encode(), "jsonl", declaration)
    assert found == [(Term(INTEGER, big), Term(DECIMAL, "0.10000000000000000000001"))]


def test_json_objects_go_by_column_name():
    declaration = declare(Column("a", "integer"), Column("b", "string", source="x.y"))
    assert values(b'{"x": {"y": "z"}, "a": 1, "more": []}\n', "jsonl", declaration) == [(1, "z")]
    assert values(b'{"c1": 2, "c0": 1}\n', "jsonl") == [(1, 2)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", "D109"),
        (b"3", "D109"),
        (b'["\\ud800", 1]', "D109"),
        (b"[NaN, 1]", "D109"),
        (b"[1]", "D105"),
        (b'{"a": 1, "b": 2}', "D306"),
        (b"[1, null]", "D304"),
    ],
)
def test_a_bad_json_line_is_named(line, code):
    assert failure(b"[1, 2]\n\n" + line + b"\n", "jsonl") == (code, 3)


def test_a_missing_key_is_null():
    declaration = declare(Column("a", "integer"), Column("b", "string", nullable=True))
    assert values(b'{"a": 1}\n{"a": 2, "b": "x"}\n', "jsonl", declaration) == [(2, "x")]
