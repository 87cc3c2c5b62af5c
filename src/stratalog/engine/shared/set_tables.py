"""Fact sets as truth tables over the label word."""

from __future__ import annotations

from threading import Lock

import numpy as np
import numpy.typing as npt

from stratalog.engine.shared.set_algebra import names_predicates
from stratalog.facts.labels import LABELS
from stratalog.facts.sets import FactSet, Label, Meet, Minus, Over, Union
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate

Table = npt.NDArray[np.bool_]

MOST_CONSTANTS = sized(256, 2)
"""Algorithms have a few sets each, made once; the others are made for one question."""


def membership_table(described: FactSet, predicate: Predicate | None = None) -> Table:
    """Return t such that the predicate's fact whose label word is w is in `described` iff t[w]."""
    match described:
        case Over(predicates) if predicate is not None:
            return np.full(1 << LABELS, predicate in predicates)
        case Label(bit=bit):
            return (np.arange(1 << LABELS) >> bit & 1).astype(np.bool_)
        case Union(left, right):
            return membership_table(left, predicate) | membership_table(right, predicate)
        case Minus(left, right):
            return membership_table(left, predicate) & ~membership_table(right, predicate)
        case Meet(left, right):
            return membership_table(left, predicate) & membership_table(right, predicate)
    raise TypeError(f"no columnar reading of {described!r}")


class SetTables:
    """The truth tables in use, numbered, in one array for kernels."""

    def __init__(self) -> None:
        self._numbers: dict[FactSet | tuple[FactSet, Predicate], int] = {}
        self._constants: dict[int, tuple[FactSet, int]] = {}  # by identity: hashing takes long
        self._adding = Lock()
        self.tables: Table = np.zeros((8, 1 << LABELS), np.bool_)

    def number(self, described: FactSet, predicate: Predicate) -> int:
        """Return the number of the set's table for facts of a predicate."""
        known = self._constants.get(id(described))
        if known is not None and known[0] is described:
            return known[1]
        number = self._numbers.get(described)
        if number is not None:
            if len(self._constants) < MOST_CONSTANTS:
                self._constants[id(described)] = described, number
        else:
            number = self._numbers.get((described, predicate))
        return self._add(described, predicate) if number is None else number

    def _add(self, described: FactSet, predicate: Predicate) -> int:
        key = (described, predicate) if names_predicates(described) else described
        with self._adding:  # a number is given out once its table is there: readers have no lock
            if key not in self._numbers:
                number = len(self._numbers)
                if number == len(self.tables):
                    self.tables = np.concatenate([self.tables, np.zeros_like(self.tables)])
                self.tables[number] = membership_table(described, predicate)
                self._numbers[key] = number
            return self._numbers[key]

    def table(self, described: FactSet, predicate: Predicate) -> Table:
        number = self.number(described, predicate)  # this may replace the array of tables
        table: Table = self.tables[number]
        return table
