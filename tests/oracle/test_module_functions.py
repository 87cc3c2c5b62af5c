"""Each function of a module does what 000's (repaired) definition says, on random relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratalog.facts.counts import Count
from stratalog.facts.labels import I
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.plan.program import plan_program
from stratalog.plan.rules import Stratum
from stratalog.reason import seminaive
from stratalog.reason.modules.functions import Functions, functions
from tests.oracle.histories import HOSTS, Fact
from tests.signatures import integer

Pairs = set[tuple[int, int]]

R = Predicate("r", 2)
TRANSITIVE = "r(?x, ?z) :- r(?x, ?y), r(?y, ?z) ."
SYMMETRIC = TRANSITIVE + "r(?x, ?y) :- r(?y, ?x) ."
NODES = range(5)

pairs = st.sets(st.sampled_from(sorted(product(NODES, NODES))), max_size=9)


def instances(rules: str, facts: Pairs) -> set[tuple[tuple[int, int], frozenset[tuple[int, int]]]]:
    """Return head and body of all instances over the facts."""
    joins = {((a, d), frozenset({(a, b), (c, d)})) for a, b in facts for c, d in facts if b == c}
    turns = {((b, a), frozenset({(a, b)})) for a, b in facts}
    return joins | turns if rules == SYMMETRIC else joins


def smallest(step: Callable[[Pairs], Pairs]) -> Pairs:
    """Return the smallest set that a monotone step adds nothing to."""
    found: Pairs = set()
    while not step(found) <= found:
        found |= step(found)
    return found


def closed(rules: str, facts: Pairs) -> Pairs:
    return facts | smallest(lambda j: {head for head, _ in instances(rules, facts | j)})


class Subject:
    """A materialised relation with one module, on an engine."""

    def __init__(self, engine: str, rules: str, modules: str, explicit: Pairs) -> None:
        self.host = HOSTS[engine]()
        plan = plan_program(parse_program(rules), [R], modules=modules)
        self.host.load(map(fact, explicit))
        strata = [_as_among_others(stratum) for stratum in plan.strata]
        seminaive.materialise(self.host.engine, strata)
        stratum: Stratum = strata[-1]
        assert stratum.rest == ()
        self.module: Functions = functions(self.host.engine, stratum)[0]

    def batch(self, some: Pairs) -> Any:
        return self.host.batch(map(fact, some))

    def pairs(self, batch: Any) -> Pairs:
        found = (tuple(int(term.text) for term in args) for _, args in self.host.facts(batch))
        return {(a, b) for a, b in found}

    def delete(self, gone: Pairs) -> Pairs:
        """Let explicit facts lose their only count, and return what Del does."""
        delta = self.batch(gone)
        self.host.engine.change_count(delta, Count.NONRECURSIVE, -1)
        return self.pairs(self.module.delete(I, delta))


def _as_among_others(stratum: Stratum) -> Stratum:
    """Return a stratum whose relation is not held as a closure, for there may be other rules."""
    return replace(stratum, modules=tuple(replace(m, closing=None) for m in stratum.modules))


def fact(pair: tuple[int, int]) -> Fact:
    return R, (integer(pair[0]), integer(pair[1]))


@pytest.mark.parametrize("modules", ["auto", "paper"])
@pytest.mark.parametrize("rules", [TRANSITIVE, SYMMETRIC])
@given(explicit=pairs, more=pairs)
def test_add_closes_what_is_new(
    engine: str, rules: str, modules: str, explicit: Pairs, more: Pairs
):
    subject = Subject(engine, rules, modules, explicit)
    old = closed(rules, explicit)
    delta = more - old
    batch = subject.batch(delta)
    subject.host.engine.mark(batch, I)
    added = subject.pairs(subject.module.add(I, batch))
    present = old | delta

    def consequences(j: Pairs) -> Pairs:
        met = delta | j
        return {h for h, body in instances(rules, present | j) if body & met} - present

    assert added == smallest(consequences)


@pytest.mark.parametrize("modules", ["auto", "paper"])
@pytest.mark.parametrize("rules", [TRANSITIVE, SYMMETRIC])
@given(explicit=pairs, data=st.data())
def test_del_is_between_its_bounds(
    engine: str, rules: str, modules: str, explicit: Pairs, data: st.DataObject
):
    gone = {pair for pair in sorted(explicit) if data.draw(st.booleans())}
    deleted = Subject(engine, rules, modules, explicit).delete(gone)
    everything = instances(rules, closed(rules, explicit))
    held = explicit - gone

    def affected(j: Pairs) -> Pairs:
        return {head for head, body in everything if body & (gone | j)} - gone

    least = smallest(lambda j: affected(j) - held)
    if modules == "auto" and engine == "columnar":  # what is still reachable is not deleted
        least = closed(rules, explicit) - closed(rules, held) - gone
        assert deleted == least
    assert least <= deleted <= smallest(affected)
    assert not deleted & held, "facts with C_nr > 0 are not deleted"
    assert not deleted & gone, "what is given is not returned"


@pytest.mark.parametrize("modules", ["auto", "paper"])
@pytest.mark.parametrize("rules", [TRANSITIVE, SYMMETRIC])
@given(explicit=pairs, data=st.data())
def test_red_brings_back_what_follows(
    engine: str, rules: str, modules: str, explicit: Pairs, data: st.DataObject
):
    gone = {pair for pair in sorted(explicit) if data.draw(st.booleans())}
    subject = Subject(engine, rules, modules, explicit)
    deleted = gone | subject.delete(gone)
    left = closed(rules, explicit) - deleted
    back = subject.pairs(subject.module.rederive(subject.batch(deleted)))
    assert back == smallest(lambda j: {head for head, _ in instances(rules, left | j)} & deleted)
