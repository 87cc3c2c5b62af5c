"""Aggregates over columns of ids: one row per group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, starmap

import numpy as np

from stratalog.engine.columnar.expression_columns import (
    DOUBLE,
    WHOLE,
    Column,
    Ids,
    Integers,
    Mask,
    beyond_doubles,
)
from stratalog.engine.columnar.expressions import ERROR, Evaluator, distinct_rows
from stratalog.facts.terms import Terms
from stratalog.lang.builtins_values import ExpressionError
from stratalog.lang.reductions import (
    average_of_doubles,
    average_of_integers,
    reduce_terms,
    sum_of_doubles,
)
from stratalog.lang.syntax import Reduction, Variable
from stratalog.lang.terms import Term
from stratalog.plan.rules import Grouping

_CHUNK = 1 << 16  # so many rows are terms of Python at a time
_LOWEST, _HIGHEST = np.int64(-(2**63)), np.int64(2**63 - 1)
_SAFE_SUM = float(2**62)  # a bound below this, even if rounded, is a sum that cannot wrap


@dataclass(frozen=True, slots=True)
class _Groups:
    """Values of a reduction, sorted by group: those of group g begin at starts[g]."""

    values: Ids
    starts: Integers
    sizes: Integers


def reduce_groups(
    terms: Terms,
    evaluator: Evaluator,
    grouping: Grouping,
    columns: Mapping[Variable, Ids],
    size: int,
) -> list[Ids]:
    """Return the columns of the group variables and of the reductions, one row per group.

    The `size` rows are distinct matches. A group in which a reduction, or its expression in one
    match, is an error is left out.
    """
    width = len(grouping.group) + len(grouping.reductions)
    if size == 0:
        return [np.zeros(0, np.uint32) for _ in range(width)]
    first, group = distinct_rows([columns[variable] for variable in grouping.group])
    group = np.broadcast_to(group, (size,))
    reducer = _Reducer(terms, evaluator, group, len(first))
    reduced = [reducer.reduce(reduction, columns, size) for reduction in grouping.reductions]
    kept = np.ones(len(first), np.bool_)
    for column in reduced:
        kept &= column != ERROR
    heads = [columns[variable][first] for variable in grouping.group]
    return [column[kept] for column in (*heads, *reduced)]


class _Reducer:
    def __init__(self, terms: Terms, evaluator: Evaluator, group: Integers, count: int) -> None:
        self._terms = terms
        self._evaluator = evaluator
        self._group = group
        self._count = count

    def reduce(self, reduction: Reduction, columns: Mapping[Variable, Ids], size: int) -> Ids:
        """Return the value of the reduction in each group, or ERROR."""
        if reduction.expression is None:
            return self._evaluator.encode_integers(np.bincount(self._group))
        values = self._evaluator.evaluate(reduction.expression, columns, size)
        failed = np.zeros(self._count, np.bool_)
        failed[self._group[values == ERROR]] = True
        group = self._group
        if failed.any():
            kept = ~failed[group]
            values, group = values[kept], group[kept]
        if reduction.distinct:
            first, _ = distinct_rows([group.astype(np.uint32), values])
            values, group = values[first], group[first]
        result = np.full(self._count, ERROR)
        if values.size:
            result[~failed] = self._reduced(reduction.function, values, group)
        return result

    def _reduced(self, function: str, values: Ids, group: Integers) -> Ids:
        if function == "COUNT":
            counts = np.bincount(group)
            return self._evaluator.encode_integers(counts[counts > 0])
        order = np.argsort(group, kind="stable")
        ordered = group[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        sizes = np.diff(np.append(starts, values.size))
        groups = _Groups(values[order], starts, sizes)
        column = self._evaluator.numbers(groups.values)
        whole, double = _computable(function, column, groups)
        result = np.empty(starts.size, np.uint32)
        if whole.any():
            result[whole] = self._reduced_integers(function, column.numbers, groups, whole)
        if double.any():
            result[double] = self._reduced_doubles(function, column, groups, double)
        slow = np.flatnonzero(~(whole | double))
        if slow.size:
            result[slow] = self._reduced_terms(function, groups, slow)
        return result

    def _reduced_integers(
        self, function: str, numbers: Integers, groups: _Groups, chosen: Mask
    ) -> Ids:
        operation = {"MIN": np.minimum, "MAX": np.maximum}.get(function, np.add)
        results = operation.reduceat(numbers, groups.starts)[chosen]
        if function != "AVG":
            return self._evaluator.encode_integers(results)
        pairs, inverse = np.unique(
            np.stack([results, groups.sizes[chosen]]), axis=1, return_inverse=True
        )
        averages = [average_of_integers(*pair) for pair in pairs.T.tolist()]
        ids: Ids = self._terms.encode(averages)
        return ids[inverse]

    def _reduced_doubles(self, function: str, column: Column, groups: _Groups, chosen: Mask) -> Ids:
        if function in {"MIN", "MAX"}:
            operation = np.minimum if function == "MIN" else np.maximum
            keys = operation.reduceat(_order_of_doubles(column.numbers), groups.starts)
            return self._evaluator.encode_doubles(_doubles_of_order(keys[chosen]))
        values = column.doubles.tolist()
        reduce = sum_of_doubles if function == "SUM" else average_of_doubles
        bounds = zip(groups.starts[chosen].tolist(), groups.sizes[chosen].tolist(), strict=True)
        results = [reduce(values[start : start + size]) for start, size in bounds]
        return self._evaluator.encode_doubles(np.array(results).view(np.int64))

    def _reduced_terms(self, function: str, groups: _Groups, chosen: Integers) -> Ids:
        results: list[Term | None] = []
        for part in _parts(groups.sizes[chosen]):
            starts, sizes = groups.starts[chosen[part]], groups.sizes[chosen[part]]
            ends = np.cumsum(sizes)
            rows = np.arange(ends[-1]) + np.repeat(starts - ends + sizes, sizes)
            values = self._terms.decode(groups.values[rows])
            for end, size in zip(ends.tolist(), sizes.tolist(), strict=True):
                results.append(_value(function, values[end - size : end]))
        ids = np.full(len(results), ERROR)
        kept = [place for place, result in enumerate(results) if result is not None]
        ids[kept] = self._terms.encode([result for result in results if result is not None])
        return ids


def _value(function: str, values: list[Term]) -> Term | None:
    try:
        return reduce_terms(function, distinct=False, terms=values)
    except ExpressionError:
        return None


def _parts(sizes: Integers) -> Iterator[slice]:
    """Yield runs of groups, so that only some rows are terms of Python at a time."""
    blocks = (np.cumsum(sizes) - 1) // _CHUNK
    cuts = np.flatnonzero(np.diff(blocks)) + 1
    edges = [0, *cuts.tolist(), sizes.size]
    yield from starmap(slice, pairwise(edges))


def _computable(function: str, column: Column, groups: _Groups) -> tuple[Mask, Mask]:
    """Return which groups are computed as integers, and which as doubles."""
    lowest = np.minimum.reduceat(column.states, groups.starts)
    highest = np.maximum.reduceat(column.states, groups.starts)
    whole = (lowest == WHOLE) & (highest == WHOLE)
    if function in {"MIN", "MAX"}:
        return whole, lowest == DOUBLE
    inexact = np.logical_or.reduceat(beyond_doubles(column), groups.starts)
    double = (lowest >= WHOLE) & (highest == DOUBLE) & ~inexact
    sizes = np.abs(column.numbers.astype(np.float64))
    bound = np.maximum.reduceat(sizes, groups.starts) * groups.sizes
    return whole & (bound < _SAFE_SUM), double


def _order_of_doubles(bits: Integers) -> Integers:
    """Return integers in the total order of doubles: NaN, then by value, -0.0 before 0.0."""
    values = bits.view(np.float64)
    return np.where(np.isnan(values), _LOWEST, _flipped(bits))


def _doubles_of_order(keys: Integers) -> Integers:
    """Return the bits of the doubles that `_order_of_doubles` gave the keys of."""
    return np.where(keys == _LOWEST, np.array(np.nan).view(np.int64), _flipped(keys))


def _flipped(bits: Integers) -> Integers:
    # The larger the bits of a negative double without its sign, the smaller the double.
    return bits ^ ((bits >> np.int64(63)) & _HIGHEST)
