"""Rules evaluated from their heads, and groups recomputed, against the reference engine."""

from __future__ import annotations

from stratalog.engine.reference import FactBatch
from stratalog.engine.spark.rules.sources import Reading
from stratalog.facts.sets import Over
from tests.unit.engine.spark_rules.worlds import (
    Sets,
    World,
    engine_of,
    expected,
    planned,
    random_parts,
    together,
)

FACTS = """
e(1, 2). e(2, 3). e(3, 3). e(3, 1). f(2, 3). f(1, 1). f(3, 2). c(1). c(3). d(2). d(3). c(2).
t(1, 2, 3). t(2, 2, 1). t(3, 1, 3). yes().
"""
RULES = """
p(?x, ?z) :- e(?x, ?y), f(?y, ?z).  p(?x, ?y) :- t(?x, ?y, ?z), NOT e(?y, ?z).
p(?y, ?x) :- e(?x, ?y).             q(?x) :- c(?x), yes(), NOT f(?x, ?x).
q(?m) :- c(?x), BIND(?x + 1 AS ?m). p(?x, ?k) :- d(?x), BIND(?x * 2 AS ?k), NOT e(?k, ?x).
q(7) :- e(?x, ?x). ok() :- c(?x), d(?x). q(?x) :- e(?x, ?y), FILTER(?x < ?y).
"""
GROUPED = """
s(?x, ?n) :- AGGREGATE(e(?x, ?y), f(?y, ?z) ON ?x BIND SUM(?z) AS ?n).
all(?n, ?m) :- AGGREGATE(e(?x, ?y) BIND COUNT(*) AS ?n BIND MAX(?y) AS ?m).
out(?x, ?n) :- AGGREGATE(t(?x, ?y, ?z), NOT c(?y) ON ?x BIND COUNT(DISTINCT ?z) AS ?n).
both(?x, ?y, ?n) :- AGGREGATE(t(?x, ?y, ?z), FILTER(?z > 1) ON ?x ?y BIND MIN(?z) AS ?n).
"""


def bodies_and_expected(spark, rules, facts, limit):
    """Return the parts that Spark finds from every other head, and what the reference finds."""
    sets = Sets(facts, facts)
    plain = [rule for rule in rules if rule.grouping is None]
    every = sorted({fact for _, fact in expected(plain, sets)}, key=repr)
    heads = frozenset(every[::2])
    world = World(spark)
    frames = {k: world.frame(heads, k) for k in {len(args) for _, args in heads}}
    reading = Reading(world.sources(sets), world.sizes(sets))
    found = world.rules.bodies(rules, frames, reading, len(heads), limit).toArrow()
    parts = found["part"].to_numpy()
    everything = Over(frozenset(p for p, _ in facts))
    wanted = engine_of(sets).bodies_of(
        rules, FactBatch(heads), FactBatch(facts), FactBatch(facts), everything, limit
    )
    assert wanted.derived.facts == heads
    return [set(world.facts(found.filter(parts == part))) for part in range(3)], wanted


def test_bodies_of_heads(spark):
    rules, facts = planned(FACTS + RULES)
    (derived, bodies, unfinished), wanted = bodies_and_expected(spark, rules, facts, None)
    assert derived == wanted.derived.facts
    assert bodies == wanted.facts.facts
    assert not unfinished


def test_some_bodies_of_heads(spark):
    rules, facts = planned(FACTS + RULES)
    (derived, bodies, unfinished), wanted = bodies_and_expected(spark, rules, facts, 1)
    assert derived == wanted.derived.facts
    assert unfinished == wanted.unfinished.facts
    assert unfinished
    assert bodies < facts
    rederived = {fact for _, fact in expected(rules, Sets(frozenset(bodies), facts))}
    assert derived <= rederived


def test_bodies_in_random_programs(spark):
    rules, facts = together(random_parts(8, 3))
    facts |= {fact for _, fact in expected(rules, Sets(facts))}
    (derived, bodies, _), wanted = bodies_and_expected(spark, rules, facts, None)
    assert derived == wanted.derived.facts
    assert bodies == wanted.facts.facts


def test_no_bodies(spark):
    rules, facts = planned(FACTS + GROUPED)
    world = World(spark)
    reading = Reading(world.sources(Sets(facts)), world.sizes(Sets(facts)))
    aggregates = [rule for rule in rules if rule.grouping]
    assert world.rules.bodies(aggregates, {}, reading, 1) is None


def regrouped(spark, rules, explicit, lost, gained):
    """Return the facts of groups lost and gained, in Spark and in the reference engine."""
    grouped = [rule for rule in rules if rule.grouping]
    before = frozenset(fact for _, fact in expected(grouped, Sets(explicit, explicit)))
    old = explicit | before
    new = (old - lost) | gained
    olds, news = Sets(old, old, lost, gained), Sets(new, new, gained, lost)
    world = World(spark)
    found = world.rules.groups(
        rules,
        Reading(world.sources(olds), world.sizes(olds)),
        Reading(world.sources(news), world.sizes(news)),
    )
    got_before = {f for groups in found.values() for f in world.facts(groups.before.toArrow())}
    got_after = {f for groups in found.values() for f in world.facts(groups.after.toArrow())}
    engine = engine_of(Sets(old | new))
    wanted = engine.regroup(rules, FactBatch(old), FactBatch(new), FactBatch(()), FactBatch(()))
    assert got_before - got_after == wanted.lost.facts
    assert got_after - got_before == wanted.gained.facts
    return wanted


def test_groups_with_changed_input(spark):
    rules, facts = planned(FACTS + GROUPED)
    ordered = sorted(facts, key=repr)
    lost, gained = frozenset(ordered[::5]), frozenset(ordered[1::4])
    found = regrouped(spark, rules, facts - gained, lost - gained, gained)
    assert found.lost
    assert found.gained


def test_no_group_changes(spark):
    rules, facts = planned(FACTS + GROUPED)
    none = frozenset()
    found = regrouped(spark, rules, facts, none, none)
    assert not found.lost


def test_groups_in_random_programs(spark):
    parts = random_parts(100, 5)
    rules, facts = together([p for p in parts if any(r.grouping for r in p[0])][:20])
    plain = [rule for rule in rules if rule.grouping is None]
    facts |= {fact for _, fact in expected(plain, Sets(facts))}
    ordered = sorted(facts, key=repr)
    gained = frozenset(ordered[::4])
    found = regrouped(spark, rules, facts - gained, frozenset(ordered[1::6]) - gained, gained)
    assert found.lost
    assert found.gained
