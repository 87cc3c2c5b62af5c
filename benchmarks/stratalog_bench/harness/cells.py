"""A cell: the runs of one measurement, as a figure of a table and as a system of a result."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stratalog_bench.harness.results import DONE, OVER_LIMIT, Report, Run, SystemResult

Figures = Mapping[str, Any]
NewReport = Callable[[str, Sequence[str], str], Report]
WRONG = "wrong"
SIZES = {
    "|E|": "explicit",
    "|I|": "facts",
    "strata": "levels",
    "nonrecursive": "nonrecursive",
    "recursive": "recursive",
}
"""The columns that say how large a data set is, and the figures that they show."""


def mean(runs: Sequence[Figures], figure: str) -> float:
    """Return the mean of a figure over all subsets."""
    return statistics.fmean(run[figure] for run in runs)


def seconds(cell: Figures, limit: float, unit: float = 1.0) -> float | str:
    """Return the CPU time of a cell, or that it was ended by a limit."""
    return mean(cell["runs"], "cpu") * unit if cell["runs"] else f"> {limit:g} s"


def system_of(name: str, cell: Figures, sizes: Figures, over: str) -> SystemResult:
    """Return a cell as a system; without runs, `over` says why."""
    runs = cell["runs"]
    if not runs:
        return SystemResult(name, OVER_LIMIT, over)
    memory = sizes["base_bytes"], sizes["peak_bytes"]
    run = Run(mean(runs, "cpu"), mean(runs, "wall"), 0.0, 0.0, *memory)
    told = {"work": round(mean(runs, "work")), "subsets": runs}
    return SystemResult(name, DONE, "", [run], {"facts": sizes["facts"]}, told)


def growing_reports(title: str, amounts: Figures, into: list[Report]) -> NewReport:
    """Return how to begin a report that gets a row per data set; its notes name the amounts."""

    def report(name: str, columns: Sequence[str], notes: str) -> Report:
        made = Report(f"{title}: {name}", ["data set", *columns], [])
        made.notes += notes.format(**amounts).splitlines()
        into.append(made)
        return made

    return report


def add_wrong(name: str, what: str, *reports: Report) -> None:
    """Add a row without figures to reports."""
    for report in reports:
        report.rows.append([name, what, *[None] * (len(report.columns) - 2)])
