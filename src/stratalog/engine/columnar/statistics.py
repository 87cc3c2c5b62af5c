"""Sizes of relations for the planner: rows, and distinct constants estimated from a sample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stratalog.engine.columnar.relation import Relation
from stratalog.lang.syntax import Predicate

SAMPLE = 4096


class RelationStatistics:
    """Statistics of relations; a column's estimate is renewed when its relation has doubled."""

    def __init__(self, relations: Mapping[Predicate, Relation]) -> None:
        self._relations = relations
        self._estimates: dict[tuple[Predicate, int], tuple[int, float]] = {}

    def rows(self, predicate: Predicate) -> float:
        relation = self._relations.get(predicate)
        return float(relation.rows) if relation else 0.0

    def distinct(self, predicate: Predicate, column: int) -> float:
        relation = self._relations.get(predicate)
        if relation is None or not relation.rows:
            return 1.0
        known = self._estimates.get((predicate, column))
        if known is None or not known[0] <= relation.rows < 2 * known[0]:
            known = relation.rows, _estimate_distinct(relation, column)
            self._estimates[predicate, column] = known
        return known[1]


def _estimate_distinct(relation: Relation, column: int) -> float:
    """Return the GEE estimate: a constant seen once stands for sqrt(rows / sample) others."""
    rows = relation.rows
    step = max(1, rows // SAMPLE)
    sample = relation.columns[column][:rows:step]
    _, seen = np.unique(sample, return_counts=True)
    once = int((seen == 1).sum())
    if once == seen.size:
        return float(rows)
    return float(once * np.sqrt(rows / sample.size) + (seen.size - once))
