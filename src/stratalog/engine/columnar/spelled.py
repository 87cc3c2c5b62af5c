"""Relations that are read from closures, spelled out with marks and counts as stores keep them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.closure.closure import GAINED, KEPT, LOST
from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.engine.columnar.settle_regions import view_of
from stratalog.facts.labels import E, I, X
from stratalog.kernels import memory

Spelled = tuple[list[Ids], npt.NDArray[np.uint16], list[npt.NDArray[Any]]]
"""Columns, label words and both counts of facts."""

PRESENT = KEPT | GAINED


def spelled(relation: Relation) -> Spelled:
    """Return all facts of a relation."""
    columns = list(view_of(relation).columns(PRESENT))
    return _with_marks(relation, columns, np.ones(columns[0].size, np.bool_))


def spelled_changes(relation: Relation, rows: Ids) -> Spelled:
    """Return the facts of a relation that an update has changed; given are the rows it touched."""
    view = view_of(relation)
    pairs = view.columns(LOST | GAINED)
    touched = relation.columns[0][rows], relation.columns[1][rows]
    stayed = (view.regions_of(touched) & (LOST | GAINED)) == 0
    columns = [np.concatenate([new, old[stayed]]) for new, old in zip(pairs, touched, strict=True)]
    regions = view.regions_of((columns[0], columns[1]))
    return _with_marks(relation, columns, (regions & PRESENT) > 0)


def _with_marks(relation: Relation, columns: list[Ids], present: npt.NDArray[np.bool_]) -> Spelled:
    found = relation.find(columns, present.size)
    stored = np.flatnonzero(found != np.uint32(memory.NULL))  # few: external facts
    rows = found[stored]
    labels = present.astype(np.uint16) << np.uint16(I.bit)
    labels[stored] |= relation.labels[rows] & np.uint16(1 << E.bit)
    counts = [np.zeros(present.size, count.dtype) for count in relation.counts]
    for mine, count in zip(counts, relation.counts, strict=True):
        mine[stored] = count[rows]
    labels[present & view_of(relation).external(counts[0])] |= np.uint16(1 << X.bit)
    return columns, labels, counts
