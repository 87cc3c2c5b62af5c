"""What all forms of a closure share: nodes, edges, and rows of two versions that share them.

Rows never change and are written into chunks of space one after the other. What no node uses any
more stays where it is until it is half of the space; then the others are moved together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.closure.change import ChangedPairs
from stratalog.closure.edges import Columns, Edges
from stratalog.closure.nodes import Ids, Nodes, grown
from stratalog.kernels.arrays import zeros
from stratalog.kernels.closure import read as closure_read
from stratalog.kernels.closure import versions as closure_store
from stratalog.kernels.memory import NULL
from stratalog.kernels.sizes import sized

CHUNK = sized(1 << 12, 4)  # words of the least chunk
STALE = sized(1 << 12, 4)  # changes of edges, besides as many as there are, until all is made anew


class TooLargeError(Exception):
    """A closure does not fit its budget: its pairs have no form that is small enough."""


@dataclass(frozen=True, slots=True)
class EdgeKind:
    """Edges between nodes of two roles, and whether what they lead to is in rows."""

    source: int
    target: int
    is_counted: bool = True


class Representation(ABC):
    """Nodes, edges, and the rows of nodes before and after."""

    def __init__(
        self, kinds: Sequence[EdgeKind], budget: int, descriptor: npt.NDArray[np.int64] | None
    ) -> None:
        self.kinds = kinds
        self.budget = budget
        self.nodes = Nodes(1 + max(max(kind.source, kind.target) for kind in kinds))
        self.descriptor = np.zeros(closure_read.DESCRIPTOR, np.int64)
        if descriptor is not None:
            self.descriptor = descriptor
        room = self.nodes.room
        self._edges = Edges(room)
        self._before: Ids = np.full(room, NULL, np.uint32)
        self._after: Ids = self._before.copy()
        self._is_listed = np.zeros(room, np.bool_)
        self._changed: Ids = np.zeros(room, np.uint32)
        self._rows = np.zeros((1, closure_store.RECORD), np.int64)
        self._free: Ids = np.zeros(1, np.uint32)
        self._state = np.zeros(closure_store.STATE, np.int64)
        self._chunks: list[npt.NDArray[np.uint64]] = []
        self._drift = 0  # edges changed since all was made
        self._lost: int | None = 0  # pairs, if they have been counted

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays: list[npt.NDArray[Any]] = [*self._node_arrays(), self._rows, self._free]
        arrays += self._chunks
        own = sum(array.nbytes for array in arrays)
        return own + self.nodes.nbytes + self._edges.nbytes

    @property
    def is_stale(self) -> bool:
        """Whether so many edges have changed that making all anew costs little beside."""
        return self._drift > self._edges.count + STALE

    def _node_arrays(self) -> list[npt.NDArray[Any]]:
        return [self._before, self._after, self._is_listed, self._changed]

    @property
    def _versions(self) -> tuple[Ids, Ids, npt.NDArray[np.bool_], Ids]:
        return self._before, self._after, self._is_listed, self._changed

    def change(self, lost: Sequence[Columns], gained: Sequence[Columns]) -> None:
        """Take edges of each kind and add others; rows after become those of the new edges."""
        was_empty = self._edges.count == 0
        gone, come = self._change_edges(lost, gained)
        if was_empty:
            self._drift = 0
        try:
            if any(edges[0].size for edges in (*gone, *come)):
                self._update(gone, come, was_empty=was_empty)
        finally:
            self._lost = None
            self.describe()

    @abstractmethod
    def _update(
        self, lost: Sequence[Columns], gained: Sequence[Columns], *, was_empty: bool
    ) -> None:
        """Make the rows after, once edges between nodes have changed."""

    def _change_edges(
        self, lost: Sequence[Columns], gained: Sequence[Columns]
    ) -> tuple[list[Columns], list[Columns]]:
        """Take and add edges; return the nodes of each kind of them."""
        gone = [self._find(kind, edges) for kind, edges in zip(self.kinds, lost, strict=True)]
        come = [
            (self.nodes.add(kind.source, sources), self.nodes.add(kind.target, targets))
            for kind, (sources, targets) in zip(self.kinds, gained, strict=True)
        ]
        self._grow(self.nodes.room)
        left, right = _together(gone), _together(come)
        if left[0].size:
            self._edges.remove(*left)
        if right[0].size:
            self._edges.add(*right)
        self._drift += left[0].size + right[0].size
        return gone, come

    def _find(self, kind: EdgeKind, edges: Columns) -> Columns:
        """Return the nodes of edges."""
        return self.nodes.find(kind.source, edges[0]), self.nodes.find(kind.target, edges[1])

    def _grow(self, room: int) -> None:
        """Have room for so many nodes."""
        self._edges.grow(room)
        self._before = grown(self._before, room, NULL)
        self._after = grown(self._after, room, NULL)
        self._is_listed = grown(self._is_listed, room)
        self._changed = grown(self._changed, room)

    def _make_room_for_rows(self, count: int) -> None:
        state = self._state
        wanted = int(state[closure_store.N_ROWS]) + count - int(state[closure_store.N_FREE])
        self._rows = grown(self._rows, wanted)
        self._free = grown(self._free, len(self._rows))

    def _make_space(self, words: int) -> None:
        """Have a chunk with space for so many words, if the budget allows it."""
        state = self._state
        if words <= state[closure_store.SPACE_LEFT]:
            return
        live = int(state[closure_store.LIVE_WORDS])
        if 8 * (live + words) > self.budget:
            raise TooLargeError(f"the rows of a closure take more than {self.budget} bytes")
        self._open_chunk(max(words, CHUNK, min(live, self.budget // 8 - live)))

    def _open_chunk(self, words: int) -> None:
        chunk = zeros(words, np.uint64)
        self._chunks.append(chunk)
        self._state[closure_store.SPACE] = chunk.ctypes.data
        self._state[closure_store.SPACE_LEFT] = words

    def commit(self) -> None:
        """Make the version before what that after is."""
        self._settle(forwards=True)
        live = int(self._state[closure_store.LIVE_WORDS])
        if sum(chunk.size for chunk in self._chunks) > 2 * live + CHUNK:
            old, self._chunks = self._chunks, []
            self._open_chunk(live)
            closure_store.move_rows(self._rows, self._state)
            del old
        self.describe()

    def keep(self) -> None:
        """Go on as it is although it was stale."""
        self._drift = 0
        self.describe()

    def roll_back(self, lost: Sequence[Columns], gained: Sequence[Columns]) -> None:
        """Make the version after what that before is, once these edges have come back and gone."""
        self._change_edges(lost, gained)
        self._settle(forwards=False)
        self.describe()

    def _settle(self, *, forwards: bool) -> None:
        closure_store.settle(self._rows, self._free, self._state, self._versions, forwards)
        self._lost = 0

    def spell_edges(self) -> list[Columns]:
        """Return the edges of each kind, after."""
        sources, targets = self._edges.out.spell()
        roles, constants = self.nodes.roles, self.nodes.constants
        edges = []
        for kind in self.kinds:
            chosen = (roles[sources] == kind.source) & (roles[targets] == kind.target)
            edges.append((constants[sources[chosen]], constants[targets[chosen]]))
        return edges

    def sizes(self) -> tuple[int, int, int]:
        """Return how many pairs are lost, kept and gained."""
        if self._lost is None:
            self._lost = int(closure_read.count_lost(self.descriptor))
        before = int(self._state[closure_store.PAIRS_BEFORE])
        kept = before - self._lost
        return self._lost, kept, int(self._state[closure_store.PAIRS_AFTER]) - kept

    def frozen(self, regions: int, size: int) -> ChangedPairs:
        """Return the pairs of changed nodes that are in some regions, whatever changes later."""
        changed = self._changed[: int(self._state[closure_store.N_CHANGED])]
        versions = self._before[changed], self._after[changed]
        used = np.unique(np.concatenate(versions))
        used = used[used != NULL]
        rows, kept = self._frozen_rows(used)
        numbers = [_numbered(version, used) for version in versions]
        constants = self.nodes.constants[changed]
        places = np.arange(changed.size, dtype=np.uint32)
        d = self.descriptor.copy()
        d[closure_read.N_NODES] = d[closure_read.CHANGED_SIZE] = changed.size
        d[closure_read.ROWS_SIZE] = len(rows)
        for at, array in (
            (closure_read.CONSTANTS, constants),
            (closure_read.BEFORE, numbers[0]),
            (closure_read.AFTER, numbers[1]),
            (closure_read.ROWS, rows),
            (closure_read.CHANGED, places),
        ):
            d[at] = array.ctypes.data
        kept += [rows, *numbers, constants, places, *self._freeze_nodes(d, changed)]
        return ChangedPairs(d, kept, regions, size)

    @abstractmethod
    def _freeze_nodes(self, d: npt.NDArray[np.int64], changed: Ids) -> list[npt.NDArray[Any]]:
        """Let a descriptor have copies of what only this form has of nodes; return them."""

    def _frozen_rows(self, used: Ids) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[Any]]]:
        """Return copies of records, and what their words are in: those of rows never change."""
        return self._rows[used], list(self._chunks)

    def describe(self) -> None:
        """Write the descriptor anew."""
        d, tables = self.descriptor, self.nodes.tables
        for at, table in (
            (closure_read.KEY_TABLE, tables[0]),
            (closure_read.VALUE_TABLE, tables[-1]),
        ):
            d[at : at + 2] = table.ctypes.data, table.size
        d[closure_read.N_NODES] = self.nodes.size
        d[closure_read.CONSTANTS] = self.nodes.constants.ctypes.data
        d[closure_read.BEFORE] = self._before.ctypes.data
        d[closure_read.AFTER] = self._after.ctypes.data
        d[closure_read.ROWS] = self._rows.ctypes.data
        d[closure_read.ROWS_SIZE] = len(self._rows)
        d[closure_read.CHANGED] = self._changed.ctypes.data
        d[closure_read.CHANGED_SIZE] = self._state[closure_store.N_CHANGED]


def _together(edges: Sequence[Columns]) -> Columns:
    if len(edges) == 1:
        return edges[0]
    return np.concatenate([pair[0] for pair in edges]), np.concatenate([pair[1] for pair in edges])


def _numbered(rows: Ids, used: Ids) -> Ids:
    """Return the place of each row among those that are used, NULL where there is none."""
    return np.where(rows == NULL, NULL, np.searchsorted(used, rows)).astype(np.uint32)
