"""Run the measurements of the Spark engine in a process of their own, and make a table of them."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from typing import Any

from stratalog.bench.catalogue import Benchmark
from stratalog.bench.failures import BenchmarkError
from stratalog.bench.process import run_worker
from stratalog.bench.results import DONE, Report
from stratalog.bench.run import Settings

WORKER = "stratalog.bench.on_spark.worker"
UNIVERSITIES = {"full": 20, "small": 1}
DELETED = {"full": 1_000, "small": 100}
COLUMNS = ["figure", "seconds", "ratio", "wanted"]
LEAST_SPEEDUP, MOST_PER_ROUND, MOST_SHARE = 3.0, 1.0, 0.35
"""Of the loop's time over ours, of seconds per tiny round, of an update's time over a new start."""

Figures = Mapping[str, Any]


def run_on_spark(benchmark: Benchmark, settings: Settings, into: list[Report]) -> None:
    """Measure and add a table; times of wrong results are not shown."""

    def watch(stage: str, _: float) -> None:
        settings.told(benchmark.name, stage)

    amounts = {
        "universities": settings.universities or UNIVERSITIES[settings.scale],
        "rules": settings.rules or "",
        "deleted": DELETED[settings.scale],
        "runs": settings.runs,
    }
    with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as folder:
        outcome = run_worker([WORKER, folder, json.dumps(amounts)], math.inf, watch, {})
    if outcome.status != DONE:
        raise BenchmarkError(
            "B103",
            f"{benchmark.name} failed: {outcome.status}, {outcome.detail}",
            help='it needs Spark: pip install "stratalog[spark]"',
        )
    if problems := outcome.answer["problems"]:
        raise BenchmarkError(
            "B109",
            f"{benchmark.name}, {problems[0]}",
            help="times of wrong results are not shown",
        )
    into.append(_report(benchmark.name, settings.rules_name, outcome.answer))


def _report(name: str, rules: str, found: Figures) -> Report:
    ours, loop, update = found["spark"], found["loop"], found["update"]
    tiny = found["tiny"]
    few = f"{found['deleted']:,} facts"
    rows: list[list[Any]] = [
        ["the PySpark loop", loop, None, None],
        ["Stratalog on Spark", ours, loop / ours, f"> {LEAST_SPEEDUP:g}"],
        ["Stratalog in this process", found["columnar"], None, None],
        [f"a round of {found['tiny_rules']} rules, tiny data", tiny, None, f"< {MOST_PER_ROUND:g}"],
        [f"the first deletion of {few}", found["first_update"], None, None],
        [f"deleting {few}", update, update / ours, f"< {MOST_SHARE:g}"],
        [f"inserting {few}", found["insert"], None, None],
    ]
    facts = f"{found['explicit']:,} explicit facts, {found['facts']:,} in all"
    rounds = f"rounds: {found['rounds']}, with tiny data {found['tiny_rounds']}"
    notes = [
        f"{found['universities']} universities, {rules or 'the rules of the generator'}: {facts}",
        "wall seconds of the fastest run, with loading into Spark, without reading and encoding",
        "ratio: the loop to Stratalog; an update to materialising from scratch on Spark",
        f"local[2], a driver of {found['memory']}; {rounds}",
    ]
    return Report(name, COLUMNS, rows, notes)
