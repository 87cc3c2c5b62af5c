"""One face for all engines: what a knowledge base asks beyond the algorithms' protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.engine.reference import Entry, ReferenceEngine
from stratalog.errors import EngineError
from stratalog.facts.engine import Engine
from stratalog.facts.labels import I
from stratalog.facts.limits import Limits
from stratalog.facts.sets import FactSet
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.rules import PlannedRule

Ids = npt.NDArray[np.uint32]
Labels = npt.NDArray[np.unsignedinteger[Any]]
Counts = npt.NDArray[np.int64]


class Host(Protocol):
    """An engine with facts in and out."""

    name: str
    limits: Limits

    @property
    def engine(self) -> Engine[PlannedRule]:
        """The engine that algorithms run on."""

    def load(self, predicate: Predicate, columns: Sequence[Ids], size: int) -> None:
        """Store explicit facts."""

    def restore(
        self, predicate: Predicate, columns: Sequence[Ids], labels: Labels, counts: Sequence[Counts]
    ) -> None:
        """Store facts as they were saved, into a relation that is still empty."""

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

    def answers(self, rule: PlannedRule) -> tuple[list[Ids], int]:
        """Return the columns of the distinct heads of a rule."""

    def drop(self, predicates: Sequence[Predicate]) -> None:
        """Forget relations that were made for one query."""

    def predicates(self) -> list[Predicate]:
        """Return the predicates of all relations."""

    def derivations(self) -> Mapping[int, tuple[int, int, float]]:
        """Return derivations, rows visited and seconds by rule index."""

    def nbytes(self, predicates: Sequence[Predicate] | None = None) -> int:
        """Return the bytes of the arrays that hold these relations, all by default."""


class ClosedHost:
    """What a closed knowledge base has instead of an engine: whatever is asked is an error."""

    def __getattr__(self, name: str) -> NoReturn:
        raise EngineError(
            "E107",
            "the knowledge base is closed",
            help="ask inside the with block, or materialise or open it again",
        )


class ColumnarHost:
    """The columnar engine."""

    name = "columnar"

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

    def stored(self, predicate: Predicate) -> tuple[list[Ids], Labels, list[Counts]]:
        relation = self.engine.relation(predicate)
        rows = self.engine.rows_of(relation, I)
        columns = [column[rows] for column in relation.columns]
        return columns, relation.labels[rows], [count[rows] for count in relation.counts]

    def predicates(self) -> list[Predicate]:
        return list(self.engine.relations)

    def derivations(self) -> dict[int, tuple[int, int, float]]:
        return {
            index: (p.derivations, p.rows_visited, p.seconds)
            for index, p in self.engine.profile().items()
        }


class ReferenceHost:
    """The reference engine, whose facts are terms."""

    name = "reference"

    def __init__(self, dictionary: Dictionary, limits: Limits) -> None:
        self._terms = dictionary
        self.limits = limits
        self.engine = ReferenceEngine(dictionary, limits)

    def load(self, predicate: Predicate, columns: Sequence[Ids], size: int) -> None:
        decoded = [self._terms.decode(column) for column in columns]
        self.engine.load(predicate, zip(*decoded, strict=True) if columns else [()] * size)

    def restore(
        self, predicate: Predicate, columns: Sequence[Ids], labels: Labels, counts: Sequence[Counts]
    ) -> None:
        decoded = [self._terms.decode(column) for column in columns]
        facts = list(zip(*decoded, strict=True)) if columns else [()] * labels.size
        for fact, *entry in zip(facts, labels.tolist(), *(c.tolist() for c in counts), strict=True):
            self.engine.stored[predicate][fact] = Entry(entry[0], entry[1:])

    def read(self, predicate: Predicate, described: FactSet) -> tuple[list[Ids], int]:
        facts = [
            f for f in self.engine.stored[predicate] if self.engine.is_in((predicate, f), described)
        ]
        columns = list(zip(*facts, strict=True)) if facts else [()] * predicate.arity
        return [self._terms.encode(list(column)) for column in columns], len(facts)

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
        decoded = [self._terms.decode(column) for column in columns]
        facts = zip(*decoded, strict=True) if columns else [()] * size
        return np.array([self.engine.is_in((predicate, f), I) for f in facts], np.bool_)

    def answers(self, rule: PlannedRule) -> tuple[list[Ids], int]:
        found = self.engine.answers(rule)
        columns = list(zip(*found, strict=True)) if found else [()] * rule.head.predicate.arity
        return [self._terms.encode(list(column)) for column in columns], len(found)

    def drop(self, predicates: Sequence[Predicate]) -> None:
        for predicate in predicates:
            self.engine.stored.pop(predicate, None)

    def predicates(self) -> list[Predicate]:
        return list(self.engine.stored)

    def derivations(self) -> dict[int, tuple[int, int, float]]:
        return {index: (n, n, 0.0) for index, n in self.engine.derivations.items()}

    def nbytes(self, predicates: Sequence[Predicate] | None = None) -> int:  # noqa: ARG002
        return 0
