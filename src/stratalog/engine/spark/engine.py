"""The Spark engine: the protocol of `facts/engine.py` on segments in Spark and a driver's overlay.

What is much stays in Spark: `apply` writes a segment, marks and sets are metadata of its cells.
Within an update, from `begin` to `commit`, all facts that are touched are fetched into the overlay,
and marks, counts and undoing are the overlay's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.components import connections
from stratalog.engine.columnar.planned import RuleIndex, rule_text
from stratalog.engine.columnar.settle import settle as settle_rows
from stratalog.engine.shared.costs import Costs
from stratalog.engine.spark.backward import Backward
from stratalog.engine.spark.batch import NOTHING, SparkBatch, in_use
from stratalog.engine.spark.bulk import Bulk
from stratalog.engine.spark.contents import Contents
from stratalog.engine.spark.deriving import Change, Derived
from stratalog.engine.spark.enclosures import Enclosures
from stratalog.engine.spark.holding import Holding
from stratalog.engine.spark.near import Encoded
from stratalog.engine.spark.nearby import Nearby
from stratalog.engine.spark.overlay import Integers
from stratalog.engine.spark.reading import Meaning, Reader, deltas
from stratalog.engine.spark.settle import (
    NotWholeCellsError,
    Settling,
    checked,
    scanned,
    with_rows,
)
from stratalog.facts.counts import Count
from stratalog.facts.engine import Bodies, BudgetSpentError, Reclosed, Regrouped
from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.facts.sets import Batch, FactSet, Label
from stratalog.facts.terms import Terms
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate
from stratalog.plan.delta import Role, Version
from stratalog.plan.rules import PlannedRule
from stratalog.runtime.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OVERLAY = sized(200_000, 6)  # facts: more become a segment before the next update
SHARE = 16  # with closures, one in so many of all facts, if that is more
LARGEST_OVERLAY = 4_000_000  # that the driver should keep


class SparkEngine(Contents):
    """Reasoning over facts in Spark, driven from this process."""

    def __init__(self, spark: SparkSession, terms: Terms, limits: Limits | None = None) -> None:
        super().__init__(spark, terms, limits)
        self.costs = Costs()
        self._indexes: dict[int, RuleIndex] = {}
        self.is_updating = False
        self._done = 0
        self._most_work: int | None = None
        self._deadline = inf
        self._level = self._round = 0
        bulk = Bulk(self)
        self._enclosures, self._holding = Enclosures(self, bulk), Holding(self, bulk)

    def begin_overlay(self) -> None:
        super().begin_overlay()
        self._settling = Settling(self.facts, self.overlay)
        self._nearby = Nearby(self.overlay, self.fetching, self.deriving, self.paths)
        self._backward = Backward(self.facts, self.overlay, self.deriving, self.rules, self._nearby)

    # -- sets

    def settle(self, described: FactSet) -> SparkBatch:
        if isinstance(described, SparkBatch):
            return described
        self.take_in()
        if not self.is_updating and not self.overlay.facts_stored():
            try:
                return self._settling.settle(described)
            except NotWholeCellsError:  # then it is a matter of facts, not of cells
                pass
        return self.settle_rows(described)

    def settle_rows(self, described: FactSet) -> SparkBatch:
        """Return the facts of a set as rows of the overlay, fetched as far as they are not."""
        for over, labels in scanned(described):
            self.fetching.scan(over, labels)
        return SparkBatch(local=settle_rows(self.overlay, with_rows(described, self.as_rows)))

    def as_rows(self, batch: Batch) -> ColumnarBatch:
        """Return the facts of a batch as rows of the overlay."""
        given = checked(batch)
        if not given.cells and not given.parts:
            return given.local
        return self.fetching.rows(given)

    def predicates_of(self, batch: Batch) -> frozenset[Predicate]:
        given = checked(batch)
        numbers = {key.predicate for keys in given.cells.values() for key in keys}
        numbers |= {part.key.predicate for part in given.parts}
        stored = {self.facts.predicates[number] for number in numbers}
        return frozenset(stored) | self.overlay.predicates_of(given.local)

    # -- marks and counts

    def mark(self, batch: Batch, label: Label) -> None:
        self._change_label(checked(batch), label, is_set=True)

    def unmark(self, batch: Batch, label: Label) -> None:
        self._change_label(checked(batch), label, is_set=False)

    def _change_label(self, batch: SparkBatch, label: Label, *, is_set: bool) -> None:
        bit = 1 << label.bit
        is_cut = any((p.segment.labels[p.key] & bit > 0) != is_set for p in batch.parts)
        local = batch.local
        if self.is_updating or is_cut:
            local = self.as_rows(batch)
        else:
            for segment, keys in batch.cells.items():
                segment.change(keys, bit, is_set=is_set)
        (self.overlay.mark if is_set else self.overlay.unmark)(local, label)

    def change_count(self, batch: Batch, count: Count, change: int) -> None:
        self.overlay.change_count(self.as_rows(batch), count, change)

    def clear_counts(self, batch: Batch) -> None:
        self.overlay.clear_counts(self.as_rows(batch))

    # -- rules

    def saturate(
        self,
        rules: Sequence[PlannedRule],  # noqa: ARG002  # the protocol's arguments
        pos: FactSet,  # noqa: ARG002
        delta: Batch,  # noqa: ARG002
        *,
        count: Count | None = None,  # noqa: ARG002
    ) -> None:
        """Return None: Spark goes round by round."""
        return

    def apply(  # the operator's own arguments
        self,
        rules: Sequence[PlannedRule],
        pos: FactSet,
        neg: FactSet,
        pos_delta: Batch | None = None,
        neg_delta: Batch | None = None,
        *,
        count: Count | None = None,
        lower: bool = False,
    ) -> SparkBatch:
        self.take_in()
        is_whole = pos_delta is None and neg_delta is None
        self._note_round(is_whole=is_whole)
        plus, minus = self._delta(pos_delta), self._delta(neg_delta)
        versions = self._versions(rules, plus, minus, is_whole=is_whole)
        return self._derived(versions, (pos, neg), (plus, minus), Change(count, lower))

    def chain(self, rule: PlannedRule, start: int, others: FactSet, delta: Batch) -> SparkBatch:
        self.take_in()
        version = Version(rule, start, is_chain=True)
        is_met = rule.body[start].predicate in self.predicates_of(delta)
        deltas = self._delta(delta), NOTHING
        return self._derived([version] if is_met else [], (others, others), deltas, Change(None))

    def connect(self, edges: Batch, spokes: Batch) -> SparkBatch:
        rows = self.as_rows(edges), self.as_rows(spokes)
        return self.find(connections(self.overlay, *rows), store=True)

    # -- closures

    def keep_closure(self, predicate: Predicate, present: FactSet, *, symmetric: bool) -> bool:
        return self._enclosures.keep(predicate, present, symmetric=symmetric)

    def drop_closures(self, predicates: frozenset[Predicate]) -> None:
        self._enclosures.drop(predicates)
        self._holding.drop(predicates)

    def hold(self, closing: ClosureSpec, edges: Batch) -> bool:
        return self._holding.hold(closing, checked(edges))

    def holds(self, closing: ClosureSpec) -> bool:
        return self._holding.holds(closing)

    def reclose(
        self, closing: ClosureSpec, touched: Batch, lost: Batch, gained: Batch
    ) -> Reclosed | None:
        return self._holding.reclose(closing, checked(touched), checked(lost), checked(gained))

    def told(self, facts: Encoded) -> Integers:
        return self._holding.told(facts)

    def told_of(self) -> frozenset[int]:
        return self._holding.told_of()

    def enclose(self, edges: Batch) -> SparkBatch | None:
        return self._enclosures.enclose(checked(edges))

    def disclose(self, edges: Batch) -> SparkBatch | None:
        return self._enclosures.disclose(checked(edges))

    def enclosed(self, facts: Batch) -> SparkBatch | None:
        return self._enclosures.enclosed(checked(facts))

    def _derived(
        self,
        versions: Sequence[Version],
        sets: tuple[FactSet, FactSet],
        delta: tuple[SparkBatch, SparkBatch],
        change: Change,
    ) -> SparkBatch:
        """Return what versions of rules derive."""
        if not versions:
            return NOTHING
        plus, minus = delta
        begun = time.perf_counter()
        is_bulk = self._is_bulk(versions)
        if is_bulk:
            self.facts.merge(in_use())
        else:  # who is fetched brings exact counts along
            plus, minus = (SparkBatch(local=self.as_rows(each)) for each in (plus, minus))
            self.facts.compact_counts()
        self.session.tune(self.facts_stored())
        meanings = deltas(*sets, plus, minus)
        near, far = self._nearby.divided(versions, meanings)
        parts = [self._nearby.derived(near, meanings, change)] if near else []
        if far:
            parts.append(self.joined(far, meanings, change, is_bulk=is_bulk))
        found = self.deriving.together(parts)
        self._note_costs(versions, found.derivations, time.perf_counter() - begun)
        self.check(versions)
        return found.batch

    def joined(
        self,
        versions: Sequence[Version],
        meanings: dict[Role, Meaning],
        change: Change,
        *,
        is_bulk: bool = True,
    ) -> Derived:
        """Enter what versions derive that Spark joins."""
        numbers = {self.facts.number(v.rule.head.predicate) for v in versions}
        with (
            self.session.described(self._told(versions)),
            Reader(self.facts, self.overlay, meanings).closed() as reader,
        ):
            heads = self.rules.heads(versions, reader.sources, reader.sizes)
            enter = self.deriving.in_segments if is_bulk else self.deriving.in_overlay
            return enter(heads, numbers, reader, change)

    def _delta(self, batch: Batch | None) -> SparkBatch:
        """Return a delta of whole cells and rows."""
        if batch is None:
            return NOTHING
        given = checked(batch)
        return SparkBatch(local=self.as_rows(given)) if given.parts else given

    def _versions(
        self, rules: Sequence[PlannedRule], plus: SparkBatch, minus: SparkBatch, *, is_whole: bool
    ) -> list[Version]:
        """Return the versions of rules that can derive anything."""
        index = self._indexes.get(id(rules))
        if index is None or index.rules is not rules:
            index = self._indexes[id(rules)] = RuleIndex(rules)
            self.paths.learn(rules)
        if is_whole:
            met: Sequence[Version] = index.everything
        else:
            met = index.meeting(self.predicates_of(plus), self.predicates_of(minus))
            met = [version for version in met if version.rule.grouping is None]
        present = self.present()
        return [v for v in met if all(atom.predicate in present for atom in v.rule.body)]

    def _is_bulk(self, versions: Sequence[Version]) -> bool:
        """Return whether what is derived goes into segments: no fact of its kind is elsewhere."""
        if self.is_updating:
            return False
        heads = (self.overlay.relations.get(v.rule.head.predicate) for v in versions)
        return not any(relation is not None and relation.rows for relation in heads)

    def bodies_of(
        self,
        rules: Sequence[PlannedRule],
        heads: Batch,
        pos: FactSet,
        neg: FactSet,
        wanted: FactSet,
        limit: int | None = None,
    ) -> Bodies:
        rows = self.as_rows(heads)
        self.facts.compact_counts()
        with self.session.described(f"{len(rows):,} facts backwards, {len(rules)} rules"):
            found = self._backward.bodies_of(rules, rows, (pos, neg), wanted, limit)
        derived, bodies, unfinished = (SparkBatch(local=each) for each in found)
        self._done += len(bodies)
        self.check()
        return Bodies(derived, self.settle_rows(bodies & wanted), unfinished)

    def regroup(
        self,
        rules: Sequence[PlannedRule],
        old: FactSet,
        new: FactSet,
        lost: Batch,
        gained: Batch,
    ) -> Regrouped:
        changed = self.predicates_of(lost) | self.predicates_of(gained)
        met = [r for r in rules if r.grouping is not None and _reads(r) & changed]
        if not met:
            return Regrouped(NOTHING, NOTHING)
        rows = self.as_rows(lost), self.as_rows(gained)
        self.facts.compact_counts()
        with self.session.described(f"groups of {len(met)} aggregates"):
            before, after = self._backward.regroup(met, old, new, *rows)
        gone, come = SparkBatch(local=before), SparkBatch(local=after)
        return Regrouped(self.settle_rows(gone - come), self.settle_rows(come - gone))

    # -- undoing

    def begin(self) -> None:
        self.take_in()
        self.facts.compact_counts()
        self.facts.divide(self.told_of())
        if self.overlay.facts_stored() > self._largest_overlay():
            self.flush()
        self.costs.begin()
        self.overlay.begin()
        self._set_updating(is_updating=True)

    def _largest_overlay(self) -> int:
        """Return how many facts updates may touch before they become a segment.

        Listed closures are many facts, all of which would be written again.
        """
        share = self.facts.stored() // SHARE if self._holding else 0
        return max(OVERLAY, min(share, LARGEST_OVERLAY))

    def savepoint(self) -> int:
        return self.overlay.savepoint()

    def roll_back(self, to: int | None = None) -> None:
        self.overlay.roll_back(to)
        if to is None:
            self._set_updating(is_updating=False)

    def commit(self) -> None:
        self.overlay.commit()
        self._holding.settle()
        self.limit_work(None)
        self._set_updating(is_updating=False)

    def _set_updating(self, *, is_updating: bool) -> None:
        self.is_updating = is_updating
        self.fetching.look_ahead(is_updating=is_updating)

    def flush(self) -> None:
        """Make segments of all that the overlay holds."""
        with self.session.described("writing updated facts"):
            self.facts.replace(self.overlay.states())
        self.begin_overlay()

    # -- effort

    def work(self) -> int:
        return self._done

    def work_time(self) -> float:
        return self.overlay.work_time()

    def planning(self) -> float:
        return 0.0

    def limit_work(self, more: int | None, seconds: float = inf) -> None:
        self._most_work = None if more is None else self._done + more
        self._deadline = self.work_time() + seconds

    def check(self, versions: Sequence[Version] = ()) -> None:
        """Raise if a limit is reached."""
        if self._most_work is not None and (
            self._done >= self._most_work or self.work_time() > self._deadline
        ):
            raise BudgetSpentError
        rule = rule_text(versions[0].rule) if versions else "the program"
        self.limits.check_time(rule)
        if self.limits.max_facts is not None:
            self.limits.check_stored(self.facts_stored(), rule)

    def _note_round(self, *, is_whole: bool) -> None:
        self._level, self._round = (
            (self._level + 1, 0) if is_whole else (self._level, self._round + 1)
        )

    def _told(self, versions: Sequence[Version]) -> str:
        """Return what a round does, for those who watch Spark's jobs."""
        rules = {version.rule.index: version.rule for version in versions}
        first = next(iter(rules.values()))
        where = "update" if self.is_updating else f"level {self._level}, round {self._round}"
        number = f"{len(rules)} rules, e.g. " if len(rules) > 1 else ""
        return f"{where}: {number}r{first.index} {first.head.predicate.name}"

    def _note_costs(
        self, versions: Sequence[Version], derivations: dict[int, int], seconds: float
    ) -> None:
        """Divide what a call cost among its rules; rules of one head share its derivations."""
        rules = {version.rule.index: version.rule for version in versions}
        of_head: dict[int, list[int]] = {}
        for index, rule in rules.items():
            of_head.setdefault(self.facts.number(rule.head.predicate), []).append(index)
        for number, indexes in of_head.items():
            n = derivations.get(number, 0)
            self._done += n
            for place, index in enumerate(indexes):
                share = n // len(indexes) + (place < n % len(indexes))
                self.costs.add(index, share, share, seconds / len(rules))

    def drop(self, predicates: Sequence[Predicate]) -> None:
        self._indexes = {key: index for key, index in self._indexes.items() if index.is_kept}
        self.fetching.ahead.clear()
        self.drop_closures(frozenset(predicates))
        self._enclosures.forget(predicates)
        super().drop(predicates)


def _reads(rule: PlannedRule) -> set[Predicate]:
    return {atom.predicate for atom in (*rule.body, *rule.negated)}
