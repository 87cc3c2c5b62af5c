"""Evaluate a fact set: the rows it stands for now.

A set that is bounded by a batch is answered from the batch's rows alone; only a set of labels over
whole relations scans them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.settle_regions import is_of_rows, settle_regions
from stratalog.engine.shared.set_algebra import is_labels
from stratalog.facts.labels import SEEN
from stratalog.facts.sets import FactSet, Meet, Minus, Over, Supported, Union
from stratalog.kernels.relation import labels as marks

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

Rows = dict[int, npt.NDArray[np.uint32]]

BOUNDED = (Minus, Meet)  # sets that hold nothing which their left side does not


def settle(engine: ColumnarEngine, described: FactSet) -> ColumnarBatch:
    """Return the facts that `described` stands for now."""
    bound = described
    while isinstance(bound, BOUNDED):
        bound = bound.left
    if isinstance(bound, ColumnarBatch) and (bound is described or not bound):
        return bound  # nothing is left of nothing, as in the last round of every algorithm
    rows = {n: r for n, r in _rows(engine, described).items() if r.size}
    if isinstance(bound, ColumnarBatch) and not bound.regions:
        return ColumnarBatch(rows)
    return ColumnarBatch(rows, settle_regions(engine, described))


def _rows(engine: ColumnarEngine, described: FactSet) -> Rows:
    match described:
        case ColumnarBatch():
            return described.rows
        case Minus(left, right):  # the most frequent one
            return _keep(engine, _rows(engine, left), right, wanted=False)
        case Over():
            return _scan(engine, described, None)
        case Union(left, right):
            return _union(engine, _rows(engine, left), _rows(engine, right))
        case Meet(Over() as over, right) if is_labels(right):
            return _scan(engine, over, right)
        case Meet(left, Over() as over) if is_labels(left):
            return _scan(engine, over, left)
        case Meet(left, right):
            return _keep(engine, _rows(engine, left), right, wanted=True)
    raise TypeError(f"{described!r} is not bounded by a batch or by predicates")


def _scan(engine: ColumnarEngine, over: Over, labels: FactSet | None) -> Rows:
    rows: Rows = {}
    for predicate in over.predicates:
        relation = engine.relations.get(predicate)
        if relation is None or (relation.view is not None and not is_of_rows(labels)):
            continue
        if labels is None:
            found = np.arange(relation.rows, dtype=np.uint32)
        else:
            found = engine.rows_of(relation, labels)
        if found.size:  # what is compared with nothing is not looked at
            rows[relation.number] = found
    return rows


def _keep(engine: ColumnarEngine, rows: Rows, described: FactSet, *, wanted: bool) -> Rows:
    """Return the rows that are in `described`, or those that are not."""
    if not rows:
        return rows
    if isinstance(described, Over):
        named, inside = engine.by_number, described.predicates
        return {n: r for n, r in rows.items() if (named[n].predicate in inside) == wanted}
    if isinstance(described, Supported):
        return {n: _supported(engine, n, r, described, wanted=wanted) for n, r in rows.items()}
    if is_labels(described):
        return {n: _filter(engine, n, r, described, wanted=wanted) for n, r in rows.items()}
    other = _rows(engine, described)
    return _compare(engine, rows, other, wanted=wanted)


def _compare(engine: ColumnarEngine, rows: Rows, other: Rows, *, wanted: bool) -> Rows:
    """Return the rows that are among the other rows, or those that are not."""
    result: Rows = {}
    for n, mine in rows.items():
        labels = engine.by_number[n].labels
        theirs = other.get(n, np.empty(0, np.uint32))
        try:  # memory may be full: no mark stays behind
            marks.set_bits(labels, theirs, np.uint16(1 << SEEN.bit))
            result[n] = _filter(engine, n, mine, SEEN, wanted=wanted)
        finally:
            marks.clear_bits(labels, theirs, np.uint16(0xFFFF ^ (1 << SEEN.bit)))
    return result


def _union(engine: ColumnarEngine, left: Rows, right: Rows) -> Rows:
    if not left or not right:
        return left or right
    new = _compare(engine, {n: r for n, r in right.items() if n in left}, left, wanted=False)
    merged = {**right, **left}
    merged.update({n: np.concatenate([left[n], rows]) for n, rows in new.items()})
    return merged


def _supported(
    engine: ColumnarEngine,
    n: int,
    rows: npt.NDArray[np.uint32],
    described: Supported,
    *,
    wanted: bool,
) -> npt.NDArray[np.uint32]:
    counts = engine.by_number[n].counts[described.count.value]
    kept: npt.NDArray[np.uint32] = rows[(counts[rows] > 0) == wanted]
    return kept


def _filter(
    engine: ColumnarEngine,
    n: int,
    rows: npt.NDArray[np.uint32],
    described: FactSet,
    *,
    wanted: bool,
) -> npt.NDArray[np.uint32]:
    relation = engine.by_number[n]
    member = engine.sets.table(described, relation.predicate)
    kept = np.empty(rows.size, np.uint32)
    size = marks.filter_rows(relation.labels, rows, member if wanted else ~member, kept)
    return kept[: int(size)]
