"""The reader on Spark, case by case; tests/agreement/test_readers.py compares it on much data."""

from __future__ import annotations

import gzip
import time
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from stratalog.errors import DataError, EngineError
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline import spark_read
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.handover import spool_folder
from stratalog.pipeline.local import ReadOptions
from stratalog.pipeline.objects import encode_facts
from stratalog.pipeline.paths import DataFile
from stratalog.pipeline.spark_ranges import cut_files, open_range
from stratalog.pipeline.spark_read import read_spark
from tests.readers import assert_same, assert_same_terms, fail_both, read_both

pytestmark = pytest.mark.spark

SKIP = ReadOptions(on_bad_input="skip")
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
SIZES = (1 << 20, 2_000, 700)  # bytes of a part: one part, several, many


def triples(count: int) -> str:
    return "".join(
        f'<http://e/s{i % 70}> <http://e/p{i % 7}> "{i % 50:03}"'
        f"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"
        f'<http://e/s{i}> a:x "\\u00e9{i % 9}"@EN .\n'.replace("a:x", "<http://e/q>")
        for i in range(count)
    )


def declared(text: str) -> dict:
    return {"declarations": parse_program(text).declarations}


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return str(path)


def rows_of(found, dictionary, name):
    predicate = next(each for each in found.predicates() if each.name == name)
    columns = [dictionary.decode(column) for column in found.columns(predicate)]
    return [tuple(term.text for term in row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("size", SIZES)
def test_formats_have_the_same_numbers_however_they_are_cut(spark, tmp_path, size):
    write(tmp_path / "a.nt", triples(60))
    write(tmp_path / "b.nq", triples(20).replace(" .\n", " <http://e/g> .\n"))
    write(tmp_path / "c.csv", "".join(f"k{i},v{i % 7}\r\n" for i in range(300)))
    write(tmp_path / "d.tsv", "".join(f'k{i}\t"{i % 7}\n' for i in range(300)))
    write(tmp_path / "e.jsonl", "".join(f'[{i}, "x{i % 5}", {i / 4}]\n' for i in range(200)))
    write(tmp_path / "f.ttl", "@prefix : <http://e/> . _:a :p [ :q 1, 01, 'b' ] .")
    write(tmp_path / "g.csv", "".join(f'"a\n{i}","b""{i % 3}",c\n' for i in range(100)))
    (tmp_path / "h.tsv.gz").write_bytes(gzip.compress(b"x\ty\n" * 500))
    found = read_both(spark, [str(tmp_path)], size)
    assert found.size(Predicate("c", 2)) == 300
    assert found.report.graphs_dropped == 40


def test_a_line_longer_than_a_part_is_read_once(spark, tmp_path):
    lines = ["a" * 5_000, "b", "c" * 9_000, "d"] * 3
    write(tmp_path / "p.tsv", "\n".join(lines))
    assert read_both(spark, [str(tmp_path / "p.tsv")], 1_000).count == len(lines)


def test_a_range_has_the_lines_that_begin_in_it(tmp_path):
    path = write(tmp_path / "p.tsv", "aa\nb\n\ncccc\nd")
    length = Path(path).stat().st_size
    for size in range(1, length + 2):
        cuts = [*range(0, length, size), length]
        parts = []
        for begin, end in pairwise(cuts):
            with open_range(path, begin, end) as stream:
                parts.append(stream.read())
                assert stream.lines == parts[-1].count(b"\n")
        assert b"".join(parts) == Path(path).read_bytes()
        assert all(part.endswith(b"\n") or not part for part in parts[:-1])


def test_quoted_line_ends_are_no_cuts(tmp_path):
    path = write(tmp_path / "p.csv", '"a\n""\nb",c\n' * 40)
    for size in range(5, 60, 7):
        for task in cut_files([DataFile(path, "csv", "p")], size):
            with open_range(path, task.begin, task.end or 0) as stream:
                assert len(stream.read()) % 11 == 0


@pytest.mark.parametrize("size", SIZES)
def test_the_first_mistake_is_told_with_its_line(spark, tmp_path, size):
    good = triples(40)
    nt = write(tmp_path / "a.nt", good + "<http://e/x y> bad .\n" + good + "<worse\n")
    error = fail_both(spark, [nt], size)
    assert (error.code, error.line) == ("D101", 81)
    tsv = write(tmp_path / "p.tsv", "a\tb\n" * 600 + "a\n" + "a\tb\n" * 600 + "x\ty\tz\n")
    assert fail_both(spark, [tsv], size).line == 601
    csv = write(tmp_path / "q.csv", 'a,"b\nc"\n' * 300 + 'a,b"c\n' + "a,b\n" * 300)
    error = fail_both(spark, [csv], size)
    assert (error.code, error.line) == ("D110", 601)
    bad_bytes = tmp_path / "r.csv"
    bad_bytes.write_bytes(b"a,b\n" * 500 + b"\xff,b\n" + b"a,b\n" * 100)
    assert fail_both(spark, [str(bad_bytes)], size).code == "D102"


def test_a_mistake_in_a_value_comes_before_a_later_one_in_a_line(spark, tmp_path):
    lines = ["1\n"] * 500
    lines[100], lines[120] = "x\n", "1\t2\n"
    path = write(tmp_path / "p.tsv", "".join(lines))
    error = fail_both(spark, [path], 300, **declared("@declare p(n integer) ."))
    assert (error.code, error.line) == ("D302", 101)
    json = write(tmp_path / "q.jsonl", "[1]\n" * 50 + '["x"]\n[1\n' + "[1]\n" * 50)
    error = fail_both(spark, [json], 90, **declared("@declare q(n integer) ."))
    assert (error.code, error.line) == ("D302", 51)


@pytest.mark.parametrize("size", SIZES)
def test_skipped_lines_are_reported_in_order(spark, tmp_path, size):
    lines = ["1\t2\n"] * 900
    lines[100], lines[120], lines[700], lines[30] = "x\ty\n", "1\n", "1\t2\t3\n", "1\t\n"
    path = write(tmp_path / "p.tsv", "".join(lines))
    nt = write(tmp_path / "a.nt", triples(30) + "bad\n" + triples(30) + "worse\n")
    csv = write(tmp_path / "q.csv", 'a,b"\n' + 'a,"b\n"\n' * 100 + 'a"\n' + "a,b\n" * 9)
    program = declared("@declare p(n integer, m integer?) .")
    found = read_both(spark, [path, nt, csv], size, options=SKIP, **program)
    assert [bad.line for bad in found.report.samples[:3]] == [101, 121, 701]
    assert found.report.null_rows == 1
    assert found.report.bad_lines == len(found.report.rejected) == 7


def test_headers_and_shapes_hold_for_all_parts(spark, tmp_path):
    write(tmp_path / "sale.csv", "amount,id\n" + "".join(f"{i},k{i}\n" for i in range(300)))
    write(tmp_path / "r.jsonl", "".join(f'{{"c1": {i}, "c0": "a"}}\n' for i in range(200)))
    program = declared("@declare sale(id string, amount integer) .")
    found = read_both(spark, [str(tmp_path)], 500, **program)
    assert {p.arity for p in found.predicates()} == {2}


def test_missing_and_damaged_files_fail_as_locally(spark, tmp_path):
    assert fail_both(spark, [str(tmp_path / "no.nt")], 100).code == "D100"
    assert fail_both(spark, [str(tmp_path / "*.nt")], 100).code == "D100"
    whole = gzip.compress(triples(500).encode())
    (tmp_path / "cut.nt.gz").write_bytes(whole[: len(whole) // 2])
    assert fail_both(spark, [str(tmp_path / "cut.nt.gz")], 100).code == "D104"
    (tmp_path / "p.parquet").write_bytes(b"PAR1 is not enough")
    assert fail_both(spark, [str(tmp_path / "p.parquet")], 5).code == "D104"
    turtle = write(tmp_path / "t.ttl", "<a> <b> .\n")
    assert fail_both(spark, [turtle], 100).code == "D101"
    declared_twice = '<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;">]><r/>'
    assert fail_both(spark, [write(tmp_path / "e.owl", declared_twice)], 100).code == "D111"


def test_parquet_is_cut_by_row_groups(spark, tmp_path):
    table = pa.table({"a": range(1000), "b": [f"v{i % 13}" for i in range(1000)]})
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=100)
    found = read_both(spark, [str(tmp_path / "p.parquet")], 500)
    assert found.size(Predicate("p", 2)) == 1000
    bad = pa.table({"a": [*range(500), None, *range(499)], "b": table["b"]})
    pq.write_table(bad, tmp_path / "q.parquet", row_group_size=100)
    error = fail_both(spark, [str(tmp_path / "q.parquet")], 500)
    assert error.code == "D304"
    assert "in row 501" in error.message


def test_parts_of_a_table_with_different_columns_fail_as_locally(spark, tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1], "b": [2]}), folder / "part-0.parquet")
    pq.write_table(pa.table({"a": [1], "c": ["x"]}), folder / "part-1.parquet")
    assert fail_both(spark, [str(folder)], 100, **declared("@declare p(a term, b term) ."))
    write(tmp_path / "q" / "day=2026-01-31" / "part-0.csv", "a\n")
    found = read_both(spark, [str(tmp_path / "q")], 100)
    assert found.predicates() == [Predicate("q", 2)]


