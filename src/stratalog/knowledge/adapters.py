"""One face for all engines: what a knowledge base asks beyond the algorithms' protocol."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.contents import repeated
from stratalog.engine.columnar.costs import RuleProfile
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.engine.columnar.spelled import spelled, spelled_changes
from stratalog.engine.reference import Entry, FactBatch, ReferenceEngine
from stratalog.facts.closing import Closing
from stratalog.facts.engine import Engine
from stratalog.facts.labels import I
from stratalog.facts.limits import Limits
from stratalog.facts.sets import Batch, FactSet
from stratalog.lang.syntax import Predicate
from stratalog.lang.terms import Term
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.rules import PlannedRule, Stratum

Ids = npt.NDArray[np.uint32]
Labels = npt.NDArray[np.unsignedinteger[Any]]
Counts = npt.NDArray[np.int64]
Encoded = tuple[Predicate, Sequence[Ids], int]
"""Facts of one predicate: a column per argument, and how many facts there are."""
Saved = tuple[Sequence[Ids], Labels, Sequence[Counts]]
"""Facts of one predicate as a store has them: columns, label words, both counts."""
Costs = dict[int, tuple[int, int, float]]
"""Derivations, rows visited and seconds by rule index."""


READING = "reading facts"


class Host(Protocol):
    """An engine with facts in and out."""

    name: str
    why: str  # this engine was chosen
    limits: Limits

    @property
    def engine(self) -> Engine[PlannedRule]:
        """The engine that algorithms run on."""

    def close(self) -> None:
        """Let go of all facts."""

    def strata(self, strata: tuple[Stratum, ...]) -> Sequence[Stratum]:
        """Return the strata as this engine likes to be given them."""

    def load(self, predicate: Predicate, columns: Sequence[Ids], size: int) -> None:
        """Store explicit facts."""

    def restore(
        self, predicate: Predicate, columns: Sequence[Ids], labels: Labels, counts: Sequence[Counts]
    ) -> None:
        """Store facts as they were saved, with what is stored already; T103 if one is twice."""

    def hold(self, closing: Closing, facts: Mapping[Predicate, Saved]) -> bool:
        """Hold facts as they were saved as a closure; False if unable: then `restore` them."""

    def read(self, predicate: Predicate, described: FactSet) -> tuple[list[Ids], int]:
        """Return the columns of the predicate's facts in a set, and how many there are."""

    def stored(self, predicate: Predicate) -> tuple[list[Ids], Labels, list[Counts]]:
        """Return columns, label words and both counts of all facts in the materialisation."""

    def size(self, predicate: Predicate, described: FactSet = I) -> int:
        """Return how many facts of the predicate are in a set."""

    def contains(
        self, predicate: Predicate, columns: Sequence[Ids], size: int
    ) -> npt.NDArray[np.bool_]:
        """Return for each fact whether it is in the materialisation."""

    def prepare(self, predicates: Iterable[Predicate]) -> None:
        """Make relations for predicates that have none."""

    def rows(self, predicate: Predicate) -> int:
        """Return how many facts are stored, those included that are in no set; at no cost."""

    def store(self, facts: Iterable[Encoded]) -> Batch:
        """Return facts as a batch; those that are new are stored, without a mark."""

    def find(self, facts: Iterable[Encoded]) -> Batch:
        """Return as a batch those of the facts that are stored."""

    def facts_of(self, batch: Batch) -> Iterator[Encoded]:
        """Yield the facts of a batch, copied."""

    def expect_facts(self) -> None:
        """Make errors about limits speak of reading facts, until the engine does anything."""

    def begin(self) -> None:
        """Start to remember changes, for `changed` and the engine's `roll_back`."""

    def changed(self) -> Iterator[tuple[Predicate, list[Ids], Labels, list[Counts]]]:
        """Yield columns, label words and both counts of all facts that changed since `begin`."""

    def answers(self, rule: PlannedRule) -> tuple[list[Ids], int]:
        """Return the columns of the distinct heads of a rule."""

    def drop(self, predicates: Sequence[Predicate]) -> None:
        """Forget relations that were made for one query."""

    def predicates(self) -> list[Predicate]:
        """Return the predicates of all relations."""

    def derivations(self) -> Costs:
        """Return derivations, rows visited and seconds by rule index."""

    def recent_derivations(self) -> Costs:
        """Return the same since `begin`; rules that were idle are left out."""

    def nbytes(self, predicates: Sequence[Predicate] | None = None) -> int:
        """Return the bytes of the arrays that hold these relations, all by default."""


