"""The figures of whole updates as a table: a row per figure, a column per knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stratalog_bench.harness.results import Report

Figures = Mapping[str, Any]

NOTES = [
    "CPU time of calls of kb.update with tables of facts, reading and finding constants included",
    "materialise: a call of stratalog.materialise with tables of all facts, as they are read",
    "from scratch: materialising loaded facts with both counts, in the same process and in turn",
]


class UpdateTable:
    """A report that grows by a column with each knowledge base."""

    def __init__(self, title: str, rules: str, into: list[Report]) -> None:
        named = f", {rules}" if rules else ""
        self._report = Report(f"{title}{named}", ["figure"], [], list(NOTES))
        into.append(self._report)

    def add(self, figures: Figures) -> None:
        """Add a column."""
        report, cells = self._report, _cells(figures)
        report.columns.append(f"{figures['facts'] / 1e6:.2g} M facts")
        if not report.rows:
            report.rows += [[name] for name in cells]
        for row, cell in zip(report.rows, cells.values(), strict=True):
            row.append(cell)


def _cells(figures: Figures) -> dict[str, Any]:
    times, store = figures["times"], figures["store"]
    cells: dict[str, Any] = {
        "explicit facts": figures["explicit"],
        "facts": figures["facts"],
        "materialise the same tables, ms": times["materialise"]["cpu"] * 1e3,
        "from scratch, ms": times["scratch"]["cpu"] * 1e3,
    }
    many = f"{figures['many']:,} facts"
    for kind, size in (("many", many), ("one", "one fact")):
        for what in ("delete", "insert"):
            cells |= _times(f"{what} {size}", times[f"{kind} {what}"])
    scratch = times["scratch"]["cpu"]
    tables = times["materialise"]["cpu"]
    cells[f"materialise / delete {many}"] = tables / times["many delete"]["cpu"]
    cells[f"from scratch / delete {many}"] = scratch / times["many delete"]["cpu"]
    cells["from scratch / delete one fact"] = scratch / times["one delete"]["cpu_median"]
    quarter, left = times["quarter delete"], times["quarter scratch"]
    cells |= _times("delete a quarter", quarter)
    cells["what is left from scratch, ms"] = left["cpu"] * 1e3
    cells["delete a quarter, reasoning / from scratch"] = quarter["reason_cpu"] / left["cpu"]
    cells |= _times(f"delete {many} after that", times["later delete"])
    cells["store, MB"] = store["bytes"] / 1e6
    cells[f"written by deleting {many}, MB"] = store["delete_bytes"] / 1e6
    cells[f"written by inserting {many}, MB"] = store["insert_bytes"] / 1e6
    cells["open the store, ms"] = times["open"]["cpu"] * 1e3
    cells[f"delete {many} and save, ms"] = times["stored delete"]["cpu"] * 1e3
    return cells


def _times(name: str, times: Figures) -> dict[str, float]:
    return {
        f"{name}, least ms": times["cpu"] * 1e3,
        f"{name}, median ms": times["cpu_median"] * 1e3,
        f"{name}, reasoning, median ms": times["reason_cpu_median"] * 1e3,
    }
