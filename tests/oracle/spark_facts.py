"""The Spark engine as a subject of histories: facts in and out, and all that is stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from stratalog.engine.spark.engine import SparkEngine
from stratalog.engine.spark.fetching import STATES
from stratalog.engine.spark.overlay import States
from stratalog.facts.sets import Batch
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.rules import Stratum
from tests import naive
from tests.oracle.histories import State

Fact = naive.Fact


class SparkFacts:
    """The Spark engine, whose facts are numbers in Spark and in the driver."""

    def __init__(self, spark: Any = None, engine: SparkEngine | None = None) -> None:
        self.engine = engine or SparkEngine(spark, Dictionary())

    def load(self, facts: Iterable[Fact]) -> None:
        for predicate, columns, size in self._encoded(facts):
            self.engine.load(predicate, columns, size)

    def batch(self, facts: Iterable[Fact]) -> Batch:
        return self.engine.find(self._encoded(facts), store=True)

    def _encoded(self, facts: Iterable[Fact]) -> list[tuple[Predicate, Any, int]]:
        grouped: dict[Predicate, list[naive.Row]] = defaultdict(list)
        for predicate, args in sorted(facts):
            grouped[predicate].append(args)
        found = []
        for predicate, rows in grouped.items():
            flat = self.engine.terms.encode([term for row in rows for term in row])
            ids = np.asarray(flat, np.uint32).reshape(len(rows), predicate.arity)
            found.append((predicate, list(np.ascontiguousarray(ids.T)), len(rows)))
        return found

    def state(self) -> State:
        engine = self.engine
        engine.take_in()
        engine.facts.compact_counts()
        found: State = {}
        texts = {
            width: " UNION ALL ".join(parts)
            for width, table in engine.facts.tables.items()
            if (parts := table.select(lambda *_: True, STATES))
        }
        for states, _ in engine.deriving.entered(engine.deriving.fetched(texts)):
            unknown = engine.overlay.unknown(states.predicate, states.columns, states.words.size)
            kept = [column[unknown] for column in states.columns]
            found |= self._decoded(
                States(states.predicate, kept, *(each[unknown] for each in states[2:]))
            )
        for states, _ in engine.overlay.states():
            found |= self._decoded(states)
        return found

    def _decoded(self, states: States) -> State:
        """Return the facts that have a mark or a count, with both.

        A row of an update that was undone has none, and its constants may be gone.
        """
        has_any = np.logical_or.reduce([each != 0 for each in states[2:]])
        args = self._rows([column[has_any] for column in states.columns], int(has_any.sum()))
        values = zip(*(each[has_any].tolist() for each in states[2:]), strict=True)
        return {(states.predicate, row): value for row, value in zip(args, values, strict=True)}

    def _rows(self, columns: Any, size: int) -> list[naive.Row]:
        decoded = [self.engine.terms.decode(column) for column in columns]
        return list(zip(*decoded, strict=True)) if decoded else [()] * size

    def facts(self, batch: Batch) -> set[Fact]:
        return {
            (relation.predicate, args)
            for relation, rows in self.engine.overlay.parts(self.engine.as_rows(batch))
            for args in self._rows([c[rows] for c in relation.columns], rows.size)
        }


def strata_of(subject: SparkFacts, strata: tuple[Stratum, ...]) -> tuple[Stratum, ...]:
    """Return strata as the engine is given them."""
    del subject
    from stratalog.engine.spark.levels import merged_levels

    return merged_levels(strata)
