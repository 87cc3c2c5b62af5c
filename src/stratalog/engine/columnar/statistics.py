"""Sizes of relations for the planner: rows, and distinct constants estimated from a sample."""

from __future__ import annotations

from collections.abc import Mapping

from stratalog.engine.columnar.relation import Relation
from stratalog.lang.syntax import Predicate


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
        known = self._estimates.get((predicate, column))
        if known is None or not known[0] <= relation.rows < 2 * known[0]:
            known = relation.rows, relation.distinct(column)
            self._estimates[predicate, column] = known
        return known[1]
