"""An index: the rows of a relation chained by key, linked when it is next used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stratalog.kernels import memory
from stratalog.kernels.relation import index as kernels

if TYPE_CHECKING:
    from stratalog.engine.columnar.relation import Relation

DENSE = 1.5  # heads by constant cost 4 bytes per constant: worth it up to this many per row
SPARSE = 6.0  # at which heads by constant are given up again, which takes linking all rows anew
LOAD = 0.6  # keys per head when hashed
STALE = 0.5  # a layout is made anew once so many rows per row in it have come


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
        self._counted = False  # the heads are followed by the number of rows of each
        self._heads: npt.NDArray[np.uint32] = np.full(1, memory.NULL, np.uint32)
        self._next: npt.NDArray[np.uint32] = np.empty(0, np.uint32)
        self._wants_layout = False
        self._layout: list[npt.NDArray[Any]] = []  # starts, values, rows, filters, their starts
        self._record = np.zeros(kernels.LAYOUT_WIDTH, np.int64)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self._heads, self._next, *self._layout))

    @property
    def at(self) -> int:
        """Where the index begins in its relation's descriptor."""
        width = memory.INDEX_KEY_COLUMNS + self._arity
        return memory.COLUMNS + self._arity + self.number * width

    @property
    def _n_heads(self) -> int:
        return self._heads.size // 2 if self._counted else self._heads.size

    @property
    def _laid_out(self) -> int:
        """The rows that the layout has."""
        return self._layout[1].size if self._layout else 0

    def describe(self, d: npt.NDArray[np.int64]) -> None:
        """Write the index's part of its relation's descriptor."""
        at = self.at
        d[at + memory.INDEX_KIND] = self._kind
        d[at + memory.INDEX_HEADS] = self._heads.ctypes.data
        d[at + memory.INDEX_N_HEADS] = self._n_heads
        d[at + memory.INDEX_NEXT] = self._next.ctypes.data
        d[at + memory.INDEX_KEYS] = len(self.columns)
        first = at + memory.INDEX_KEY_COLUMNS
        d[first : first + len(self.columns)] = self.columns
        is_laid_out = 0 < self._laid_out == self.linked
        d[first + self._arity - 1] = self._record.ctypes.data if is_laid_out else 0

    def catch_up(self, relation: Relation) -> None:
        """Link the rows that have arrived since the last use."""
        rows = relation.rows
        if self.linked < rows:
            self._link(relation, rows)
        if self._wants_layout and rows - self._laid_out > STALE * self._laid_out:
            self._lay_out(relation)

    def _link(self, relation: Relation, rows: int) -> None:
        if self._next.size < relation.capacity:
            self._account(4 * (relation.capacity - self._next.size))
            if self.linked:
                self._next.resize(relation.capacity, refcheck=False)
            else:
                self._next = np.empty(relation.capacity, np.uint32)
        if self._kind == memory.DIRECT and not self._make_dense(relation, rows):
            self._restart(memory.HASHED, 8)
        key = np.empty(len(self.columns), np.uint32)
        while self.linked < rows:
            end = rows if self._kind == memory.DIRECT else self._room(relation, rows)
            self.describe(relation.descriptor)
            new = kernels.link(relation.descriptor, self.at, self.linked, end, key)
            if self._counted:
                kernels.count(relation.descriptor, self.at, self.linked, end, key)
            self.keys += int(new)
            self.linked = end
        self.describe(relation.descriptor)

    def count(self, relation: Relation, *, is_large: bool) -> None:
        """Keep the number of rows of each key from now on, so that the shortest list is known.

        Where many lists are going to be read, they are also laid out.
        """
        self._wants_layout |= is_large
        if self._counted:
            return
        self._account(4 * self._heads.size)
        self._heads = np.concatenate([self._heads, np.zeros_like(self._heads)])
        self._counted = True
        self.describe(relation.descriptor)
        key = np.empty(len(self.columns), np.uint32)
        kernels.count(relation.descriptor, self.at, 0, self.linked, key)

    def _lay_out(self, relation: Relation) -> None:
        """Lay out all rows by key, each key's by the constant in the column that is not a key."""
        self._drop_layout()
        n, size = self._n_heads, self.linked
        counts = self._heads[n:]
        self._account(8 * (n + size))
        starts = (np.cumsum(counts, dtype=np.int64) - counts).astype(np.uint32)
        words = np.empty(n, np.uint32)
        filters = np.zeros(int(kernels.filter_words(counts, words)), np.uint64)
        self._account(filters.nbytes)
        values, rows = np.empty(size, np.uint32), np.empty(size, np.uint32)
        (column,) = set(range(self._arity)).difference(self.columns)
        order = np.argsort(relation.columns[column][:size])
        key = np.empty(len(self.columns), np.uint32)
        where = relation.descriptor, self.at, column, order
        kernels.lay_out(*where, starts.copy(), values, rows, key)
        kernels.fill_filters(counts, starts, values, words, filters)
        self._layout = [starts, values, rows, filters, words]
        addresses = [array.ctypes.data for array in self._layout]
        self._record[:] = [*addresses[:3], size, *addresses[3:], filters.size]
        self.describe(relation.descriptor)

    def _drop_layout(self) -> None:
        self._account(-sum(array.nbytes for array in self._layout))
        self._layout = []

    def _make_dense(self, relation: Relation, rows: int) -> bool:
        """Grow the direct heads for the new rows; return False if they are too sparse for it."""
        column = relation.columns[self.columns[0]]
        need = int(kernels.greatest(column, self.linked, rows)) + 1
        if need > (SPARSE if self.linked else DENSE) * rows + 64:
            return False
        size = self._n_heads
        if need > size:
            self._add_heads(max(need + need // 8, min(2 * size, int(DENSE * rows))))
        return True

    def _add_heads(self, size: int) -> None:
        """Have more direct heads: the system moves large arrays without copying them."""
        n, more = self._n_heads, size - self._n_heads
        counts = self._heads[n:].copy()
        self._account(4 * more * (2 if self._counted else 1))
        self._heads.resize(2 * size if self._counted else size, refcheck=False)
        self._heads[n:size] = memory.NULL
        if self._counted:
            self._heads[size : size + n] = counts
            self._heads[size + n :] = 0

    def _renew_heads(self, size: int) -> None:
        """Replace the heads by empty ones."""
        total = 2 * size if self._counted else size
        self._account(4 * (total - self._heads.size))
        self._heads = np.full(total, memory.NULL, np.uint32)
        self._heads[size:] = 0

    def restart(self) -> None:
        """Forget all rows: they are linked anew when it is next used."""
        self._drop_layout()
        self._account(-self._next.nbytes)
        self._next = np.empty(0, np.uint32)
        self._restart(self._kind, 1 if self._kind == memory.DIRECT else 8)

    def _restart(self, kind: int, heads: int) -> None:
        self._renew_heads(heads)
        self._kind, self.linked, self.keys = kind, 0, 0

    def _room(self, relation: Relation, rows: int) -> int:
        """Make room in the hashed heads; return up to which row keys fit for sure."""
        chunk = min(rows - self.linked, max(1024, self.keys))
        if self.keys + chunk > LOAD * self._n_heads:
            self._rehead(relation, int(2 * (self.keys + chunk) / LOAD))
        return self.linked + chunk

    def _rehead(self, relation: Relation, size: int) -> None:
        old, n = self._heads, self._n_heads
        self._renew_heads(size)
        self.describe(relation.descriptor)
        key = np.empty(len(self.columns), np.uint32)
        kernels.rehead(relation.descriptor, self.at, old[:n], old[n:], key)

    def trim(self, relation: Relation) -> None:
        """Give back the room for growth."""
        self._drop_layout()
        self._account(4 * (self.linked - self._next.size))
        self._next.resize(self.linked, refcheck=False)
        if self._kind == memory.HASHED:
            self._rehead(relation, int(self.keys / 0.7) + 8)
