"""Rows of the table about Spark: a closure in one stage, beside the joins that it stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stratalog
from stratalog.bench.failures import BenchmarkError
from stratalog.bench.on_spark.closure_worker import CLOSURE, JOINS, LOOP, ONE_IN
from stratalog.bench.process import Outcome, Watch, run_worker
from stratalog.bench.results import DONE, OVER_LIMIT
from stratalog.generate.graphs import dag

WORKER = "stratalog.bench.on_spark.closure_worker"
GRAPH = {"full": {"nodes": 10_000, "edges": 100_000}, "small": {"nodes": 500, "edges": 1_000}}
LIMIT = {"full": 300.0, "small": 60.0}  # seconds: the joins would take hours
LEAST_SPEEDUP = 25.0  # the joins' time over that of the closure
TOLD = {LOOP: "the PySpark loop", JOINS: "our rounds of joins", CLOSURE: "by closure"}

Figures = Mapping[str, Any]


def measure_closures(scale: str, runs: int, folder: Path, watch: Watch) -> dict[str, Any]:
    """Return the seconds of each way to find all paths, None beyond the limit."""
    limit = LIMIT[scale]
    found: dict[str, Any] = {"limit": limit, "seconds": {}, **GRAPH[scale]}
    right = _facts(scale)
    for way in (CLOSURE, JOINS, LOOP):
        amounts = {**GRAPH[scale], "runs": runs if way == CLOSURE else 1}
        arguments = [WORKER, str(folder / way), way, json.dumps(amounts)]
        outcome = run_worker(arguments, runs * limit if way == CLOSURE else limit, watch, {})
        found["seconds"][way] = _seconds(way, outcome, right)
        if way == CLOSURE:
            found |= {name: outcome.answer.get(name) for name in ("stages", "delete", "insert")}
    return found | {"facts": right}


def _facts(scale: str) -> int:
    """Return how many edges and paths there are, by the columnar engine."""
    made = dag(**GRAPH[scale], recursion="both")
    with stratalog.materialise(
        made.rules, {"edge": made.facts["edge"]}, engine="columnar", progress=False
    ) as kb:
        return int(kb.stats["facts"])


def _seconds(way: str, outcome: Outcome, right: int) -> float | None:
    if outcome.status == OVER_LIMIT and way != CLOSURE:
        return None
    if outcome.status != DONE:
        raise BenchmarkError(
            "B103",
            f"spark failed, {TOLD[way]}: {outcome.status}, {outcome.detail}",
            help='it needs Spark: pip install "stratalog[spark]"',
        )
    if outcome.answer["facts"] != right:
        raise BenchmarkError(
            "B109",
            f"spark, {TOLD[way]}: {outcome.answer['facts']:,} facts, not {right:,}",
            help="times of wrong results are not shown",
        )
    return float(outcome.answer["seconds"])


def closure_rows(found: Figures) -> list[list[Any]]:
    """Return rows of the table, the closure last."""
    seconds, limit = found["seconds"], found["limit"]
    ours = seconds[CLOSURE]
    rows: list[list[Any]] = []
    for way in (LOOP, JOINS):
        name = f"paths of {found['nodes']:,} nodes: {TOLD[way]}"
        taken = seconds[way]
        if taken is None:
            rows.append([name, f"> {limit:g}", f"> {limit / ours:.1f}", f"> {LEAST_SPEEDUP:g}"])
        else:
            rows.append([name, taken, taken / ours, f"> {LEAST_SPEEDUP:g}"])
    told = f"{TOLD[CLOSURE]}, {found['stages']} stage"
    some = f"{-(-found['edges'] // ONE_IN):,} edges"
    return [
        *rows,
        [f"paths of {found['nodes']:,} nodes: {told}", ours, None, None],
        [f"there, deleting {some}", found["delete"], None, None],
        [f"there, inserting {some}", found["insert"], None, None],
    ]
