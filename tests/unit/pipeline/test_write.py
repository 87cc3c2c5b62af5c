"""Tables and facts to text and files."""

from __future__ import annotations

import gzip
import io
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.errors import DataError
from stratalog.lang.syntax import TRIPLE, Column, Declaration, Predicate
from stratalog.lang.terms import RDF_TYPE
from stratalog.lang.values.terms import IRI, Literal
from stratalog.pipeline.decode import decode_table, empty_rows, rows
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.local import read_paths
from stratalog.pipeline.objects import encode_facts
from stratalog.pipeline.write import write_ntriples, write_rows


def written(table, data_format, **options):
    sink = io.BytesIO()
    write_rows([("p", table)], data_format, sink, **options)
    return sink.getvalue().decode()


def test_csv_quotes_only_what_must_be():
    table = pa.table({"x": ["a", 'b"c', "d,e", "f\ng", ""], "n": [1, 2, 3, 4, 5]})
    assert written(table, "csv") == 'a,1\n"b""c",2\n"d,e",3\n"f\ng",4\n"",5\n'


def test_tsv_refuses_what_it_cannot_hold():
    assert written(pa.table({"x": ['a"'], "y": ["b"]}), "tsv") == 'a"\tb\n'
    for text in ("a\tb", "a\nb", "a\r"):
        with pytest.raises(DataError, match="csv") as caught:
            written(pa.table({"x": ["ok", text]}), "tsv")
        assert caught.value.code == "D311"


def test_jsonl_is_json():
    table = pa.table(
        {
            "s": ['q"\\\n\x01é', "b"],
            "i": [1, 2],
            "d": pa.array([Decimal("1.50"), Decimal(2)], pa.decimal128(10, 2)),
            "f": [1.5, float("inf")],
            "b": [True, None],
        }
    )
    first, second = map(json.loads, written(table, "jsonl").splitlines())
    assert first == {"s": 'q"\\\n\x01é', "i": 1, "d": 1.5, "f": 1.5, "b": True}
    assert second == {"s": "b", "i": 2, "d": 2.0, "f": "INF", "b": None}


def test_headers_names_and_order():
    table = pa.table({"x": ["b", "a", "é", "z"]})
    assert written(table, "csv", header=True) == "x\nb\na\né\nz\n"
    assert written(table, "tsv", named=True, in_order=True) == "p\ta\np\tb\np\tz\np\té\n"
    assert written(pa.table({"x": [1]}), "jsonl", named=True) == '{"_predicate":"p","x":1}\n'


def test_facts_without_arguments():
    assert written(empty_rows(1), "csv") == "()\n"
    assert written(empty_rows(1), "jsonl") == "{}\n"
    with pytest.raises(DataError) as caught:
        written(empty_rows(1), "parquet")
    assert caught.value.code == "D312"


def test_empty_tables_write_nothing():
    table = pa.table({"x": pa.array([], pa.string())})
    assert [written(table, each) for each in ("csv", "tsv", "jsonl")] == ["", "", ""]


def test_files_are_whole_or_absent(tmp_path):
    path = tmp_path / "p.tsv.gz"
    write_rows([("p", pa.table({"x": ["a"]}))], "tsv", path)
    assert gzip.decompress(path.read_bytes()) == b"a\n"
    with pytest.raises(DataError):
        write_rows([("p", pa.table({"x": ["\t"]}))], "tsv", tmp_path / "q.tsv")
    assert [each.name for each in tmp_path.iterdir()] == ["p.tsv.gz"]
    with pytest.raises(DataError) as caught:
        write_rows([("p", pa.table({"x": ["a"]}))], "csv", tmp_path / "none" / "q.csv")
    assert caught.value.code == "D313"


def test_text_streams_are_written_too():
    sink = io.StringIO()
    assert write_rows([("p", pa.table({"x": ["é"]}))], "csv", sink) == 1
    assert sink.getvalue() == "é\n"


def test_parquet_needs_one_table(tmp_path):
    table = pa.table({"x": [1, 2]})
    write_rows([("p", table)], "parquet", tmp_path / "p.parquet")
    assert pq.read_table(tmp_path / "p.parquet").equals(table)
    with pytest.raises(DataError) as caught:
        write_rows([("p", table), ("q", table)], "parquet", tmp_path / "p.parquet")
    assert caught.value.code == "D312"


def ntriples(facts, **options):
    dictionary = Dictionary()
    found = encode_facts(facts, dictionary=dictionary)
    sink = io.BytesIO()
    done = write_ntriples(iter(found), dictionary, sink, **options)
    return sink.getvalue().decode(), done


