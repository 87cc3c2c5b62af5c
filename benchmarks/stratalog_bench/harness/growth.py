"""How reasoning grows with the data: the same rules at several numbers of universities."""

from __future__ import annotations

import tempfile
from pathlib import Path

from stratalog_bench.harness.results import DONE, Report, SystemResult
from stratalog_bench.harness.run import WARM, Settings, run_system
from stratalog_bench.workloads.catalogue import STRATALOG, Benchmark
from stratalog_bench.workloads.inputs import make_input

SIZES = {"full": (10, 50, 200), "small": (1, 2, 4)}
COLUMNS = [
    "universities",
    "facts",
    "CPU s",
    "us per fact",
    "to linear",
    "bytes per binary fact",
    "peak MiB",
]


def run_growth(benchmark: Benchmark, settings: Settings, into: list[Report]) -> None:
    """Materialise each size; `to linear` is the time per fact, divided by that of the smallest."""
    report = Report(benchmark.name, COLUMNS, [])
    into.append(report)
    first = 0.0
    for universities in SIZES[settings.scale]:
        found = _run(benchmark, settings, universities)
        if found.status != DONE:
            report.notes.append(f"{universities} universities: {found.status} {found.detail}")
            return
        facts, cpu = sum(found.counts.values()), found.least("cpu")
        first = first or cpu / facts
        memory = round(found.figures["bytes_per_binary_fact"], 1)
        peak = round(found.peak_bytes / 2**20)
        each = cpu / facts
        report.rows.append([universities, facts, cpu, each * 1e6, each / first, memory, peak])


def _run(benchmark: Benchmark, settings: Settings, universities: int) -> SystemResult:
    title = f"{benchmark.name} {universities}"
    settings.told(title, "making facts")
    with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as folder:
        for place, size in ((Path(folder), universities), (Path(folder) / WARM, 1)):
            make_input("lubm", {"universities": size}, place, settings.rules)
        found = SystemResult(STRATALOG)
        run_system(folder, found, settings, title, benchmark.task)
    return found
