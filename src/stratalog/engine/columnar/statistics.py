"""Sizes of relations for the planner: rows, and distinct constants.

An index knows how many keys it has; of a column without one a sample is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.membership import MAX_SINGLE_SEGMENT_ROWS
from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.lang.syntax import Predicate

SAMPLE = 4096  # rows looked at for an estimate
PAIR = 2  # columns
PER_KEY = 2  # facts that may have the same constant, on average, in a column that is almost a key


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
        return float(relation.facts) if relation else 0.0

    def distinct(self, predicate: Predicate, column: int) -> float:
        relation = self._relations.get(predicate)
        if relation is None or not relation.rows:
            return 1.0
        if relation.view is not None:
            return relation.view.distinct
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
    return distinct_among(relation.columns[column][: relation.rows])


def key_of(block: npt.NDArray[np.uint32]) -> int | None:
    """Return the column that is almost a key of many pairs, if there is one."""
    if block.shape[0] != PAIR or block.shape[1] <= MAX_SINGLE_SEGMENT_ROWS:
        return None
    distinct = [distinct_among(column) for column in block]
    key = int(np.argmax(distinct))
    return key if distinct[key] * PER_KEY >= block.shape[1] else None


def distinct_among(column: Ids) -> float:
    """Return about how many different constants there are in a column, from a sample."""
    rows = column.size
    step = max(1, rows // SAMPLE)
    sample = column[::step]
    seen = np.unique(sample, return_counts=True)[1]
    if step == 1:
        return float(seen.size)
    once, twice = int((seen == 1).sum()), int((seen == 2).sum())  # noqa: PLR2004  # twice
    return min(float(rows), seen.size + once * (once - 1) / (2 * (twice + 1)))
