"""Histories of updates, run on an engine step by step and compared with the judge after each.

The judge computes facts and both counts of every step from scratch. A step may also be a dry run,
or be cut short by an error inside an engine call: both are rolled back, and then everything that
is stored must be as it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from typing import Any

import numpy as np

from stratalog.closure.closure import GAINED, KEPT, LOST
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.engine.columnar.relation import Relation
from stratalog.engine.reference import FactBatch, ReferenceEngine
from stratalog.facts.labels import E, I, X
from stratalog.facts.sets import Batch
from stratalog.knowledge.options import usual_threads
from stratalog.lang.syntax import Predicate, Program
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.program import plan_program
from stratalog.plan.rules import Plan, Stratum
from stratalog.reason import bf, bf_c, counting, dred, dred_c, rematerialise, seminaive
from stratalog.reason.modules import bf_c_mod, closure_relation, dred_c_mod
from stratalog.reason.update import Maintain, update
from tests import naive
from tests.updates import Update

Fact = naive.Fact
State = dict[Fact, tuple[int, int, int]]
"""The label word and both counts of each fact that has any."""

ALGORITHMS: dict[str, Maintain] = {
    "counting": counting.maintain,
    "dred": dred.maintain,
    "dred-c": dred_c.maintain,
    "bf": bf.maintain,
    "bf-c": bf_c.maintain,
    "rematerialise": rematerialise.maintain,
}
WITH_MODULES: dict[str, Maintain] = {"dred-c": dred_c_mod.maintain, "bf-c": bf_c_mod.maintain}
MIXED = "mixed"
MOST_INSTANCES = 1500  # of a program at one time: beyond, the reference engine is too slow
KEPT_LABELS = 1 << E.bit | 1 << I.bit


class CutShortError(Exception):
    """What an abort raises inside an engine call."""


class CutShort:
    """An engine, one of whose calls raises an error: before its work, or after it."""

    def __init__(self, engine: Any, fails_at: int) -> None:
        self._engine = engine
        self._fails_at = fails_at  # twice the number of calls before, one more: after its work
        self._made = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._engine, name)

        def call(*args: Any, **options: Any) -> Any:
            self._fail_now(name)
            result = method(*args, **options)
            self._fail_now(name)
            return result

        return call

    def _fail_now(self, name: str) -> None:
        self._made += 1
        if self._made == self._fails_at + 1:
            raise CutShortError(name)


# ---- Facts in and out of engines ---------------------------------------------------------------


class ReferenceFacts:
    """The reference engine, whose facts are terms."""

    def __init__(self, engine: ReferenceEngine | None = None) -> None:
        self.engine = engine or ReferenceEngine(Dictionary())

    def load(self, facts: Iterable[Fact]) -> None:
        for predicate, args in facts:
            self.engine.load(predicate, [args])

    def batch(self, facts: Iterable[Fact]) -> Batch:
        return self.engine.store(facts)

    def state(self) -> State:
        return {
            (predicate, args): (entry.labels, entry.counts[0], entry.counts[1])
            for predicate, entries in self.engine.stored.items()
            for args, entry in entries.items()
            if entry.labels or any(entry.counts)
        }

    def facts(self, batch: FactBatch) -> set[Fact]:
        return set(batch.facts)


class ColumnarFacts:
    """The columnar engine, whose facts are numbers."""

    def __init__(self, engine: ColumnarEngine | None = None) -> None:
        self.engine = engine or ColumnarEngine(Dictionary(), threads=usual_threads())

    def load(self, facts: Iterable[Fact]) -> None:
        for predicate, columns, size in self._encoded(facts):
            self.engine.load(predicate, list(columns), size)

    def batch(self, facts: Iterable[Fact]) -> Batch:
        rows: dict[int, Any] = {}
        for predicate, columns, size in self._encoded(facts):
            rows |= self.engine.store(predicate, columns, size).rows
        return ColumnarBatch(rows)

    def _encoded(self, facts: Iterable[Fact]) -> Iterable[tuple[Predicate, Any, int]]:
        grouped: dict[Predicate, list[naive.Row]] = defaultdict(list)
        for predicate, args in sorted(facts):  # what an engine visits may depend on the order
            grouped[predicate].append(args)
        for predicate, rows in grouped.items():
            flat = self.engine.terms.encode([term for row in rows for term in row])
            ids = np.asarray(flat, np.uint32).reshape(len(rows), predicate.arity)
            yield predicate, np.ascontiguousarray(ids.T), len(rows)

    def state(self) -> State:
        found: State = {}
        for predicate, relation in self.engine.relations.items():
            columns = [c[: relation.rows] for c in (relation.labels, *relation.counts)]
            rows = np.flatnonzero(np.logical_or.reduce(columns))  # others are in no set
            values = zip(*(column[rows].tolist() for column in columns), strict=True)
            for args, value in zip(self._decoded(predicate, rows), values, strict=True):
                found[predicate, args] = value
            if relation.view is not None:
                self._add_pairs(relation, found)
        return found

    def _add_pairs(self, relation: Relation, found: State) -> None:
        """Add the marks that pairs of a closure have to those of rows."""
        for region, word in zip((LOST, KEPT, GAINED), relation.view.words.tolist(), strict=True):
            for args in self._terms(relation.view.columns(region)) if word else ():
                label, *counts = found.get((relation.predicate, args), (0, 0, 0))
                found[relation.predicate, args] = (label | word, *counts)

    def facts(self, batch: Batch) -> set[Fact]:
        return {
            (predicate, args)
            for predicate in self.engine.predicates_of(batch)
            for args in self._all_terms(predicate, batch)
        }

    def _all_terms(self, predicate: Predicate, batch: Batch) -> Sequence[naive.Row]:
        """Return the arguments of a predicate's facts, of which a batch has some."""
        if not predicate.arity:
            return [()]
        return self._terms(self.engine.columns_in(predicate, batch))

    def _decoded(self, predicate: Predicate, rows: Any) -> Sequence[naive.Row]:
        relation = self.engine.relation(predicate)
        columns = [column[rows] for column in relation.columns]
        return self._terms(columns) if columns else [()] * len(rows)

    def _terms(self, columns: Sequence[Any]) -> Sequence[naive.Row]:
        return list(zip(*map(self.engine.terms.decode, columns), strict=True))


