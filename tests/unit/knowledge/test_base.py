"""A knowledge base as Python sees it: names, arities, the end of its life."""

import pytest

import stratalog as sl

WIDE = "@prefix : <http://e/> . :p({}) . :p(1) ."


def test_a_name_with_an_arity_of_several_digits_is_found():
    kb = sl.materialise(WIDE.format(", ".join(map(str, range(12)))))
    assert kb.predicates() == [":p/1", ":p/12"]
    assert [len(kb[name]) for name in kb] == [1, 1]
    assert kb.facts(":p/12").num_columns == 12


@pytest.mark.parametrize("name", [3, None, "", "a b", "e/x"])
def test_what_is_no_name_is_an_error_with_a_code(name):
    with pytest.raises(sl.ProgramError, match="S112"):
        sl.materialise("e(1) .").facts(name)


def test_a_bare_name_has_one_arity_in_all_facts_and_rules(tmp_path):
    triples = tmp_path / "triples.nt"
    triples.write_text("<http://a> <http://b> <http://c> .\n")
    for program, facts in (
        ("p(?x) :- e(?x, ?y) .", {"e": triples}),
        ("", [{"e": [(1, 2)]}, {"e": [(1, 2, 3)]}]),
    ):
        with pytest.raises(sl.DataError, match="D301: e has facts or rules with 2 and with 3"):
            sl.materialise(program, facts)
    kb = sl.materialise("@prefix : <http://e/> .", [{":e": [(1, 2)]}, {":e": [(1, 2, 3)]}])
    assert kb.predicates() == [":e/2", ":e/3"]


def test_a_closed_base_gives_errors_and_not_empty_answers():
    with sl.materialise("e(1) .") as kb:
        view = kb["e"]
        assert (1,) in view
    asked = (
        lambda: kb["e"],
        lambda: len(view),
        lambda: list(view),
        lambda: kb.facts("e"),
        lambda: kb.query("e(?x)"),
        lambda: kb.stats,
        lambda: (1,) in view,
    )
    for ask in asked:
        with pytest.raises(sl.EngineError, match="E107"):
            ask()
    kb.close()
    assert repr(kb) == "<KnowledgeBase: closed>"


def test_seconds_include_the_time_to_parse_the_program():
    stats = sl.materialise(" ".join(f"e({i}) ." for i in range(300))).stats
    assert stats["phases"]["parse"] > 0
    timed = [seconds for name, seconds in stats["phases"].items() if not name.endswith("_cpu")]
    assert stats["seconds"] == pytest.approx(sum(timed))


def test_an_unknown_predicate_is_told_with_the_one_that_was_meant():
    kb = sl.materialise("reach(?x) :- train(?x) .", {"train": [("Oxford",)]})
    with pytest.raises(sl.DataError, match="D320: there is no predicate raech") as caught:
        kb["raech"]
    assert caught.value.help == "did you mean reach? known predicates: reach, train"
    with pytest.raises(sl.DataError) as caught:
        sl.materialise("")["reach"]
    assert caught.value.help == "there are no facts and no rules"


def test_one_rule_and_one_fact_are_told_in_the_singular():
    kb = sl.materialise("p(?x) :- q(?x) .", {"q": [(1,)]})
    assert repr(kb) == "<KnowledgeBase: 1 explicit + 1 derived facts, 1 rule>"
    assert repr(kb["p"]) == "<p: 1 fact>"
