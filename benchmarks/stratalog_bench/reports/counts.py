"""What the two derivation counts cost: CPU seconds with and without them, turn by turn."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path

from stratalog.facts.counts import Count
from stratalog_bench.reports import Figures
from stratalog_bench.systems.own import Stratalog
from stratalog_bench.workloads.catalogue import BY_NAME
from stratalog_bench.workloads.inputs import Input, make_input

WORKLOADS = ("dag", "same-generation", "lubm", "points-to")
RUNS = {"full": 3, "small": 2}
BOTH, NEITHER = tuple(Count), ()


def measure(scale: str) -> Figures:
    """Return both times, and the share of the counts in the longer one, for each workload."""
    rows = []
    for name in WORKLOADS:
        workload = BY_NAME[name]
        with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as folder:
            given = make_input(workload.generator, workload.parameters(scale), Path(folder))
            rows.append([name, *_compare(given, RUNS[scale])])
    columns = ["workload", "facts", "with counts, CPU s", "without, CPU s", "share"]
    notes = ["share: of the time with counts, what keeping them takes; the least of all runs"]
    return {"columns": columns, "rows": rows, "notes": notes}


def _compare(given: Input, runs: int) -> tuple[int, float, float, str]:
    """Return the facts and the least times, after a turn that is not counted."""
    times: dict[Collection[Count], list[float]] = {BOTH: [], NEITHER: []}
    facts = set()
    for turn in range(runs + 1):
        for counts, found in times.items():
            system = Stratalog(given)
            system.kept = counts
            laps = system.measure(lambda _: None)
            facts.add(sum(system.counts().values()))
            if turn:
                found.append(laps.reason.cpu)
    (total,) = facts  # a count less changes no fact
    both, neither = min(times[BOTH]), min(times[NEITHER])
    return total, both, neither, f"{1 - neither / both:.0%}"