class ColumnarHost:
    """The columnar engine."""

    name = "columnar"
    why = "asked for"

    def __init__(self, dictionary: Dictionary, limits: Limits, threads: int = 1) -> None:
        self.limits = limits
        self.engine = ColumnarEngine(dictionary, limits, threads)
        self.load = self.engine.load
        self.restore = self.engine.restore
        self.read = self.engine.read
        self.size = self.engine.size
        self.contains = self.engine.contains
        self.answers = self.engine.answers
        self.drop = self.engine.drop
        self.nbytes = self.engine.nbytes
        self.begin = self.engine.begin

    def expect_facts(self) -> None:
        self.engine.running = READING

    def close(self) -> None:
        pass  # they go with this object

    def strata(self, strata: tuple[Stratum, ...]) -> Sequence[Stratum]:
        return strata

    def prepare(self, predicates: Iterable[Predicate]) -> None:
        for predicate in sorted(predicates):
            self.engine.relation(predicate)

    def hold(self, closing: Closing, facts: Mapping[Predicate, Saved]) -> bool:
        edges = ColumnarBatch({})
        for predicate, saved in facts.items():
            edges = ColumnarBatch(edges.rows | self._restore_edges(predicate, saved).rows)
        return self.engine.hold(closing, edges)

    def _restore_edges(self, predicate: Predicate, saved: Saved) -> ColumnarBatch:
        """Store those of the saved facts that hold without the module."""
        columns, labels, counts = saved
        chosen = counts[0] > 0
        self.restore(
            predicate, [c[chosen] for c in columns], labels[chosen], [c[chosen] for c in counts]
        )
        relation = self.engine.relation(predicate)
        return ColumnarBatch({relation.number: np.arange(relation.rows, dtype=np.uint32)})

    def rows(self, predicate: Predicate) -> int:
        relation = self.engine.relations.get(predicate)
        return 0 if relation is None else relation.facts

    def store(self, facts: Iterable[Encoded]) -> ColumnarBatch:
        return _together(self.engine.store(*each) for each in facts)

    def find(self, facts: Iterable[Encoded]) -> ColumnarBatch:
        known = self.engine.relations
        return _together(self.engine.find(*each) for each in facts if each[0] in known)

    def facts_of(self, batch: Batch) -> Iterator[Encoded]:
        for relation, rows in self.engine.parts(batch):
            yield relation.predicate, [column[rows] for column in relation.columns], rows.size
        yield from self.engine.listed_facts(batch)

    def changed(self) -> Iterator[tuple[Predicate, list[Ids], Labels, list[Counts]]]:
        for predicate, rows in self.engine.changed_rows().items():
            relation = self.engine.relation(predicate)
            if relation.view is not None:
                yield predicate, *spelled_changes(relation, rows)
                continue
            columns = [column[rows] for column in relation.columns]
            yield predicate, columns, relation.labels[rows], [c[rows] for c in relation.counts]

    def stored(self, predicate: Predicate) -> tuple[list[Ids], Labels, list[Counts]]:
        relation = self.engine.relation(predicate)
        if relation.view is not None:
            return spelled(relation)
        rows = self.engine.rows_of(relation, I)
        columns = [column[rows] for column in relation.columns]
        return columns, relation.labels[rows], [count[rows] for count in relation.counts]

    def predicates(self) -> list[Predicate]:
        return list(self.engine.relations)

    def derivations(self) -> Costs:
        return costs_of(self.engine.costs.in_all)

    def recent_derivations(self) -> Costs:
        return costs_of(self.engine.costs.recent)


def costs_of(profiles: Mapping[int, RuleProfile]) -> Costs:
    """Return the costs of rules by index."""
    return {i: (p.derivations, p.rows_visited, p.seconds) for i, p in profiles.items()}


def _together(batches: Iterable[ColumnarBatch]) -> ColumnarBatch:
    """Return the union of batches."""
    parts = list(batches)
    if len(parts) == 1:
        return parts[0]
    rows: dict[int, list[Ids]] = defaultdict(list)
    for batch in parts:
        for number, found in batch.rows.items():
            rows[number].append(found)
    return ColumnarBatch(
        {n: f[0] if len(f) == 1 else np.unique(np.concatenate(f)) for n, f in rows.items()}
    )