def spark_facts() -> Any:
    """Return an empty Spark engine of the running session, or of a new one."""
    from stratalog import spark
    from tests.oracle.spark_facts import SparkFacts

    return SparkFacts(spark.session())


HOSTS: dict[str, Callable[[], Any]] = {
    "reference": ReferenceFacts,
    "columnar": ColumnarFacts,
    "spark": spark_facts,
}


# ---- Algorithms --------------------------------------------------------------------------------


def chosen(name: str, stratum: Stratum) -> Maintain:
    """Return the algorithm's function; where Counting cannot be used, that of DRed^c.

    Where there are modules, the algorithms that know them take the place of DRed^c and B/F^c; what
    an engine holds as a closure is maintained as that.
    """
    if name == "counting" and not counting.applies_to(stratum):
        name = "dred-c"
    by_name = (WITH_MODULES if stratum.modules else ALGORITHMS).get(name, ALGORITHMS[name])
    return by_name if stratum.closing is None else closure_relation.or_by(by_name)


def maintain_by(name: str, strata: Sequence[Stratum], step: Update) -> Maintain:
    """Return one algorithm for all strata, or a mixture that the step describes."""
    names = list(ALGORITHMS)
    numbers = {stratum.predicates: i for i, stratum in enumerate(strata)}

    def maintain(engine: Any, stratum: Stratum, changes: Any) -> Any:
        number = step.choices[numbers[stratum.predicates] % len(step.choices)]
        picked = names[number % len(names)] if name == MIXED else name
        return chosen(picked, stratum)(engine, stratum, changes)

    return maintain


# ---- The judge and the runs --------------------------------------------------------------------