def test_orc_is_read(spark, tmp_path):
    table = pa.table({"a": range(50), "b": [f"v{i % 13}" for i in range(50)]})
    pyarrow.orc.write_table(table, tmp_path / "p.orc")
    one, other = Dictionary(), Dictionary()
    found = read_spark(spark, [str(tmp_path / "p.orc")], dictionary=one)
    expected = encode_facts({"p": table}, dictionary=other)
    assert_same_terms(one, other)
    assert found.size(Predicate("p", 2)) == expected.size(Predicate("p", 2)) == 50


def test_frames_and_tables_of_spark_are_read_like_arrow_tables(spark):
    table = pa.table(
        {
            "id": [f"k{i % 40}" for i in range(100)],
            "buyer": [{"id": i, "x": None} for i in range(100)],
            "amount": pa.array([i / 8 for i in range(100)]),
        }
    )
    program = declared('@declare sale(amount double, id string, who integer = "buyer.id") .')
    frame = spark.createDataFrame(table).coalesce(1)
    one, other = Dictionary(), Dictionary()
    found = read_spark(spark, [("sale", frame)], dictionary=one, **program)
    expected = encode_facts({"sale": table}, dictionary=other, **program)
    found.report.bytes = expected.report.bytes
    assert_same_terms(one, other)
    assert_same(found, expected)
    frame.createOrReplaceTempView("sales_view")
    again = read_spark(spark, ["sale=sales_view"], dictionary=Dictionary(), **program)
    assert again.size(Predicate("sale", 3)) == 100


