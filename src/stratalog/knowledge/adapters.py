"""One face for all engines: what a knowledge base asks beyond the algorithms' protocol."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.engine.columnar.spelled import spelled, spelled_changes
from stratalog.engine.shared.costs import RuleProfile
from stratalog.facts.engine import Engine
from stratalog.facts.labels import I
from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.facts.sets import Batch, FactSet
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.runtime.limits import Limits

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

    def hold(self, closing: ClosureSpec, facts: Mapping[Predicate, Saved]) -> bool:
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
        self._strata: tuple[Stratum, ...] = ()

    def expect_facts(self) -> None:
        self.engine.running = READING

    def close(self) -> None:
        pass  # they go with this object

    def strata(self, strata: tuple[Stratum, ...]) -> Sequence[Stratum]:
        if strata is not self._strata:  # which small updates ask for often
            self._strata = strata
            self.engine.expects_views = any(stratum.closing is not None for stratum in strata)
        return strata

    def prepare(self, predicates: Iterable[Predicate]) -> None:
        for predicate in sorted(predicates):
            self.engine.relation(predicate)

    def hold(self, closing: ClosureSpec, facts: Mapping[Predicate, Saved]) -> bool:
        edges = ColumnarBatch({})
        for predicate, saved in facts.items():
            edges = ColumnarBatch(edges.rows | self._restore_edges(predicate, saved).rows)
        return self.engine.hold(closing, edges)

    def _restore_edges(self, predicate: Predicate, saved: Saved) -> ColumnarBatch:
        """Store those of the saved facts that hold without the module."""
        columns, labels, counts = saved
        chosen = np.flatnonzero(counts[0])  # few, and no count is below zero
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
