"""The paths of a random graph on Spark: by closure, by rounds of joins, by the PySpark loop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import stratalog
from stratalog import spark as sessions
from stratalog.errors import EngineError
from stratalog.spark.internals import jobs_with_stages
from stratalog_bench.generate.graphs import dag
from stratalog_bench.spark.universities import SETTINGS
from stratalog_bench.systems.base import Told
from stratalog_bench.systems.pyspark_loop import PySparkLoop
from stratalog_bench.workloads.inputs import write_input

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stratalog_bench.generate.workload import Workload

CLOSURE, JOINS, LOOP = "closure", "joins", "loop"
MODULES = {CLOSURE: "auto", JOINS: "off"}
WARM = {"nodes": 200, "edges": 400}
LISTING = "listing "  # how jobs begin that list the pairs of closures
ONE_IN = 100  # edges that an update deletes, and another inserts again


def measure(folder: Path, told: Told, way: str, graph: dict[str, Any], runs: int) -> dict[str, Any]:
    """Return the least seconds of some runs, how many facts there are, and how many stages.

    By closure, some edges are then deleted and inserted again, which must give the facts of before.
    Joins may be too much for the memory there is: then when and how they ended is returned.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    told("starting Spark")
    spark = sessions.session("local[2]", SETTINGS)
    run = _loop if way == LOOP else _engine
    told("a small graph, to warm up")
    run(spark, folder / "warm", way, dag(**WARM, recursion="both"), _quiet)
    made = dag(**graph)
    turns, begun = range(runs), time.perf_counter()
    try:
        found = [run(spark, folder / str(turn), way, made, told) for turn in turns]
    except (EngineError, PySparkException, Py4JError, ConnectionError) as error:
        if way == CLOSURE:
            raise
        return {"ended": time.perf_counter() - begun, "why": str(error).partition("\n")[0]}
    stages = _stages(spark)
    sessions.stop()
    (facts,) = {each.facts for each in found}
    return {
        "seconds": min(each.seconds for each in found),
        "facts": facts,
        "stages": stages,
        "delete": min(each.delete for each in found),
        "insert": min(each.insert for each in found),
    }


class Run(NamedTuple):
    """Seconds of loading and reasoning, how many facts that gave, and the seconds of updates."""

    seconds: float
    facts: int
    delete: float = 0.0
    insert: float = 0.0


def _engine(spark: SparkSession, _: Path, way: str, made: Workload, told: Told) -> Run:
    """Return how the Spark engine fares."""
    given = made.rules, {"edge": made.facts["edge"]}
    told("reason")
    options: dict[str, Any] = {"engine": "spark", "spark": spark, "progress": False}
    with stratalog.materialise(*given, modules=MODULES[way], **options) as kb:
        phases, facts = kb.stats["phases"], int(kb.stats["facts"])
        seconds = float(phases["load"] + phases["reason"])
        if way != CLOSURE:
            return Run(seconds, facts)
        told("update")
        some = {"edge": made.facts["edge"][::ONE_IN]}
        updates = [_seconds(kb, delete=some), _seconds(kb, insert=some)]
        facts = facts if facts == int(kb.stats["facts"]) else -1  # which is told as wrong
        return Run(seconds, facts, *updates)


def _seconds(kb: stratalog.KnowledgeBase, **change: Any) -> float:  # noqa: ANN401  # facts
    begun = time.perf_counter()
    kb.update(**change)
    return time.perf_counter() - begun


def _loop(spark: SparkSession, folder: Path, _: str, made: Workload, told: Told) -> Run:
    """Return how the loop that one writes by hand fares."""
    loop = PySparkLoop(write_input(made, folder), spark)
    told("reason")
    begun = time.perf_counter()
    loop.load()
    loop.reason()
    seconds = time.perf_counter() - begun
    facts = sum(loop.count(predicate) for predicate in loop.predicates())
    spark.catalog.clearCache()
    return Run(seconds, facts)


def _stages(spark: SparkSession) -> int:
    """Return the most stages of a job that listed the pairs of a closure, 0 if there was none."""
    jobs = jobs_with_stages(spark.sparkContext)
    return max((job.stages for job in jobs if job.description.startswith(LISTING)), default=0)


def _quiet(_: str) -> None:
    """Tell nothing."""
