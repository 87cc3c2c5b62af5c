"""An update, stratum by stratum, whatever algorithm maintains each of them.

001 (Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations), Algorithm 1, DRed,
whose frame Algorithms 2 (lines 21-22, 26) and 3 (51-52, 56) share.
Paper lines: 1-2, 6.

| paper                      | here                                                        |
|----------------------------|-------------------------------------------------------------|
| E⁻, E⁺                     | deleted, inserted                                           |
| D∖A, A∖D                   | the batches lost, gained; an engine sees the labels D and A |
| the loop's body            | maintain: each algorithm's own                              |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine, Regrouped
from stratalog.facts.labels import A, D, E, I, X
from stratalog.facts.sets import Batch, FactSet, Over
from stratalog.lang.syntax import Predicate
from stratalog.plan.rules import PlannedRule, Stratum

OLD, NEW = I, (I - D) | A
STANDING = I - (D - A)  # what deletion has left of the old materialisation
NOTHING = Over(frozenset())


class StratumChanges(NamedTuple):
    """What a stratum has to follow."""

    deleted: Batch  # E⁻ ∩ O^s
    inserted: Batch  # E⁺ ∩ O^s
    lost: Batch  # D∖A, of earlier strata that its rules read
    gained: Batch  # A∖D, of earlier strata that its rules read
    regrouped: Regrouped  # facts of the stratum's aggregates


class Changed(NamedTuple):
    """What an algorithm has marked D and A in one stratum."""

    deleted: Batch
    added: Batch


Maintain = Callable[[Engine[PlannedRule], Stratum, StratumChanges], Changed]


class Updated(NamedTuple):
    """The net change of the materialisation."""

    removed: Batch
    added: Batch


def update(
    engine: Engine[PlannedRule],
    strata: Iterable[Stratum],
    deleted: Batch,
    inserted: Batch,
    maintain: Maintain,
    *,
    changed: Collection[Stratum] = (),
) -> Updated:
    """Delete and insert explicit facts, and mark with I exactly what follows then.

    `deleted` are explicit facts that are not inserted at once, `inserted` stored facts that are
    not explicit (L1); the strata hold the predicates of both. The `changed` ones have other rules
    than those that made their facts and counts: they are rematerialised, whatever `maintain` does.
    """
    nothing = engine.settle(NOTHING)
    lost, gained = _Differences(engine, nothing), _Differences(engine, nothing)
    touched: list[Batch] = []
    different = set(engine.predicates_of(deleted) | engine.predicates_of(inserted))
    for stratum in strata:  # L2
        has_changed = stratum in changed
        is_concerned = not (
            different.isdisjoint(stratum.predicates) and different.isdisjoint(stratum.reads)
        )
        if not has_changed and not is_concerned:
            continue  # most strata, in a small update
        changes = _changes(engine, stratum, (deleted, inserted), (lost, gained))
        if has_changed:
            done = _rematerialise(engine, stratum, changes)
        elif not (stratum.nonrecursive or stratum.recursive):
            done = _follow(engine, changes)
        else:
            done = maintain(engine, stratum, _regrouped(engine, stratum, changes))
        if done.deleted:
            different |= lost.add(engine.settle(done.deleted - A))
        if done.added:
            different |= gained.add(engine.settle(done.added - D))
        touched += done
    updated = Updated(lost.total(), gained.total())
    engine.unmark(deleted, E)  # L6
    engine.mark(inserted, E)
    engine.unmark(updated.removed, I)
    engine.mark(updated.added, I)
    scaffolding = union(engine, touched)
    for label in (D, A):
        engine.unmark(scaffolding, label)
    return updated


class _Differences:
    """Net differences of earlier strata; a stratum looks only at those of predicates it reads."""

    def __init__(self, engine: Engine[PlannedRule], nothing: Batch) -> None:
        self._engine = engine
        self.nothing = nothing
        self._batches: list[Batch] = []
        self._number_of: dict[Predicate, int] = {}

    def add(self, batch: Batch) -> frozenset[Predicate]:
        """Take in the differences of one stratum; return their predicates."""
        predicates = self._engine.predicates_of(batch)
        self._number_of.update(dict.fromkeys(predicates, len(self._batches)))
        self._batches.append(batch)
        return predicates

    def of(self, predicates: Iterable[Predicate]) -> Batch:
        numbers = {self._number_of[p] for p in predicates if p in self._number_of}
        if not numbers:
            return self.nothing
        return union(self._engine, [self._batches[number] for number in sorted(numbers)])

    def total(self) -> Batch:
        return union(self._engine, self._batches)


def _changes(
    engine: Engine[PlannedRule],
    stratum: Stratum,
    explicit: tuple[Batch, Batch],
    earlier: tuple[_Differences, _Differences],
) -> StratumChanges:
    """Return what a stratum has to follow, its aggregates still unchanged."""
    here = Over(stratum.predicates)
    deleted, inserted = (engine.settle(batch & here) if batch else batch for batch in explicit)
    lost, gained = (differences.of(stratum.reads - stratum.predicates) for differences in earlier)
    nothing = earlier[0].nothing
    return StratumChanges(deleted, inserted, lost, gained, Regrouped(nothing, nothing))


def _regrouped(
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
) -> StratumChanges:
    # Differs: an aggregate is recomputed group by group; each of its facts has C_nr = 1.
    if not stratum.aggregates:
        return changes
    lost, gained = changes.lost, changes.gained
    regrouped = engine.regroup(stratum.nonrecursive, OLD, NEW, lost, gained)
    return changes._replace(regrouped=regrouped)


def _follow(engine: Engine[PlannedRule], changes: StratumChanges) -> Changed:
    """Delete and insert the facts of a stratum without rules, on which all algorithms agree."""
    deleted, inserted = changes.deleted, changes.inserted
    engine.change_count(deleted, Count.NONRECURSIVE, -1)
    engine.mark(deleted, D)
    engine.change_count(inserted, Count.NONRECURSIVE, 1)
    engine.mark(inserted, A)
    return Changed(deleted, inserted)


def _rematerialise(
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
) -> Changed:
    from stratalog.reason import rematerialise  # which needs this file

    engine.drop_closures(stratum.predicates)
    external = engine.settle(Over(stratum.predicates) & X)  # to modules that may be gone
    engine.unmark(external, X)
    return rematerialise.maintain(engine, stratum, changes)


def derive(
    engine: Engine[PlannedRule],
    stratum: Stratum,
    pos: FactSet,
    neg: FactSet,
    delta: Batch,
    *,
    lower: bool = False,
) -> Batch:
    """Return Π_r[Iᵖ, Iⁿ : Δ] and let C_r follow, which rules of modules do not count to."""
    found = engine.apply(stratum.rest, pos, neg, delta, count=Count.RECURSIVE, lower=lower)
    if not stratum.modules:
        return found
    return union(engine, [found, engine.apply(stratum.special, pos, neg, delta)])


def union(engine: Engine[PlannedRule], batches: Sequence[Batch]) -> Batch:
    """Return the facts of all batches; if only one has any, that is it."""
    found = [batch for batch in batches if batch] or batches[:1]
    return found[0] if len(found) == 1 else engine.settle(balanced_union(found))


def balanced_union(batches: Sequence[FactSet]) -> FactSet:
    """Return the union of the batches of many rounds, balanced: to settle it costs little more."""
    if not batches:
        return NOTHING
    if len(batches) == 1:
        return batches[0]
    middle = len(batches) // 2
    return balanced_union(batches[:middle]) | balanced_union(batches[middle:])
