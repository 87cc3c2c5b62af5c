"""The reference engine as a knowledge base uses it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.contents import repeated
from stratalog.engine.reference import Entry, FactBatch, ReferenceEngine
from stratalog.facts.labels import I
from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.facts.sets import Batch, FactSet
from stratalog.knowledge.adapters import Costs, Counts, Encoded, Ids, Labels, Saved
from stratalog.lang.syntax import Predicate
from stratalog.lang.terms import Term
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.runtime.limits import Limits


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

    def hold(self, closing: ClosureSpec, facts: Mapping[Predicate, Saved]) -> bool:  # noqa: ARG002
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
