"""The Spark engine behind the face of all engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import finalize

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.contents import repeated
from stratalog.engine.spark.engine import SparkEngine
from stratalog.engine.spark.levels import merged_levels
from stratalog.engine.spark.overlay import States
from stratalog.engine.spark.settle import checked
from stratalog.facts.labels import I
from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.facts.sets import Batch, FactSet
from stratalog.knowledge.adapters import Costs, Counts, Encoded, Ids, Labels, Saved, costs_of
from stratalog.knowledge.rows import distinct
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.runtime.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stratalog.engine.spark.batch import SparkBatch
    from stratalog.engine.spark.facts import Facts


class SparkHost:
    """The Spark engine."""

    name = "spark"
    why = "asked for"

    def __init__(self, spark: SparkSession, dictionary: Dictionary, limits: Limits) -> None:
        self.limits = limits
        self.engine = SparkEngine(spark, dictionary, limits)
        self.load = self.engine.load
        self.begin = self.engine.begin
        self._strata: tuple[tuple[Stratum, ...], tuple[Stratum, ...]] = (), ()
        self._freeing = finalize(self, _free, self.engine.facts)
        self._freeing.atexit = False  # a session that ends frees all by itself

    def strata(self, strata: tuple[Stratum, ...]) -> Sequence[Stratum]:
        """Return one stratum per level; the same objects for the same plan, which engines know."""
        if self._strata[0] is not strata:
            self._strata = strata, merged_levels(strata)
        return self._strata[1]

    def expect_facts(self) -> None:
        pass  # it does not count memory

    def close(self) -> None:
        self._freeing()

    def restore(
        self, predicate: Predicate, columns: Sequence[Ids], labels: Labels, counts: Sequence[Counts]
    ) -> None:
        if distinct(list(columns), labels.size) < labels.size:
            raise repeated(predicate)
        self.engine.facts.restore(
            States(predicate, list(columns), labels.astype(np.int64), *counts)
        )

    def hold(self, closing: ClosureSpec, facts: Mapping[Predicate, Saved]) -> bool:  # noqa: ARG002
        return False

    def read(self, predicate: Predicate, described: FactSet) -> tuple[list[Ids], int]:
        return self.engine.read(predicate, described)

    def stored(self, predicate: Predicate) -> tuple[list[Ids], Labels, list[Counts]]:
        found = self.engine.stored(predicate)
        words = found.words.astype(np.uint16)
        return list(found.columns), words, [found.nonrecursive, found.recursive]

    def size(self, predicate: Predicate, described: FactSet = I) -> int:
        return self.engine.size(predicate, described)

    def contains(
        self, predicate: Predicate, columns: Sequence[Ids], size: int
    ) -> npt.NDArray[np.bool_]:
        return self.engine.contains(predicate, columns, size)

    def prepare(self, predicates: Iterable[Predicate]) -> None:
        for predicate in sorted(predicates):
            self.engine.facts.number(predicate)

    def rows(self, predicate: Predicate) -> int:
        return self.engine.rows(predicate)

    def store(self, facts: Iterable[Encoded]) -> SparkBatch:
        return self.engine.find(facts, store=True)

    def find(self, facts: Iterable[Encoded]) -> SparkBatch:
        return self.engine.find(facts)

    def facts_of(self, batch: Batch) -> Iterator[Encoded]:
        overlay = self.engine.overlay
        for relation, rows in overlay.parts(self.engine.as_rows(checked(batch))):
            yield relation.predicate, [column[rows] for column in relation.columns], rows.size

    def changed(self) -> Iterator[tuple[Predicate, list[Ids], Labels, list[Counts]]]:
        overlay = self.engine.overlay
        for predicate, rows in overlay.changed_rows().items():
            relation = overlay.relation(predicate)
            columns = [column[rows] for column in relation.columns]
            yield predicate, columns, relation.labels[rows], [c[rows] for c in relation.counts]

    def answers(self, rule: PlannedRule) -> tuple[list[Ids], int]:
        return self.engine.answers(rule)

    def drop(self, predicates: Sequence[Predicate]) -> None:
        self.engine.drop(predicates)

    def predicates(self) -> list[Predicate]:
        return self.engine.facts.known()

    def derivations(self) -> Costs:
        return costs_of(self.engine.costs.in_all)

    def recent_derivations(self) -> Costs:
        return costs_of(self.engine.costs.recent)

    def nbytes(self, predicates: Sequence[Predicate] | None = None) -> int:
        return self.engine.nbytes(predicates)


def _free(facts: Facts) -> None:
    """Give back what Spark keeps; a session that has been stopped keeps nothing."""
    with suppress(Exception):
        facts.close()
