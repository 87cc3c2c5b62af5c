"""Heads that Spark derives are those that the reference engine's instances have."""

from __future__ import annotations

import random

import pytest

from tests.unit.engine.spark_rules.worlds import (
    Sets,
    World,
    all_versions,
    expected,
    planned,
    random_parts,
    together,
)

FACTS = """
e(1, 2). e(2, 3). e(3, 3). e(3, 1). f(2, 3). f(1, 1). f(3, 2). c(1). c(3). d(2). d(3).
t(1, 2, 3). t(2, 2, 1). t(3, 1, 3). yes().
"""
PROGRAMS = {
    "copies": "p(?x, ?y) :- e(?x, ?y). p(?y, ?x) :- f(?x, ?y). q(?x) :- c(?x). q(?x) :- d(?x).",
    "joins": "p(?x, ?z) :- e(?x, ?y), f(?y, ?z). p(?x, ?z) :- e(?x, ?y), e(?y, ?z).",
    "orders": "p(?x) :- e(?x, ?y), c(?y). p(?x) :- d(?y), f(?x, ?y).",
    "constants": "p(?x, 7) :- e(?x, 3). p(1, ?x) :- t(?x, 2, ?y). q(?y) :- e(1, ?y), c(3)."
    " q(?y) :- e(2, ?y), c(1).",
    "repeats": "p(?x) :- e(?x, ?x). q(?x, ?x) :- t(?x, ?y, ?x), e(?y, ?y). p(?x) :- f(?x, ?x).",
    "negation": "p(?x) :- e(?x, ?y), NOT c(?y). p(?x) :- f(?x, ?y), NOT d(?y), NOT e(?y, ?x).",
    "negation of constants": "p(?x) :- c(?x), NOT e(1, ?x). q(?x) :- c(?x), NOT e(2, 3).",
    "no arguments": "p(?x) :- c(?x), yes(). ok() :- e(?x, ?y), c(?y). q(?x) :- c(?x), NOT yes().",
    "products": "p(?x, ?y) :- c(?x), d(?y). q(?x) :- c(?x), e(?y, ?z).",
    "three atoms": "p(?x, ?z) :- e(?x, ?y), f(?y, ?z), e(?z, ?x)."
    " q(?w) :- t(?x, ?y, ?z), e(?x, ?z), f(?y, ?w).",
    "filters": "p(?x) :- e(?x, ?y), FILTER(?x < ?y). p(?x) :- t(?x, ?y, ?z), FILTER(?x + ?y > ?z)."
    " q(?x, ?y) :- e(?x, ?y), c(?x), FILTER(?x != ?y || ?y = 3), NOT f(?y, ?x).",
    "binds": "p(?x, ?m) :- e(?x, ?y), BIND(?x * 10 AS ?m). p(?m, ?k) :- c(?x), BIND(?x / 2 AS ?m),"
    " BIND(?m + 1 AS ?k), FILTER(?k > 1.6). q(?x) :- c(?x), BIND(?x + 1 AS ?m), NOT d(?m).",
    "constant conditions": "p(?x) :- c(?x), FILTER(1 < 2). q(?x) :- c(?x), FILTER(2 < 1).",
    "groups": "p(?x, ?n) :- AGGREGATE(e(?x, ?y), f(?y, ?z) ON ?x BIND SUM(?z) AS ?n)."
    " q(?n, ?m) :- AGGREGATE(e(?x, ?y) BIND COUNT(*) AS ?n BIND MAX(?y) AS ?m)."
    " p(?x, ?n) :- AGGREGATE(t(?x, ?y, ?z), NOT c(?y) ON ?x BIND COUNT(DISTINCT ?z) AS ?n)."
    " q(?x, ?n) :- AGGREGATE(e(?x, ?y), BIND(?y * 2 AS ?w), NOT d(?w), FILTER(?w < 5) ON ?x"
    " BIND AVG(?w) AS ?n).",
}


def random_sets(facts, draw):
    """Return sets with Δᵖ ⊆ Iᵖ and Δⁿ ∩ Iⁿ = ∅, as algorithms use them."""
    ordered = sorted(facts, key=repr)
    pos = frozenset(f for f in ordered if draw.random() < 0.9)
    neg = frozenset(f for f in ordered if draw.random() < 0.3)
    return Sets(
        pos,
        neg,
        frozenset(f for f in ordered if f in pos and draw.random() < 0.4),
        frozenset(f for f in ordered if f not in neg and draw.random() < 0.5),
    )


@pytest.fixture(scope="module")
def written():
    return together(planned(FACTS + text) for text in PROGRAMS.values())


def test_all_instances(written, spark):
    rules, facts = written
    sets = Sets(frozenset(facts), frozenset(facts))
    assert World(spark).heads(all_versions(rules, sets), sets) == expected(rules, sets)


def test_instances_with_a_changed_fact(written, spark):
    rules, facts = written
    sets = random_sets(facts, random.Random(1))
    world = World(spark)
    found = world.heads(all_versions(rules, sets), sets)
    assert found == expected(rules, sets)
    assert len(found) > 15
    assert world.heads(all_versions(rules, sets), sets) == found  # with what is kept


def test_rules_without_body(spark):
    rules, facts = planned(FACTS + "p(5) :- NOT d(1). p(6) :- NOT d(2). q(1, 2) :- NOT yes().")
    sets = Sets(facts, facts)
    found = World(spark).heads(all_versions(rules, sets), sets)
    assert found == expected(rules, sets)
    assert len(found) == 1


@pytest.mark.parametrize("has_delta", [False, True])
def test_random_programs(has_delta, spark):
    rules, facts = together(random_parts(12, 7 + has_delta))
    facts |= {fact for _, fact in expected(rules, Sets(facts))}  # one round of heads
    sets = random_sets(facts, random.Random(2)) if has_delta else Sets(facts, facts)
    assert World(spark).heads(all_versions(rules, sets), sets) == expected(rules, sets)
