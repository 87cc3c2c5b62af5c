"""Binary facts as neighbours of constants: laid out by one column, or along an index's chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.kernels.plan import path_joins


@dataclass(slots=True)
class Adjacency:
    """Binary facts by one column: targets[offsets[c] : offsets[c + 1]] belong to constant c."""

    offsets: Ids
    targets: Ids
    changes: int = 0  # of the relation when it was laid out

    def record(self) -> list[int]:
        """Return the level of a path that reads it."""
        offsets, targets = self.offsets, self.targets
        sizes = offsets.ctypes.data, offsets.size, targets.ctypes.data, targets.size
        return [path_joins.LAID_OUT, *sizes]

    def starts(self) -> Ids:
        """Return the constants that have neighbours."""
        return np.flatnonzero(np.diff(self.offsets)).astype(np.uint32)


@dataclass(slots=True)
class Chain:
    """Binary facts read along the chains of an index."""

    relation: Relation
    at: int  # where the index begins in the relation's descriptor
    column: int  # of the targets
    described: int  # number of the fact set

    def record(self) -> list[int]:
        """Return the level of a path that reads it."""
        address = self.relation.descriptor.ctypes.data
        return [path_joins.CHAINED, address, self.at, self.column, self.described]


def lay_out(keys: Ids, values: Ids, rows: Ids, changes: int = 0) -> Adjacency:
    """Return the values of rows by their keys."""
    most = int(path_joins.greatest_key(keys, rows))
    offsets = np.zeros(most + 3, np.uint32)
    path_joins.count_keys(keys, rows, offsets)
    np.cumsum(offsets, out=offsets)
    targets = np.empty(rows.size, np.uint32)
    path_joins.fill_targets(keys, values, rows, offsets, targets)
    return Adjacency(offsets[:-1], targets, changes)
