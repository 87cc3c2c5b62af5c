"""The cells of all data sets as tables: 000's Table 1, and the three parts of its Table 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stratalog_bench.harness.cells import (
    SIZES,
    WRONG,
    add_wrong,
    growing_reports,
    mean,
    seconds,
    system_of,
)
from stratalog_bench.harness.results import BenchmarkResult, Report, SystemResult
from stratalog_bench.modules.measurement import MODES

Figures = Mapping[str, Any]
MATERIALISED = {"off": "Mat", "paper": "Mat-Mod", "auto": "ours"}
MAINTAINED = {"off": "DRed^c", "paper": "DRed^c-Mod", "auto": "ours"}
RATIOS = ("ours: times faster", "than 000")
UPDATES = {"delete": "small deletions, ms", "insert": "small insertions, ms"}
UPDATES["large"] = "large deletions, s"

TABLE_1_NOTES = """\
CPU seconds of materialising loaded facts, the least of several turns ({turns}), and rule \
instances looked at; Mat: modules="off", Mat-Mod: modules="paper", ours: modules="auto"
facts are the same in all modes, before and after each kind of update; a cell is a process"""
SMALL_NOTES = """\
CPU milliseconds of reasoning: mean of random subsets ({subsets}), each the least of several turns \
({turns}), after one that is not counted; maintenance="dred-c"; ours: modules="auto\""""
INSERT_NOTES = "the same facts again"
LARGE_NOTES = """\
CPU seconds to delete 25 % of the explicit facts, the least of several turns ({turns})
> {patience:g} s: materialising was ended there, > {limit:g} s: a deletion; what follows is not \
measured (-), and ratios are the least they can be"""


class Tables:
    """Four reports that grow with each data set."""

    def __init__(self, title: str, amounts: Figures, into: list[Report]) -> None:
        self._amounts = amounts
        report = growing_reports(title, amounts, into)
        derived = [f"{name}, derivations" for name in MATERIALISED.values()]
        columns = [*SIZES, "modules", *MATERIALISED.values(), *RATIOS, *derived]
        self.materialise = report("materialisation, s", columns, TABLE_1_NOTES)
        others = [*MAINTAINED.values(), *RATIOS]
        notes = {"delete": SMALL_NOTES, "insert": INSERT_NOTES, "large": LARGE_NOTES}
        self.updates = {
            part: report(name, [*(["facts"] if part == "delete" else []), *others], notes[part])
            for part, name in UPDATES.items()
        }

    def add(self, name: str, cells: Mapping[str, Figures]) -> None:
        """Add a row to each table."""
        known = next((each for each in cells.values() if "facts" in each), {})
        sizes = [known.get(figure) for figure in SIZES.values()]
        modules = cells["paper"].get("modules")
        derived = [cells[mode].get("derivations", "-") for mode in MODES]
        patience = self._amounts["patience"]
        times = self._times({m: cells[m]["materialise"] for m in MODES}, patience)
        self.materialise.rows.append([name, *sizes, modules, *times, *derived])
        for part, report in self.updates.items():
            changed = [known.get("changed")] if part == "delete" else []
            unit = 1.0 if part == "large" else 1e3
            parts = {mode: cells[mode].get(part) for mode in MODES}
            times = self._times(parts, self._amounts["limit"], unit)
            report.rows.append([name, *changed, *times])

    def add_wrong(self, name: str) -> None:
        """Add a row without times to each table."""
        add_wrong(name, WRONG, self.materialise, *self.updates.values())

    def _times(
        self, cells: Mapping[str, Figures | None], limit: float, unit: float = 1.0
    ) -> list[Any]:
        spelled = [
            "-" if (cell := cells[mode]) is None else seconds(cell, limit, unit) for mode in MODES
        ]
        ratios = [ratio(cells[mode], cells["auto"], limit) for mode in ("off", "paper")]
        return [*spelled, *ratios]


def ratio(slow: Figures | None, fast: Figures | None, limit: float) -> float | str:
    """Return how many times faster the second is, at least if the first was ended by a limit."""
    if slow is None or fast is None or not fast["runs"]:
        return "-"
    least = times_faster(slow, fast, limit)
    return least if slow["runs"] else f"> {least:,.1f}"


def times_faster(slow: Figures, fast: Figures, limit: float) -> float:
    """Return how many times faster the second is, or a lower bound."""
    longer = mean(slow["runs"], "cpu") if slow["runs"] else limit
    return longer / max(mean(fast["runs"], "cpu"), 1e-9)


def entries_of(
    title: str, parameters: dict[str, int | str], cells: Mapping[str, Figures]
) -> list[BenchmarkResult]:
    """Return the cells of a data set as results, a mode for a system."""
    explicit = next((each["explicit"] for each in cells.values() if "explicit" in each), 0)
    entries = []
    for part in ("materialise", *UPDATES):
        entry = BenchmarkResult(f"{title}, {part}", parameters, explicit)
        entry.systems = [
            _system(f"modules={mode}", part, cells[mode]) for mode in MODES if part in cells[mode]
        ]
        entries.append(entry)
    return entries


def _system(name: str, part: str, cell: Figures) -> SystemResult:
    found = system_of(name, cell[part], cell, "> the limit")
    if part == "materialise" and found.runs:
        found.figures["derivations"] = cell["derivations"]
    return found
