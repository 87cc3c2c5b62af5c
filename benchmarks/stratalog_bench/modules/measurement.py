"""One data set in one mode of modules: a cell of 000's Table 1, and three of Table 2.

The facts that are deleted are the same in all modes, and so must be what is left: digests of the
facts go with the times, and are compared before any time is shown.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.errors import EngineError
from stratalog_bench.maintenance.large_deletions import QUARTER
from stratalog_bench.maintenance.small_deletions import Cell
from stratalog_bench.maintenance.subject import NOTHING, TIME_LIMIT
from stratalog_bench.measure import forget_peak, peak_bytes, resident_bytes
from stratalog_bench.modules.facts import ModularSubject
from stratalog_bench.systems.base import Told
from stratalog_bench.workloads.inputs import Input, read_input

MODES = ("off", "paper", "auto")
ALGORITHM = "dred-c"  # in all modes: what differs is how modules are maintained
"""The algorithm of each mode: 000's own, and what users get who choose nothing."""

FEW_EXPLICIT = 20_000  # a data set with less loses fewer facts


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured."""

    modules: str
    facts: int = 1_000  # in each subset
    few: int = 100  # in each subset, where there are few facts in all
    subsets: int = 5
    turns: int = 3
    limit: float = 60.0  # CPU seconds for an update
    patience: float = 300.0  # CPU seconds to materialise
    updates: bool = True  # whether there are any


def measure(folder: Path, amounts: Amounts, told: Told) -> dict[str, Any]:
    """Return sizes, times and digests; without times where materialising takes too long."""
    return measure_input(read_input(folder), amounts, told)


def measure_input(given: Input, amounts: Amounts, told: Told) -> dict[str, Any]:
    """Return what `measure` does, of an input that was read."""
    base = resident_bytes()
    forget_peak()
    told("materialising")
    try:
        subject = ModularSubject(
            given, amounts.limit, modules=amounts.modules, patience=amounts.patience
        )
    except EngineError as error:
        if error.code != TIME_LIMIT:
            raise
        found: dict[str, Any] = {"materialise": {"over": True, "runs": []}, "digests": {}}
    else:
        found = _Measured(subject, amounts, told).fill()
    return {"base_bytes": base, "peak_bytes": peak_bytes(), "problems": [], **found}


class _Measured:
    """A materialisation whose times are taken."""

    def __init__(self, subject: ModularSubject, amounts: Amounts, told: Told) -> None:
        self._subject, self._amounts, self._told = subject, amounts, told
        self._algorithm = ALGORITHM
        self._problems: list[str] = []
        self._digests = {"materialised": str(subject.start)}

    def fill(self) -> dict[str, Any]:
        subject = self._subject
        derivations, work = subject.derivations(), subject.materialised.work
        gc.collect()
        gc.freeze()  # what is there now will stay
        found = {
            **subject.facts_and_rules(),
            "modules": subject.modules(),
            "derivations": derivations,
            "work": work,
            "materialise": self._materialise(),
        }
        if self._amounts.updates:
            found |= self._small()
            found["large"] = self._large()
        return found | {"digests": self._digests, "problems": self._problems}

    def _materialise(self) -> dict[str, Any]:
        cell = Cell(self._amounts.limit)
        cell.add(0, self._subject.materialised)
        for turn in range(1, self._amounts.turns):
            if cell.may_go_on:
                self._told(f"materialising, turn {turn + 1}")
                cell.add(0, self._subject.afresh(NOTHING)[1])
        return cell.figures()

    def _small(self) -> dict[str, Any]:
        """Delete facts and insert them again, after a subset that is checked and not timed."""
        subject, amounts = self._subject, self._amounts
        usual = amounts.facts if subject.explicit >= FEW_EXPLICIT else amounts.few
        size = min(usual, subject.explicit // 2)
        first, *subsets = (
            subject.batch(subject.shuffled(seed)[:size]) for seed in range(amounts.subsets + 1)
        )
        deletion, insertion = Cell(amounts.limit), Cell(amounts.limit)
        self._told("the first deletion")
        self._delete_and_insert(first, (deletion, insertion), -1)
        for turn in range(amounts.turns):
            for number, subset in enumerate(subsets):
                if deletion.may_go_on:
                    self._told(f"subset {number + 1}, turn {turn + 1}")
                    self._delete_and_insert(subset, (deletion, insertion), number)
        return {"changed": size, "delete": deletion.figures(), "insert": insertion.figures()}

    def _delete_and_insert(
        self, subset: ColumnarBatch, cells: tuple[Cell, Cell], number: int
    ) -> None:
        """Note what both took; below zero, look at what is left instead."""
        subject, is_noted = self._subject, number >= 0
        deletion, insertion = cells
        took = subject.delete(self._algorithm, subset)
        if took is None:
            deletion.is_over = True
            return
        subject.commit()
        if not is_noted:
            self._digests["deleted"] = str(subject.digest())
        back = subject.insert(self._algorithm, subset)
        subject.commit()
        if is_noted:
            deletion.add(number, took)
            insertion.add(number, back)
        else:
            deletion.spent += took.cpu
            self._check("inserted again")

    def _large(self) -> dict[str, Any]:
        """Delete a quarter, and take that back each time."""
        subject, cell = self._subject, Cell(self._amounts.limit)
        size = round(QUARTER * subject.explicit)
        batch = subject.batch(subject.shuffled(self._amounts.subsets + 1)[:size])
        for turn in range(self._amounts.turns):
            if not cell.may_go_on:
                break
            self._told(f"a quarter of the facts, turn {turn + 1}")
            took = subject.delete(self._algorithm, batch)
            cell.add(0, took)
            if took is not None:
                if not turn:
                    self._digests["quarter"] = str(subject.digest())
                subject.roll_back()
        self._check("a quarter taken back")
        return cell.figures()

    def _check(self, when: str) -> None:
        found = str(self._subject.digest())
        if found != self._digests["materialised"]:
            self._problems.append(f"{when}: {found}; at first {self._digests['materialised']}")
