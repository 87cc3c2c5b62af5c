"""Texts of tables that are not valid UTF-8 are found by row, and never become constants."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stratalog as sl
from stratalog.errors import DataError
from stratalog.pipeline.garbled import garbled_rows


def column(texts, arrow_type=None):
    """Return a column of texts given as bytes, which Arrow does not look at."""
    wide = pa.array(texts, pa.large_binary())
    return wide.view(pa.large_string()).cast(arrow_type or pa.string())


def is_garbled(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False


PIECES = st.sampled_from(
    [b"", b"a", "é".encode(), b"\xc3", b"\xa9", b"\xe2\x82", b"\xac", b"\xed\xa0\x80", b"\xff"]
)
TEXTS = st.lists(st.lists(PIECES, max_size=3).map(b"".join), max_size=8)


@given(TEXTS, st.integers(0, 3))
def test_garbled_rows_are_those_that_do_not_decode(texts, first):
    values = column([b"\xff"] * first + texts, pa.large_string())[first:]
    expected = [is_garbled(text) for text in texts]
    found = garbled_rows(values)
    assert (found is None) == (not any(expected))
    assert found is None or found.tolist() == expected


def test_two_halves_of_a_character_are_two_garbled_texts():
    assert garbled_rows(column([b"a\xc3", b"", b"\xa9"])).tolist() == [True, False, True]
    assert garbled_rows(column(["aé".encode(), b"", "ß".encode()])) is None


BAD = column([b"a", b"\x88\xff", b"c", None, b"\xc3"])
GOOD = pa.array(["v", "w", "x", "y", "z"])


def given_as(kind, tmp_path, *columns):
    table = pa.table(dict(zip("st", columns, strict=False)))
    if kind == "parquet":
        pq.write_table(table, tmp_path / "a.parquet")
        return tmp_path / "a.parquet"
    if kind == "dictionary":
        coded = pa.DictionaryArray.from_arrays(
            [0, 1, 2, None, 3], column([b"a", b"\x88", b"c", b"\xc3"])
        )
        return {"a": pa.table({"s": coded, **dict(zip("t", columns[1:], strict=False))})}
    if kind == "pandas":
        import pandas as pd

        return {"a": table.to_pandas(types_mapper=pd.ArrowDtype)}
    return {"a": table}


@pytest.mark.parametrize("kind", ["arrow", "dictionary", "pandas", "parquet"])
@pytest.mark.parametrize("others", [(), (GOOD,)])
def test_a_garbled_text_is_an_error_with_its_row_or_skipped(tmp_path, kind, others):
    wide = "".join(", t string" for _ in others)
    program = f"@declare a(s string?{wide}) ."
    facts = given_as(kind, tmp_path, BAD, *others)
    with pytest.raises(DataError, match=r"column s in row 2 is not valid UTF-8") as caught:
        sl.materialise(program, facts, progress=False)
    assert caught.value.code == "D102"
    kb = sl.materialise(program, facts, on_bad_input="skip", progress=False)
    assert {row[0] for row in kb["a"]} == {"a", "c"}
    assert kb.stats["bad_lines"] == 2


@pytest.mark.parametrize("wanted", ["string", "iri", "term", "integer", "date"])
def test_garbled_texts_are_told_whatever_the_column_is_declared_as(wanted):
    bad = column([b"\xff", b"1"])
    with pytest.raises(DataError, match="D102"):
        sl.materialise(f"@declare a(x {wanted}) .", {"a": pa.table({"x": bad})}, progress=False)


@pytest.mark.parametrize("size", [1, 100])
def test_an_update_with_garbled_texts_changes_nothing(size):
    kb = sl.materialise("b(?x) :- a(?x) .", {"a": [("x",)]}, progress=False)
    bad = pa.table({"x": column([b"x", b"\xff"] * size)})
    for change in ({"insert": {"a": bad}}, {"delete": {"a": bad}}):
        with pytest.raises(DataError, match="D102"):
            kb.update(**change)
    assert list(kb["b"]) == [("x",)]