class ReferenceHost:
    """The reference engine, whose facts are terms."""

    name = "reference"
    why = "asked for"

    def __init__(self, dictionary: Dictionary, limits: Limits) -> None:
        self._terms = dictionary
        self.limits = limits
        self.engine = ReferenceEngine(dictionary, limits)
        self._before: dict[Predicate, dict[tuple[Term, ...], tuple[int, ...]]] = {}
        self._derivations: dict[int, int] = {}  # by rule, at `begin`

    def close(self) -> None:
        pass  # they go with this object

    def strata(self, strata: tuple[Stratum, ...]) -> Sequence[Stratum]:
        return strata

    def load(self, predicate: Predicate, columns: Sequence[Ids], size: int) -> None:
        self.engine.load(predicate, self._decoded((predicate, columns, size)))

    def _decoded(self, facts: Encoded) -> list[tuple[Term, ...]]:
        _, columns, size = facts
        decoded = [self._terms.decode(column) for column in columns]
        return list(zip(*decoded, strict=True)) if columns else [()] * size

    def _encoded(self, facts: Sequence[tuple[Term, ...]], arity: int) -> list[Ids]:
        columns = list(zip(*facts, strict=True)) if facts else [()] * arity
        return [self._terms.encode(list(column)) for column in columns]

    def prepare(self, predicates: Iterable[Predicate]) -> None:
        for predicate in predicates:
            self.engine.stored.setdefault(predicate, {})

    def rows(self, predicate: Predicate) -> int:
        return len(self.engine.stored.get(predicate, ()))

    def store(self, facts: Iterable[Encoded]) -> FactBatch:
        found = [(each[0], fact) for each in facts for fact in self._decoded(each)]
        for predicate, fact in found:
            self.engine.stored[predicate].setdefault(fact, Entry())
        return FactBatch(found)

    def find(self, facts: Iterable[Encoded]) -> FactBatch:
        found = [(each[0], fact) for each in facts for fact in self._decoded(each)]
        known = self.engine.stored
        return FactBatch((p, fact) for p, fact in found if p in known and fact in known[p])

    def facts_of(self, batch: Batch) -> Iterator[Encoded]:
        found: dict[Predicate, list[tuple[Term, ...]]] = defaultdict(list)
        for predicate, fact in batch.facts if isinstance(batch, FactBatch) else ():
            found[predicate].append(fact)
        for predicate, facts in found.items():
            yield predicate, self._encoded(facts, predicate.arity), len(facts)

    def expect_facts(self) -> None:
        pass  # it has no limit of memory

    def begin(self) -> None:
        self._before = self._state()
        self._derivations = dict(self.engine.derivations)
        self.engine.begin()

    def _state(self) -> dict[Predicate, dict[tuple[Term, ...], tuple[int, ...]]]:
        return {
            predicate: {fact: (entry.labels, *entry.counts) for fact, entry in facts.items()}
            for predicate, facts in self.engine.stored.items()
        }

    def changed(self) -> Iterator[tuple[Predicate, list[Ids], Labels, list[Counts]]]:
        for predicate, facts in self._state().items():
            old = self._before.get(predicate, {})
            new = {f: entry for f, entry in facts.items() if old.get(f, (0, 0, 0)) != entry}
            if new:
                labels, *counts = np.array(list(new.values()), np.int64).T
                yield predicate, self._encoded(list(new), predicate.arity), labels, counts

    def restore(
        self, predicate: Predicate, columns: Sequence[Ids], labels: Labels, counts: Sequence[Counts]
    ) -> None:
        facts = self._decoded((predicate, list(columns), labels.size))
        stored = self.engine.stored[predicate]
        for fact, *entry in zip(facts, labels.tolist(), *(c.tolist() for c in counts), strict=True):
            stored[fact] = Entry(entry[0], entry[1:])
        if len(stored) != labels.size:
            raise repeated(predicate)

    def hold(self, closing: Closing, facts: Mapping[Predicate, Saved]) -> bool:  # noqa: ARG002
        return False

    def read(self, predicate: Predicate, described: FactSet) -> tuple[list[Ids], int]:
        facts = [
            f for f in self.engine.stored[predicate] if self.engine.is_in((predicate, f), described)
        ]
        return self._encoded(facts, predicate.arity), len(facts)

    def stored(self, predicate: Predicate) -> tuple[list[Ids], Labels, list[Counts]]:
        columns, _ = self.read(predicate, I)
        entries = [e for f, e in self.engine.stored[predicate].items() if e.labels >> I.bit & 1]
        labels = np.array([e.labels for e in entries], np.uint32)
        return columns, labels, [np.array([e.counts[i] for e in entries], np.int64) for i in (0, 1)]

    def size(self, predicate: Predicate, described: FactSet = I) -> int:
        return self.read(predicate, described)[1]

    def contains(
        self, predicate: Predicate, columns: Sequence[Ids], size: int
    ) -> npt.NDArray[np.bool_]:
        facts = self._decoded((predicate, columns, size))
        return np.array([self.engine.is_in((predicate, f), I) for f in facts], np.bool_)

    def answers(self, rule: PlannedRule) -> tuple[list[Ids], int]:
        found = self.engine.answers(rule)
        return self._encoded(found, rule.head.predicate.arity), len(found)

    def drop(self, predicates: Sequence[Predicate]) -> None:
        for predicate in predicates:
            self.engine.stored.pop(predicate, None)

    def predicates(self) -> list[Predicate]:
        return list(self.engine.stored)

    def derivations(self) -> Costs:
        return {index: (n, n, 0.0) for index, n in self.engine.derivations.items()}

    def recent_derivations(self) -> Costs:
        before = self._derivations
        now = {index: n - before.get(index, 0) for index, n in self.engine.derivations.items()}
        return {index: (n, n, 0.0) for index, n in now.items() if n}

    def nbytes(self, predicates: Sequence[Predicate] | None = None) -> int:  # noqa: ARG002
        return 0
