"""Universities on the Spark engine and on the PySpark loop, in one session and in turn."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import stratalog
from stratalog import spark as sessions
from stratalog_bench.generate.universities import lubm
from stratalog_bench.maintenance.datasets import chosen_sets
from stratalog_bench.maintenance.updates import Facts
from stratalog_bench.spark.tiny import RULES_OF_TINY, rounds_of_a_chain, seconds_per_round
from stratalog_bench.systems.base import Told
from stratalog_bench.systems.pyspark_loop import PySparkLoop
from stratalog_bench.workloads.inputs import write_input

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from stratalog.knowledge.base import KnowledgeBase
    from stratalog_bench.generate.columns import EncodedColumns
    from stratalog_bench.workloads.inputs import Input

MEMORY = "4g"
PARTITIONS = "spark.sql.shuffle.partitions"
SETTINGS = {"spark.driver.memory": MEMORY, PARTITIONS: "4"}  # far better for the loop than 200
SPARKS_OWN = "200"  # what PARTITIONS is if nobody sets it
MANY_RULES = "Claros_LE"
Sums = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured."""

    universities: int
    rules: str
    deleted: int
    runs: int
    data: str = ""  # a folder with the rules and facts of Claros_LE
    untuned: bool = False  # whether the loop runs with Spark's own settings too: minutes


