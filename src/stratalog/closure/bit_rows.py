"""A closure as rows of columns: one row per strongly connected component, bits or runs.

When edges change, only rows of nodes that reach one of them are made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.closure.edges import Columns
from stratalog.closure.nodes import Ids, grown
from stratalog.closure.representation import EdgeKind, Representation
from stratalog.kernels.closure import edges as closure_edges
from stratalog.kernels.closure import read as closure_read
from stratalog.kernels.closure import rows as closure_rows
from stratalog.kernels.closure import versions as closure_store
from stratalog.kernels.memory import NULL
from stratalog.kernels.sizes import sized
from stratalog.kernels.status import DONE, STUCK

WORK = sized(1 << 27, 16)  # words added to rows per call of a kernel: a fifth of a second at most
EASE = sized(0, 12)  # words by which rows seem longer than they are, so that short ones are runs


class BitRows(Representation):
    """The closure of a directed graph."""

    def __init__(
        self,
        kinds: Sequence[EdgeKind],
        budget: int,
        descriptor: npt.NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(kinds, budget, descriptor)
        self._column: Ids = np.full(self.nodes.room, NULL, np.uint32)
        self._constant_at: Ids = np.zeros(1, np.uint32)
        self._n_columns = 0
        self._marks: Ids = np.zeros(self.nodes.room, np.uint32)  # these are zero between changes
        self._component: Ids = np.zeros(self.nodes.room, np.uint32)
        self._news: npt.NDArray[np.uint8] = np.zeros(self.nodes.room, np.uint8)
        self._state[closure_store.EASE] = EASE
        self.describe()

    def renewed(self) -> BitRows:
        """Return the same closure with columns in the order of the present edges."""
        new = BitRows(self.kinds, self.budget, self.descriptor)
        new.change([_NO_EDGES] * len(self.kinds), self.spell_edges())
        new.commit()
        return new

    def _node_arrays(self) -> list[npt.NDArray[Any]]:
        own: list[npt.NDArray[Any]] = [
            self._column,
            self._constant_at,
            self._marks,
            self._component,
            self._news,
        ]
        return [*super()._node_arrays(), *own]

    def _grow(self, room: int) -> None:
        super()._grow(room)
        self._column = grown(self._column, room, NULL)
        self._marks = grown(self._marks, room)
        self._component = grown(self._component, room)
        self._news = grown(self._news, room)

    def describe(self) -> None:
        super().describe()
        d = self.descriptor
        d[closure_read.KIND] = closure_read.ROWS_OF_COLUMNS
        d[closure_read.COLUMN] = self._column.ctypes.data
        d[closure_read.CONSTANT_AT] = self._constant_at.ctypes.data
        d[closure_read.N_COLUMNS] = self._n_columns

    def _freeze_nodes(self, d: npt.NDArray[np.int64], changed: Ids) -> list[npt.NDArray[Any]]:  # noqa: ARG002
        return [self._column, self._constant_at]  # of columns there only come more

    def _update(
        self, lost: Sequence[Columns], gained: Sequence[Columns], *, was_empty: bool
    ) -> None:
        sources = np.concatenate([edges[0] for edges in (*lost, *gained)])
        starts = self._from_roots(gained) if was_empty else self._reaching(sources)
        try:
            members, ends = self._find_components(starts)
            self._number_columns(gained, members)
            if was_empty:
                lists = self._edges.out.arrays
                closure_rows.order_lists(lists, self.nodes.size, self._column)
            self._news[sources] = closure_rows.TOUCHED
            self._fill(members, ends)
        finally:  # what is marked is little beside all nodes
            for marks in (self._marks, self._component, self._news):
                marks[starts] = 0

    def _reaching(self, sources: Ids) -> Ids:
        """Return and mark the nodes whose rows may change: those that reach a changed edge."""
        found = np.empty(self.nodes.size, np.uint32)
        into = self._edges.into(self.nodes.room).arrays
        n = closure_edges.list_reaching(sources, *into, self._marks, found)
        return np.ascontiguousarray(found[:n][::-1])

    def _from_roots(self, edges: Sequence[Columns]) -> Ids:
        """Return and mark all nodes, those that edges do not lead to first.

        Then what a node of a tree reaches is a run of columns.
        """
        self._marks[: self.nodes.size] = 1
        is_target = np.zeros(self.nodes.size, np.bool_)
        for _, targets in edges:
            is_target[targets] = True
        return np.argsort(is_target, kind="stable").astype(np.uint32)

    def _find_components(self, starts: Ids) -> tuple[Ids, Ids]:
        """Return the members of the components of marked nodes, and where each component ends."""
        room, count = self.nodes.room, starts.size
        low, place = np.empty(room, np.uint32), np.empty(room, np.uint32)
        path, stack = np.empty(count, np.uint32), np.empty(count, np.uint32)
        members, ends = np.empty(count, np.uint32), np.empty(count, np.uint32)
        n = closure_edges.find_components(
            starts,
            *self._edges.out.arrays,
            self._marks,
            low,
            place,
            path,
            stack,
            self._component,
            members,
            ends,
        )
        return members, ends[:n]

    def _number_columns(self, gained: Sequence[Columns], members: Ids) -> None:
        """Give columns to new targets: first to those whose rows stay, which others lead to."""
        targets = np.concatenate(
            [edges[1] for kind, edges in zip(self.kinds, gained, strict=True) if kind.is_counted]
        )
        waiting = np.empty(min(targets.size, self.nodes.size), np.uint32)
        targets = waiting[: closure_rows.await_columns(self._column, targets, waiting)]
        self._constant_at = grown(self._constant_at, self._n_columns + targets.size)
        for nodes in (targets[self._component[targets] == 0], members):
            self._n_columns = closure_rows.number_columns(
                self._column, self.nodes.constants, nodes, self._n_columns, self._constant_at
            )

    def _fill(self, members: Ids, ends: Ids) -> None:
        self._make_room_for_rows(int(np.count_nonzero(self._edges.out.arrays[1][members])))
        runs = (self._n_columns // 64 + 1 + EASE) // closure_rows.SPARSE + 1
        scratch = np.empty(self._n_columns // 64 + 1, np.uint64), np.empty(runs, np.uint64)
        self._state[closure_store.NEXT] = 0
        status = None
        while status != DONE:
            status = closure_rows.fill_rows(
                members,
                ends,
                self._edges.out.arrays,
                self._component,
                self._column,
                self._versions,
                self._rows,
                self._free,
                self._news,
                scratch,
                self._state,
                WORK,
            )
            if status == STUCK:
                self._make_space(int(self._state[closure_store.SPACE_WANTED]))


_NO_EDGES: Columns = np.empty(0, np.uint32), np.empty(0, np.uint32)
