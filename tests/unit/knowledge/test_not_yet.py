"""What does not exist yet, and what is taken for something else: a code, and what exists."""

import traceback
from pathlib import Path

import pytest

import stratalog as sl

RULE = "path(?x, ?y) :- edge(?x, ?y) ."


@pytest.fixture
def kb():
    return sl.materialise(RULE, {"edge": [(1, 2)]}, engine="reference")


@pytest.mark.parametrize("call", [lambda kb: kb.explain("path(1, 2)"), lambda kb: kb.classes()])
def test_a_call_of_a_later_version_says_what_exists(kb, call):
    with pytest.raises(sl.EngineError, match="E140") as caught:
        call(kb)
    assert "kb.query" in caught.value.help


def test_a_class_of_a_later_version_says_what_exists():
    with pytest.raises(sl.EngineError, match="E140"):
        from stratalog import Proof  # noqa: F401


def test_a_misspelt_name_of_the_package_is_corrected_once():
    with pytest.raises(AttributeError) as caught:
        sl.materialize  # noqa: B018
    told = "".join(traceback.format_exception(caught.value))
    assert caught.value.name == "materialize"
    assert told.count("Did you mean: 'materialise'?") == 1


@pytest.mark.parametrize("option", [{"equality": "rewrite"}, {"joins": "hypertree"}])
def test_a_choice_of_a_later_version_says_which_exist(option):
    with pytest.raises(sl.EngineError, match="E121") as caught:
        sl.materialise(RULE, **option)
    assert caught.value.help.startswith("one of auto")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?x WHERE { ?x a ?y }",
        "PREFIX p: <http://e/> SELECT ?x WHERE { ?x p:a ?y }",
        "# all\nPREFIX p: <http://e/#a>\nBASE <http://e/>\nask { ?x a ?y }",
        "INSERT DATA { <a> <b> <c> }",
    ],
)
def test_sparql_is_known_as_such(kb, text):
    with pytest.raises(sl.ProgramError, match="S190") as caught:
        kb.query(text)
    assert "path(?x, ?y)" in caught.value.help


@pytest.mark.parametrize("name", ["select", "ask", "describe"])
def test_a_predicate_may_have_a_name_that_sparql_uses(name):
    kb = sl.materialise(f"{name}(1) .", engine="reference")
    assert kb.query(f"{name}(?x)").to_pylist() == [{"x": 1}]


def test_the_name_of_a_file_that_is_given_as_text_says_how_paths_are_known(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("program.dl", "my rules", "über.txt"):
        Path(name).write_text(RULE)
        with pytest.raises(sl.ProgramError, match=r"S127: .* is the name of a file") as caught:
            sl.materialise(name)
        assert caught.value.help.startswith(f"write Path('{name}')")
        assert len(sl.materialise(Path(name), {"edge": [(1, 2)]}, engine="reference")["path"]) == 1


@pytest.mark.parametrize("text", ["rules/none.dl", "../facts.ttl", "none.datalog"])
def test_text_that_looks_like_a_file_says_how_paths_are_known(text):
    with pytest.raises(sl.ProgramError, match=r"S127: .* looks like the name of a file"):
        sl.materialise(text)


def test_text_that_is_a_program_is_one_even_where_a_file_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p(1) .").write_text("p(2) .")
    assert list(sl.materialise("p(1) .", engine="reference")["p"]) == [(1,)]
