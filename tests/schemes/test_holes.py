"""What schemes cannot answer yet, because nothing asks: the seam is to close these holes."""

from __future__ import annotations

from collections import Counter

import pytest

from stratalog.facts.labels import D, E, I
from stratalog.facts.sets import FactSet, Over, Supported
from tests.schemes.adapter import NR, Schemes, thaw
from tests.schemes.kinds import KINDS
from tests.schemes.model import Model, Pair

KIND = next(kind for kind in KINDS if kind.name == "transitive")
SPEC, T = KIND.schemes[0], KIND.predicates[0]
CHAIN = [(0, 1), (1, 2), (2, 3)]
HERE = Over(SPEC.predicates)
OF_FACTS = [E & I, I - E, E - D, Supported(NR)]


def made(kind=KIND) -> tuple[Schemes, Model]:
    explicit = {kind.predicates[0]: set(CHAIN)}
    return Schemes.materialise(kind, explicit), Model.of(kind, explicit)


def facts(pairs: set[Pair]) -> Counter:
    return Counter((T, pair) for pair in pairs)


@pytest.mark.xfail(
    raises=AssertionError, reason="a part of a closure is whole regions, or explicit facts alone"
)
@pytest.mark.parametrize("described", OF_FACTS, ids=str)
def test_a_selection_tells_explicit_and_supported_facts_from_others(described: FactSet):
    schemes, model = made()
    found = schemes.facts(schemes.select(HERE & described))
    assert found == facts(model.facts(T, described))


@pytest.mark.xfail(
    raises=AssertionError, reason="rows and regions of one relation are not compared"
)
@pytest.mark.parametrize("described", [I, E, Supported(NR)], ids=str)
def test_a_part_of_rows_and_one_of_regions_meet(described: FactSet):
    schemes, model = made()
    within = schemes.select(HERE & (I if described is not I else E))
    found = schemes.facts(schemes.select(within & described))
    assert found == facts(model.facts(T, I) & model.facts(T, E))


@pytest.mark.xfail(
    raises=AssertionError, reason="kernels read the mark of a region, and not that of a fact"
)
@pytest.mark.parametrize("described", [E, E & I, I - E], ids=str)
def test_rules_tell_explicit_facts_from_others(described: FactSet):
    schemes, model = made()
    expected = {pair for pair in model.facts(T, described) if pair[0] == 1}
    assert schemes.expand(T, (0,), [1], described) == Counter(expected)


@pytest.mark.xfail(
    raises=AssertionError, reason="a closure remembers what was before its last change alone"
)
def test_two_changes_in_one_update_are_taken_back_together():
    schemes, model = made()
    schemes.begin()
    for pair in ((3, 4), (4, 5)):
        touched = schemes.support(T, [pair], 1)
        schemes.follow(SPEC, touched, schemes.nothing, schemes.nothing)
    schemes.roll_back()
    assert set(schemes.read(T, I)) == model.facts(T, I)


@pytest.mark.xfail(
    raises=AssertionError, reason="a closure remembers what was before its last change alone"
)
def test_two_changes_in_one_update_are_one_change_to_whoever_reads_it():
    schemes, model = made()
    schemes.begin()
    for pair in ((3, 4), (4, 5)):
        model.change(T, pair, is_explicit=True)
        touched = schemes.support(T, [pair], 1)
        done = schemes.follow(SPEC, touched, schemes.nothing, schemes.nothing)
    assert done is not None
    assert schemes.facts(done.gained) == facts(model.holds()[T] - model.facts(T, I))


@pytest.mark.xfail(raises=AssertionError, reason="only what has changed can be frozen")
def test_what_has_not_changed_can_be_frozen_too():
    schemes, model = made()
    frozen = schemes.freeze(schemes.select(HERE & I))
    schemes.release(SPEC)
    assert thaw(frozen) == facts(model.facts(T, I))