class History:
    """A program, its plan, its updates, and what the judge says of each step."""

    def __init__(
        self,
        program: Program,
        steps: Sequence[Update],
        predicates: AbstractSet[Predicate] = frozenset(),
        *,
        modules: str = "off",
    ) -> None:
        self.steps = steps
        self.explicit = frozenset(naive.explicit_facts(program))
        ever = self.explicit.union(*(step.insert for step in steps))
        known = predicates | {predicate for predicate, _ in ever}
        self.plan: Plan = plan_program(program, known, modules=modules)
        self._judged: dict[frozenset[Fact], dict[Fact, tuple[int, int]]] = {}

    def with_steps(self, steps: Sequence[Update]) -> History:
        """Return the same program with other steps over the same facts."""
        other = copy(self)
        other.steps = steps
        return other

    def judged(self, explicit: frozenset[Fact]) -> dict[Fact, tuple[int, int]]:
        """Return both counts of every fact, computed from scratch."""
        if explicit not in self._judged:
            counts = naive.counts(self.plan, explicit)
            if sum(map(sum, counts.values())) > MOST_INSTANCES:
                raise naive.TooLargeError
            self._judged[explicit] = counts
        return self._judged[explicit]

    def judge_all(self) -> None:
        """Let the judge see every step, so that a program that is too large is known at once."""
        explicit = self.explicit
        self.judged(explicit)
        for step in self.steps:
            self.judged(step.wanted(explicit))
            explicit = step.after(explicit)


Wrap = Callable[[Maintain], Maintain]


def run(
    history: History,
    algorithm: str,
    engine: str = "reference",
    wrap: Wrap = lambda maintain: maintain,
) -> None:
    """Follow the history with one algorithm, and fail at the first step that is wrong."""
    run_on(HOSTS[engine](), history, algorithm, wrap)


def run_on(
    subject: Any, history: History, algorithm: str, wrap: Wrap = lambda maintain: maintain
) -> None:
    """Follow the history on a given engine, which is empty."""
    explicit = history.explicit
    subject.load(naive.as_planned(history.plan, explicit))
    seminaive.materialise(subject.engine, history.plan.strata)
    check(subject.state(), history, explicit)
    for step in history.steps:
        maintain = wrap(maintain_by(algorithm, history.plan.strata, step))
        follow(subject, history, explicit, step, maintain)
        explicit = step.after(explicit)


def follow(
    subject: Any, history: History, explicit: frozenset[Fact], step: Update, maintain: Maintain
) -> None:
    """Take one step, kept or rolled back."""
    before = subject.state()
    subject.engine.begin()
    try:
        take(subject, history, explicit, step, maintain)
    except CutShortError:
        assert step.ends == "abort"
    if step.ends == "commit":
        subject.engine.commit()
    else:
        subject.engine.roll_back()
        assert subject.state() == before


def take(
    subject: Any, history: History, explicit: frozenset[Fact], step: Update, maintain: Maintain
) -> None:
    """Update the engine, and compare facts, counts and what is said to have changed."""
    plan = history.plan
    engine = subject.engine
    if step.ends == "abort":
        engine = CutShort(engine, step.fails_at)
    wanted = step.wanted(explicit)
    old, new = naive.as_planned(plan, explicit), naive.as_planned(plan, wanted)
    deleted, inserted = subject.batch(old - new), subject.batch(new - old)
    changed = update(engine, plan.strata, deleted, inserted, maintain)
    check(subject.state(), history, wanted)
    had, has = history.judged(explicit).keys(), history.judged(wanted).keys()
    assert subject.facts(changed.removed) == had - has
    assert subject.facts(changed.added) == has - had


def check(state: State, history: History, explicit: frozenset[Fact]) -> None:
    """Fail unless marks and counts are those of the judge, and no other mark is left."""
    told = marked(history.plan, explicit, history.judged(explicit))
    differences = compare(without_modules(state), told)
    assert not differences, differences


def without_modules(state: State) -> State:
    """Return the state without the marks by which modules remember what is external to them."""
    return {fact: (label & ~(1 << X.bit), *counts) for fact, (label, *counts) in state.items()}


def marked(
    plan: Plan, explicit: frozenset[Fact], counts: Mapping[Fact, tuple[int, int]]
) -> dict[Fact, tuple[int, int, int]]:
    """Return what an engine must have stored, if the judge has counted so."""
    given = naive.as_planned(plan, explicit)
    return {
        fact: (1 << I.bit | (1 << E.bit if fact in given else 0), nr, r)
        for fact, (nr, r) in counts.items()
    }


def compare(found: State, expected: Mapping[Fact, tuple[int, int, int]]) -> dict[Fact, Any]:
    """Return (found, expected) of the facts where they differ."""
    pairs = {fact: (found.get(fact), expected.get(fact)) for fact in found.keys() | expected}
    return {fact: pair for fact, pair in pairs.items() if pair[0] != pair[1]}
