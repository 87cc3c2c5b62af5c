"""The pairs that edges connect, of components of an undirected graph."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.contents import Contents
from stratalog.engine.columnar.relation import NONE, Ids
from stratalog.kernels.closure import union_find as k
from stratalog.lang.syntax import Predicate


def connections(
    contents: Contents, edges: ColumnarBatch, spokes: ColumnarBatch
) -> Iterator[tuple[Predicate, list[Ids], int]]:
    """Yield the pairs that edges connect and spokes alone do not, by predicate."""
    known = dict(contents.parts(spokes))
    for relation, rows in contents.parts(edges):
        ours = np.concatenate([known.get(relation, NONE), rows])
        sources, targets = (column[ours] for column in relation.columns)
        pairs = connected(sources, targets, ours.size - rows.size)
        yield relation.predicate, list(pairs), pairs.shape[1]


def connected(sources: Ids, targets: Ids, known: int) -> Ids:
    """Return the pairs in one component of all edges, but not of the first `known` of them."""
    constants, numbers = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    edges = numbers.astype(np.int64).reshape(2, sources.size)
    n = constants.size
    old, new = np.arange(n), np.arange(n)
    k.link(old, edges[:, :known])
    k.link(new, edges)
    is_old = np.zeros(n, np.bool_)
    is_old[edges[:, :known]] = True
    order = np.lexsort([old, new])
    pairs = np.empty((2, int(k.count_pairs(new[order], old[order], is_old[order]))), np.uint32)
    k.write_pairs(new[order], old[order], is_old[order], constants[order], pairs)
    return pairs
