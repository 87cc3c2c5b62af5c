"""Measurements of Stratalog alone: a module of `stratalog_bench.reports` in its own process."""

from __future__ import annotations

import math

from stratalog_bench.failures import BenchmarkError
from stratalog_bench.harness.process import run_worker
from stratalog_bench.harness.results import DONE, FAILED, Report
from stratalog_bench.harness.run import Settings, progress
from stratalog_bench.workloads.catalogue import Benchmark


def run_alone(benchmark: Benchmark, settings: Settings, into: list[Report]) -> None:
    """Run a measurement and add its figures; it is many runs, so that no limit of one applies."""

    def watch(stage: str, seconds: float) -> None:
        settings.told(benchmark.name, progress(stage, seconds))

    module = f"stratalog_bench.reports.{benchmark.task}"
    environment: dict[str, str] | None = {} if benchmark.only_by_name else None
    outcome = run_worker([module, settings.scale], math.inf, watch, environment)
    if outcome.status == FAILED:
        raise BenchmarkError(
            "B103",
            f"{benchmark.name} failed: {outcome.detail}",
            help=f"python -m {module} {settings.scale} shows all that it printed",
        )
    report = Report(benchmark.name, [], [])
    if outcome.status == DONE:
        report = Report(benchmark.name, **outcome.answer)
    else:
        report.notes.append(f"{outcome.status}: {outcome.detail}")
    into.append(report)
