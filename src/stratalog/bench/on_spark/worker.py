"""Universities on the Spark engine and on the PySpark loop, in one session and in turn.

    python -m stratalog.bench.on_spark.worker FOLDER AMOUNTS

AMOUNTS is a JSON object. Each line on standard output is a JSON object: {"stage": ...}, at last
{"result": ...}.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import stratalog
from stratalog import spark as sessions
from stratalog.bench.inputs import write_input
from stratalog.bench.maintenance.updates import Facts
from stratalog.bench.on_spark.tiny import RULES_OF_TINY, seconds_per_round
from stratalog.bench.systems.base import Told
from stratalog.bench.systems.pyspark_loop import PySparkLoop
from stratalog.generate.universities import lubm

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from stratalog.bench.inputs import Input
    from stratalog.generate.columns import EncodedColumns
    from stratalog.knowledge.base import KnowledgeBase

MEMORY = "4g"
SETTINGS = {"spark.driver.memory": MEMORY, "spark.sql.shuffle.partitions": "4"}
Sums = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured."""

    universities: int
    rules: str
    deleted: int
    runs: int


def measure(folder: Path, amounts: Amounts, told: Told) -> dict[str, Any]:
    """Return all times, and what was wrong, if anything was."""
    told("starting Spark")
    spark = sessions.session("local[2]", SETTINGS)
    told("one university, to warm up")
    warm = Amounts(1, amounts.rules, min(amounts.deleted, 100), 1)
    _Measured(spark, folder / "warm", warm, lambda _: None).measure()
    found = _Measured(spark, folder / "full", amounts, told).measure()
    told("tiny data")
    tiny = seconds_per_round(spark)
    sessions.stop()
    return {
        **found,
        "tiny": tiny.seconds,
        "tiny_rounds": tiny.rounds,
        "tiny_rules": RULES_OF_TINY,
        "memory": MEMORY,
    }


class _Measured:
    """Some universities, on all engines."""

    def __init__(self, spark: SparkSession, folder: Path, amounts: Amounts, told: Told) -> None:
        self._spark, self._amounts, self._told = spark, amounts, told
        told("making facts")
        self._made: EncodedColumns = lubm(universities=amounts.universities)
        self._given: Input = write_input(self._made, folder, amounts.rules or None)
        self._problems: list[str] = []

    def measure(self) -> dict[str, Any]:
        expected = self._materialised("columnar")
        found = {"columnar": _reasoning(expected), "loop": float("inf"), "spark": float("inf")}
        kb: KnowledgeBase | None = None
        for turn in range(self._amounts.runs):
            if kb is not None:
                kb.close()
            self._told(f"the PySpark loop, run {turn + 1}")
            found["loop"] = min(found["loop"], self._loop(expected))
            self._told(f"the Spark engine, run {turn + 1}")
            kb = self._materialised("spark")
            found["spark"] = min(found["spark"], _reasoning(kb))
        assert kb is not None  # noqa: S101  # there is at least one run
        told = {"universities": self._amounts.universities, "deleted": self._amounts.deleted}
        told |= {key: kb.stats[key] for key in ("explicit", "facts", "rounds")}
        self._compare(_sums(kb), _sums(expected), "materialised")
        updates = self._updates(kb, expected)
        kb.close()
        return {**found, **told, **updates, "problems": self._problems}

    def _materialised(self, engine: str) -> KnowledgeBase:
        session = {"spark": self._spark} if engine == "spark" else {}
        tables = self._made.tables()
        rules = self._given.rules
        return stratalog.materialise(rules, tables, engine=engine, progress=False, **session)

    def _loop(self, expected: KnowledgeBase) -> float:
        """Return the seconds of the loop, and note where its facts differ."""
        loop = PySparkLoop(self._given, self._spark)
        begun = time.perf_counter()
        loop.load()
        loop.reason()
        seconds = time.perf_counter() - begun
        for predicate in sorted(loop.predicates()):
            rows, right = loop.count(predicate), expected._host.size(predicate)  # noqa: SLF001
            if rows != right:
                self._problems.append(
                    f"{predicate.name}: {rows:,} facts by the loop, not {right:,}"
                )
        self._spark.catalog.clearCache()
        return seconds

    def _updates(self, kb: KnowledgeBase, expected: KnowledgeBase) -> dict[str, float]:
        """Delete facts, insert them again, and delete others: the first time pays for more."""
        facts = Facts(self._made)
        seconds: dict[str, list[float]] = {"delete": [], "insert": []}
        for turn in range(self._amounts.runs + 1):
            self._told(f"updates, turn {turn + 1}")
            tables = facts.tables(facts.sample(self._amounts.deleted, turn))
            for kind, taken in seconds.items():
                begun = time.perf_counter()
                _update(kb, kind, tables)
                taken.append(time.perf_counter() - begun)
                _update(expected, kind, tables)
                self._compare(_sums(kb), _sums(expected), kind)
        first, *others = seconds["delete"]
        return {"first_update": first, "update": min(others), "insert": min(seconds["insert"])}

    def _compare(self, found: Sums, expected: Sums, when: str) -> None:
        for name in sorted({*found, *expected}):
            if found.get(name) != expected.get(name):
                told = f"{found.get(name)} on Spark, not {expected.get(name)}"
                self._problems.append(f"{when}: {name} has {told}")


def _update(kb: KnowledgeBase, kind: str, tables: dict[str, pa.Table]) -> None:
    if kind == "delete":
        kb.update(delete=tables)
    else:
        kb.update(insert=tables)


def _reasoning(kb: KnowledgeBase) -> float:
    """Return the seconds of loading and reasoning."""
    phases = kb.stats["phases"]
    return float(phases["load"] + phases["reason"])


def _sums(kb: KnowledgeBase) -> Sums:
    """Return facts and the sums of labels and both counts, for each predicate with facts."""
    host = kb._host  # noqa: SLF001  # no method of users tells counts
    found = {}
    for predicate in host.predicates():
        _, labels, counts = host.stored(predicate)
        if labels.size:
            sums = (int(np.sum(each, dtype=np.int64)) for each in (labels & 1, *counts))
            found[f"{predicate.name}/{predicate.arity}"] = (int(labels.size), *sums)
    return found


def main(folder: str, amounts: str) -> None:
    """Measure, and tell how it went."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer

    def tell(**message: Any) -> None:  # noqa: ANN401  # what JSON can hold
        os.write(answers, json.dumps(message).encode() + b"\n")

    tell(stage="starting")
    found = measure(Path(folder), Amounts(**json.loads(amounts)), lambda stage: tell(stage=stage))
    tell(result=found)


if __name__ == "__main__":
    main(*sys.argv[1:])
