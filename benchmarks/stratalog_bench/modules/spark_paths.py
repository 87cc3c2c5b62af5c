"""DAG-R on Spark: a closure in one stage, beside the joins that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stratalog
from stratalog_bench.generate.graphs import dag
from stratalog_bench.harness.process import Outcome, Watch
from stratalog_bench.harness.results import DONE, OVER_LIMIT
from stratalog_bench.harness.task import ALL_THREADS, Task, run_task
from stratalog_bench.modules.spark_ways import CLOSURE, JOINS, LOOP

MEASURE = "modules.spark_ways:measure"
LIMIT = {"full": 180.0, "small": 60.0}  # seconds: the joins would take hours
TOLD = {LOOP: "the PySpark loop", JOINS: "our rounds of joins", CLOSURE: "by closure"}

Figures = Mapping[str, Any]


def measure_paths(
    graph: Mapping[str, Any], scale: str, runs: int, folder: Path, watch: Watch
) -> dict[str, Any]:
    """Return the seconds of each way to find all paths; None, and when joins ended, if in vain."""
    limit = LIMIT[scale]
    found: dict[str, Any] = {"seconds": {}, "ended": {}, "why": {}, "problems": []}
    right = _facts(graph)
    for way in (CLOSURE, JOINS, LOOP):
        turns = runs if way == CLOSURE else 1
        task = Task(MEASURE, folder / way, {"way": way, "graph": dict(graph), "runs": turns})
        outcome = run_task(task, watch, turns * limit, ALL_THREADS)
        found["problems"] += _problems(way, outcome, right)
        found["seconds"][way] = outcome.answer.get("seconds")
        found["ended"][way] = outcome.answer.get("ended", limit)
        found["why"][way] = outcome.answer.get("why", "which is the limit")
        if way == CLOSURE:
            found |= {name: outcome.answer.get(name) for name in ("stages", "delete", "insert")}
    return found


def _facts(graph: Mapping[str, Any]) -> int:
    """Return how many edges and paths there are, by the columnar engine."""
    made = dag(**graph)
    with stratalog.materialise(
        made.rules, {"edge": made.facts["edge"]}, engine="columnar", progress=False
    ) as kb:
        return int(kb.stats["facts"])


def _problems(way: str, outcome: Outcome, right: int) -> list[str]:
    if way != CLOSURE and (outcome.status == OVER_LIMIT or "ended" in outcome.answer):
        return []
    if outcome.status != DONE:
        return [f"Spark, {TOLD[way]}: {outcome.status}, {outcome.detail}"]
    facts = outcome.answer["facts"]
    return [] if facts == right else [f"Spark, {TOLD[way]}: {facts:,} facts, not {right:,}"]
