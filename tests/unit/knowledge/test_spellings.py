"""Spellings of other systems in queries, in edits of rules and in stores; joins by value."""

import pytest

import stratalog as sl
from stratalog.knowledge.describe import describe

RULES = """
    source(?x) :- edge(?x, _) .
    next(?y) :- level(?x), ?y = ?x + 1 .
    meets(?x, ?y) :- level(?x), hour(?y), ?y = ?x + 1 .
    either(?x) :- level(?x) ; hour(?x) OR edge(?x, _), NOT (level(?x) ; hour(?x)) .
    up(?x + 1) :- level(?x), edge(?x - 1, _) .
"""
FACTS = {"edge": [(1, 2), (1, 3), (4, 1)], "level": [(1,), (2,)], "hour": [(2,), (3,), (7,)]}


def rows(kb, name):
    return sorted(kb[name]) if name in kb.predicates() else []


@pytest.mark.parametrize(
    ("query", "columns", "answers"),
    [
        ("edge(?x, _)", ["x"], [(1,), (4,)]),
        ("edge(_, _)", [], [()]),
        ("level(?x) ; hour(?x)", ["x"], [(1,), (2,), (3,), (7,)]),
        ("edge(?x, _), (level(?x) or hour(?x))", ["x"], [(1,)]),
        ("level(?x), hour(?y), ?y = ?x + 1", ["x", "y"], [(1, 2), (2, 3)]),
        ("level(?x), ?y = ?x + 1", ["x", "y"], [(1, 2), (2, 3)]),
        ("level(?x), hour(?x + 1)", ["x"], [(1,), (2,)]),
        ("a(?x + 1, ?x) :- level(?x) ; hour(?x), ?x > 5", ["c0", "x"], [(2, 1), (3, 2), (8, 7)]),
        ("level(?x), NOT edge(?x, _)", ["x"], [(2,)]),
        ("AGGREGATE(edge(?x, _) BIND COUNT(*) AS ?n)", ["n"], [(2,)]),
    ],
)
def test_a_query_may_be_spelled_so(engine, query, columns, answers):
    kb = sl.materialise(RULES, FACTS, engine=engine)
    table = kb.query(query)
    assert table.column_names == columns
    found = sorted(tuple(row.values()) for row in table.to_pylist())
    assert (found if columns else [()] * table.num_rows) == answers


def test_alternatives_of_a_query_bind_the_same_variables():
    kb = sl.materialise(RULES, FACTS, engine="reference")
    with pytest.raises(sl.ProgramError) as caught:
        kb.query("level(?x) ; edge(?x, ?y)")
    assert caught.value.code == "S215"
    assert "?y" in caught.value.message


def test_what_a_spelling_means_is_followed_by_updates(engine):
    kb = sl.materialise(RULES, FACTS, engine=engine)
    assert rows(kb, "meets") == [(1, 2), (2, 3)]
    changes = kb.update(insert={"hour": [(1,), (2.0,)]}, delete={"edge": [(1, 2)], "level": [(2,)]})
    assert rows(kb, "meets") == [(1, 2), (1, 2.0)]
    assert rows(kb, "source") == [(1,), (4,)]
    assert changes.sizes()["meets"] == (1, 1)
    assert "source" not in changes.sizes()


@pytest.mark.parametrize("rule", [line.strip() for line in RULES.strip().splitlines()])
def test_a_rule_that_is_spelled_so_is_removed_from_a_store_and_added_again(tmp_path, rule):
    kb = sl.materialise(RULES, FACTS, store=tmp_path / "store", engine="columnar")
    before = {name: rows(kb, name) for name in ("source", "next", "meets", "either", "up")}
    kb.close()
    head = rule.partition("(")[0]
    with sl.open(tmp_path / "store", engine="columnar") as kb:
        kb.update(remove_rules=rule)
        assert {name for name in before if not rows(kb, name)} == {head}
        kb.update(add_rules=[rule, rule])
    with sl.open(tmp_path / "store", engine="columnar") as kb:
        assert {name: rows(kb, name) for name in before} == before
        assert kb.what_if(add_rules=rule).sizes() == {}


def test_a_rule_is_found_if_it_says_the_same_in_other_words():
    kb = sl.materialise("p(?x) :- q(?x), FILTER(?x = 1) .", {"q": [(1,)]}, engine="reference")
    kb.update(remove_rules="p(?x) :- q(?x), ?x = 1 .")
    assert not rows(kb, "p")
    with pytest.raises(sl.ProgramError) as caught:
        kb.update(remove_rules="p(?x) :- q(?x), ?x = 1.0 .")
    assert caught.value.code == "S211"


def work_of(program, facts):
    kb = sl.materialise(program, facts, engine="columnar")
    return kb, kb._host.engine.work()


@pytest.mark.parametrize("spelling", ["?y = ?x + 1", "FILTER(?x + 1 = ?y)", "?x = ?y - 1.0"])
def test_a_join_by_value_takes_work_in_proportion_to_facts_not_to_pairs(spelling):
    n = 2000
    facts = {"p": [(i,) for i in range(n)], "q": [(float(i),) for i in range(n)]}
    kb, work = work_of(f"r(?x, ?y) :- p(?x), q(?y), {spelling} .", facts)
    assert len(kb["r"]) == n - 1
    assert work < 20 * n  # of 4,000,000 pairs
    before = kb._host.engine.work()
    assert kb.update(insert={"p": [(n - 1 + 0.0,)]}, delete={"q": [(5.0,)]}).sizes() == {
        "q": (0, 1),
        "p": (1, 0),
        "r": (0, 1),
    }
    assert kb._host.engine.work() - before < 200


def test_an_update_of_what_an_expression_in_an_atom_joins_meets_no_other_facts():
    n = 2000
    facts = {"p": [(i,) for i in range(n)], "q": [(i,) for i in range(0, n, 2)]}
    kb, work = work_of("r(?x) :- p(?x), q(?x + 1) .", facts)
    assert len(kb["r"]) == n // 2 - 1
    assert work < 20 * n
    before = kb._host.engine.work()
    assert kb.update(insert={"q": [(7,)]}).sizes() == {"q": (1, 0), "r": (1, 0)}
    assert kb._host.engine.work() - before < 200


def test_what_stands_for_an_anonymous_variable_is_met_once_by_the_rule_that_reads_it():
    n = 500
    facts = {"e": [(i % 5, i) for i in range(n)], "f": [(i % 5, i) for i in range(n)]}
    kb = sl.materialise("r(?x) :- e(?x, _), f(?x, _) .", facts, engine="columnar")
    assert len(kb["r"]) == 5
    (counts,) = {both for fact, both in kb._counts().items() if fact[0].name == "r"}
    assert counts == (1, 0)
    assert kb._host.engine.work() < 6 * n  # of 50,000 instances


def test_a_plan_says_what_hidden_predicates_are():
    hidden = describe(RULES, FACTS)["hidden"]
    assert hidden["$any1"] == "a projection: _ is left out of (edge(?x, _))"
    assert "keys, by which FILTER's = joins, of the values in (hour(?y), " in str(hidden)
