"""Numbers of more than `max_digits` digits are bad input like any other, in every format."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stratalog.errors import DataError
from stratalog.lang.parse import parse_program
from stratalog.pipeline import ntriples
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.local import ReadOptions, read_paths
from stratalog.pipeline.objects import encode_facts
from stratalog.pipeline.spark_read import read_spark
from tests.readers import assert_same, assert_same_terms

XSD = "http://www.w3.org/2001/XMLSchema#"
LONG, FITS = "7" * 31, "7" * 30
MOST = 30
SKIP = ReadOptions(on_bad_input="skip")
N_TRIPLES = [
    '<http://e/a> <http://e/p> "x\\n\\u00e9" .',
    f'<http://e/b> <http://e/q> "\\u0037{LONG}"^^<{XSD}integer> .\r',
    "<bad",
    f'<http://e/c> <http://e/p> "0{FITS}"^^<{XSD}integer> .',
    f'"{LONG}"^^<{XSD}integer> <http://e/p> "1"^^<{XSD}integer> .',
    f'_:x <http://e/p> "{FITS}"^^<{XSD}decimal> .',  # 777.0 has a digit more
    f'<http://e/a> <http://e/p> "{LONG}"^^<{XSD}integer> .  # again',
    f'_:x <http://e/r> "{LONG}"^^<{XSD}double> .',
    f'_:x <http://e/r> "{LONG}" .',
    f'_:x <http://e/r> "-{LONG}"^^<{XSD}negativeInteger> .',
]
BAD_LINES = [2, 3, 5, 6, 7, 10]
TABLE = [("1", "a"), (LONG, "b"), ("-" + FITS, "c"), (f"-{LONG}", "d")]


def limited() -> Dictionary:
    dictionary = Dictionary()
    dictionary.max_digits = MOST
    return dictionary


def read(path, program: str = "", options: ReadOptions | None = None):
    """Return the facts of a file, their dictionary and the report."""
    dictionary, report = limited(), ReadReport()
    declarations = parse_program(program).declarations
    found = read_paths(
        [str(path)],
        dictionary=dictionary,
        declarations=declarations,
        report=report,
        options=options,
    )
    return found, dictionary, report


def objects(found, dictionary) -> set[str]:
    columns = [found.columns(each)[-1] for each in found.predicates()]
    return {term.text for column in columns for term in dictionary.decode(column)}


def write(path, lines: list[str]):
    path.write_bytes("\n".join(lines).encode())
    return path


@pytest.mark.parametrize("name", ["x.nt", "x.nq"])
def test_the_line_of_a_long_number_is_told(tmp_path, name: str) -> None:
    path = write(tmp_path / name, N_TRIPLES[:2])
    with pytest.raises(DataError, match="a number of 32 digits") as caught:
        read(path)
    assert (caught.value.code, caught.value.path, caught.value.line) == ("D302", str(path), 2)
    assert caught.value.source == N_TRIPLES[1].rstrip("\r")
    assert "max_digits" in str(caught.value.help)


@pytest.mark.parametrize("rows", [1, 2, 1 << 17])
def test_lines_with_long_numbers_are_skipped_counted_and_kept(tmp_path, rows, monkeypatch) -> None:
    monkeypatch.setattr(ntriples, "ROWS_PER_CALL", rows)
    found, dictionary, report = read(write(tmp_path / "x.nt", N_TRIPLES), options=SKIP)
    assert [line for _, line, _ in report.rejected] == BAD_LINES
    assert [text for *_, text in report.rejected] == [
        N_TRIPLES[line - 1].rstrip("\r") for line in BAD_LINES
    ]
    assert report.samples[0].reason.startswith("a number of 32 digits")
    assert objects(found, dictionary) == {"x\né", FITS, "7.777777777777777E30", LONG}
    assert (found.count, report.bad_lines) == (4, 6)


def test_what_a_skipped_line_holds_gets_no_number_and_leaves_no_trace(tmp_path) -> None:
    long = N_TRIPLES[1]
    with_bad = [long, N_TRIPLES[0], *[long] * 3, N_TRIPLES[3]]
    _, one, _ = read(write(tmp_path / "x.nt", with_bad), options=SKIP)
    _, other, _ = read(write(tmp_path / "y.nt", [N_TRIPLES[0], N_TRIPLES[3]]))
    assert_same_terms(one, other)


def test_graphs_of_skipped_lines_are_not_counted_as_dropped(tmp_path) -> None:
    lines = [line.rstrip(" .\r") + " <http://e/g> ." for line in N_TRIPLES[:2]]
    _, _, report = read(write(tmp_path / "x.nq", lines), options=SKIP)
    assert (report.graphs_dropped, report.bad_lines) == (1, 1)
    keep = ReadOptions(on_bad_input="skip", graphs="keep")
    found, _, _ = read(tmp_path / "x.nq", options=keep)
    assert [each.name for each in found.predicates()] == ["<http://e/g>"]


DOCUMENTS = {
    "ttl": f"@prefix : <http://e/> .\n_:a :p 1, {LONG} .\n_:b :p {LONG} . _:b :p 2, {FITS} .",
    "trig": f"@prefix : <http://e/> . :g {{ _:a :p 1, {LONG}, {LONG}.5 . _:b :p 2, {FITS} }}",
    "rdf": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/">'
    + "".join(
        f'<r:Description><p r:datatype="{XSD}integer">{number}</p></r:Description>\n'
        for number in ("1", LONG, "2", LONG, FITS)
    )
    + "</r:RDF>",
}


@pytest.mark.parametrize("data_format", DOCUMENTS)
def test_documents_lose_the_statements_of_long_numbers_alone(tmp_path, data_format: str) -> None:
    path = write(tmp_path / f"x.{data_format}", [DOCUMENTS[data_format]])
    with pytest.raises(DataError, match="a number of 31 digits") as caught:
        read(path)
    assert (caught.value.code, caught.value.path) == ("D302", str(path))
    assert LONG in str(caught.value.source)  # the statement; where it stands the parser hides
    found, dictionary, report = read(path, options=SKIP)
    assert objects(found, dictionary) == {"1", "2", FITS}
    assert report.bad_lines == 2
    assert all(LONG in text for *_, text in report.rejected)


def table_file(path, rows):
    """Write rows of texts in the format that the path's name tells."""
    match path.suffix:
        case ".parquet":
            columns = list(zip(*rows, strict=True))
            pq.write_table(pa.table({"n": columns[0], "s": columns[1]}), path)
        case ".jsonl":
            write(path, [f"[{number}, {json.dumps(text)}]" for number, text in rows])
        case ".csv":
            write(path, [",".join(row) for row in rows])
        case _:
            write(path, ["\t".join(row) for row in rows])
    return path


