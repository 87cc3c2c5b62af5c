"""Fact sets as truth tables over the label word."""

from __future__ import annotations

from threading import Lock

import numpy as np
import numpy.typing as npt

from stratalog.facts.labels import LABELS
from stratalog.facts.sets import FactSet, Label, Meet, Minus, Union

Table = npt.NDArray[np.bool_]


def membership_table(described: FactSet) -> Table:
    """Return t such that a fact whose label word is w belongs to `described` iff t[w]."""
    match described:
        case Label(bit=bit):
            return (np.arange(1 << LABELS) >> bit & 1).astype(np.bool_)
        case Union(left, right):
            return membership_table(left) | membership_table(right)
        case Minus(left, right):
            return membership_table(left) & ~membership_table(right)
        case Meet(left, right):
            return membership_table(left) & membership_table(right)
    raise TypeError(f"no columnar reading of {described!r}")


class Sets:
    """The truth tables in use, numbered, in one array for kernels."""

    def __init__(self) -> None:
        self._numbers: dict[FactSet, int] = {}
        self._adding = Lock()
        self.tables: Table = np.zeros((0, 1 << LABELS), np.bool_)

    def number(self, described: FactSet) -> int:
        """Return the number of the set's table."""
        number = self._numbers.get(described)
        return self._add(described) if number is None else number

    def _add(self, described: FactSet) -> int:
        with self._adding:  # a number is given out once its table is there: readers have no lock
            if described not in self._numbers:
                self.tables = np.concatenate([self.tables, membership_table(described)[None]])
                self._numbers[described] = len(self._numbers)
            return self._numbers[described]

    def table(self, described: FactSet) -> Table:
        number = self.number(described)
        table: Table = self.tables[number]
        return table
