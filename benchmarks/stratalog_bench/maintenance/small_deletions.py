"""Table 1 of 001: deleting a thousand random explicit facts, and inserting them again.

Algorithms take turns on the same subsets. Each begins with the same materialisation: after it has
deleted, what is left must be the same for all, and after inserting what was there at first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog_bench.maintenance.subject import Subject, Took
from stratalog_bench.systems.base import Told

INSERTION = "insertion"
INSERTED_BY = "dred-c"  # all algorithms insert in the same way


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured."""

    facts: int = 1_000  # in each subset
    subsets: int = 5
    turns: int = 3
    limit: float = 60.0  # CPU seconds for one deletion


@dataclass(slots=True)
class Cell:
    """One algorithm on all subsets, the least of all turns for each."""

    limit: float
    took: dict[int, Took] = field(default_factory=dict)
    spent: float = 0.0
    is_over: bool = False

    @property
    def may_go_on(self) -> bool:
        """Whether there is time for another deletion; a first one is always tried."""
        return not self.is_over and self.spent < 2 * self.limit

    @property
    def least(self) -> float:
        """The CPU seconds of the fastest run, infinite if all were stopped."""
        return min((took.cpu for took in self.took.values()), default=math.inf)

    def add(self, subset: int, took: Took | None) -> None:
        """Take in a run, None if it was stopped."""
        if took is None:
            self.is_over = True
            return
        self.spent += took.cpu
        known = self.took.get(subset)
        if known is None or took.cpu < known.cpu:
            self.took[subset] = took

    def figures(self) -> dict[str, Any]:
        """Return the runs of all subsets, as JSON can hold them."""
        runs = [took.as_figures() for _, took in sorted(self.took.items())]
        return {"over": self.is_over and not runs, "runs": runs}


def measure(subject: Subject, amounts: Amounts, told: Told) -> dict[str, Any]:
    """Return the runs of each algorithm, of insertion, and what was wrong, if anything was."""
    return _Table(subject, amounts, told).fill()


class _Table:
    """A row of the table."""

    def __init__(self, subject: Subject, amounts: Amounts, told: Told) -> None:
        self._subject, self._amounts, self._told = subject, amounts, told
        names = (*subject.algorithms, INSERTION)
        self._cells = {name: Cell(amounts.limit) for name in names}
        self._problems: list[str] = []

    def fill(self) -> dict[str, Any]:
        subject, amounts = self._subject, self._amounts
        size = min(amounts.facts, subject.explicit // 2)
        subsets = [
            subject.batch(subject.shuffled(seed)[:size]) for seed in range(amounts.subsets + 1)
        ]
        self._try_each(subsets[-1])
        for turn in range(amounts.turns):
            for number, subset in enumerate(subsets[:-1]):
                self._run(number, subset, turn)
        return {
            "deleted": size,
            "algorithms": {name: cell.figures() for name, cell in self._cells.items()},
            "problems": self._problems,
        }

    def _try_each(self, subset: ColumnarBatch) -> None:
        """Let indexes be made, and see which algorithms are too slow, without noting times."""
        expected = self._afresh(subset)
        for name in self._subject.algorithms:
            self._told(f"{name}, first")
            took = self._delete_and_insert(name, subset, expected)
            if took is None:
                self._cells[name].is_over = True
            else:
                self._cells[name].spent += took[0].cpu

    def _run(self, number: int, subset: ColumnarBatch, turn: int) -> None:
        expected = "" if turn else self._afresh(subset)
        for name in self._subject.algorithms:
            cell = self._cells[name]
            if not cell.may_go_on:
                continue
            self._told(f"{name}, subset {number + 1}, turn {turn + 1}")
            took = self._delete_and_insert(name, subset, expected)
            cell.add(number, None if took is None else took[0])
            if took is not None and name == INSERTED_BY:
                self._cells[INSERTION].add(number, took[1])

    def _afresh(self, subset: ColumnarBatch) -> str:
        """Return the digest of a materialisation that never had the facts."""
        from stratalog_bench.maintenance.digest import digest

        self._told("from scratch")
        return str(digest(self._subject.afresh(subset)[0]))

    def _delete_and_insert(
        self, name: str, subset: ColumnarBatch, expected: str
    ) -> tuple[Took, Took] | None:
        """Return what both took; None if deletion was stopped by the limit."""
        subject = self._subject
        deletion = subject.delete(name, subset)
        if deletion is None:
            self._check(f"{name}, stopped", str(subject.start))
            return None
        subject.commit()
        if expected:
            self._check(f"{name}, after deleting", expected)
        insertion = subject.insert(name, subset)
        subject.commit()
        if expected:
            self._check(f"{name}, after inserting again", str(subject.start))
        return deletion, insertion

    def _check(self, when: str, expected: str) -> None:
        found = str(self._subject.digest())
        if found != expected:
            self._problems.append(f"{when}: {found}; expected {expected}")
