"""Table 2 of 001: how much may be deleted until starting from scratch takes no longer.

The subsets are nested: a larger share contains each smaller one. Rematerialising means to
materialise the explicit facts that are left, already loaded, with both counts.
"""

from __future__ import annotations

import math
from typing import Any

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.facts.counts import Count
from stratalog_bench.maintenance.digest import digest
from stratalog_bench.maintenance.small_deletions import Amounts, Cell
from stratalog_bench.maintenance.subject import Subject, Took
from stratalog_bench.systems.base import Told

SEED = 100
COUNTED = ("dred-c", "bf-c")  # the better of them is compared with starting from scratch
KEPT: dict[str, tuple[Count, ...]] = {
    "no counts": (),
    "one count": (Count.NONRECURSIVE,),
    "two counts": tuple(Count),
}
LEAST, MOST = 0.0005, 0.95  # shares outside are not looked for
CLOSE = 1.06  # the bounds of the share may differ by this factor
TRIES = 3  # of which the least counts, while the share is looked for
PATIENCE = 4  # times the time of rematerialising: an algorithm that takes longer is stopped
QUARTER = 0.25


def measure(subject: Subject, amounts: Amounts, told: Told) -> dict[str, Any]:
    """Return times from scratch, the share at which they are equal, and all times there."""
    return _Table(subject, amounts, told).fill()


class _Table:
    """A row of the table."""

    def __init__(self, subject: Subject, amounts: Amounts, told: Told) -> None:
        self._subject, self._amounts, self._told = subject, amounts, told
        self._order = subject.shuffled(SEED)
        self._problems: list[str] = []

    def fill(self) -> dict[str, Any]:
        self._told("from scratch")
        scratch = self._from_scratch(self._share(0.0))
        share, bound = self._equilibrium()
        return {
            "scratch": scratch,
            "share": share,
            "bound": bound,
            "equilibrium": self._all(share),
            "quarter": self._quarter(),
            "problems": self._problems,
        }

    def _share(self, share: float) -> ColumnarBatch:
        return self._subject.batch(self._order[: round(share * self._order.size)])

    def _from_scratch(self, without: ColumnarBatch) -> dict[str, dict[str, Any]]:
        cells = {name: Cell(self._amounts.limit) for name in KEPT}
        for turn in range(self._amounts.turns + 1):
            for name, counts in KEPT.items():
                took = self._subject.afresh(without, counts)[1]
                if turn:
                    cells[name].add(0, took)
        return {name: cell.figures() for name, cell in cells.items()}

    # -- the share

    def _equilibrium(self) -> tuple[float, str]:
        """Return the share, and "<" or ">" if it is outside what is looked for."""
        if self._is_slower(LEAST):
            return LEAST, "<"
        if not self._is_slower(MOST):
            return MOST, ">"
        low, high = LEAST, MOST
        while high / low > CLOSE:
            middle = (low * high) ** 0.5 if high < 0.1 else (low + high) / 2  # noqa: PLR2004
            if self._is_slower(middle):
                high = middle
            else:
                low = middle
        return low, ""

    def _is_slower(self, share: float) -> bool:
        """Return whether both counting algorithms take longer than starting from scratch."""
        subject, batch = self._subject, self._share(share)
        self._told(f"looking for the share, {share:.2%}")
        scratch, cells = Cell(math.inf), {name: Cell(math.inf) for name in COUNTED}
        for _ in range(TRIES):
            took = subject.afresh(batch)[1]
            scratch.add(0, took)
            subject.limits.timeout = max(1.0, PATIENCE * took.cpu)
            for name, cell in cells.items():
                if cell.may_go_on:
                    cell.add(0, self._deleted(name, batch, ""))
        subject.limits.timeout = self._amounts.limit
        return all(cell.least > scratch.least for cell in cells.values())

    # -- all algorithms at a share

    def _all(self, share: float) -> dict[str, Any]:
        batch = self._share(share)
        cells = {name: Cell(self._amounts.limit) for name in self._subject.algorithms}
        expected = str(digest(self._subject.afresh(batch)[0]))
        for turn in range(self._amounts.turns):
            for name, cell in cells.items():
                if cell.may_go_on:
                    self._told(f"{name} at {share:.2%}, turn {turn + 1}")
                    cell.add(0, self._deleted(name, batch, "" if turn else expected))
        return {
            "deleted": len(batch),
            "algorithms": {name: cell.figures() for name, cell in cells.items()},
            "scratch": self._from_scratch(batch),
        }

    def _quarter(self) -> dict[str, Any]:
        """Return `auto`, the first time and the least of all, against starting from scratch."""
        batch = self._share(QUARTER)
        expected = str(digest(self._subject.afresh(batch)[0]))
        cells = {name: Cell(self._amounts.limit) for name in ("first", "auto", "scratch")}
        self._subject.forget_choices()
        for turn in range(self._amounts.turns):
            self._told(f"auto at {QUARTER:.0%}, turn {turn + 1}")
            took = self._deleted("auto", batch, "" if turn else expected)
            cells["auto" if turn else "first"].add(0, took)
            cells["scratch"].add(0, self._subject.afresh(batch)[1])
        if self._amounts.turns == 1:
            cells["auto"] = cells["first"]
        return {name: cell.figures() for name, cell in cells.items()}

    def _deleted(self, name: str, batch: ColumnarBatch, expected: str) -> Took | None:
        took = self._subject.delete(name, batch)
        if took is None:
            return None
        if expected and (found := str(self._subject.digest())) != expected:
            self._problems.append(f"{name}, {len(batch):,} facts: {found}; expected {expected}")
        self._subject.roll_back()
        return took
