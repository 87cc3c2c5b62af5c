import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

SORTED_PATHS = ["a,b", "a,c", "a,d", "b,c", "b,d", "c,d"]


def test_without_a_predicate_all_relations_are_listed(command, store):
    done = command("facts", store)
    assert done.lines == [
        "predicate  arity  facts  explicit  derived",
        "edge           2      3         3        0",
        "path           2      6         0        6",
    ]
    assert done.err == "9 facts\n"


def test_a_table_in_a_pipe_is_aligned_text(command, store):
    done = command("facts", store, "edge", "--sorted")
    assert done.lines == ["c0  c1", "a   b", "b   c", "c   d"]


def test_lines_are_sorted_and_cut_when_asked(command, store):
    assert command("facts", store, "path", "--format=csv", "--sorted").lines == SORTED_PATHS
    cut = command("facts", store, "path", "--format=csv", "--sorted", "--limit", 2)
    assert (cut.lines, cut.err) == (SORTED_PATHS[:2], "2 facts\n")
    assert command("facts", store, "path", "--format=csv", "--limit", 0).out == ""


def test_a_limit_counts_rows_and_not_line_ends_in_quotes(command):
    Path("edge.csv").write_text('"a\n1",b\nb,"c\n""2"""\n')
    command("materialise", "rules.dlog", "edge.csv", "--store", "kb")
    done = command("facts", "kb", "edge", "--format=csv", "--limit", 1, "--sorted", "--header")
    assert done.out == 'c0,c1\n"a\n1",b\n'


def test_a_limit_does_not_change_how_values_are_spelled(command):
    Path("mixed.dlog").write_text('p("a") . p("b") . p(3) .')
    command("materialise", "mixed.dlog", "--store", "kb")
    whole = command("facts", "kb", "p", "--format=csv").lines
    for limit in (1, 2, 3, 4):
        assert command("facts", "kb", "p", "--format=csv", "--limit", limit).lines == whole[:limit]


def test_explicit_and_derived_facts_apart(command):
    Path("both.dlog").write_text("p(1) . p(?x) :- q(?x) . q(1) . q(2) .")
    command("materialise", "both.dlog", "--store", "kb")
    assert command("facts", "kb", "p", "--format=csv", "--explicit").out == "1\n"
    assert command("facts", "kb", "p", "--format=csv", "--derived").out == "2\n"
    assert command("facts", "kb", "--derived").lines[1].split() == ["p", "1", "2", "1", "1"]
    both = command("facts", "kb", "p", "--explicit", "--derived")
    assert (both.status, both.out) == (2, "")


def test_json_lines_hold_all_predicates(command, store):
    found = [json.loads(line) for line in command("facts", store, "--format=jsonl").lines]
    assert {"_predicate": "path", "c0": "a", "c1": "d"} in found
    assert len(found) == 9


def test_triples_are_written_and_the_rest_is_counted(command):
    Path("rdf.dlog").write_text(
        "@prefix : <http://ex/> . :C(?x) :- :p(?x, ?y) .n(?x) :- :C(?x) . :q(?x, ?x, ?x) :- n(?x) ."
    )
    Path("data.nt").write_text(
        '<http://ex/b> <http://ex/p> "x"@en .\n_:n <http://ex/p> <urn:o> .\n'
    )
    command("materialise", "rdf.dlog", "data.nt", "--store", "kb")
    done = command("facts", "kb", "--format=nt", "--sorted")
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/C> ."
    assert done.lines == [
        '<http://ex/b> <http://ex/p> "x"@en .',
        f"<http://ex/b> {kind}",
        "_:n <http://ex/p> <urn:o> .",
        f"_:n {kind}",
    ]
    assert "n: 2 facts are no triples, left out\n" in done.err
    assert ":q: 2 facts are no triples" in done.err
    assert done.err.endswith("4 facts\n")
    assert command("facts", "kb", ":C", "--format=nt", "--sorted", "--limit=1").lines == [
        f"<http://ex/b> {kind}"
    ]
    assert command("facts", "kb", "<http://ex/C>", "--format=csv").out == "<http://ex/b>\n_:n\n"


def test_triples_of_a_program_that_writes_any_predicate(command):
    Path("any.dlog").write_text("[?y, ?p, ?x] :- [?x, ?p, ?y] . bare(?x) :- [?x, ?p, ?y] .")
    Path("data.nt").write_text("<urn:a> <urn:p> <urn:b> .\n<urn:b> <urn:q> <urn:c> .\n")
    command("materialise", "any.dlog", "data.nt", "--store", "kb")
    assert len(command("facts", "kb", "--format=nt").lines) == 4
    assert command("facts", "kb", "--format=nt", "--explicit", "--sorted").out == Path(
        "data.nt"
    ).read_text()  # fmt: skip
    assert command("facts", "kb").lines[1].split() == ["<urn:p>", "2", "2", "1", "1"]


@pytest.mark.parametrize("data_format", ["csv", "tsv", "parquet"])
def test_one_file_cannot_hold_all_predicates(command, store, data_format):
    done = command("facts", store, "--format", data_format)
    assert done.status == 1
    assert "D314" in done.err
    assert "-o DIR/" in done.err
    assert done.out == ""


