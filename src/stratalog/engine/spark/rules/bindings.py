"""Bindings in the driver: built-ins, aggregates and heads over columns of ids.

Expressions are evaluated, and groups reduced, by the columnar engine's own code: both engines mean
the same by them, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stratalog.engine.values.expressions import ERROR, Evaluator
from stratalog.engine.values.grouping import reduce_groups
from stratalog.facts.terms import Terms
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Argument, Bind, Filter, Variable
from stratalog.lang.terms import Term
from stratalog.plan.lower import expression_variables
from stratalog.plan.rules import Grouping
from stratalog.runtime.limits import Limits

Ids = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

REPEATED = sized(50_000_000, 8)  # rows that groups are reduced from at a time

_ALIKE = frozenset({"MIN", "MAX"})  # what they give is the same however often a value comes


class Bindings(NamedTuple):
    """Columns of ids by variable, and how many instances each row stands for."""

    columns: dict[Variable, Ids]
    counts: Counts

    def chosen(self, rows: Mask | Counts) -> Bindings:
        """Return some of the rows."""
        columns = {variable: column[rows] for variable, column in self.columns.items()}
        return Bindings(columns, self.counts[rows])

    def filled(self, args: Sequence[Argument], terms: Terms) -> list[Ids]:
        """Return the columns of an atom's arguments."""
        return [
            np.full(self.counts.size, terms.encode([arg])[0])
            if isinstance(arg, Term)
            else self.columns[arg]
            for arg in args
        ]


class Calculator:
    """Computes with the constants of one dictionary."""

    def __init__(self, terms: Terms, limits: Limits) -> None:
        self.terms = terms
        self._evaluator = Evaluator(terms, lambda: limits.check_time("a rule with built-ins"))

    def forget(self, size: int) -> None:
        """Let go of what is known of ids from `size` on."""
        self._evaluator.forget(size)

    def computed(self, builtins: Sequence[Filter | Bind], bindings: Bindings) -> Bindings:
        """Return the bindings that all built-ins hold for, with the variables that BINDs add."""
        waiting = list(builtins)
        while waiting:
            known = bindings.columns.keys()
            ready = (b for b in waiting if known >= set(expression_variables(b.expression)))
            builtin = next(ready, waiting[0])  # a FILTER may ask whether a variable is bound
            waiting.remove(builtin)
            bindings = self._after(builtin, bindings)
        return bindings

    def _after(self, builtin: Filter | Bind, bindings: Bindings) -> Bindings:
        columns, size = bindings.columns, bindings.counts.size
        if isinstance(builtin, Filter):
            return bindings.chosen(self._evaluator.holds(builtin.expression, columns, size))
        values = self._evaluator.evaluate(builtin.expression, columns, size)
        kept = values != ERROR
        if builtin.variable in columns:
            return bindings.chosen(kept & (values == columns[builtin.variable]))
        extended = Bindings({**columns, builtin.variable: values}, bindings.counts)
        return extended.chosen(kept)

    def reduced(self, grouping: Grouping, bindings: Bindings) -> Bindings:
        """Return one row per group: its variables and the results of its reductions."""
        names = (*grouping.group, *(r.variable for r in grouping.reductions))
        parts = [
            reduce_groups(self.terms, self._evaluator, grouping, part.columns, part.counts.size)
            for part in _repeated(grouping, bindings)
        ]
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return Bindings(dict(zip(names, columns, strict=True)), np.ones(columns[0].size, np.int64))


def _repeated(grouping: Grouping, bindings: Bindings) -> Sequence[Bindings]:
    """Return the bindings with a row for each instance, in parts of whole groups."""
    if all(r.distinct or r.function in _ALIKE for r in grouping.reductions):
        return [bindings]
    total = int(bindings.counts.sum())
    if total <= REPEATED or not grouping.group:
        return [_repeat(bindings)]
    order = np.lexsort([bindings.columns[v] for v in grouping.group])
    bindings = bindings.chosen(order)
    edges = _edges([bindings.columns[v] for v in grouping.group], bindings.counts)
    return [_repeat(bindings.chosen(np.arange(begin, end))) for begin, end in pairwise(edges)]


def _repeat(bindings: Bindings) -> Bindings:
    columns = {v: np.repeat(column, bindings.counts) for v, column in bindings.columns.items()}
    size = int(bindings.counts.sum())
    return Bindings(columns, np.ones(size, np.int64))


def _edges(group: Sequence[Ids], counts: Counts) -> list[int]:
    """Return where parts of sorted groups begin and end, each of about REPEATED instances."""
    is_new = np.zeros(counts.size, np.bool_)
    for column in group:
        is_new[1:] |= column[1:] != column[:-1]
    begins = np.flatnonzero(is_new)
    slices = (np.cumsum(counts)[begins - 1]) // REPEATED
    cuts = begins[np.flatnonzero(np.diff(slices, prepend=0))]
    return [0, *cuts.tolist(), counts.size]


def bindings_of(columns: Mapping[Variable, npt.NDArray[np.int64]], counts: Counts) -> Bindings:
    """Return columns of 64-bit numbers, as Spark has them, as columns of ids."""
    return Bindings({v: column.astype(np.uint32) for v, column in columns.items()}, counts)