def measure(folder: Path, told: Told, **given: Any) -> dict[str, Any]:  # noqa: ANN401  # Amounts
    """Return all times, and what was wrong, if anything was."""

    def rest(stage: str) -> None:
        """Tell what comes next; what is no longer used leaves the JVM when Python lets it go."""
        gc.collect()
        told(stage)

    amounts = Amounts(**given)
    told("starting Spark")
    spark = sessions.session("local[2]", SETTINGS)
    rest("one university, to warm up")
    warm = _Universities(spark, folder / "warm", 1, amounts.rules)
    warm.compare(1, _quiet)
    warm.update(min(amounts.deleted, 100), 1, _quiet)
    problems = list(warm.problems)
    number = amounts.universities
    compared = _Universities(spark, folder / "compared", number, amounts.rules)
    found = compared.compare(amounts.runs, rest)
    if amounts.untuned:
        rest("the PySpark loop as Spark comes")
        found["untuned"] = compared.untuned()
    few, many = max(1, number // 2), 5 * number
    found["few"], found["many"] = few, many
    grown = [_Universities(spark, folder / str(n), n, amounts.rules) for n in (few, many)]
    for name, each, runs in zip(("small", "large"), grown, (amounts.runs, 1), strict=True):
        rest(f"{each.number} universities")
        found[name] = min(each.seconds() for _ in range(runs))
    updated = _Universities(spark, folder / "updated", many // 2, amounts.rules)
    found |= updated.update(amounts.deleted, amounts.runs, rest)
    for each in (compared, updated):
        problems += each.problems
    rest("tiny data")
    tiny = seconds_per_round(spark)
    rest("a hundred rounds")
    found |= rounds_of_a_chain(spark)
    if amounts.data:
        rest(f"{MANY_RULES} rules")
        found["many_rules"] = _claros(spark, Path(amounts.data), problems)
    sessions.stop()
    return {
        **found,
        "deleted": amounts.deleted,
        "tiny": tiny.seconds,
        "tiny_rounds": tiny.rounds,
        "tiny_rules": RULES_OF_TINY,
        "memory": MEMORY,
        "problems": problems,
    }


class _Universities:
    """Some universities, on all engines."""

    def __init__(self, spark: SparkSession, folder: Path, number: int, rules: str) -> None:
        self.number = number
        self.problems: list[str] = []
        self._spark = spark
        self._made: EncodedColumns = lubm(universities=number)
        self._given: Input = write_input(self._made, folder, rules or None)

    def compare(self, runs: int, told: Told) -> dict[str, Any]:
        """Return the least seconds of the loop and of the engine, in turn."""
        expected = self._materialised("columnar")
        found = {"columnar": _reasoning(expected), "loop": float("inf"), "spark": float("inf")}
        for turn in range(runs):
            told(f"the PySpark loop, run {turn + 1}")
            found["loop"] = min(found["loop"], self._loop(expected))
            told(f"the Spark engine, run {turn + 1}")
            with self._materialised("spark") as kb:
                found["spark"] = min(found["spark"], _reasoning(kb))
                sums, stats = _sums(kb), kb.stats
        self._compare(sums, _sums(expected), "materialised")
        named = {key: stats[key] for key in ("explicit", "facts", "rounds")}
        return {**found, **named, "universities": self.number}

    def untuned(self) -> float:
        """Return the seconds of the loop in a session whose partitions nobody has chosen."""
        self._spark.conf.set(PARTITIONS, SPARKS_OWN)
        try:
            return self._loop(self._materialised("columnar"))
        finally:
            self._spark.conf.set(PARTITIONS, SETTINGS[PARTITIONS])

    def seconds(self) -> float:
        """Return the seconds of loading and reasoning on Spark."""
        with self._materialised("spark") as kb:
            return _reasoning(kb)

    def update(self, size: int, runs: int, told: Told) -> dict[str, Any]:
        """Delete facts, insert them again, and delete others.

        The first deletion adds up derivations; in the second, `auto` tries another algorithm.
        """
        told(f"{self.number} universities, to be updated")
        expected = self._materialised("columnar")
        facts = Facts(self._made)
        seconds: dict[str, list[float]] = {"delete": [], "insert": []}
        with self._materialised("spark") as kb:
            scratch = _reasoning(kb)
            for turn in range(runs + 2):
                told(f"updates, turn {turn + 1}")
                tables = facts.tables(facts.sample(size, turn))
                for kind, taken in seconds.items():
                    begun = time.perf_counter()
                    _update(kb, kind, tables)
                    taken.append(time.perf_counter() - begun)
                    _update(expected, kind, tables)
                self._compare(_sums(kb), _sums(expected), f"updated {turn + 1} times")
        first, second, *others = seconds["delete"]
        return {
            "updated": self.number,
            "scratch": scratch,
            "first_update": first,
            "second_update": second,
            "update": float(np.median(others)),
            "insert": float(np.median(seconds["insert"])),
        }

    def _materialised(self, engine: str) -> KnowledgeBase:
        session = {"spark": self._spark} if engine == "spark" else {}
        tables = self._made.tables()
        rules = self._given.rules
        return stratalog.materialise(
            rules, tables, engine=engine, modules="off", progress=False, **session
        )

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
                self.problems.append(f"{predicate.name}: {rows:,} facts by the loop, not {right:,}")
        self._spark.catalog.clearCache()
        return seconds

    def _compare(self, found: Sums, expected: Sums, when: str) -> None:
        self.problems += _differences(found, expected, when)


def _claros(spark: SparkSession, folder: Path, problems: list[str]) -> dict[str, Any]:
    """Return what the rules of a published ontology take on the facts of museums."""
    chosen, _ = chosen_sets([MANY_RULES], folder)
    given = chosen[0].rules_in(folder), chosen[0].files_in(folder)
    expected = stratalog.materialise(*given, engine="columnar", modules="off", progress=False)
    options: dict[str, Any] = {"engine": "spark", "spark": spark, "modules": "off"}
    with stratalog.materialise(*given, progress=False, **options) as kb:
        problems += _differences(_sums(kb), _sums(expected), MANY_RULES)
        told = {key: kb.stats[key] for key in ("facts", "rounds")}
        return {"name": MANY_RULES, "seconds": _reasoning(kb), **told}


def _quiet(_: str) -> None:
    """Tell nothing."""


def _differences(found: Sums, expected: Sums, when: str) -> list[str]:
    return [
        f"{when}: {name} has {found.get(name)} on Spark, not {expected.get(name)}"
        for name in sorted({*found, *expected})
        if found.get(name) != expected.get(name)
    ]


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
