"""Files, folders and globs to facts."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stratalog.errors import DataError
from stratalog.lang.syntax import Column, Declaration, Predicate
from stratalog.lang.values.terms import IRI
from stratalog.pipeline.decode import rows
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.local import ReadOptions, read_paths

DEBIAN = Path(__file__).parents[4] / "shared" / "data" / "debian"


def declare(name, *columns):
    return Declaration(Predicate(name, len(columns)), columns)


def read(*items, **known):
    """Return the rows of each predicate's name."""
    dictionary = Dictionary()
    found = read_paths(items, dictionary=dictionary, **known)
    return {each.name: list(rows(columns, size, dictionary)) for each, columns, size in found}


def code(*items, **known):
    with pytest.raises(DataError) as caught:
        read(*items, **known)
    assert caught.value.path
    assert caught.value.help
    return caught.value.code


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_table_feeds_the_predicate_of_its_name(tmp_path):
    (tmp_path / "depends.tsv.gz").write_bytes(gzip.compress(b"a\tb\n"))
    (tmp_path / "edge.v2.csv.bz2").write_bytes(bz2.compress(b"1,2\n"))
    write(tmp_path / "near.facts", "x\ty\n")
    write(tmp_path / "n.jsonl", "[1]\n")
    pq.write_table(pa.table({"x": [1.5]}), tmp_path / "w.parquet")
    assert read(tmp_path) == {
        "depends": [("a", "b")],
        "edge": [("1", "2")],
        "near": [("x", "y")],
        "n": [(1,)],
        "w": [(1.5,)],
    }


def test_name_and_path(tmp_path):
    path = write(tmp_path / "2024=x.csv", "a,b\n")
    assert read(f"edge={path}") == {"edge": [("a", "b")]}
    assert read(f"<http://e/p?a=b>={path}") == {"<http://e/p?a=b>": [("a", "b")]}
    assert read(f"e:p={path}", prefixes=[("e", "http://e/")]) == {"<http://e/p>": [("a", "b")]}
    assert code(path) == "D108"


def test_globs(tmp_path):
    write(tmp_path / "a.csv", "1\n")
    write(tmp_path / "b.csv", "2\n")
    assert read(str(tmp_path / "*.csv")) == {"a": [("1",)], "b": [("2",)]}
    assert read(f"p={tmp_path}/*.csv") == {"p": [("1",), ("2",)]}
    assert code(str(tmp_path / "*.tsv")) == "D100"


def test_a_folder_of_parts_is_one_table(tmp_path):
    folder = tmp_path / "edge.csv"
    write(folder / "part-00001.csv", "c,d\n")
    write(folder / "part-00000.csv", "a,b\n")
    write(folder / "_SUCCESS", "")
    write(folder / ".part-00000.csv.crc", "")
    assert read(folder) == {"edge": [("a", "b"), ("c", "d")]}
    write(tmp_path / "node.tsv" / "part-00000", "a\n")
    assert read(tmp_path) == {"edge": [("a", "b"), ("c", "d")], "node": [("a",)]}


def test_folders_of_keys_and_values_are_columns(tmp_path):
    for day, name in (("2026-01-01", "a"), ("__HIVE_DEFAULT_PARTITION__", "b")):
        folder = tmp_path / "sale" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": [name], "n": [1]}), folder / "part-0.parquet")
    columns = (Column("day", "date", nullable=True), Column("id", "string"))
    assert read(tmp_path / "sale", declarations=[declare("sale", *columns)]) == {
        "sale": [(dt.date(2026, 1, 1), "a")]
    }


def test_text_in_folders_of_keys_and_values(tmp_path):
    write(tmp_path / "p" / "k=x%20y" / "part-0.csv", "a\n")
    write(tmp_path / "p" / "k=z" / "part-0.jsonl", '["b"]\n')
    assert read(tmp_path / "p") == {"p": [("a", "x y"), ("b", "z")]}
    columns = (Column("k", "string"), Column("id", "string"))
    assert read(tmp_path / "p", declarations=[declare("p", *columns)])["p"][0] == ("x y", "a")


