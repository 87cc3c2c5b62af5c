"""Aggregates over columns of ids: one row per group.

Rows get the dense number of their group, and each reduction goes over them once, adding each row to
its group's sum, size or extreme. Values that are no integers or doubles are reduced as terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise, starmap

import numpy as np
import numpy.typing as npt

from stratalog.engine.values.expression_columns import (
    SLOW,
    WHOLE,
    Column,
    Ids,
    Integers,
    Mask,
    States,
)
from stratalog.engine.values.expressions import ERROR, Evaluator
from stratalog.engine.values.group_rows import (
    ROWS,
    TABLE_PER_ROW,
    Rows,
    first_rows,
    numbered,
    sizes_of,
    slices,
)
from stratalog.facts.terms import Array, Terms
from stratalog.kernels.numbers import groups as k
from stratalog.kernels.numbers import sums, texts
from stratalog.kernels.sizes import sized
from stratalog.lang import effort
from stratalog.lang.builtins.values import INTEGER_RANK, ExpressionError, number_term
from stratalog.lang.reductions import average_of_integers, reduce_terms, total_order
from stratalog.lang.syntax import Reduction, Variable
from stratalog.lang.terms import BNODE_KIND, DECIMAL, DOUBLE, INTEGER, IRI_KIND, STRING, Term
from stratalog.plan.rules import Grouping

Bits = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Read = Callable[[Ids], Column]

_CHUNK = sized(1 << 16, 3)  # so many rows are terms of Python at a time
_TEXTS = sized(1 << 20, 3)  # written together
_FEW = sized(2048, 2)  # groups whose limbs stay in the cache
_LOWER = np.int64(0xFFFFFFFF)
_LARGEST = 10**18 - 1  # the upper halves of 2**32 of them cannot overflow
_MOST_DIGITS = 9  # after the dot: so many of the unit times 2**32 do not overflow
_TEXT_FAMILIES = (BNODE_KIND, IRI_KIND, STRING)  # in their order, and by text within each


def reduce_groups(
    terms: Terms,
    evaluator: Evaluator,
    grouping: Grouping,
    columns: Mapping[Variable, Ids],
    size: int,
) -> list[Ids]:
    """Return the columns of the group variables and of the reductions, one row per group.

    The `size` rows are matches. A group in which a reduction, or its expression in one match, is an
    error is left out.
    """
    width = len(grouping.group) + len(grouping.reductions)
    if size == 0:
        return [np.zeros(0, np.uint32) for _ in range(width)]
    firsts, group = np.zeros(1, np.int64), np.zeros(size, np.uint32)
    for variable in grouping.group:
        firsts, group = numbered(group, firsts.size, columns[variable])
    reducer = _Reducer(terms, evaluator, group, sizes_of(group, firsts.size))
    reduced = [reducer.reduce(reduction, columns, size) for reduction in grouping.reductions]
    kept = np.ones(firsts.size, np.bool_)
    for column in reduced:
        kept &= column != ERROR
    heads = [columns[variable][firsts] for variable in grouping.group]
    return [column[kept] for column in (*heads, *reduced)]


class _Reducer:
    def __init__(self, terms: Terms, evaluator: Evaluator, group: Ids, sizes: Integers) -> None:
        self._terms = terms
        self._evaluator = evaluator
        self._group = group
        self._sizes = sizes

    def reduce(self, reduction: Reduction, columns: Mapping[Variable, Ids], size: int) -> Ids:
        """Return the value of the reduction in each group, or ERROR."""
        if reduction.expression is None:
            return self._evaluator.encode_integers(self._sizes)
        values = np.ascontiguousarray(
            self._evaluator.evaluate(reduction.expression, columns, size), np.uint32
        )
        group, sizes = self._group, self._sizes
        wrong = values == ERROR
        if wrong.any():
            kept = np.ones(sizes.size, np.bool_)
            kept[group[wrong]] = False
            of_kept = kept[group]
            values, group, sizes = values[of_kept], group[of_kept], np.where(kept, sizes, 0)
        if reduction.distinct and values.size:
            firsts = first_rows(group, sizes.size, values)
            values, group = values[firsts], group[firsts]
            sizes = sizes_of(group, sizes.size)
        result = np.full(sizes.size, ERROR)
        filled = sizes > 0
        if filled.any():
            reduced = self._reduced(reduction.function, Rows(values, group, sizes))
            result[filled] = reduced[filled]
        return result

    def _reduced(self, function: str, rows: Rows) -> Ids:
        if function == "COUNT":
            return self._evaluator.encode_integers(rows.sizes)
        if function in {"MIN", "MAX"}:
            return self._extremes(function, rows)
        return self._sums(function, rows)

    # -- MIN and MAX

    def _extremes(self, function: str, rows: Rows) -> Ids:
        """Return the id of the least or greatest value of each group."""
        result, seen = _best(function, self._evaluator.numbers, rows)
        slow = (seen != 0) & (seen != k.MET_WHOLE) & (seen != k.MET_DOUBLE)
        if slow.any():
            ids, ranked = rows.chosen(slow).dense()
            ranks = np.empty(ids.size, np.int64)
            ranks[self._order(ids)] = np.arange(ids.size)
            column = Column(np.full(ids.size, WHOLE), ranks)
            places, _ = _best(function, partial(_taken, column), ranked)
            result[slow] = ids[places]
        return result

    def _order(self, ids: Ids) -> Integers:
        """Return the places of distinct ids in the total order of their terms."""
        import pyarrow.compute as pc

        kinds = self._terms.kind_ids[ids]
        families = [np.flatnonzero(kinds == self._terms.kind_index(f)) for f in _TEXT_FAMILIES]
        if sum(family.size for family in families) == ids.size:
            texts_of = (self._terms.texts(ids[family]) for family in families)
            orders = [pc.array_sort_indices(family).to_numpy() for family in texts_of]
            return np.concatenate([f[order] for f, order in zip(families, orders, strict=True)])
        column, _ = self._scaled(ids)
        if np.all(kinds == self._terms.kind_index(DECIMAL)) and np.all(column.states == WHOLE):
            return np.argsort(column.numbers)
        keys = []
        for part in slices(ids.size, _CHUNK):
            keys += [total_order(term) for term in self._terms.decode(ids[part])]
        return np.array(sorted(range(ids.size), key=keys.__getitem__), np.int64)

    # -- SUM and AVG

    def _sums(self, function: str, rows: Rows) -> Ids:
        """Return the sums or averages, or ERROR; of empty groups anything."""
        average = function == "AVG"
        divisors = rows.sizes if average else np.ones(rows.sizes.size, np.int64)
        whole, bits, seen = _added(self._evaluator.numbers, rows, divisors)
        result = np.full(rows.sizes.size, ERROR)
        chosen = seen == k.MET_WHOLE
        if chosen.any():
            encode = self._encode_averages if average else self._encode_sums
            result[chosen] = encode(whole[chosen], divisors[chosen])
        chosen = (seen & k.MET_DOUBLE != 0) & (seen & (k.MET_SLOW | k.MET_OTHER) == 0)
        if chosen.any():
            result[chosen] = self._encode_doubles(bits[chosen])
        chosen = (seen & k.MET_SLOW != 0) & (seen & k.MET_OTHER == 0)
        if chosen.any():
            result[chosen] = self._slow_sums(function, rows.chosen(chosen), divisors[chosen])
        return result

    def _slow_sums(self, function: str, rows: Rows, divisors: Integers) -> Ids:
        """Return the sums or averages of groups with numbers that are no integers or doubles."""
        ids, scaled = rows.dense()
        column, unit = self._scaled(ids)
        whole, _, seen = _added(partial(_taken, column), scaled, divisors)
        result = np.empty(rows.sizes.size, np.uint32)
        chosen = seen == k.MET_WHOLE
        if chosen.any():
            result[chosen] = self._encode_averages(whole[chosen], divisors[chosen] * unit)
        if not chosen.all():
            result[~chosen] = self._reduced_terms(function, rows.chosen(~chosen).sorted())
        return result

    def _scaled(self, ids: Ids) -> tuple[Column, int]:
        """Return decimals and integers as multiples of one unit, and how many of it are one.

        What does not fit is SLOW.
        """
        column = self._evaluator.numbers(ids)
        numbers, scales = column.numbers.copy(), np.where(column.states == WHOLE, 0, -1)
        is_decimal = self._terms.kind_ids[ids] == self._terms.kind_index(DECIMAL)
        numbers[is_decimal], scales[is_decimal] = _read(self._terms.texts(ids[is_decimal]))
        fits = (scales >= 0) & (scales <= _MOST_DIGITS)
        digits = int(scales[fits].max(initial=0))
        factors = 10 ** np.where(fits, digits - scales, 0)
        fits &= np.abs(numbers) <= _LARGEST // factors
        return Column(np.where(fits, WHOLE, SLOW), np.where(fits, numbers * factors, 0)), 10**digits

    def _reduced_terms(self, function: str, rows: Rows) -> Ids:
        results: list[Term | None] = []
        ends = np.cumsum(rows.sizes)
        for part in _parts(ends):
            sizes = rows.sizes[part].tolist()
            end = int(ends[part][-1])
            values = self._terms.decode(rows.values[end - sum(sizes) : end])
            at = 0
            with effort.checked_by(self._evaluator.check):
                for size in sizes:
                    results.append(_value(function, values[at : at + size]))
                    at += size
        ids = np.full(len(results), ERROR)
        kept = [place for place, result in enumerate(results) if result is not None]
        ids[kept] = self._terms.encode([result for result in results if result is not None])
        return ids

    # -- ids of results

    def _encode_sums(self, whole: Integers, _divisors: Integers) -> Ids:
        totals, fits = _totals(whole)
        result = np.empty(totals.size, np.uint32)
        result[fits] = self._encode_integers(totals[fits])
        large = [number_term(INTEGER_RANK, total) for total in _large(whole[~fits])]
        result[~fits] = self._terms.encode(large)
        return result

    def _encode_averages(self, whole: Integers, divisors: Integers) -> Ids:
        totals, fits = _totals(whole)
        fits &= divisors < texts.DIVISORS
        result = np.empty(totals.size, np.uint32)
        result[fits] = self._encode_quotients(totals[fits], divisors[fits])
        pairs = zip(_large(whole[~fits]), divisors[~fits].tolist(), strict=True)
        result[~fits] = self._terms.encode(list(starmap(average_of_integers, pairs)))
        return result

    def _encode_integers(self, numbers: Integers) -> Ids:
        import pyarrow as pa

        low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
        if numbers.size and high - low <= TABLE_PER_ROW * numbers.size:
            return self._evaluator.encode_integers(numbers)
        # Where most numbers differ, finding those that do not would cost more than it saves.
        return self._interned(
            INTEGER, numbers.size, lambda part: pa.array(numbers[part]).cast(pa.large_string())
        )

    def _encode_quotients(self, totals: Integers, divisors: Integers) -> Ids:
        def spelt(part: slice) -> Array:
            data, offsets = _room(part, texts.LONGEST_AVERAGE)
            texts.write_averages(totals[part], divisors[part], data, offsets)
            return _strings(data, offsets)

        return self._interned(DECIMAL, totals.size, spelt)

    def _encode_doubles(self, bits: Bits) -> Ids:
        import pyarrow as pa

        def spelt(part: slice) -> Array:
            # Arrow finds the shortest digits, as Python does, but spells them in its own way.
            shortest = pa.array(bits[part].view(np.float64)).cast(pa.large_string())
            _, ends, digits = map(_bytes, shortest.buffers())
            data, offsets = _room(part, texts.LONGEST_DOUBLE)
            texts.write_doubles(digits, ends.view(np.int64), data, offsets)
            return _strings(data, offsets)

        return self._interned(DOUBLE, bits.size, spelt)

    def _interned(self, kind: str, size: int, spelt: Callable[[slice], Array]) -> Ids:
        """Return the ids of texts of one kind, which are spelt part by part."""
        result = np.empty(size, np.uint32)
        for part in slices(size, _TEXTS):
            result[part] = self._terms.intern(kind, spelt(part))
        return result


# -- sums and their texts


def _best(function: str, read: Read, rows: Rows) -> tuple[Ids, States]:
    """Return the value of each group that reads as the least or greatest, and what was met."""
    count = rows.sizes.size
    best, result, seen = np.empty(count, np.int64), np.empty(count, np.uint32), _unmet(count)
    flip = 0 if function == "MIN" else -1
    for values, group in rows.parts():
        column = read(values)
        k.keep_best(column.states, column.numbers, values, group, flip, best, result, seen)
    return result, seen


def _unmet(count: int) -> States:
    return np.zeros(count, np.uint8)


def _added(read: Read, rows: Rows, divisors: Integers) -> tuple[Integers, Bits, States]:
    """Return sums of integers in halves, bits of quotients with doubles, and what was met."""
    count = rows.sizes.size
    whole, bits = np.zeros((count, 2), np.int64), np.empty(count, np.uint64)
    seen = _unmet(count)
    if count <= _FEW:
        limbs = np.zeros((count, sums.LIMBS), np.int64)
        for number, (values, group) in enumerate(rows.parts(), 1):
            column = read(values)
            sums.add_to_limbs(column.states, column.numbers, group, whole, limbs, seen)
            if number % (sums.SETTLE_AFTER // ROWS) == 0:
                sums.settle(limbs)
        sums.take_limbs(whole, limbs, seen, divisors, bits)
        return whole, bits, seen
    pairs = np.zeros((count, 2), np.float64)
    for values, group in rows.parts():
        column = read(values)
        doubles = column.numbers.view(np.float64)
        sums.add_to_pairs(column.states, column.numbers, doubles, group, whole, pairs, seen)
    sums.take_pairs(whole, pairs, seen, divisors, bits)
    chosen = (seen & sums.INEXACT != 0) & (seen & (k.MET_SLOW | k.MET_OTHER) == 0)
    if chosen.any():
        _add_again(read, rows, chosen, whole, divisors, bits)
    return whole, bits, seen


def _add_again(
    read: Read, rows: Rows, chosen: Mask, whole: Integers, divisors: Integers, bits: Bits
) -> None:
    """Write the sums of the chosen groups, of which all doubles are finite, to `bits`."""
    ends = np.cumsum(np.where(chosen, rows.sizes, 0))
    collected = np.empty(int(ends[-1]), np.int64)
    groups = np.flatnonzero(chosen)
    places = ends - rows.sizes
    starts = places[groups]
    for values, group in rows.parts():
        column = read(values)
        k.collect_doubles(column.states, column.numbers, group, chosen, places, collected)
    sums.sum_runs(collected, starts, places[groups], groups, whole, divisors, bits)


def _totals(whole: Integers) -> tuple[Integers, Mask]:
    """Return the sums whose halves are given, and which of them are right: fit 64 bits."""
    upper = whole[:, 0] + (whole[:, 1] >> 32)
    return (upper << 32) | (whole[:, 1] & _LOWER), (upper >= -(2**31)) & (upper < 2**31)


def _taken(column: Column, places: Ids) -> Column:
    return Column(column.states[places], column.numbers[places])


def _large(whole: Integers) -> list[int]:
    return [(upper << 32) + lower for upper, lower in whole.tolist()]


def _room(part: slice, longest: int) -> tuple[Bytes, Integers]:
    """Return room for the texts of a part, and for their offsets."""
    count = part.stop - part.start
    return np.empty(count * longest, np.uint8), np.empty(count + 1, np.int64)


def _read(decimals: Array) -> tuple[Integers, Integers]:
    """Return decimals as integers and the digits after the dot, -1 where they do not fit."""
    numbers, scales = np.empty(len(decimals), np.int64), np.empty(len(decimals), np.int64)
    _, offsets, data = map(_bytes, decimals.buffers())
    texts.read_scaled(data, offsets.view(np.int64), numbers, scales)
    return numbers, scales


def _bytes(buffer: Array) -> Bytes:
    return np.frombuffer(buffer or b"", np.uint8)


def _strings(data: Bytes, offsets: Integers) -> Array:
    import pyarrow as pa

    buffers = pa.py_buffer(offsets), pa.py_buffer(data)
    return pa.LargeStringArray.from_buffers(offsets.size - 1, *buffers)


# -- terms


def _value(function: str, values: list[Term]) -> Term | None:
    try:
        return reduce_terms(function, distinct=False, terms=values)
    except ExpressionError:
        return None


def _parts(ends: Integers) -> Iterator[slice]:
    """Yield runs of groups, so that only some rows are terms of Python at a time."""
    blocks = (ends - 1) // _CHUNK
    cuts = np.flatnonzero(np.diff(blocks)) + 1
    edges = [0, *cuts.tolist(), ends.size]
    yield from starmap(slice, pairwise(edges))
