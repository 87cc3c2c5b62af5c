"""Any join order gives every instance once: the delta may be read anywhere, atoms together.

Orders are drawn at random instead of being chosen by cost.
"""

from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stratalog
from stratalog.engine.columnar import index, planned
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.facts.labels import E, I
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan import order
from stratalog.plan.program import plan_program
from tests.agreement.test_apply import columnar, derived, fact_lists, reference, rules


@contextmanager
def any_order(seed, *, laid_out):
    """Let every delta be large and every order be drawn; intersections on layouts, or not."""
    random = Random(seed)

    def drawn(self):
        found = order._Order(0.0, 1.0, ())
        rest = set(range(len(self._body)))
        while rest:
            found = random.choice(list(self._longer(found, frozenset(rest))))
            rest.difference_update(found.groups[-1])
        return found

    with (
        patch.object(order, "LEAST_MET", 0.0),
        patch.object(order._Search, "best", drawn),
        patch.object(order._Search, "is_listed", lambda _: random.random() < 0.5),
        patch.object(planned, "LARGE_DELTA_ROWS", 1),
        patch.object(index, "STALE", 0.0 if laid_out else float("inf")),
    ):
        yield


@pytest.mark.parametrize("laid_out", [True, False])
@given(st.lists(rules(), min_size=1, max_size=2), fact_lists(), st.integers(0, 2**32), st.data())
def test_any_order_considers_every_instance_exactly_once(laid_out, texts, facts, seed, data):
    program = plan_program(parse_program(" ".join(texts)))
    pos = [f for f in facts if data.draw(st.booleans())]
    neg = [f for f in facts if data.draw(st.booleans())]
    pos_delta = [f for f in pos if data.draw(st.booleans())]
    neg_delta = [f for f in facts if f not in neg and data.draw(st.booleans())]
    if data.draw(st.booleans()):
        pos_delta = neg_delta = None
    dictionary = Dictionary()
    arguments = program, pos, neg, pos_delta, neg_delta
    expected = derived(reference(facts, dictionary), *arguments)
    with any_order(seed, laid_out=laid_out):
        assert derived(columnar(facts, dictionary), *arguments) == expected


def loaded(**relations):
    engine = ColumnarEngine(Dictionary())
    for name, rows in relations.items():
        columns = np.array(rows, np.uint32).reshape(len(rows), -1).T
        engine.load(Predicate(name, columns.shape[0]), list(columns), len(rows))
    return engine


CHAIR = "chair(?x) :- person(?x), head(?x, ?y), department(?y) ."


def applied(text, name, rows, **relations):
    """The heads that follow from a delta of the first rows of a relation, and the cost."""
    engine = loaded(**relations)
    for predicate in relations:
        arity = np.array(relations[predicate]).reshape(len(relations[predicate]), -1).shape[1]
        relation = engine.relation(Predicate(predicate, arity))
        engine.mark(ColumnarBatch({relation.number: np.arange(relation.rows, dtype=np.uint32)}), I)
        if predicate == name:
            delta = ColumnarBatch({relation.number: np.arange(rows, dtype=np.uint32)})
    rules = plan_program(parse_program(text)).rules
    found = engine.apply(rules, I, I, delta)
    return len(found), engine.profile()[0].rows_visited


@pytest.mark.parametrize(("rows", "most"), [(20_000, 1_000), (1_000, 3_000), (10, 100)])
def test_work_follows_the_smaller_of_the_delta_and_the_other_relations(rows, most, monkeypatch):
    monkeypatch.setattr(planned, "LARGE_DELTA_ROWS", 4096)
    heads = [(i, i % 100) for i in range(100)]
    found, visited = applied(
        CHAIR,
        "person",
        rows,
        person=list(range(20_000)),
        head=heads,
        department=list(range(100)),
    )
    assert found == min(100, rows)
    assert visited < most


def test_a_version_that_reads_old_facts_is_left_out_where_all_facts_are_new():
    engine = loaded(p=[(i, i + 1) for i in range(5000)])
    relation = engine.relation(Predicate("p", 2))
    everything = ColumnarBatch({relation.number: np.arange(5000, dtype=np.uint32)})
    rules = plan_program(parse_program("h(?x) :- p(?x, ?y), p(?y, ?z), p(?z, ?w) .")).rules
    engine.mark(everything, I)
    assert len(engine.apply(rules, I, I, everything)) == 4998
    found = engine.planner.planned(
        engine._rule_index(rules).meeting(frozenset([relation.predicate]), frozenset()), I, I, -1
    )
    assert [p.version.start for p in found] == [0]


def test_plans_are_kept_by_the_size_of_the_delta(monkeypatch):
    monkeypatch.setattr(planned, "LARGE_DELTA_ROWS", 4096)
    engine = loaded(p=[(i, i % 7) for i in range(40_000)], q=[(i,) for i in range(7)])
    relation = engine.relation(Predicate("p", 2))
    rules = plan_program(parse_program("h(?x) :- p(?x, ?y), q(?y) .")).rules
    versions = engine._rule_index(rules).meeting(frozenset([relation.predicate]), frozenset())

    def plans(rows):
        relation.set_delta(np.arange(rows, dtype=np.uint32))
        return engine.planner.planned(versions, E, E, -1)

    assert plans(10) == plans(1000)
    assert plans(10) != plans(40_000)
    assert plans(10) == plans(10)


ALGORITHMS = ["auto", "counting", "dred", "dred-c", "bf", "bf-c", "rematerialise"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_large_delta_is_met_with_atoms_that_miss_the_same_variable(algorithm, monkeypatch):
    monkeypatch.setattr(planned, "LARGE_DELTA_ROWS", 4096)
    facts = {"a": [(i % 10, i) for i in range(100)], "b": [(0, 2)]}
    facts["c"] = [(i % 2 + 3, i, 4) for i in range(100)]
    text = "p(?x) :- a(1, ?x), b(?x, 2) . q(?x) :- a(1, ?x), b(?x, 2), c(4, ?x, 4), NOT p(?x) ."
    for rows in (4095, 4096, 5000):
        kb = stratalog.materialise(text, facts, progress=False)
        changes = kb.update(insert={"b": [(i, 2) for i in range(rows)]}, maintenance=algorithm)
        assert (len(changes.added["p"]), len(kb["p"])) == (10, 10)
        assert "q" not in changes.added