def test_unknown_files_in_a_folder_are_passed_over_with_a_warning(tmp_path):
    write(tmp_path / "a.csv", "1\n")
    write(tmp_path / "notes.md", "text")
    write(tmp_path / "deep" / "b.csv", "2\n")
    found = read_paths([tmp_path], dictionary=Dictionary())
    assert [each.name for each in found.predicates()] == ["a"]
    assert [warning.code for warning in found.warnings] == ["W320", "W320"]
    assert [Path(warning.path).name for warning in found.warnings] == ["deep", "notes.md"]


def test_what_cannot_be_read_is_named(tmp_path):
    assert code(tmp_path / "none.csv") == "D100"
    assert code(write(tmp_path / "a.md", "")) == "D106"
    assert code(write(tmp_path / "a.orc", "")) == "D106"
    assert code("s3://bucket/a.parquet") == "D106"
    assert code("p=hdfs://host/a.parquet") == "D106"
    assert code(write(tmp_path / "broken.parquet", "PAR1 not really")) == "D104"
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"a,b\n" * 10_000)[:-20])
    assert code(tmp_path / "cut.csv.gz") == "D104"


def test_a_truncated_parquet_file_is_named(tmp_path):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"x": list(range(10_000))}), path)
    path.write_bytes(path.read_bytes()[:-100])
    assert code(path) == "D104"


def test_parquet_rows_are_counted_over_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("stratalog.pipeline.table_files.PARQUET_ROWS", 10)
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"x": [*range(25), None]}), path)
    with pytest.raises(DataError, match="row 26 is null"):
        read(path)


def test_an_error_in_text_has_path_and_line(tmp_path):
    path = write(tmp_path / "p.tsv", "a\tb\nc\n")
    with pytest.raises(DataError) as caught:
        read(path)
    assert (caught.value.code, caught.value.path, caught.value.line) == ("D105", str(path), 2)
    found = read(path, options=ReadOptions(on_bad_input="skip"))
    assert found == {"p": [("a", "b")]}


def test_rdf_names_its_own_predicates_or_is_a_table_of_triples(tmp_path):
    path = write(
        tmp_path / "d.nt",
        "<a:s> <a:p> <a:o> .\n<a:s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <a:C> .\n",
    )
    assert read(path) == {"<a:p>": [(IRI("a:s"), IRI("a:o"))], "<a:C>": [(IRI("a:s"),)]}
    triples = read(f"triple={path}")["triple"]
    assert (IRI("a:s"), IRI("a:p"), IRI("a:o")) in triples
    assert len(triples) == 2


def test_progress_ends_at_the_total(tmp_path):
    write(tmp_path / "a.csv", "1\n")
    write(tmp_path / "b.csv", "22\n")
    told = []
    read(tmp_path, options=ReadOptions(progress=lambda *step: told.append(step)))
    assert told[-1][1:] == (5, 5)


def test_the_report_counts_rows_and_bytes(tmp_path):
    write(tmp_path / "a.csv", "1\n1\n")
    found = read_paths([tmp_path], dictionary=Dictionary())
    assert (found.report.rows, found.report.bytes, found.count) == (2, 4, 2)
    assert found.origin(Predicate("a", 1)) == "text"


@pytest.mark.skipif(not DEBIAN.exists(), reason="needs ../shared/data/debian")
def test_the_debian_tables_have_the_documented_sizes():
    found = read_paths([DEBIAN], dictionary=Dictionary())
    sizes = {each.name: size for each, _, size in found}
    assert sizes["depends"] == 267_919
    assert sizes["essential"] == 23
    assert found.count == 559_201
    assert sizes["section"] == sizes["source"] == sizes["package"] == 63_436
