"""The nodes of a closure: constants numbered in the order in which they come."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from stratalog.kernels.closure import nodes as closure_nodes
from stratalog.kernels.sizes import sized

Ids = npt.NDArray[np.uint32]
Array = TypeVar("Array", bound=npt.NDArray[Any])

MIN_TABLE_SLOTS = sized(64, 2)


def grown(array: Array, size: int, fill: int = 0) -> Array:
    """Return a copy of at least the size, with room to grow where it is longer than before."""
    if size <= len(array):
        return array
    larger = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    if fill:
        larger[len(array) :] = fill
    return larger  # type: ignore[return-value]


class Nodes:
    """Constants by node, and nodes by constant: a constant has one node in each of its roles."""

    def __init__(self, roles: int) -> None:
        self.size = 0
        self.constants: Ids = np.empty(MIN_TABLE_SLOTS, np.uint32)
        self.roles: npt.NDArray[np.uint8] = np.zeros(MIN_TABLE_SLOTS, np.uint8)
        self.tables = [np.zeros(2 * MIN_TABLE_SLOTS, np.uint64) for _ in range(roles)]
        self._entries = [0] * roles

    @property
    def nbytes(self) -> int:
        tables = sum(table.nbytes for table in self.tables)
        return self.constants.nbytes + self.roles.nbytes + tables

    @property
    def room(self) -> int:
        """Nodes for which arrays over nodes must have room."""
        return self.constants.size

    def find(self, role: int, constants: Ids) -> Ids:
        """Return the nodes of constants, NULL for those without."""
        nodes = np.empty(constants.size, np.uint32)
        closure_nodes.find_nodes(self.tables[role], constants, nodes)
        return nodes

    def add(self, role: int, constants: Ids) -> Ids:
        """Return the nodes of constants, new ones for those without."""
        nodes = np.empty(constants.size, np.uint32)
        done, old = 0, self.size
        while done < constants.size:
            done, self.size, self._entries[role] = closure_nodes.add_nodes(
                self.tables[role],
                self.constants,
                self.size,
                self._entries[role],
                constants,
                done,
                nodes,
            )
            if done < constants.size:
                self._grow(role)
        self.roles[old : self.size] = role
        return nodes

    def _grow(self, role: int) -> None:
        if self.size == self.room:
            self.constants = grown(self.constants, self.size + 1)
            self.roles = grown(self.roles, self.size + 1)
        table = self.tables[role]
        if 2 * self._entries[role] >= table.size:
            self.tables[role] = np.zeros(2 * table.size, np.uint64)
            closure_nodes.refill(table, self.tables[role])
