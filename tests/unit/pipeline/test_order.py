"""Numbers do not tell where the reader's blocks begin."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stratalog.lang.parse import parse_program
from stratalog.lang.terms import IRI_KIND, STRING, Term
from stratalog.pipeline import delimited, json_lines, ntriples, rdf, table_files
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.local import read_paths
from stratalog.pipeline.order import columns_by_row, intern_rows, number_by_row
from tests.readers import assert_same, assert_same_terms

INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
PROGRAM = parse_program("@declare q(a integer, b string, c term?) .")


def test_terms_are_numbered_row_by_row_and_unused_ones_forgotten():
    dictionary = Dictionary()
    dictionary.encode([Term(STRING, "old")])
    ids = dictionary.encode([Term(IRI_KIND, text) for text in ("unused", "second", "first")])
    rows = np.array([[ids[2], 0], [ids[1], ids[2]]], np.uint32)
    numbers = number_by_row(dictionary, 1, rows)
    assert rows.tolist() == [[1, 0], [2, 1]]
    assert numbers is not None
    assert numbers[1:].tolist() == [2, 1]
    assert [term.text for term in dictionary.decode(range(3))] == ["old", "first", "second"]
    assert len(dictionary) == 3


def test_nothing_changes_where_the_order_is_right():
    dictionary = Dictionary()
    column = dictionary.encode([Term(STRING, text) for text in "abca"])
    assert columns_by_row(dictionary, 0, [column])[0] is column
    assert number_by_row(dictionary, 3, column.reshape(-1, 1)) is None


def test_texts_are_interned_row_by_row_from_any_kind_of_array():
    dictionary = Dictionary()
    wide = pa.array(["skipped", "a", "", "é"], pa.large_string()).slice(1)
    narrow = pa.array(["b", "a", ""], pa.string())
    columns = intern_rows(dictionary, [wide, narrow])
    assert [column.tolist() for column in columns] == [[0, 2, 3], [1, 0, 2]]
    assert dictionary.texts(range(4)).to_pylist() == ["a", "b", "", "é"]
    empty = pa.array([], pa.string())
    assert [c.size for c in intern_rows(dictionary, [empty, empty])] == [0, 0]


@pytest.mark.parametrize("small", [1, 7, 50])
def test_the_sizes_of_blocks_leave_no_trace(tmp_path, monkeypatch, small):
    spelled = (f'<a:{i % 9}> <b:> "{i % 19:04}"^^<{INTEGER}> .\n' for i in range(300))
    odd = (f'<a:\\u006{i % 9 + 1}> <b:c> "x"@EN .\n"s" <b:> _:{i} .\n' for i in range(100))
    mixed = [line for pair in zip(spelled, [*odd] * 3, strict=True) for line in pair]
    (tmp_path / "a.nt").write_text("".join(mixed))
    (tmp_path / "b.ttl").write_text("@prefix : <b:> .\n" + "[] :p 1, 01, _:x .\n" * 200)
    (tmp_path / "p.csv").write_text("".join(f'{i},"x\n{i % 9}"\n' for i in range(300)))
    (tmp_path / "q.tsv").write_text("".join(f"{i:04}\t{i % 9}\t<a:{i}>\n" for i in range(300)))
    (tmp_path / "r.jsonl").write_text("".join(f'[{i}, "{i % 9}"]\n' for i in range(300)))
    table = pa.table({"a": range(300), "b": [str(i % 9) for i in range(300)]})
    pq.write_table(table, tmp_path / "s.parquet")
    one, other = Dictionary(), Dictionary()
    whole = read_paths([tmp_path], dictionary=one, declarations=PROGRAM.declarations)
    monkeypatch.setattr(ntriples, "ROWS_PER_CALL", small)
    monkeypatch.setattr(rdf, "BYTES_PER_CALL", 10 * small)
    monkeypatch.setattr(rdf, "QUADS_LOOKED_AT", small)
    monkeypatch.setattr(delimited, "BLOCK", 10 * small)
    monkeypatch.setattr(json_lines, "CHUNK", 10 * small)
    monkeypatch.setattr(table_files, "PARQUET_ROWS", small)
    cut = read_paths([tmp_path], dictionary=other, declarations=PROGRAM.declarations)
    assert_same_terms(one, other)
    assert_same(whole, cut)
