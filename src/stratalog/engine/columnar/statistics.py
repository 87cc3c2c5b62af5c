"""Sizes of relations for the planner: rows, and distinct constants.

An index knows how many keys it has; of a column without one a sample is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stratalog.engine.columnar.relation import Relation
from stratalog.lang.syntax import Predicate

SAMPLE = 4096  # rows looked at for an estimate


class RelationStatistics:
    """Statistics of relations; a column's estimate is renewed when its relation has doubled."""

    def __init__(self, relations: Mapping[Predicate, Relation]) -> None:
        self._relations = relations
        self._estimates: dict[tuple[Predicate, int], tuple[int, float]] = {}

    def forget(self, predicate: Predicate) -> None:
        """Let go of the estimates of a relation that is gone."""
        for column in range(predicate.arity):
            self._estimates.pop((predicate, column), None)

    def rows(self, predicate: Predicate) -> float:
        relation = self._relations.get(predicate)
        return float(relation.rows) if relation else 0.0

    def distinct(self, predicate: Predicate, column: int) -> float:
        relation = self._relations.get(predicate)
        if relation is None or not relation.rows:
            return 1.0
        for index in relation.indexes:
            if index.columns == (column,) and 2 * index.linked >= relation.rows:
                return max(1.0, index.keys * relation.rows / index.linked)
        known = self._estimates.get((predicate, column))
        if known is None or not known[0] <= relation.rows < 2 * known[0]:
            known = relation.rows, estimate_distinct(relation, column)
            self._estimates[predicate, column] = known
        return known[1]


def estimate_distinct(relation: Relation, column: int) -> float:
    """Return about how many constants stand in a column, from a sample.

    Chao's estimate: how many were not seen follows from how many were seen once and twice.
    """
    rows = relation.rows
    step = max(1, rows // SAMPLE)
    sample = relation.columns[column][:rows:step]
    seen = np.unique(sample, return_counts=True)[1]
    if step == 1:
        return float(seen.size)
    once, twice = int((seen == 1).sum()), int((seen == 2).sum())  # noqa: PLR2004  # twice
    return min(float(rows), seen.size + once * (once - 1) / (2 * (twice + 1)))
