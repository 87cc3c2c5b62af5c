"""Facts from Python objects."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stratalog.errors import DataError, ProgramError
from stratalog.lang.syntax import Column, Declaration, Predicate
from stratalog.lang.terms import DECIMAL, DOUBLE, INTEGER, IRI_KIND, STRING, Term
from stratalog.lang.values.terms import IRI, Literal
from stratalog.pipeline.decode import rows
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.objects import encode_facts


def declare(name, *columns):
    return Declaration(Predicate(name, len(columns)), columns)


def read(facts, **known):
    """Return the rows of each predicate as Python values."""
    dictionary = Dictionary()
    found = encode_facts(facts, dictionary=dictionary, **known)
    return {each: list(rows(columns, size, dictionary)) for each, columns, size in found}


def only(value, **known):
    [found] = read({"p": value}, **known).values()
    return found


def terms(value, **known):
    dictionary = Dictionary()
    found = encode_facts({"p": value}, dictionary=dictionary, **known)
    [predicate] = found.predicates()
    return [dictionary.decode(column) for column in found.columns(predicate)]


def code(facts, **known):
    with pytest.raises(DataError) as caught:
        read(facts, **known)
    assert caught.value.help
    return caught.value.code


ROWS = [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        [[1, "a"], [2, "b"]],
        iter(ROWS),
        pd.DataFrame(ROWS, columns=["x", "y"]),
        pl.DataFrame(ROWS, schema=["x", "y"], orient="row"),
        pl.DataFrame(ROWS, schema=["x", "y"], orient="row").lazy(),
        pa.table({"x": [1, 2], "y": ["a", "b"]}),
        pa.record_batch({"x": [1, 2], "y": ["a", "b"]}),
        pa.table({"x": [1, 2], "y": ["a", "b"]}).to_reader(),
        np.array(ROWS, [("x", "i4"), ("y", "U3")]),
        np.array(ROWS, object),
    ],
    ids=lambda table: type(table).__module__ + "." + type(table).__name__,
)
def test_every_kind_of_table_gives_the_same_facts(table):
    assert only(table) == ROWS


def test_anything_with_an_arrow_stream_is_read():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"x": [1]}).__arrow_c_stream__(requested_schema)

    assert only(Stream()) == [(1,)]


def test_arrays_and_series():
    assert only(np.array([[1.5, 2.0]])) == [(1.5, 2.0)]
    assert only(np.array([["a", "b"]])) == [("a", "b")]
    assert only(pl.Series([1, 2])) == [(1,), (2,)]
    assert only(pd.Series([1, 2])) == [(1,), (2,)]
    assert only(np.array([["2020-01-02"]], "datetime64[D]")) == [(dt.date(2020, 1, 2),)]


def test_values_of_python_keep_their_types():
    row = (
        1,
        True,
        1.0,
        Decimal("1.0"),
        "1",
        IRI("1"),
        Literal("1", lang="en"),
        dt.date(2020, 1, 1),
    )
    assert only([row]) == [row]
    assert len({cell for column in terms([row]) for cell in column}) == len(row)


def test_columns_of_mixed_types_are_exact():
    column = [1, True, 1.0, -0.0, 0.0, 2**70, "1", 1]
    found = only([(value,) for value in column])
    assert [(type(value), str(value)) for (value,) in found] == [
        (type(value), str(value)) for value in column
    ]


def test_integers_never_wrap():
    assert only([(2**63,), (-(2**70),), (10**100,)]) == [(2**63,), (-(2**70),), (10**100,)]


def test_declared_types_convert_values():
    declaration = declare("p", Column("d", "decimal"), Column("i", "iri"), Column("t", "term"))
    found = terms([(3, "http://a", "<x>")], declarations=[declaration])
    assert found == [[Term(DECIMAL, "3.0")], [Term(IRI_KIND, "http://a")], [Term(STRING, "<x>")]]


def test_an_iri_is_accepted_where_iris_are_declared():
    declaration = declare("p", Column("i", "iri"))
    assert terms([(IRI("http://a"),)], declarations=[declaration]) == [[Term(IRI_KIND, "http://a")]]
    assert code({"p": [(3,)]}, declarations=[declaration]) == "D302"


def test_nan_is_null_only_in_pandas():
    assert code({"p": pd.DataFrame({"x": [1.0, None]})}) == "D304"
    assert terms(pl.DataFrame({"x": [float("nan")]})) == [[Term(DOUBLE, "NaN")]]
    assert terms([(float("nan"),)]) == [[Term(DOUBLE, "NaN")]]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, None]),
        pd.Series(["1", None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1, float("nan")], dtype=object),
        pd.Series([pd.Timestamp("2020-01-01"), pd.NaT]),
    ],
)
def test_nulls_of_pandas_are_counted_where_allowed(series):
    kind = "dateTime" if "datetime" in str(series.dtype) else "integer"
    declaration = declare("p", Column("x", kind, nullable=True))
    dictionary = Dictionary()
    found = encode_facts(
        {"p": pd.DataFrame({"x": series})}, declarations=[declaration], dictionary=dictionary
    )
    assert (found.count, found.report.null_rows) == (1, 1)


def test_null_in_a_tuple_is_an_error_with_its_row():
    with pytest.raises(DataError, match="row 2 is null") as caught:
        read({"p": [("a",), (None,)]})
    assert caught.value.code == "D304"
    assert caught.value.path == 'facts["p"]'


def test_pandas_objects_that_arrow_cannot_hold():
    frame = pd.DataFrame({"x": [10**30, "a", IRI("http://a")]})
    assert only(frame) == [(10**30,), ("a",), (IRI("http://a"),)]


def test_names_are_bare_prefixed_or_iris():
    found = read(
        {"edge": [(1,)], "e:p": [(1,)], "<http://x/q>": [(1,)]}, prefixes=[("e", "http://e/")]
    )
    assert [each.name for each in found] == ["edge", "<http://e/p>", "<http://x/q>"]
    with pytest.raises(ProgramError):
        read({"no:p": [(1,)]})


def test_facts_without_arguments():
    assert read({"go": [()]}) == {Predicate("go", 0): [()]}
    assert read({"go": []}) == {}


def test_lists_mix_tables_and_paths(tmp_path):
    path = tmp_path / "edge.csv"
    path.write_text("a,b\n")
    named = {"edge": path}
    found = read([{"edge": [("c", "d")]}, path, str(path), named])
    assert found == {Predicate("edge", 2): [("c", "d"), *[("a", "b")] * 3]}


def test_what_is_no_table_is_refused_with_help():
    assert code([(1, 2)]) == "D307"
    assert code({"p": [1, 2]}) == "D307"
    assert code({"p": ["ab"]}) == "D307"
    assert code({"p": [{"a": 1}]}) == "D307"
    assert code({"p": 3}) == "D307"
    assert code({1: [(1,)]}) == "D307"
    assert code({"p": np.array([1, 2])}) == "D307"
    assert code({"p": [(1,), (1, 2)]}) == "D307"
    assert code({"p": [([1],)]}) == "D305"
    assert code({"p": [(1,)]}, arities={"p": {2}}) == "D301"


CLASS = "<http://e/C>"
USED_AS_CLASS = {"arities": {CLASS: {1}}}


@pytest.mark.parametrize("name", [CLASS, f"{CLASS}/2", "e:C/2"])
@pytest.mark.parametrize("table", [[(1, 2)], pa.table({"a": ["x"], "b": ["y"]})])
def test_a_class_can_be_given_as_a_property(name, table):
    [predicate] = read({name: table}, prefixes=[("e", "http://e/")], **USED_AS_CLASS)
    assert predicate == Predicate(CLASS, 2)


def test_the_arity_of_a_name_is_checked():
    assert only([(1,)], arities={"p": {1}}) == [(1,)]
    assert code({"p/2": [(1,)]}, arities={"p": {1}}) == "D301"
    assert code({f"{CLASS}/1": [(1, 2)]}, **USED_AS_CLASS) == "D301"


def test_the_error_for_rows_of_another_width_tells_how_many_arguments_rules_need():
    with pytest.raises(DataError) as caught:
        read({"train": [("Oxford", "Reading", 24)]}, arities={"train": {2}})
    assert caught.value.message == (
        "train has 2 arguments in the program, but the table has 3 columns without names"
    )
    assert caught.value.help == (
        "give rows of 2 values, or write 3 arguments in rules, _ where one is not needed"
    )


def test_the_error_for_a_wide_table_says_how_an_iri_of_that_arity_is_named():
    with pytest.raises(DataError, match="has 1 or 2 arguments") as caught:
        read({CLASS: [(1, 2, 3)]}, **USED_AS_CLASS)
    assert f"{CLASS}/3" in (caught.value.help or "")


def test_a_declaration_is_chosen_by_arity():
    declarations = [
        declare(CLASS, Column("x", "integer")),
        declare(CLASS, Column("x", "integer"), Column("y", "string")),
    ]
    table = pa.table({"x": [1], "y": ["a"]})
    assert list(read({f"{CLASS}/1": table}, declarations=declarations)) == [Predicate(CLASS, 1)]
    assert list(read({f"{CLASS}/2": table}, declarations=declarations)) == [Predicate(CLASS, 2)]


def test_a_spark_frame_says_that_it_is_not_supported_yet():
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    assert code({"p": frame}) == "D308"


def test_large_columns_take_the_fast_path():
    found = terms([(i, str(i)) for i in range(1000)])
    assert found[0][999] == Term(INTEGER, "999")
    assert found[1][999] == Term(STRING, "999")


def test_types_of_polars_that_arrow_has_not():
    frame = pl.DataFrame({"x": [2**100], "y": ["a"]}, schema={"x": pl.Int128, "y": pl.Categorical})
    assert only(frame) == [(2**100, "a")]
    assert only(frame.select("y")) == [("a",)]
    assert code({"p": pl.DataFrame({"x": [[1]]})}) == "D305"


def test_values_that_are_no_constants_name_their_column():
    with pytest.raises(DataError, match="column c1") as caught:
        read({"p": [(1, object())]})
    assert caught.value.path == 'facts["p"]'
    assert code({"p": [("\ud800",)]}).startswith("D")


def test_an_empty_table_of_unknown_width_gives_nothing():
    assert read({"p": pd.DataFrame()}, arities={"p": {2}}) == {}
