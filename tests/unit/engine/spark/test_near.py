"""Rules that the driver applies alone: which they are, and that they cost no action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stratalog.engine.spark import near
from stratalog.engine.spark.engine import SparkEngine
from stratalog.engine.spark.levels import merged_levels
from stratalog.engine.spark.near import Paths, instances, near_version
from stratalog.facts.labels import E, I
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.delta import Role, Version
from stratalog.plan.program import plan_program, predicates_of
from stratalog.plan.rules import Plan, PlannedRule
from stratalog.reason import bf_c, dred_c, seminaive
from stratalog.reason.update import NOTHING, Maintain, update

P, Q, R = Predicate("p", 2), Predicate("q", 1), Predicate("r", 2)


def planned(text: str) -> Plan:
    program = parse_program(text)
    return plan_program(program, predicates_of(program))


def only_rule(text: str) -> PlannedRule:
    (rule,) = planned(text).rules
    return rule


def ids(*constants: int) -> Any:
    return np.array(constants, np.uint32)


@pytest.mark.parametrize(
    ("text", "start", "is_near"),
    [
        ("q(?x) :- p(?x, ?y) .", 0, True),
        ("r(?y, 7) :- p(?x, ?y), q(?x) .", 0, True),
        ("r(?y, 7) :- p(?x, ?y), q(?x) .", 1, False),
        ("q(?x) :- p(?x, ?y), NOT r(?y, ?x) .", 0, True),
        ("q(?x) :- p(?x, ?y), FILTER(?x != ?y) .", 0, False),
        ("r(?x, ?z) :- p(?x, ?y), p(?y, ?z) .", 1, False),
    ],
)
def test_one_fact_names_all_constants(text: str, start: int, is_near: bool):
    rule = only_rule(text)
    predicate = "p" if start == 0 or "q" not in text else "q"
    places = [i for i, atom in enumerate(rule.body) if atom.predicate.name == predicate]
    assert (near_version(Version(rule, places[-1])) is not None) == is_near


def test_a_negated_atom_may_be_the_start():
    rule = only_rule("q(?x) :- p(?x, ?y), NOT r(?y, ?x) .")
    found = near_version(Version(rule, 0, negative=True))
    assert found is not None
    assert found.start.predicate == R
    assert found.delta is Role.NEGATED_DELTA
    assert [(role, atom.predicate) for role, atom in found.reads] == [(Role.OLD, P)]
    assert not found.absent


def test_without_a_delta_no_version_is_near():
    assert near_version(Version(only_rule("q(?x) :- p(?x, ?y) ."))) is None


def test_constants_and_repeated_variables_choose():
    (head,) = (rule.body[0] for rule in planned("q(?x) :- s(?x, 7, ?x) .").rules)
    found = instances(head, [ids(1, 2, 3), ids(7, 7, 8), ids(1, 5, 3)], 3, lambda _: 7)
    assert found.size == 1
    assert [column.tolist() for column in found.columns.values()] == [[1]]


def test_facts_are_reached_by_several_rules_each_once(monkeypatch: pytest.MonkeyPatch):
    plan = planned("r(?y, ?x) :- p(?x, ?y) . p(?y, ?x) :- r(?x, ?y) . q(?x) :- r(?x, ?y), q(?y) .")
    paths = Paths(Dictionary(), lambda _: 0)
    paths.learn(plan.rules)
    given = [(P, [ids(1, 1), ids(2, 2)], 2)]
    found = {p: np.array(columns).T.tolist() for p, columns, _ in paths.reached(given)}
    assert found == {R: [[2, 1]], Q: [[2], [1]]}
    monkeypatch.setattr(near, "MOST_REACHED", 1)
    assert not list(paths.reached(given))


TEXT = """
r(?y, ?x) :- p(?x, ?y) .
s(?x, ?y) :- r(?y, ?x) .
r(?y, ?x) :- s(?x, ?y) .
q(?x) :- r(?x, ?y) .
t(?x) :- q(?x), p(?x, ?x) .
u(?x) :- q(?x), NOT t(?x) .
u(?x) :- t(?x) .
"""


@pytest.fixture
def updated(spark: Any) -> Iterator[SparkEngine]:
    made = SparkEngine(spark, Dictionary())
    made.load(P, [ids(1, 2, 2, 3), ids(2, 2, 3, 1)], 4)
    made.load(Predicate("v", 1), [np.arange(8, dtype=np.uint32)], 8)  # no rule is about it
    seminaive.materialise(made, STRATA)
    yield made
    made.close()


STRATA = merged_levels(planned(TEXT).strata)


def sizes(engine: SparkEngine) -> dict[str, int]:
    return {p.name: engine.size(p, I) for stratum in STRATA for p in stratum.predicates}


@pytest.mark.parametrize("maintain", [dred_c.maintain, bf_c.maintain])
def test_an_update_by_near_rules_is_one_action(updated: SparkEngine, maintain: Maintain):
    assert sizes(updated) == {"p": 4, "r": 4, "s": 4, "q": 3, "t": 1, "u": 3}
    updated.begin()
    before = updated.session.actions
    deleted = updated.settle(updated.find([(P, [ids(2, 1), ids(2, 2)], 2)]) & E)
    update(updated, STRATA, deleted, updated.settle(NOTHING), maintain)
    assert updated.session.actions == before + 1
    updated.commit()
    assert sizes(updated) == {"p": 2, "r": 2, "s": 2, "q": 2, "t": 0, "u": 2}


def test_only_facts_that_were_derived_again_are_written_again(updated: SparkEngine):
    (table,) = updated.facts.tables.values()
    explicit = next(s for s in table.segments if s.cells_of(updated.facts.number(P)))
    again = {updated.facts.predicates[n] for c in table.contributions for n in c.predicates}
    assert again == {R}
    updated.facts.compact_counts()
    assert not table.contributions
    assert explicit in table.segments
    (made,) = (s for s in table.segments if s.cells_of(updated.facts.number(R)))
    assert made.number == table.made - 1
    assert updated.stored(R).nonrecursive.tolist() == [1] * 4
    assert updated.stored(R).recursive.tolist() == [1] * 4
    assert updated.stored(Predicate("s", 2)).recursive.tolist() == [1] * 4
