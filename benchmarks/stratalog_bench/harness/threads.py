"""What more threads bring: the same materialisation with one and with two."""

from __future__ import annotations

import tempfile
from pathlib import Path

from stratalog_bench.harness.results import DONE, BenchmarkResult, Report, SystemResult
from stratalog_bench.harness.run import WARM, Settings, check_facts, run_system
from stratalog_bench.workloads.catalogue import BY_NAME, STRATALOG, Benchmark
from stratalog_bench.workloads.inputs import make_input

WORKLOADS = ("dag", "same-generation", "lubm", "points-to")
TASKS = ("materialise", "two-threads")
COLUMNS = [
    "workload",
    "facts",
    "1 thread, wall s",
    "2 threads, wall s",
    "times quicker",
    "1 thread, CPU s",
    "2 threads, CPU s",
]


def run_threads(benchmark: Benchmark, settings: Settings, into: list[Report]) -> None:
    """Materialise each workload with one and two threads, one process per run."""
    report = Report(benchmark.name, COLUMNS, [])
    into.append(report)
    for name in WORKLOADS:
        one, two = _run(f"{benchmark.name}, {name}", BY_NAME[name], settings)
        if one.status != DONE or two.status != DONE:
            report.notes.append(f"{name}: {one.status} {one.detail}, {two.status} {two.detail}")
            continue
        walls = one.least("wall"), two.least("wall")
        cpus = one.least("cpu"), two.least("cpu")
        facts = sum(one.counts.values())
        report.rows.append([name, facts, *walls, walls[0] / max(walls[1], 1e-6), *cpus])


def _run(title: str, workload: Benchmark, settings: Settings) -> list[SystemResult]:
    settings.told(title, "making facts")
    with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as folder:
        for scale, place in ((None, Path(folder)), ("small", Path(folder) / WARM)):
            parameters = settings.parameters(workload, scale)
            make_input(workload.generator, parameters, place)
        found = [SystemResult(STRATALOG), SystemResult(STRATALOG)]
        for each, task in zip(found, TASKS, strict=True):
            run_system(folder, each, settings, title, task)
    check_facts([BenchmarkResult(title, {}, 0, found)])
    return found
