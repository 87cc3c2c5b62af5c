"""Rules with many atoms: which of their versions are planned, and when planning stops."""

import numpy as np
import pytest

import stratalog as sl
from stratalog.engine.columnar import planned
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.facts.engine import BudgetSpentError
from stratalog.facts.labels import DELTA, I
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.program import plan_program
from stratalog.reason.choose import Chooser

ALGORITHMS = ["counting", "dred", "dred-c", "bf", "bf-c"]


@pytest.fixture
def made(monkeypatch):
    """The versions for which a join order is looked for."""
    found = []
    looked_for = planned.join_order
    monkeypatch.setattr(
        planned, "join_order", lambda v, *args: found.append(v) or looked_for(v, *args)
    )
    return found


def chain(atoms):
    body = ", ".join(f"e{i}(?x{i}, ?x{i + 1})" for i in range(atoms))
    return f"p(?x0, ?x{atoms}) :- {body} .", {f"e{i}": [(1, 1), (2, 2)] for i in range(atoms)}


def star(atoms):
    body = ", ".join(f"e{i}(?x, ?y{i})" for i in range(atoms))
    return f"p(?x) :- {body} .", {f"e{i}": [(1, 1), (2, 2)] for i in range(atoms)}


def ground(atoms):
    body = ", ".join(f"e3({i}, 1)" for i in range(atoms))
    return f"p() :- {body} .", {"e3": [(i, 1) for i in range(atoms)]}


def apart(atoms):
    body = ", ".join(f"e{i}(?x{i}, 1)" for i in range(atoms))
    return f"p(?x3) :- {body} .", {f"e{i}": [(1, 1)] for i in range(atoms)}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("make", [chain, star, ground, apart])
def test_a_version_is_planned_once_its_delta_has_facts(make, algorithm, made):
    text, facts = make(60)
    kb = sl.materialise(text, facts, progress=False)
    assert [v.start for v in made] == [None]
    before = set(kb["p"])
    made.clear()
    for _ in range(2):
        kb.update(delete={"e3": [(1, 1)]}, maintenance=algorithm)
        assert set(kb["p"]) == before - {(1, 1), (1,), ()}
        kb.update(insert={"e3": [(1, 1)]}, maintenance=algorithm)
        assert set(kb["p"]) == before
        begun = [v for v in made if len(v.rule.body) == 60]
        assert {v.start for v in begun} <= {None, 1 if make is ground else 3}
        assert len(begun) == len(set(map(id, begun)))


def test_a_rule_with_many_atoms_needs_no_more_places_than_variables_at_once(made):
    kb = sl.materialise(*chain(160), progress=False)
    kb.update(delete={"e80": [(1, 1)]}, maintenance="counting")
    plans = kb._host.engine.planner._plans.values()
    compiled = [p for plan in plans for known in plan.values() for p in known.by_class.values()]
    assert {v.start for v in made} == {None, 80}
    assert max(segment.variables for p in compiled for segment in p.segments) <= 4


def test_an_update_among_many_rules_plans_those_that_read_what_changes(made):
    text = " ".join(f"p{i}(?x) :- a{i}(?x, ?y), b{i}(?y) ." for i in range(300))
    facts = {f"a{i}": [(1, 2)] for i in range(300)} | {f"b{i}": [(2,)] for i in range(300)}
    kb = sl.materialise(text, facts, progress=False)
    assert len(made) == 300
    made.clear()
    kb.update(insert={"a7": [(5, 2)]})
    assert {(v.rule.head.predicate.name, v.start) for v in made} <= {("p7", 0), ("p7", None)}
    made.clear()
    kb.update(delete={"a7": [(5, 2)]})
    kb.update(insert={"a7": [(6, 2)]})
    assert len(made) <= 2


SAME = "p(?x0, ?x60) :- " + ", ".join(f"e(?x{i}, ?x{i + 1})" for i in range(60)) + " ."


def loaded(text, facts):
    engine, relation = ColumnarEngine(Dictionary()), Predicate("e", 2)
    columns = np.array(facts, np.uint32).T
    engine.load(relation, list(columns), len(facts))
    rows = ColumnarBatch({0: np.arange(len(facts), dtype=np.uint32)})
    engine.mark(rows, I)
    return engine, plan_program(parse_program(text)).rules, ColumnarBatch({0: rows.rows[0][:1]})


def test_planning_stops_within_the_budget_of_work_and_goes_on_where_it_was(made):
    engine, rules, delta = loaded(SAME, [(i, i) for i in range(5)])
    expected = len(engine.apply(rules, I, I))
    made.clear()
    stops = 0
    while True:
        engine.limit_work(20 * 60 * planned.EFFORT)
        try:
            found = engine.apply(rules, I, I, delta)
            break
        except BudgetSpentError:
            stops += 1
            assert not engine.relation(Predicate("e", 2)).labels[:5].astype(int).max() >> DELTA.bit
    assert (expected, len(found)) == (5, 1)
    assert stops == 3
    assert len(made) == len({id(v) for v in made}) == 60


def test_counting_has_a_budget_that_planning_takes_from(monkeypatch):
    monkeypatch.setattr(Chooser, "_seconds", lambda *_: 0.001)
    text = SAME.replace("?x60", "?x160").replace(" .", "")
    text += "".join(f", e(?x{i}, ?x{i + 1})" for i in range(60, 160)) + " ."
    kb = sl.materialise(text, {"e": [(i, i) for i in range(5)]}, progress=False)
    kb.update(delete={"e": [(1, 1)]}, maintenance="auto")
    done = kb.stats["per_stratum"][-1]
    assert (done["algorithm"], done["why"]) == ("rematerialise", "other algorithms were stopped")
    assert sorted(kb["p"]) == [(0, 0), (2, 2), (3, 3), (4, 4)]


def test_a_time_limit_holds_while_versions_are_planned(monkeypatch):
    engine, rules, delta = loaded(SAME, [(1, 1)])
    engine.limits.timeout = 1.0
    engine.limits.start()
    monkeypatch.setattr("stratalog.runtime.limits.time.monotonic", lambda: 1e12)
    with pytest.raises(sl.StratalogError, match="E102"):
        engine.planner.planned(engine._rule_index(rules).everything, I, I, -1)
    assert delta


def test_a_body_with_hundreds_of_filters_between_its_atoms_is_evaluated():
    body = ", ".join(f"e(?x{i}, ?x{i + 1}), ?x{i + 1} < {i + 9}" for i in range(700))
    kb = sl.materialise(f"p(?x0, ?x700) :- {body} .", {"e": [(1, 1), (2, 2)]}, progress=False)
    assert sorted(kb["p"]) == [(1, 1), (2, 2)]
    kb.update(delete={"e": [(2, 2)]})
    assert sorted(kb["p"]) == [(1, 1)]


def test_what_plans_take_is_the_time_of_no_algorithm(monkeypatch, made):
    monkeypatch.setattr(Chooser, "_seconds", lambda *_: 0.001)
    kb = sl.materialise(SAME, {"e": [(i, i) for i in range(5)]}, progress=False)
    chosen = []
    for _ in range(30):
        for change in ({"delete": {"e": [(1, 1)]}}, {"insert": {"e": [(1, 1)]}}):
            kb.update(**change, maintenance="auto")
            chosen.append(kb.stats["per_stratum"][-1]["algorithm"])
    assert chosen[0] == "rematerialise"
    assert "counting" in chosen[-8:]
    assert {v.start for v in made} == {None, *range(60)}