@pytest.mark.parametrize("times", [1, 300])
@pytest.mark.parametrize("name", ["q.csv", "q.tsv", "q.jsonl", "q.parquet"])
def test_rows_of_tables_with_long_numbers_are_told_or_skipped(tmp_path, name, times) -> None:
    path = table_file(tmp_path / name, TABLE * times)
    for kind in ("integer", "decimal"):
        program = f"@declare q(n {kind}, s string) ."
        with pytest.raises(DataError, match=r"column n.* is a number of too many digits") as caught:
            read(path, program)
        error = caught.value
        assert (error.code, error.path) == ("D302", str(path))
        assert error.line == 2 or "in row 2 is" in error.message
        found, dictionary, report = read(path, program, SKIP)
        kept = {"a", "c"} if kind == "integer" else {"a"}
        assert objects(found, dictionary) == kept
        assert report.bad_lines == len(report.rejected) == times * (4 - len(kept))
        assert not dictionary.long_numbers(0).size


def test_numbers_spelled_in_a_column_of_terms_are_told_by_their_rows(tmp_path) -> None:
    spelled = [(f'"{n}"^^<{XSD}integer>', text) for n, text in TABLE]
    path = table_file(tmp_path / "q.tsv", spelled)
    program = "@declare q(n term, s string) ."
    with pytest.raises(DataError, match="too many digits") as caught:
        read(path, program)
    assert (caught.value.code, caught.value.line) == ("D302", 2)
    found, dictionary, report = read(path, program, SKIP)
    assert objects(found, dictionary) == {"a", "c"}
    assert [line for _, line, _ in report.rejected] == [2, 4]


def test_rows_of_python_with_long_numbers_are_told_or_skipped() -> None:
    rows = [(10**5000, "a"), (None, "b"), (3, 10**5000), (Decimal(LONG), "c"), (4, "d")]
    with pytest.raises(DataError, match="column c0 in row 1 is a number of too many digits"):
        encode_facts({"q": rows}, dictionary=limited())
    dictionary, report = limited(), ReadReport()
    found = encode_facts({"q": rows}, dictionary=dictionary, report=report, options=SKIP)
    assert objects(found, dictionary) == {"d"}
    assert "c0 in row 2 is null" in report.samples[1].reason
    assert "c1 in row 3 is a number of too many" in report.samples[2].reason
    assert report.bad_lines == 4


def test_a_refused_number_is_refused_again(tmp_path) -> None:
    path = table_file(tmp_path / "q.csv", TABLE)
    dictionary = limited()
    declarations = parse_program("@declare q(n integer, s string) .").declarations
    for _ in range(2):
        with pytest.raises(DataError, match="too many digits"):
            read_paths([str(path)], dictionary=dictionary, declarations=declarations)
    assert not dictionary.long_numbers(0).size


@pytest.mark.spark
def test_both_readers_leave_out_the_same_long_numbers(spark, tmp_path) -> None:
    write(tmp_path / "a.nt", N_TRIPLES * 20)
    write(tmp_path / "b.ttl", [DOCUMENTS["ttl"]])
    table_file(tmp_path / "q.csv", TABLE * 40)
    table_file(tmp_path / "q.parquet", TABLE * 40)
    given = {"declarations": parse_program("@declare q(n integer, s string) .").declarations}
    one, other = limited(), limited()
    here = read_paths([str(tmp_path)], dictionary=one, options=SKIP, **given)
    there = read_spark(
        spark, [str(tmp_path)], dictionary=other, options=SKIP, range_size=700, **given
    )
    assert_same_terms(one, other)
    assert_same(here, there)
    told = []
    for reader in (read_paths, lambda *items, **named: read_spark(spark, *items, **named)):
        for name in ("a.nt", "b.ttl", "q.parquet"):
            with pytest.raises(DataError) as caught:
                reader([str(tmp_path / name)], dictionary=limited(), **given)
            told.append(str(caught.value))
    assert told[:3] == told[3:]