def test_facts_named_by_iris_are_triples():
    facts = {
        "<http://C>": [(IRI("http://x"),)],
        "<http://p>": [(IRI("http://x"), "é\n"), (1, Literal("a", lang="en"))],
        "bare": [(1, 2)],
        "<http://g>": [(1, 2, 3)],
    }
    text, done = ntriples(facts)
    assert text.splitlines() == [
        f"<http://x> <{RDF_TYPE.text}> <http://C> .",
        '<http://x> <http://p> "é\\n" .',
        '"1"^^<http://www.w3.org/2001/XMLSchema#integer> <http://p> "a"@en .',
    ]
    assert done.facts == 3
    assert done.skipped == {Predicate("bare", 2): 1, Predicate("<http://g>", 3): 1}


def test_sorted_triples_are_in_byte_order():
    facts = {
        "<http://q>": [("z", "é"), ("z", "a")],
        "<http://p>": [("\U0001f600", "b"), ("\uffff", "b")],
    }
    text, _ = ntriples(facts, in_order=True)
    lines = text.encode().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 4


def test_the_virtual_triple_relation_is_written_as_it_is():
    dictionary = Dictionary()
    found = encode_facts({"t": [(IRI("a"), IRI("b"), "c")]}, dictionary=dictionary)
    sink = io.BytesIO()
    write_ntriples([(TRIPLE, found.columns(Predicate("t", 3)), 1)], dictionary, sink)
    assert sink.getvalue() == b'<a> <b> "c" .\n'


TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=6)
ODD = st.text(alphabet="\",\r\n\t '\\é\ufeff()a", max_size=4)
CELL = TEXT | ODD


def read_again(path, facts_arity, types=None):
    dictionary = Dictionary()
    declared = [Column(f"col{i}", each) for i, each in enumerate(types or ())]
    declarations = [Declaration(Predicate("p", facts_arity), tuple(declared))] if types else []
    found = read_paths(
        [path], dictionary=dictionary, arities={"p": {facts_arity}}, declarations=declarations
    )
    predicate = Predicate("p", facts_arity)
    return list(rows(found.columns(predicate), found.size(predicate), dictionary))


@settings(max_examples=80, deadline=None)
@given(
    data=st.data(), width=st.integers(1, 3), data_format=st.sampled_from(["csv", "tsv", "jsonl"])
)
def test_strings_read_back_are_the_same_facts(tmp_path_factory, data, width, data_format):
    facts = data.draw(st.lists(st.tuples(*[CELL] * width), max_size=6))
    dictionary = Dictionary()
    found = encode_facts({"p": facts}, dictionary=dictionary)
    predicate = Predicate("p", width)
    table = decode_table(found.columns(predicate), found.size(predicate), dictionary)
    path = tmp_path_factory.mktemp("w") / f"p.{data_format}"
    if data_format == "tsv" and any(set(cell) & set("\t\r\n") for row in facts for cell in row):
        with pytest.raises(DataError):
            write_rows([("p", table)], data_format, path)
        return
    write_rows([("p", table)], data_format, path)
    assert read_again(path, width) == facts


NUMBERS = st.tuples(
    st.integers(-(2**70), 2**70),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
    st.floats(allow_nan=False),
    st.booleans(),
    st.datetimes(),
    st.dates(),
)


@settings(max_examples=40, deadline=None)
@given(
    facts=st.lists(NUMBERS, min_size=1, max_size=4),
    data_format=st.sampled_from(["csv", "tsv", "jsonl", "parquet"]),
)
def test_typed_values_read_back_are_the_same_facts(tmp_path_factory, facts, data_format):
    types = ["integer", "decimal", "double", "boolean", "dateTime", "date"]
    dictionary = Dictionary()
    found = encode_facts({"p": facts}, dictionary=dictionary)
    columns = tuple(Column(f"col{i}", each) for i, each in enumerate(types))
    predicate = Predicate("p", len(types))
    table = decode_table(
        found.columns(predicate), len(facts), dictionary, Declaration(predicate, columns)
    )
    path = tmp_path_factory.mktemp("w") / f"p.{data_format}"
    write_rows([("p", table)], data_format, path)
    assert read_again(path, len(types), types) == facts


def test_terms_in_parquet_read_back_are_the_same_facts(tmp_path):
    facts = [(IRI("http://a"), 1), (Literal("x", lang="en"), "y")]
    dictionary = Dictionary()
    found = encode_facts({"p": facts}, dictionary=dictionary)
    table = decode_table(found.columns(Predicate("p", 2)), 2, dictionary)
    write_rows([("p", table)], "parquet", tmp_path / "p.parquet")
    assert read_again(tmp_path / "p.parquet", 2) == facts
