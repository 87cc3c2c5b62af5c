"""Measurements of Stratalog alone: a module of `stratalog_bench.reports` in its own process."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

from stratalog_bench.failures import BenchmarkError
from stratalog_bench.harness.results import DONE, FAILED, Report
from stratalog_bench.harness.run import Settings, progress
from stratalog_bench.harness.task import ALL_THREADS, Task, run_task
from stratalog_bench.systems.base import Told
from stratalog_bench.workloads.catalogue import Benchmark

MEASURE = "harness.own_reports:measure"


def run_alone(benchmark: Benchmark, settings: Settings, into: list[Report]) -> None:
    """Run a measurement and add its figures; it is many runs, so that no limit of one applies."""

    def watch(stage: str, seconds: float) -> None:
        settings.told(benchmark.name, progress(stage, seconds))

    task = Task(MEASURE, ".", {"report": benchmark.task, "scale": settings.scale})
    outcome = run_task(task, watch, environment=ALL_THREADS if benchmark.only_by_name else None)
    if outcome.status == FAILED:
        raise BenchmarkError(
            "B103",
            f"{benchmark.name} failed: {outcome.detail}",
            help=f"python -m {shlex.join(task.arguments)} shows all that it printed",
        )
    report = Report(benchmark.name, [], [])
    if outcome.status == DONE:
        report = Report(benchmark.name, **outcome.answer)
    else:
        report.notes.append(f"{outcome.status}: {outcome.detail}")
    into.append(report)


def measure(_: Path, told: Told, report: str, scale: str) -> dict[str, Any]:
    """Return "columns", "rows" and "notes" of a report."""
    told("reason")
    found: dict[str, Any] = import_module(f"stratalog_bench.reports.{report}").measure(scale)
    return found