def test_a_null_in_a_frame_is_told_by_its_row(spark):
    frame = spark.range(0, 90, 1, 3).selectExpr("if(id = 75, null, id) as n")
    dictionary = Dictionary()
    with pytest.raises(DataError, match=r"D304: column n in row 76 is null") as caught:
        read_spark(spark, [("p", frame)], dictionary=dictionary)
    assert caught.value.path == 'facts["p"]'
    assert not len(dictionary)
    found = read_spark(spark, [("p", frame)], dictionary=dictionary, options=SKIP)
    assert found.report.samples[0].reason == "column n in row 76 is null"
    assert found.count == 89


def test_garbled_texts_are_told_by_their_rows_or_skipped(spark, tmp_path):
    texts = pa.array([b"a", b"\x88\xff", b"c"]).view(pa.string())
    pa.orc.write_table(pa.table({"s": texts, "t": ["x", "y", "z"]}), tmp_path / "a.orc")
    frame = spark.sql("SELECT 'a' AS s UNION ALL SELECT CAST(X'88FF' AS STRING)").coalesce(1)
    for given in (str(tmp_path / "a.orc"), ("b", frame)):
        with pytest.raises(DataError, match="row 2 is not valid UTF-8") as caught:
            read_spark(spark, [given], dictionary=Dictionary())
        assert caught.value.code == "D102"
        found = read_spark(spark, [given], dictionary=Dictionary(), options=SKIP)
        assert found.report.bad_lines == 1


def test_odd_names_of_columns_are_no_obstacle(spark):
    frame = spark.range(3).selectExpr("id as `a.b`", "id + 1 as `x y`")
    found = read_spark(
        spark, [("p", frame)], dictionary=Dictionary(), **declared('@declare p(n term = "a.b") .')
    )
    assert found.predicates() == [Predicate("p", 1)]
    twice = spark.range(3).selectExpr("id as a", "id as a")
    assert read_spark(spark, [("p", twice)], dictionary=Dictionary()).count == 3
    with pytest.raises(DataError, match="D301: there are 2 columns named a"):
        read_spark(
            spark, [("p", twice)], dictionary=Dictionary(), **declared("@declare p(a term) .")
        )
    nothing = spark.range(3).select()
    assert read_spark(spark, [("p", nothing)], dictionary=Dictionary()).size(Predicate("p", 0)) == 3


def test_a_frame_that_fails_is_an_engine_error(spark):
    frame = spark.range(3).selectExpr("raise_error('boom') as n")
    with pytest.raises(Exception, match="E204"):
        read_spark(spark, [("p", frame)], dictionary=Dictionary())


def test_columns_that_are_no_constants_are_refused(spark):
    frame = spark.range(3).selectExpr("array(id) as n")
    with pytest.raises(DataError, match="D305"):
        read_spark(spark, [("p", frame)], dictionary=Dictionary())
    with pytest.raises(DataError, match="D307"):
        read_spark(spark, [frame], dictionary=Dictionary())


