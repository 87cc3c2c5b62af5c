"""Evaluate a fact set over relations that are read from closures: the regions it stands for now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stratalog.engine.columnar.batch import NO_REGIONS, ColumnarBatch, Regions
from stratalog.engine.columnar.relation import Relation
from stratalog.engine.columnar.view import View
from stratalog.engine.shared.set_algebra import is_labels
from stratalog.facts.labels import E
from stratalog.facts.sets import FactSet, Meet, Minus, Over, Supported, Union

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

Masks = dict[int, int]
"""Regions by relation number."""

EVERYWHERE = 7


def settle_regions(engine: ColumnarEngine, described: FactSet) -> Regions:
    """Return the regions that `described` stands for, and how many pairs they have."""
    if not engine.has_views:
        return NO_REGIONS
    found = {
        n: (mask, view_of(engine.by_number[n]).size(mask)) for n, mask in _masks(engine, described)
    }
    return {n: region for n, region in found.items() if region[1]}


def is_of_rows(labels: FactSet | None) -> bool:
    """Return whether a set is told by rows, whatever relations are read from: explicit facts."""
    return labels == E


def view_of(relation: Relation) -> View:
    """Return what a relation is read from, if that is a closure."""
    if relation.view is None:
        raise TypeError(f"the closure of {relation.predicate.name} is no longer held")
    return relation.view


def _masks(engine: ColumnarEngine, described: FactSet) -> list[tuple[int, int]]:
    return [(n, mask) for n, mask in _found(engine, described).items() if mask]


def _found(engine: ColumnarEngine, described: FactSet) -> Masks:
    match described:
        case ColumnarBatch():
            return {n: mask for n, (mask, _) in described.regions.items()}
        case Over():
            return _scan(engine, described, None)
        case Union(left, right):
            ours, theirs = _found(engine, left), _found(engine, right)
            return {n: ours.get(n, 0) | theirs.get(n, 0) for n in {*ours, *theirs}}
        case Meet(Over() as over, labels) | Meet(labels, Over() as over) if is_labels(labels):
            return _scan(engine, over, labels)
        case Meet(left, right):
            return _keep(engine, _found(engine, left), right, wanted=True)
        case Minus(left, right):
            return _keep(engine, _found(engine, left), right, wanted=False)
    return {}


def _scan(engine: ColumnarEngine, over: Over, labels: FactSet | None) -> Masks:
    relations = (engine.relations.get(predicate) for predicate in over.predicates)
    views = {r.number: r for r in relations if r is not None and r.view is not None}
    if labels is None:
        return dict.fromkeys(views, EVERYWHERE)
    return {} if is_of_rows(labels) else {n: _mask(engine, n, labels) for n in views}


def _mask(engine: ColumnarEngine, number: int, labels: FactSet) -> int:
    table = engine.sets.table(labels, engine.by_number[number].predicate)
    return view_of(engine.by_number[number]).regions(table)


def _keep(engine: ColumnarEngine, masks: Masks, described: FactSet, *, wanted: bool) -> Masks:
    """Return the regions that are in `described`, or those that are not."""
    if not masks:
        return masks
    if isinstance(described, Supported):
        return {} if wanted else masks
    if is_labels(described):
        other = {n: _mask(engine, n, described) for n in masks}
    else:
        other = _found(engine, described)
    return {n: m & (other.get(n, 0) if wanted else ~other.get(n, 0)) for n, m in masks.items()}
