"""What was measured as entries of a result: a data set is a benchmark, an algorithm a system.

So results of maintenance can be compared and drawn as all others can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stratalog_bench.harness.cells import system_of
from stratalog_bench.harness.results import DONE, BenchmarkResult, Run, SystemResult
from stratalog_bench.maintenance.datasets import DataSet

Figures = Mapping[str, Any]
SCRATCH = "from scratch"


def entries_of(
    wanted: DataSet, scale: str, figures: Mapping[str, Figures]
) -> list[BenchmarkResult]:
    """Return a data set's deletions, small and large, and its times from scratch, if right."""
    small, large = figures["small"], figures["large"]
    parameters = wanted.parameters(scale)
    entries = []
    if not small["problems"]:
        named = parameters | {"deleted": small["deleted"]}
        entries.append(_entry(wanted.name, named, small, small["algorithms"]))
    if not large["problems"]:
        entries += _large_entries(wanted.name, parameters, large)
    return entries


def _large_entries(
    name: str, parameters: dict[str, int | str], large: Figures
) -> list[BenchmarkResult]:
    quarter, balance = large["quarter"], large["equilibrium"]
    share: dict[str, int | str] = {"share": f"{large['bound']}{large['share']:.4f}"}
    at_quarter = {
        "auto": quarter["auto"],
        "auto, first": quarter["first"],
        SCRATCH: quarter["scratch"],
    }
    at_share = {**balance["algorithms"], SCRATCH: balance["scratch"]["two counts"]}
    return [
        _entry(f"{name}, {SCRATCH}", parameters, large, large["scratch"]),
        _entry(f"{name}, 25 %", parameters, large, at_quarter),
        _entry(f"{name}, equilibrium", parameters | share, large, at_share),
    ]


def entries_of_updates(
    title: str, parameters: dict[str, int | str], figures: Figures
) -> list[BenchmarkResult]:
    """Return the updates of one knowledge base."""
    name = f"{title} {parameters['universities']}"
    entry = BenchmarkResult(name, parameters, figures["explicit"])
    for kind, times in figures["times"].items():
        memory = figures["base_bytes"], figures["peak_bytes"]
        run = Run(times["cpu"], times["wall"], 0.0, 0.0, *memory)
        counts = {"facts": figures["facts"]}
        entry.systems.append(SystemResult(kind, DONE, "", [run], counts, dict(times)))
    entry.systems[0].figures["store"] = figures["store"]
    return [entry]


def _entry(
    name: str, parameters: dict[str, int | str], figures: Figures, cells: Mapping[str, Figures]
) -> BenchmarkResult:
    entry = BenchmarkResult(name, parameters, figures["explicit"])
    entry.systems = [
        system_of(system, cell, figures, f"> {figures['limit']:g} s")
        for system, cell in cells.items()
    ]
    return entry
