"""Prefixes in questions: declared there, by the program, or by the data that was read."""

from pathlib import Path

import pytest

import stratalog as sl

TURTLE = """
@prefix p: <http://p/> .
@prefix q: <http://q/> .
@prefix owl: <http://elsewhere/> .
p:a p:knows q:b ; a q:Person .
"""


@pytest.fixture
def kb(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.ttl").write_text(TURTLE)
    return sl.materialise("", "people.ttl", engine="columnar")


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX e: <http://p/> e:knows(?x, ?y)",
        "PREFIX e: <http://p/>\nprefix f: <http://f/>\ne:knows(?x, ?y) .",
        "@prefix e: <http://p/> . [?x, e:knows, ?y]",
        "@prefix p: <http://nowhere/> . @prefix p: <http://p/> . p:knows(?x, ?y)",
        "@base <http://p/> . <knows>(?x, ?y)",
        "BASE <http://p/>\nPREFIX e: <> h(?x, ?y) :- e:knows(?x, ?y)",
        "@prefix e: <http://p/> . h(?x, ?y) :- e:knows(?x, ?y) .",
        "p:knows(?x, ?y)",
    ],
)
def test_a_query_may_declare_prefixes_before_its_body_or_rule(kb, text):
    assert kb.query(text).to_pydict() == {"x": ["<http://p/a>"], "y": ["<http://q/b>"]}


def test_prefixes_of_turtle_are_known_where_predicates_are_named(kb):
    assert len(kb["p:knows"]) == 1
    assert kb.query("q:Person(?x)").num_rows == 1
    assert kb.predicates() == ["<http://p/knows>", "<http://q/Person>"]  # as the program has it


def test_prefixes_of_the_language_and_of_the_program_come_first(kb):
    with pytest.raises(sl.ProgramError, match="S192: unknown predicate <http"):
        kb.query("owl:Thing(?x)")
    kb = sl.materialise("@prefix p: <http://other/> . p:knows(1, 2) .", "people.ttl")
    assert kb.query("p:knows(?x, ?y)").num_rows == 1
    assert kb.query("p:knows(?x, ?y)").to_pydict() == {"x": [1], "y": [2]}


def test_a_prefix_that_means_two_things_in_data_is_not_known(kb):
    Path("more.trig").write_text("@prefix q: <http://r/> . @prefix r: <http://r/> . q:a q:b q:c .")
    kb.update(insert="more.trig")
    assert kb.query("r:b(?x, ?y)").num_rows == 1
    with pytest.raises(sl.ProgramError, match="S111: the prefix q: is not declared"):
        kb.query("q:Person(?x)")
    both = sl.materialise("", ["people.ttl", "more.trig"], engine="columnar")
    with pytest.raises(sl.ProgramError, match="S111"):
        both.query("q:Person(?x)")


def test_an_update_that_fails_brings_no_prefixes(kb):
    Path("more.ttl").write_text("@prefix r: <http://r/> . r:a r:b r:c .")
    with pytest.raises(sl.DataError):
        kb.update(insert=["more.ttl", "none.ttl"])
    with pytest.raises(sl.ProgramError, match="S111"):
        kb.query("r:b(?x, ?y)")


def test_a_store_remembers_prefixes_of_data(kb):
    kb.save("kb")
    with sl.open("kb") as opened:
        assert opened.query("p:knows(?x, ?y)").num_rows == 1
        Path("more.ttl").write_text("@prefix r: <http://r/> . r:a r:b r:c .")
        opened.update(insert="more.ttl")
    kb.refresh()
    assert kb.query("p:knows(?x, ?y)").num_rows == kb.query("r:b(?x, ?y)").num_rows == 1


@pytest.mark.spark
def test_prefixes_of_files_that_spark_reads_are_known(tmp_path, spark):
    for name in ("a", "b"):
        path = tmp_path / f"{name}.ttl"
        path.write_text(
            f"@prefix {name}: <http://{name}/> . @prefix x: <http://{name}/> ."
            f" {name}:s {name}:p 1 ."
        )
    kb = sl.materialise("", [str(tmp_path)], reader="spark", spark=spark, progress=False)
    assert kb.query("a:p(?x, ?y), b:p(?z, ?y)").num_rows == 1
    with pytest.raises(sl.ProgramError, match="S111"):
        kb.query("x:p(?x, ?y)")


def test_an_unknown_predicate_is_shown_in_its_line_of_the_query(kb):
    with pytest.raises(sl.ProgramError, match="S192") as caught:
        kb.query("PREFIX e: <http://p/>\n  e:knows(?x, ?y),   e:likes(?x, ?y)")
    error = caught.value
    assert (error.line, error.column, error.source[error.caret - 1 :]) == (2, 22, "e:likes(?x, ?y)")


def test_a_misspelt_predicate_is_told_the_one_that_is_meant():
    kb = sl.materialise("reach(1, 2) .", engine="reference")
    with pytest.raises(sl.ProgramError, match="S192") as caught:
        kb.query("reaches(?x, ?y)")
    assert caught.value.help == "did you mean reach? known predicates: reach"
