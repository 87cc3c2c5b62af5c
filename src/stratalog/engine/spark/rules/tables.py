"""Shapes and their tables, kept from round to round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.engine.spark.rules.joins import columns_of, constants_of
from stratalog.engine.spark.rules.shapes import Row, Shape, Wanted, shape_of
from stratalog.engine.spark.rules.views import local_frame
from stratalog.facts.terms import Terms
from stratalog.lang.syntax import Predicate
from stratalog.lang.terms import Term
from stratalog.plan.rules import PlannedRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_TABLES = 512
MOST_SHAPES = 1 << 16

Key = tuple[int, int | None, bool]


class Tabled:
    """The shapes of rules' versions, the tables of shapes, and the ids of rules' constants."""

    def __init__(self, spark: SparkSession, terms: Terms) -> None:
        self._spark = spark
        self._terms = terms
        self._constants: dict[Term, int] = {}
        self._shapes: dict[Key, tuple[PlannedRule, Shape, Row]] = {}
        self._tables: dict[tuple[Row, ...], DataFrame] = {}

    def constant(self, term: Term) -> int:
        """Return the id of a constant of a rule."""
        if term not in self._constants:
            self._constants[term] = int(self._terms.encode([term])[0])
        return self._constants[term]

    def shape(
        self, asked: Wanted, number: Callable[[Predicate], int], *, keep: bool
    ) -> tuple[Shape, Row]:
        """Return the shape and row of a version, which may be kept if its own head is asked for."""
        rule = asked.version.rule
        key = id(rule), asked.version.start, asked.version.negative
        if not keep or key not in self._shapes:
            shape, row = shape_of(asked, number, self.constant)
            if not keep:
                return shape, row
            if len(self._shapes) >= MOST_SHAPES:
                self._shapes.clear()
            self._shapes[key] = rule, shape, row  # the rule is kept, so that its id is not reused
        _, shape, row = self._shapes[key]
        return shape, row

    def table(self, rows: Sequence[Row]) -> DataFrame:
        """Return the versions of a shape as a DataFrame."""
        key = tuple(rows)
        if key not in self._tables:
            if len(self._tables) >= MOST_TABLES:
                self._tables.clear()
            numbers = _columns([columns_of(row) for row in rows], np.dtype(np.int32))
            constants = _columns([constants_of(row) for row in rows], np.dtype(np.int64))
            self._tables[key] = local_frame(self._spark, numbers | constants)
        return self._tables[key]

    def forget(self, size: int) -> None:
        """Let go of constants whose ids are `size` or more."""
        self._constants = {term: i for term, i in self._constants.items() if i < size}
        self._shapes.clear()


def _columns(
    rows: Sequence[dict[str, int]], kind: np.dtype[np.signedinteger]
) -> dict[str, npt.NDArray[np.signedinteger]]:
    return {name: np.array([row[name] for row in rows], kind) for name in rows[0]}
