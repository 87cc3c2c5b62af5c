"""The columnar engine: the protocol of `facts/engine.py` on NumPy columns and compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stratalog.closure.closure import BUDGET_BYTES
from stratalog.engine.columnar.backward import Backward
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.closure_index import ClosureIndexes
from stratalog.engine.columnar.components import connections
from stratalog.engine.columnar.evaluate import Evaluation
from stratalog.engine.columnar.planned import CompiledVersion, Planner, RuleIndex, rule_text
from stratalog.engine.columnar.relation import NONE, Ids
from stratalog.engine.columnar.saturate import Saturation
from stratalog.engine.columnar.settle import settle
from stratalog.engine.columnar.statistics import RelationStatistics
from stratalog.engine.columnar.threads import Threads
from stratalog.engine.columnar.undoable import Undoable
from stratalog.engine.columnar.virtual import Virtual
from stratalog.engine.shared.costs import Costs, RuleProfile
from stratalog.facts.counts import Count
from stratalog.facts.engine import Bodies, BudgetSpentError, Closed, Reclosed, Regrouped
from stratalog.facts.labels import DELTA, DELTA_NEGATED, I
from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.facts.sets import Batch, FactSet, Label
from stratalog.facts.terms import Terms
from stratalog.kernels.preparation import work_time
from stratalog.kernels.relation.modes import LOWER, UNCOUNTED
from stratalog.lang.syntax import Predicate
from stratalog.lang.terms import Term
from stratalog.plan.delta import Version
from stratalog.plan.rules import PlannedRule
from stratalog.runtime.limits import Limits

Columns = Sequence[Ids] | npt.NDArray[np.uint32]

NOTHING = ColumnarBatch({})

Deltas = tuple[frozenset[Predicate], frozenset[Predicate]]
"""The predicates of a positive and of a negative delta."""


class _Chain(NamedTuple):
    """A version of a rule that modules follow relations by."""

    version: Version
    rules: RuleIndex


class ColumnarEngine(Undoable):
    """Reasoning over the contents of relations."""

    def __init__(self, terms: Terms, limits: Limits | None = None, threads: int = 1) -> None:
        super().__init__(terms, limits)
        self.threads = Threads(threads)
        self.statistics = RelationStatistics(self.relations)
        self.costs = Costs()
        self.planner = Planner(self)
        self._evaluation = Evaluation(self)
        self._saturation = Saturation(self)
        self._backward = Backward(self)
        self._most_work: int | None = None
        self._deadline = inf
        self._rule_indexes: dict[int, RuleIndex] = {}
        self._chains: dict[tuple[int, int], _Chain] = {}
        self._enclosures = ClosureIndexes(self)
        self._virtual = Virtual(self)
        self.expects_views = False  # that relations will be read from closures

    def drop(self, predicates: Sequence[Predicate]) -> None:
        """Forget the relations made last, those of one query, and the plans of its rules.

        Ids that the dictionary has taken back by now are forgotten too.
        """
        self._evaluation.forget(lambda rule: rule.index < 0)
        self._evaluation.bulk.forget()  # it knows relations by number, and numbers come again
        self.planner.forget(lambda rule: rule.index < 0)
        self._rule_indexes = {key: x for key, x in self._rule_indexes.items() if x.is_kept}
        self.planner.forget_terms(len(self.terms))
        self._evaluation.forget_terms(len(self.terms))
        for predicate in reversed(predicates):
            relation = self.relations.get(predicate)
            if relation is not None and relation.number == len(self.by_number) - 1:
                relation.release()
                self.statistics.forget(predicate)
                self._enclosures.forget(relation)
                del self.relations[predicate]
                self.by_number.pop()

    # -- the protocol

    def settle(self, described: FactSet) -> ColumnarBatch:
        return settle(self, described)

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
    ) -> ColumnarBatch:
        index = self._rule_index(rules)
        is_whole = pos_delta is None and neg_delta is None
        pos_delta = self._met_by(pos_delta, index, negated=False)
        neg_delta = self._met_by(neg_delta, index, negated=True)
        if not (is_whole or pos_delta or neg_delta):
            return NOTHING
        mode = UNCOUNTED if count is None else count.value + lower * LOWER

        def versions(deltas: Deltas) -> list[Version]:
            if is_whole:
                return [v for v in index.everything if self._can_fire(v.rule)]
            return [version for version in index.meeting(*deltas) if version.rule.grouping is None]

        return self._derived(versions, (pos, neg), (pos_delta, neg_delta), index, mode, count)

    def chain(self, rule: PlannedRule, start: int, others: FactSet, delta: Batch) -> ColumnarBatch:
        chain = self._chains.get((id(rule), start))
        if chain is None or chain.version.rule is not rule:
            chain = _Chain(Version(rule, start, is_chain=True), RuleIndex((rule,)))
            self._chains[id(rule), start] = chain
        if not delta:
            return NOTHING
        sets, deltas = (others, others), (delta, None)
        return self._derived(lambda _: [chain.version], sets, deltas, chain.rules, UNCOUNTED)

    def _derived(
        self,
        versions: Callable[[Deltas], list[Version]],
        sets: tuple[FactSet, FactSet],
        deltas: tuple[Batch | None, Batch | None],
        index: RuleIndex,
        mode: int,
        count: Count | None = None,
    ) -> ColumnarBatch:
        """Return what versions of rules derive, given the predicates of both deltas."""
        planned: Sequence[CompiledVersion] = ()
        pos_delta, neg_delta = deltas
        try:  # a run that is cut short leaves no scaffolding on facts either
            begun = (
                self._begin(pos_delta, DELTA, index),
                self._begin(neg_delta, DELTA_NEGATED, index),
            )
            planned = self.planner.planned(versions(begun), *sets, mode)
            self.remember({p.head for p in planned}, count)
            self._evaluation.run(planned)
        finally:
            try:
                heads = {p.head.number: p.head for p in planned}
                touched = {n: self.take(relation, count) for n, relation in heads.items()}
            finally:
                self._end(pos_delta, DELTA, index)
                self._end(neg_delta, DELTA_NEGATED, index)
        return ColumnarBatch({n: rows for n, rows in touched.items() if rows.size})

    def connect(self, edges: Batch, spokes: Batch) -> ColumnarBatch:
        found: dict[int, Ids] = {}
        for facts in connections(self, self.settle(edges), self.settle(spokes)):
            found |= self.store(*facts).rows
        return ColumnarBatch(found)

    def keep_closure(self, predicate: Predicate, present: FactSet, *, symmetric: bool) -> bool:
        return self._enclosures.keep(predicate, present, symmetric=symmetric)

    def drop_closures(self, predicates: frozenset[Predicate]) -> None:
        self._enclosures.drop(predicates)
        self._virtual.spell_out(predicates)

    def enclose(self, edges: Batch) -> ColumnarBatch | None:
        return self._enclosures.enclose(self.settle(edges))

    def disclose(self, edges: Batch) -> ColumnarBatch | None:
        return self._enclosures.disclose(self.settle(edges))

    def enclosed(self, facts: Batch) -> ColumnarBatch | None:
        return self._enclosures.enclosed(self.settle(facts))

    @property
    def has_views(self) -> bool:
        """Whether any relation is read from a closure."""
        return bool(self._virtual)

    @property
    def may_read_views(self) -> bool:
        """Whether plans need kernels that read closures: they are loaded once, not both kinds."""
        return self.expects_views or self.has_views

    def hold(self, closing: ClosureSpec, edges: Batch) -> bool:
        return self._virtual.hold(closing, self.settle(edges))

    def holds(self, closing: ClosureSpec) -> bool:
        return self._virtual.holds(closing)

    def reclose(
        self, closing: ClosureSpec, touched: Batch, lost: Batch, gained: Batch
    ) -> Reclosed | None:
        settled = (self.settle(batch) for batch in (touched, lost, gained))
        return self._virtual.reclose(closing, *settled)

    def closure_budget(self) -> int:
        """Return the bytes that a closure may take."""
        memory = self.limits.memory
        return (
            BUDGET_BYTES if memory is None else min(BUDGET_BYTES, max(0, memory - self.allocated))
        )

    def forget_plans(self, predicates: frozenset[Predicate]) -> None:
        """Let go of the plans of rules that read relations in another way from now on."""

        def reads(rule: PlannedRule) -> bool:
            return any(atom.predicate in predicates for atom in (*rule.body, *rule.negated))

        self._evaluation.forget(reads)
        self.planner.forget(reads)
        self._backward.forget(reads)

    def predicates_of(self, batch: Batch) -> frozenset[Predicate]:
        if not batch:
            return frozenset()
        found = [relation.predicate for relation, _ in self.parts(batch)]
        return frozenset(found + [relation.predicate for relation, _ in self.listed(batch)])

    def bodies_of(
        self,
        rules: Sequence[PlannedRule],
        heads: Batch,
        pos: FactSet,
        neg: FactSet,
        wanted: FactSet,
        limit: int | None = None,
    ) -> Bodies:
        return self._backward.bodies_of(rules, heads, (pos, neg), wanted, limit)

    def regroup(
        self,
        rules: Sequence[PlannedRule],
        old: FactSet,
        new: FactSet,
        lost: Batch,
        gained: Batch,
    ) -> Regrouped:
        return self._backward.regroup(rules, old, new, lost, gained)

    def begin(self) -> None:
        super().begin()
        self.costs.begin()

    def commit(self) -> None:
        if self.is_journalled:
            self._virtual.settle()
            self.limit_work(None)  # whoever was interrupted may not have come to it
        super().commit()

    def changed_rows(self) -> dict[Predicate, Ids]:
        enclosed = {self.by_number[n].predicate: NONE for n in self._virtual.changed()}
        return enclosed | super().changed_rows()

    def work(self) -> int:
        return self._evaluation.work()

    def planning(self) -> float:
        return self.planner.seconds

    def work_time(self) -> float:
        return work_time()

    def limit_work(self, more: int | None, seconds: float = inf) -> None:
        self._most_work = None if more is None else self.work() + self.planner.effort + more
        self._deadline = inf if seconds == inf else work_time() + seconds

    def slice_of_work(self, usual: int) -> int:
        """Return how much a kernel may do before it looks at limits."""
        if self._most_work is None:
            return usual
        return max(1, min(usual, self._most_work - self.work() - self.planner.effort))

    def saturate(
        self,
        rules: Sequence[PlannedRule],
        pos: FactSet,
        delta: Batch,
        *,
        count: Count | None = None,
    ) -> Closed | None:
        """Return all that the rules derive from the delta in any number of rounds, where it pays.

        Group-local evaluation: possible if the rules pass a variable through, and exact only if
        the delta is all there is of their relation. None means: go round by round.
        """
        passes = self._rule_index(rules).passes
        if passes is None or count is Count.NONRECURSIVE or self.is_journalled:
            return None
        if self.has_views and any(self.relation(a.predicate).view for r in rules for a in r.body):
            return None
        relation = self.relation(rules[0].head.predicate)
        seeds = dict(self.parts(delta)).get(relation)
        if seeds is None or seeds.size != relation.rows:  # a stored fact without a mark counts too
            return None
        self.running = rule_text(rules[0])
        counted = count is Count.RECURSIVE
        return self._saturation.close(rules, passes, seeds, pos, counted=counted)

    def _rule_index(self, rules: Sequence[PlannedRule]) -> RuleIndex:
        index = self._rule_indexes.get(id(rules))
        if index is None or index.rules is not rules:
            index = self._rule_indexes[id(rules)] = RuleIndex(rules)
        return index

    def given_rows(self, planned: CompiledVersion) -> int:
        """Return how many facts a version of a rule starts from."""
        version = planned.version
        if version.start is None:
            return planned.first_rows
        atoms = planned.rule.negated if version.negative else planned.rule.body
        return self.relation(atoms[version.start].predicate).delta_size(negated=version.negative)

    def check(self) -> None:
        """Raise if a limit is reached."""
        if self._most_work is not None:
            is_late = self._deadline < inf and work_time() > self._deadline
            if is_late or self.work() + self.planner.effort >= self._most_work:
                raise BudgetSpentError
        super().check()

    def _can_fire(self, rule: PlannedRule) -> bool:
        """Return False if a body atom's relation is empty: such a rule need not even be planned."""
        found = (self.relations.get(atom.predicate) for atom in rule.body)
        return all(relation is not None and not relation.is_empty for relation in found)

    @contextmanager
    def deltas(
        self, positive: Batch, negative: Batch | None = None
    ) -> Iterator[tuple[frozenset[Predicate], frozenset[Predicate]]]:
        """Let rules read these facts as deltas; gives the predicates of both."""
        try:
            yield self._begin(positive, DELTA), self._begin(negative, DELTA_NEGATED)
        finally:
            self._end(positive, DELTA)
            self._end(negative, DELTA_NEGATED)

    def blocks(
        self, planned: CompiledVersion, *, small: bool = False
    ) -> Iterator[npt.NDArray[np.uint32]]:
        """Yield blocks of a plan's outputs, each overwritten by the next."""
        self.running = rule_text(planned.rule)
        return self._evaluation.blocks(planned, small=small)

    def constant(self, term: Term) -> int:
        """Return the number of a constant of a rule."""
        return self.planner.constant(term)

    def _met_by(
        self, delta: Batch | None, index: RuleIndex, *, negated: bool
    ) -> ColumnarBatch | None:
        """Return those facts of a delta that the rules look at."""
        if delta is None:
            return None
        return self._only(delta, partial(index.reads, negated=negated))

    def _only(self, batch: Batch, wanted: Callable[[Predicate], bool]) -> ColumnarBatch:
        """Return the facts of a batch whose predicate is wanted."""
        if not batch:
            return NOTHING
        return ColumnarBatch(
            {r.number: rows for r, rows in self.parts(batch) if wanted(r.predicate)},
            {r.number: region for r, region in self.listed(batch) if wanted(r.predicate)},
        )

    def _begin(
        self, delta: Batch | None, label: Label, index: RuleIndex | None = None
    ) -> frozenset[Predicate]:
        """Mark the delta and let scans read it; return its predicates."""
        if not delta:
            return frozenset()
        self.mark(self._marked(delta, index), label)
        is_negated = label is DELTA_NEGATED
        for relation, rows in self.parts(delta):
            relation.set_delta(rows, negated=is_negated)
        for relation, (_, size) in self.listed(delta):
            relation.set_delta(NONE, negated=is_negated, listed=size)
        return self.predicates_of(delta)

    def _end(self, delta: Batch | None, label: Label, index: RuleIndex | None = None) -> None:
        if delta:
            self.unmark(self._marked(delta, index), label)

    def _marked(self, delta: Batch, index: RuleIndex | None) -> Batch:
        """Return those facts of a delta whose marks rules may ask for."""
        if index is None:
            return delta
        rows = {r.number: s for r, s in self.parts(delta) if index.asks_for_marks(r.predicate)}
        return ColumnarBatch(rows, {r.number: s for r, s in self.listed(delta)})

    # -- answers

    def answers(self, rule: PlannedRule, described: FactSet = I) -> tuple[list[Ids], int]:
        """Return the columns of the head of a rule that is evaluated but stores nothing."""
        answers = self._evaluation.answers(self.planner.for_answers(rule, described))
        return [column[: answers.rows] for column in answers.columns], answers.rows

    def profile(self) -> dict[int, RuleProfile]:
        """Return what each rule has cost so far, by its index."""
        return {index: replace(profile) for index, profile in self.costs.in_all.items()}