@pytest.mark.parametrize("data_format", ["csv", "tsv", "parquet", "jsonl"])
def test_a_folder_gets_a_file_per_predicate(command, store, data_format):
    done = command("facts", store, "--format", data_format, "-o", "out/")
    assert done.status == 0
    assert done.out == ""
    assert sorted(p.name for p in Path("out").iterdir()) == [
        f"edge.{data_format}",
        f"path.{data_format}",
    ]
    again = command("materialise", "rules.dlog", f"out/edge.{data_format}", "--json", "-q")
    assert again.json["facts"] == 9


def test_the_name_of_the_file_tells_the_format(command, store):
    for name in ("path.csv", "path.jsonl", "path.tsv.gz", "path.parquet"):
        done = command("facts", store, "path", "-o", name)
        assert (done.status, done.out, done.err) == (0, "", f"6 facts -> {name}\n")
    assert sorted(Path("path.csv").read_text().splitlines()) == SORTED_PATHS
    assert Path("path.tsv.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert pq.read_table("path.parquet").num_rows == 6
    command("facts", store, "-o", "list.txt")
    assert Path("list.txt").read_text().startswith("predicate")
    command("facts", store, "path", "-o", "two.csv", "--limit", 2, "--header")
    assert Path("two.csv").read_text() == "c0,c1\na,b\nb,c\n"


def test_parquet_goes_into_a_pipe_whole(command, store, monkeypatch):
    held = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", held)
    command("facts", store, "path", "--format", "parquet")
    assert pq.read_table(io.BytesIO(held.buffer.getvalue())).num_rows == 6


def test_facts_of_an_earlier_version(command, store):
    Path("edge.csv").write_text("x,y\n")
    command("materialise", "rules.dlog", "edge.csv", "--store", store)
    assert command("facts", store, "edge", "--format=csv").out == "x,y\n"
    assert command("facts", store, "edge", "--format=csv", "--version", 1).lines == [
        "a,b",
        "b,c",
        "c,d",
    ]
    missing = command("facts", store, "edge", "--version", 7)
    assert missing.status == 1
    assert "T102" in missing.err


def test_a_predicate_without_arguments(command):
    Path("flag.dlog").write_text('flag() :- edge("a", ?y) .')
    command("materialise", "flag.dlog", "edge.csv", "--store", "kb")
    assert command("facts", "kb", "flag").out == "()\n"
    assert command("facts", "kb", "flag", "--format", "csv").out == "()\n"
    refused = command("facts", "kb", "flag", "--sorted", "-o", "flag.parquet")
    assert (refused.status, refused.err[:5]) == (1, "D312:")
    assert (
        "flag: Parquet cannot hold" in command("facts", "kb", "--format=parquet", "-o", "out/").err
    )
    assert [p.name for p in Path("out").iterdir()] == ["edge.parquet"]


def test_a_name_with_two_arities(command):
    Path("two.dlog").write_text("@prefix : <urn:> . :p(1) . :p(1, 2) .")
    command("materialise", "two.dlog", "--store", "kb")
    done = command("facts", "kb", ":p")
    assert (done.status, "D321" in done.err) == (1, True)
    assert command("facts", "kb", ":p/2", "--format=csv").lines == [
        '"""1""^^<http://www.w3.org/2001/XMLSchema#integer>","""2""^^<http://www.w3.org/2001/XMLSchema#integer>"'
    ]
    command("facts", "kb", "--format=csv", "-o", "out")
    assert len(list(Path("out").iterdir())) == 2


def test_control_characters_do_not_reach_the_terminal(command):
    Path("edge.csv").write_text('"a\nb","\x1b[31mred"\n')
    command("materialise", "rules.dlog", "edge.csv", "--store", "kb")
    assert command("facts", "kb", "edge").lines == [
        "c0    c1",
        "a\\nb  \\u001B[31mred",
    ]


def test_columns_of_every_type_are_shown_and_sorted(command):
    Path("t.dlog").write_text(
        'p(12, 1.50, 1e3, true, "2024-02-29"^^xsd:date, <urn:a>) .'
        'p(3, 2.25, 2e0, false, "2024-01-01"^^xsd:date, <urn:b>) .'
    )
    command("materialise", "t.dlog", "--store", "kb")
    assert [line.split() for line in command("facts", "kb", "p", "--sorted").lines[1:]] == [
        ["3", "2.25", "2.0E0", "false", "2024-01-01", "<urn:b>"],
        ["12", "1.5", "1.0E3", "true", "2024-02-29", "<urn:a>"],
    ]
    rows = command("facts", "kb", "p", "--sorted", "--format=csv").lines
    assert [row.split(",")[0] for row in rows] == ["12", "3"]


def test_many_predicates_stored_as_triples_are_listed_once_each(command):
    Path("any.dlog").write_text("[?y, ?p, ?x] :- [?x, ?p, ?y], bidirectional(?p) .")
    lines = [f"<urn:s{i}> <urn:p{i % 50}> <urn:o{i}> .\n" for i in range(500)]
    lines += ["<urn:s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:C> .\n"]
    Path("d.nt").write_text("".join(lines))
    done = command("materialise", "any.dlog", "d.nt", "--store", "kb", "-q")
    assert done.status == 0
    listed = command("facts", "kb").lines
    assert ["<urn:p7>", "2", "10", "10", "0"] in [line.split() for line in listed]
    assert ["<urn:C>", "1", "1", "1", "0"] in [line.split() for line in listed]
    assert len(listed) == 53
