"""Run the measurements of the Spark engine in a process of their own, and make a table of them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

from stratalog_bench.failures import BenchmarkError
from stratalog_bench.harness.parts import raise_if_any
from stratalog_bench.harness.results import DONE, Report
from stratalog_bench.harness.run import Settings
from stratalog_bench.harness.task import ALL_THREADS, Task, run_task
from stratalog_bench.workloads.catalogue import Benchmark

MEASURE = "spark.universities:measure"
UNIVERSITIES = {"full": 20, "small": 1}
DELETED = {"full": 1_000, "small": 100}
COLUMNS = ["figure", "seconds", "ratio", "wanted"]
LEAST_SPEEDUP = 3.0  # the loop's time over ours
MOST_PER_ROUND = 1.0  # seconds, with tiny data
MOST_OF_LATE = 1.5  # a late round's time over an early one's
MOST_GROWTH = 11.0  # the time for ten times the data over that for once
MOST_SHARE = 0.35  # an update's time over that of a new start
MOST_OF_MANY = 300.0  # seconds for 1,339 rules

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
        "data": str(settings.data or ""),
        "untuned": settings.scale == "full",
    }
    with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as folder:
        outcome = run_task(Task(MEASURE, folder, amounts), watch, environment=ALL_THREADS)
    if outcome.status != DONE:
        raise BenchmarkError(
            "B103",
            f"{benchmark.name} failed: {outcome.status}, {outcome.detail}",
            help='it needs Spark: pip install "stratalog[spark]"',
        )
    raise_if_any([f"{benchmark.name}, {each}" for each in outcome.answer["problems"]])
    into.append(_report(benchmark.name, settings.rules_name, outcome.answer))


def _report(name: str, rules: str, found: Figures) -> Report:
    facts = f"{found['explicit']:,} explicit facts, {found['facts']:,} in all"
    rounds = f"rounds: {found['rounds']}, with tiny data {found['tiny_rounds']}"
    notes = [
        f"{found['universities']} universities, {rules or 'the rules of the generator'}: {facts}",
        "wall seconds of the fastest run, of updates of the middle one",
        "loading into Spark is in the seconds, reading and encoding are not",
        "ratio: loop to us, late to early rounds, more to fewer facts, update to new start",
        f"local[2], a driver of {found['memory']}; {rounds}; kept after a hundred: {found['kept']}",
    ]
    return Report(name, COLUMNS, _rows(found), notes)


def _rows(found: Figures) -> list[list[Any]]:
    ours, loop, scratch = found["spark"], found["loop"], found["scratch"]
    early, late = found["early"], found["late"]
    small, large = found["small"], found["large"]
    few = f"{found['deleted']:,} facts"
    many, untuned = found.get("many_rules"), found.get("untuned")
    return [
        *([["the PySpark loop as Spark comes", untuned, untuned / ours, None]] if untuned else []),
        ["the PySpark loop, four partitions", loop, None, None],
        ["Stratalog on Spark", ours, loop / ours, f"> {LEAST_SPEEDUP:g}"],
        ["Stratalog in this process", found["columnar"], None, None],
        [
            f"a round of {found['tiny_rules']} rules, tiny data",
            found["tiny"],
            None,
            f"< {MOST_PER_ROUND:g}",
        ],
        ["a late one of a hundred rounds", late, late / early, f"< {MOST_OF_LATE:g}"],
        [f"{found['few']} universities", small, None, None],
        [f"{found['many']} universities", large, large / small, f"< {MOST_GROWTH:g}"],
        [f"{found['updated']} universities", scratch, None, None],
        [f"there, the first deletion of {few}", *_share(found["first_update"], scratch)],
        ["there, the second, by another algorithm", *_share(found["second_update"], scratch)],
        [f"there, deleting {few}", *_share(found["update"], scratch)],
        [f"there, inserting {few}", *_share(found["insert"], scratch)],
        *([[many["name"], many["seconds"], None, f"< {MOST_OF_MANY:g}"]] if many else []),
    ]


def _share(seconds: float, whole: float) -> list[Any]:
    return [seconds, seconds / whole, f"< {MOST_SHARE:g}"]
