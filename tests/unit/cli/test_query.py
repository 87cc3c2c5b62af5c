import json
from pathlib import Path


def test_a_body_answers_with_its_variables(command, store):
    done = command("query", store, 'path(?x, ?y), edge(?y, "d")', "--sorted")
    assert done.lines == ["x  y", "a  c", "b  c"]
    assert done.err == "2 answers\n"


def test_a_rule_answers_with_its_head(command, store):
    done = command("query", store, "top(?x) :- edge(?x, ?y), NOT edge(?z, ?x)", "--format=csv")
    assert done.out == "a\n"


def test_formats_limits_and_files(command, store):
    found = command("query", store, "path(?x, ?y)", "--format=jsonl", "--sorted", "--limit=1")
    assert json.loads(found.out) == {"x": "a", "y": "b"}
    assert len(command("query", store, "path(?x, ?y)", "--format=csv", "--limit=4").lines) == 4
    assert command("query", store, "edge(?x, ?y)", "-o", "e.tsv", "--header").out == ""
    assert Path("e.tsv").read_text() == "x\ty\na\tb\nb\tc\nc\td\n"


def test_a_query_without_variables_is_true_or_false(command, store):
    assert command("query", store, 'path("a", "d")').out == "true\n"
    assert command("query", store, 'path("d", "a")').out == "false\n"
    assert command("query", store, 'path("a", "d")', "--format=csv").out == "()\n"


def test_an_unknown_predicate_is_named_with_the_known_ones(command, store):
    done = command("query", store, "paths(?x, ?y)")
    assert done.status == 1
    assert "S192: unknown predicate paths" in done.err
    assert "line 1:1" in done.err
    assert "help: did you mean path? known predicates: edge, path" in done.err
    assert done.out == ""


def test_mistakes_in_a_query_are_user_errors(command, store):
    for text in ("path(?x", "path(a, ?y)", "path(?x)", "SELECT * { ?s ?p ?o }", ""):
        done = command("query", store, text)
        assert (done.status, done.out) == (1, ""), text
        assert done.err.startswith("S1"), text


def test_triples_are_no_format_for_answers(command, store):
    done = command("query", store, "edge(?x, ?y)", "--format=nt")
    assert (done.status, done.out) == (1, "")
    assert "D314" in done.err


def test_queries_have_a_time_limit(command, store):
    assert command("query", store, "edge(?x, ?y)", "--timeout", "0").status == 2
    assert command("query", store, "edge(?x, ?y)", "--timeout", "30").status == 0
