"""An index: the rows of a relation chained by key, linked when it is next used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.kernels import index as kernels
from stratalog.kernels import memory

if TYPE_CHECKING:
    from stratalog.engine.columnar.relation import Relation

DENSE = 1.5  # heads by constant cost 4 bytes per constant: worth it up to this many per row
LOAD = 0.6  # keys per head when hashed


class Index:
    """Chains by key columns: direct heads (by constant) in dense relations, else hashed ones."""

    def __init__(
        self, columns: tuple[int, ...], number: int, arity: int, account: Callable[[int], None]
    ) -> None:
        self.columns = columns
        self.number = number
        self.linked = 0  # rows below this are in their chains
        self.keys = 0
        self._arity = arity
        self._account = account
        self._kind = memory.DIRECT if len(columns) == 1 else memory.HASHED
        self._heads: npt.NDArray[np.uint32] = np.full(1, memory.NULL, np.uint32)
        self._next: npt.NDArray[np.uint32] = np.empty(0, np.uint32)

    @property
    def nbytes(self) -> int:
        return self._heads.nbytes + self._next.nbytes

    @property
    def at(self) -> int:
        """Where the index begins in its relation's descriptor."""
        width = memory.INDEX_KEY_COLUMNS + self._arity
        return memory.COLUMNS + self._arity + self.number * width

    def describe(self, d: npt.NDArray[np.int64]) -> None:
        """Write the index's part of its relation's descriptor."""
        at = self.at
        d[at + memory.INDEX_KIND] = self._kind
        d[at + memory.INDEX_HEADS] = self._heads.ctypes.data
        d[at + memory.INDEX_N_HEADS] = self._heads.size
        d[at + memory.INDEX_NEXT] = self._next.ctypes.data
        d[at + memory.INDEX_KEYS] = len(self.columns)
        first = at + memory.INDEX_KEY_COLUMNS
        d[first : first + len(self.columns)] = self.columns

    def catch_up(self, relation: Relation) -> None:
        """Link the rows that have arrived since the last use."""
        rows = relation.rows
        if self.linked == rows:
            return
        if self._next.size < relation.capacity:
            self._account(4 * (relation.capacity - self._next.size))
            self._next.resize(relation.capacity, refcheck=False)
        if self._kind == memory.DIRECT and not self._make_dense(relation, rows):
            self._restart(memory.HASHED, 8)
        key = np.empty(len(self.columns), np.uint32)
        while self.linked < rows:
            end = rows if self._kind == memory.DIRECT else self._room(relation, rows)
            self.describe(relation.descriptor)
            new = kernels.link(relation.descriptor, self.at, self.linked, end, key)
            self.keys += int(new)
            self.linked = end

    def _make_dense(self, relation: Relation, rows: int) -> bool:
        """Grow the direct heads for the new rows; return False if they are too sparse for it."""
        column = relation.columns[self.columns[0]]
        need = int(kernels.greatest(column, self.linked, rows)) + 1
        if need > DENSE * rows + 64:
            return False
        if need > self._heads.size:
            self._grow_heads(max(need, min(2 * self._heads.size, int(DENSE * rows))))
        return True

    def _grow_heads(self, size: int) -> None:
        self._account(4 * (size - self._heads.size))
        heads = np.full(size, memory.NULL, np.uint32)
        heads[: self._heads.size] = self._heads
        self._heads = heads

    def _restart(self, kind: int, heads: int) -> None:
        self._account(4 * (heads - self._heads.size))
        self._kind, self.linked, self.keys = kind, 0, 0
        self._heads = np.full(heads, memory.NULL, np.uint32)

    def _room(self, relation: Relation, rows: int) -> int:
        """Make room in the hashed heads; return up to which row keys fit for sure."""
        chunk = min(rows - self.linked, max(1024, self.keys))
        if self.keys + chunk > LOAD * self._heads.size:
            self._rehead(relation, int(2 * (self.keys + chunk) / LOAD))
        return self.linked + chunk

    def _rehead(self, relation: Relation, size: int) -> None:
        self._account(4 * (size - self._heads.size))
        old = self._heads
        self._heads = np.full(size, memory.NULL, np.uint32)
        self.describe(relation.descriptor)
        key = np.empty(len(self.columns), np.uint32)
        kernels.rehead(relation.descriptor, self.at, old, key)

    def trim(self, relation: Relation) -> None:
        """Give back the room for growth."""
        self._account(4 * (self.linked - self._next.size))
        self._next.resize(self.linked, refcheck=False)
        if self._kind == memory.HASHED:
            self._rehead(relation, int(self.keys / 0.7) + 8)
