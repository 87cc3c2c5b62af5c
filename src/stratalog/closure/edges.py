"""The edges of a closure: lists of successors, and of predecessors from when they are needed.

Adding or taking edges costs what the lists of their nodes cost; lists have room to grow.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stratalog.closure.nodes import Ids, grown
from stratalog.kernels.closure import edges as closure_edges
from stratalog.kernels.sizes import sized

Columns = tuple[Ids, Ids]
ListArrays = tuple[npt.NDArray[np.int64], Ids, Ids]

MIN_LIST_SLOTS = sized(256, 8)


class Lists:
    """Neighbours of nodes on one side of the edges."""

    def __init__(self, room: int) -> None:
        self.count = 0
        self._begin = np.zeros(room, np.int64)
        self._size = np.zeros(room, np.uint32)
        self._room = np.zeros(room, np.uint32)
        self._pool = np.empty(0, np.uint32)
        self._used = 0

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self._begin, self._size, self._room, self._pool))

    @property
    def arrays(self) -> ListArrays:
        """Where each list begins, its size, and the pool of all."""
        return self._begin, self._size, self._pool

    def grow(self, room: int) -> None:
        """Have room for so many nodes."""
        self._begin = grown(self._begin, room)
        self._size = grown(self._size, room)
        self._room = grown(self._room, room)

    def extend(self, keys: Ids, values: Ids) -> None:
        """Add each value to the list of its key."""
        if self.count == 0:
            self._lay_out(keys, values)
            return
        done = 0
        while done < keys.size:
            done, self._used = closure_edges.extend_lists(
                keys, values, done, self._begin, self._size, self._room, self._pool, self._used
            )
            if done < keys.size:
                self._move(int(self._size[keys[done]]) + keys.size - done)
        self.count += keys.size

    def _lay_out(self, keys: Ids, values: Ids) -> None:
        self._size[:] = 0
        self._room[:] = 0
        self._pool = np.empty(keys.size, np.uint32)
        closure_edges.lay_out_lists(keys, values, self._begin, self._size, self._room, self._pool)
        self.count = self._used = keys.size

    def _move(self, wanted: int) -> None:
        """Leave out what lists have left behind, and make room for at least some more."""
        live = int(self._size.sum(dtype=np.int64))
        pool = np.empty(2 * live + 4 * wanted + MIN_LIST_SLOTS, np.uint32)
        self._used = closure_edges.move_lists(self._begin, self._size, self._room, self._pool, pool)
        self._pool = pool

    def remove(self, keys: Ids, values: Ids) -> None:
        """Take each value out of the list of its key."""
        packed = np.sort(keys.astype(np.uint64) << np.uint64(32) | values)
        keys, values = (packed >> np.uint64(32)).astype(np.uint32), packed.astype(np.uint32)
        closure_edges.shrink_lists(keys, values, self._begin, self._size, self._pool)
        self.count -= keys.size

    def spell(self) -> Columns:
        """Return all keys and values."""
        keys, values = np.empty(self.count, np.uint32), np.empty(self.count, np.uint32)
        closure_edges.spell_lists(self._begin, self._size, self._pool, keys, values)
        return keys, values


class Edges:
    """Edges between nodes, none of them twice."""

    def __init__(self, room: int) -> None:
        self.out = Lists(room)
        self._in: Lists | None = None

    @property
    def count(self) -> int:
        return self.out.count

    @property
    def nbytes(self) -> int:
        return self.out.nbytes + (self._in.nbytes if self._in else 0)

    def into(self, room: int) -> Lists:
        """Return the predecessors of nodes."""
        if self._in is None:
            self._in = Lists(room)
            self._in.extend(*self.out.spell()[::-1])
        return self._in

    def grow(self, room: int) -> None:
        """Have room for so many nodes."""
        self.out.grow(room)
        if self._in:
            self._in.grow(room)

    def add(self, sources: Ids, targets: Ids) -> None:
        self.out.extend(sources, targets)
        if self._in:
            self._in.extend(targets, sources)

    def remove(self, sources: Ids, targets: Ids) -> None:
        self.out.remove(sources, targets)
        if self._in:
            self._in.remove(targets, sources)
