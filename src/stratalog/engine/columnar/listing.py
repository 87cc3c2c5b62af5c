"""What a set of labels has of a relation that is read from a closure.

Pairs of a region have one label word. Only where a set tells explicit facts from others, rows are
looked at: those of explicit facts, whose words have one mark more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.engine.columnar.settle_regions import view_of
from stratalog.facts.labels import E
from stratalog.kernels import memory

Table = npt.NDArray[np.bool_]
Flags = npt.NDArray[np.bool_]

EXPLICIT = np.uint16(1 << E.bit)


class _Explicit(NamedTuple):
    """Explicit facts that a set has beyond its regions, and those of its regions it has not."""

    more: Ids
    fewer: Ids


def read(relation: Relation, table: Table) -> list[Ids]:
    """Return the columns of the facts in a set, by its truth table."""
    view = view_of(relation)
    columns = list(view.columns(view.regions(table)))
    if not _tells_explicit(table):
        return columns
    explicit = _explicit(relation, table)
    if explicit.fewer.size:
        is_explicit = np.zeros(relation.rows + 1, np.bool_)  # the last stands for no row
        is_explicit[explicit.fewer] = True
        found = relation.find(columns, columns[0].size)
        kept = ~is_explicit[np.minimum(found, relation.rows)]
        columns = [column[kept] for column in columns]
    more = [column[explicit.more] for column in relation.columns]
    return [np.concatenate(parts) for parts in zip(columns, more, strict=True)]


def size(relation: Relation, table: Table) -> int:
    """Return how many facts are in a set, by its truth table."""
    view = view_of(relation)
    count = view.size(view.regions(table))
    if not _tells_explicit(table):
        return count
    explicit = _explicit(relation, table)
    return count + explicit.more.size - explicit.fewer.size


def contains(relation: Relation, table: Table, columns: list[Ids]) -> Flags:
    """Return for each fact whether it is in a set, by its truth table."""
    words = _words(relation, columns)
    if not _tells_explicit(table):
        return table[words]
    found = relation.find(columns, columns[0].size)
    stored = found != np.uint32(memory.NULL)
    words[stored] |= relation.labels[found[stored]] & EXPLICIT
    return table[words]


def _tells_explicit(table: Table) -> bool:
    """Return whether a set makes a difference between facts that are explicit and others."""
    halves = table.reshape(-1, 2, 1 << E.bit)
    return bool((halves[:, 0] != halves[:, 1]).any())


def _explicit(relation: Relation, table: Table) -> _Explicit:
    rows = np.flatnonzero(relation.labels[: relation.rows] & EXPLICIT).astype(np.uint32)
    words = _words(relation, [column[rows] for column in relation.columns])
    without, within = table[words], table[words | EXPLICIT]
    return _Explicit(rows[within & ~without], rows[without & ~within])


def _words(relation: Relation, columns: list[Ids]) -> npt.NDArray[np.uint16]:
    """Return the label words that pairs have by their regions, 0 where there is none."""
    view = view_of(relation)
    by_region = np.zeros(8, np.uint16)
    by_region[[1, 2, 4]] = view.words
    words: npt.NDArray[np.uint16] = by_region[view.regions_of((columns[0], columns[1]))]
    return words
