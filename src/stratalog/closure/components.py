"""A symmetric closure as components: all members of one are related, each to itself too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.closure.edges import Columns
from stratalog.closure.nodes import Ids, grown
from stratalog.closure.representation import EdgeKind, Representation
from stratalog.kernels.closure import components as closure_components
from stratalog.kernels.closure import read as closure_read
from stratalog.kernels.closure import versions as closure_store

_KINDS = (EdgeKind(0, 0),)
_NO_EDGES: Columns = np.empty(0, np.uint32), np.empty(0, np.uint32)


class Components(Representation):
    """The symmetric closure of a graph."""

    def __init__(self, budget: int, descriptor: npt.NDArray[np.int64] | None = None) -> None:
        super().__init__(_KINDS, budget, descriptor)
        self._parts: tuple[Ids, Ids, Ids] = tuple(  # type: ignore[assignment]
            np.zeros(self.nodes.room, np.uint32) for _ in range(3)
        )
        self.describe()

    def renewed(self) -> Components:
        """Return the same closure without nodes that have no edge any more."""
        new = Components(self.budget, self.descriptor)
        new.change([_NO_EDGES], self.spell_edges())
        new.commit()
        return new

    def _node_arrays(self) -> list[npt.NDArray[Any]]:
        return [*super()._node_arrays(), *self._parts]

    def _grow(self, room: int) -> None:
        super()._grow(room)
        self._parts = tuple(grown(part, room) for part in self._parts)  # type: ignore[assignment]

    def describe(self) -> None:
        super().describe()
        d = self.descriptor
        d[closure_read.KIND] = closure_read.COMPONENTS
        before, after, size = (part.ctypes.data for part in self._parts)
        d[closure_read.PART_BEFORE] = before
        d[closure_read.PART_AFTER] = after
        d[closure_read.PART_SIZE] = size

    def _freeze_nodes(self, d: npt.NDArray[np.int64], changed: Ids) -> list[npt.NDArray[Any]]:
        parts = [part[changed] for part in self._parts]
        fields = closure_read.PART_BEFORE, closure_read.PART_AFTER, closure_read.PART_SIZE
        for at, part in zip(fields, parts, strict=True):
            d[at] = part.ctypes.data
        return list(parts)

    def _frozen_rows(self, used: Ids) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[Any]]]:
        """Return copies of records and of their words: members are put in another order later."""
        rows = self._rows[used]
        words = np.empty(int(rows[:, closure_store.WORDS].sum()), np.uint64)
        state = np.zeros(closure_store.STATE, np.int64)
        state[closure_store.N_ROWS] = len(rows)
        state[closure_store.SPACE] = words.ctypes.data
        closure_store.move_rows(rows, state)
        return rows, [words]

    def _update(
        self,
        lost: Sequence[Columns],
        gained: Sequence[Columns],
        *,
        was_empty: bool,  # noqa: ARG002
    ) -> None:
        if lost[0][0].size:
            self._split(np.unique(np.concatenate(lost[0])))
        if gained[0][0].size:
            self._join(*gained[0])
        if self._state[closure_store.N_CHANGED]:
            self._find_parts()

    def _split(self, seeds: Ids) -> None:
        """Split the components of nodes that edges were taken from."""
        numbers = self._after[seeds]
        order = np.argsort(numbers, kind="stable")
        seeds, numbers = seeds[order], numbers[order]
        ends = np.append(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1, seeds.size)
        counts = self._rows[numbers[ends - 1], closure_store.COUNT]
        self._make_space(int(counts.sum()))
        self._make_room_for_rows(2 * seeds.size)
        room = self.nodes.room
        searches = (
            np.empty(seeds.size, np.int64),
            np.empty(seeds.size, np.uint32),
            np.empty(seeds.size, np.uint32),
            np.empty(seeds.size, np.int64),
            np.empty(seeds.size, np.int64),
        )
        closure_components.split_components(
            seeds,
            ends,
            self._edges.out.arrays,
            self._edges.into(room).arrays,
            self.nodes.constants,
            self._versions,
            self._rows,
            self._free,
            self._state,
            np.zeros(room, np.uint32),
            np.empty(room, np.uint32),
            searches,
            np.empty(int(counts.max()), np.uint32),
        )

    def _join(self, sources: Ids, targets: Ids) -> None:
        """Join the components of nodes that edges were added between."""
        room = self.nodes.room
        parent, met = np.empty(room, np.uint32), np.empty(self.nodes.size, np.uint32)
        is_met = np.zeros(room, np.bool_)
        n, components, members = closure_components.join_nodes(
            sources, targets, self._after, self._rows, parent, is_met, met
        )
        self._make_space(members)
        self._make_room_for_rows(components)
        closure_components.join_components(
            met[:n],
            self.nodes.constants,
            self._versions,
            self._rows,
            self._free,
            self._state,
            parent,
            np.zeros(room, np.uint32),
            np.empty(room, np.uint32),
            np.empty(members, np.uint32),
        )

    def _find_parts(self) -> None:
        rows, changed = len(self._rows), int(self._state[closure_store.N_CHANGED])
        scratch = (
            np.zeros(rows + 1, np.uint32),
            np.zeros(rows, np.bool_),
            np.empty(rows + 1, np.uint32),
            np.empty(changed, np.uint64),
        )
        closure_components.find_parts(self._rows, self._state, self._versions, self._parts, scratch)