def test_large_results_come_in_pieces(spark, tmp_path, monkeypatch):
    """A task's memory does not grow with its file: it hands back pieces and begins anew."""
    monkeypatch.setattr("stratalog.pipeline.spark_tasks.MOST_CELLS", 1)
    spelled = [f'<http://e/{i % 9}> <http://e/p> "{i % 99:04}"^^<{INTEGER}> .' for i in range(9999)]
    (tmp_path / "a.nt.gz").write_bytes(gzip.compress("\n".join(spelled * 20).encode()))
    many = "[] :p 1, 01, [ :q _:a, 007 ] .\n" * 20_000
    write(tmp_path / "b.ttl", "@prefix : <http://e/> .\n" + many)
    write(tmp_path / "c.tsv", "".join(f"{i}\t{i % 7}\n" for i in range(9_999)))
    counted = []
    gathered = spark_read.add_piece
    monkeypatch.setattr(spark_read, "add_piece", lambda *args: (counted.append(1), gathered(*args)))
    read_both(spark, [str(tmp_path)], 1 << 30)
    assert len(counted) > 6


def test_progress_tells_bytes_up_to_the_whole(spark, tmp_path):
    write(tmp_path / "p.tsv", "a\n" * 5000)
    told = []
    options = ReadOptions(progress=lambda *each: told.append(each))
    read_spark(spark, [tmp_path / "p.tsv"], dictionary=Dictionary(), options=options)
    assert told[-1][1:] == (10_000, 10_000)
    assert [each[1] for each in told] == sorted(each[1] for each in told)


def test_relative_paths_are_those_of_the_driver(spark, tmp_path, monkeypatch):
    write(tmp_path / "a.nt", triples(30))
    write(tmp_path / "b.ttl", "<x> <y> [] .")
    monkeypatch.chdir(tmp_path)
    read_both(spark, ["a.nt", "b.ttl"], 1_000)


def test_pieces_can_come_through_spark_instead_of_a_shared_folder(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("stratalog.pipeline.spark_jobs.spool_folder", lambda _: None)
    write(tmp_path / "a.nt", triples(300))
    write(tmp_path / "p.csv", "a,b\n" * 300)
    read_both(spark, [str(tmp_path)], 5_000)


def test_an_interrupt_cancels_the_job_and_changes_nothing(spark):
    def interrupt(*_):
        raise KeyboardInterrupt

    frame = spark.range(0, 2, 1, 2).selectExpr("java_method('java.lang.Thread', 'sleep', 60000L)")
    dictionary = Dictionary()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        read_spark(
            spark,
            [("p", frame)],
            dictionary=dictionary,
            options=ReadOptions(progress=interrupt),
        )
    assert time.monotonic() - begun < 30
    assert not len(dictionary)
    shared = spool_folder(spark)
    assert shared is not None
    assert not list(shared.glob("read-*"))


def test_other_sessions_are_refused(tmp_path):
    with pytest.raises(EngineError, match="E120"):
        read_spark("session", [tmp_path], dictionary=Dictionary())


@pytest.fixture
def mounted(spark, tmp_path):
    """The folder of a test under the name of another file system."""
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.impl.disable.cache", "true")
    settings.set("fs.viewfs.mounttable.far.link./data", tmp_path.as_uri())
    return "viewfs://far/data"


def test_remote_files_are_read_like_local_ones(spark, tmp_path, mounted):
    write(tmp_path / "a b.nt", triples(60))
    write(tmp_path / "c.csv", "".join(f'k{i},"v\n{i % 7}"\n' for i in range(300)))
    write(tmp_path / "d.tsv", "n\n" + "".join(f"{i}\n" for i in range(300)))
    write(tmp_path / "f.ttl", "@prefix : <http://e/> . :a :p 1, 01, 'b' .")
    pq.write_table(pa.table({"x": range(9)}), tmp_path / "g.parquet")
    (tmp_path / "h.nt.gz").write_bytes(gzip.compress(triples(50).encode()))
    program = declared("@declare d(n integer) .")
    one, other = Dictionary(), Dictionary()
    here = read_spark(spark, [str(tmp_path)], dictionary=one, **program)
    for size in ("128m", "1k"):
        spark.conf.set("spark.sql.files.maxPartitionBytes", size)
        other = Dictionary()
        there = read_spark(spark, [mounted], dictionary=other, **program)
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        assert_same_terms(one, other)
        there.report.bytes = here.report.bytes
        assert_same(here, there)


def test_remote_mistakes_have_their_lines(spark, tmp_path, mounted):
    write(tmp_path / "a.nt", triples(60) + "bad\n" + triples(60))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1k")
    with pytest.raises(DataError) as caught:
        read_spark(spark, [f"{mounted}/a.nt"], dictionary=Dictionary())
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert (caught.value.code, caught.value.line) == ("D101", 121)
    with pytest.raises(DataError, match="D100"):
        read_spark(spark, [f"{mounted}/none.nt"], dictionary=Dictionary())
