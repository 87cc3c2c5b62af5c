"""What is measured: cases by name, and the files they begin with.

Facts are generated once, by the newer code; both trees read the same files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from . import skewed

SEED = 7
MANY = 1_000  # facts of a large update
SINGLE = 20  # updates of one fact
SINGLE_ON_SPARK = 3
COUNTED_BY: dict[str, Sequence[str]] = {
    "update": ("dred-c", "bf-c"),
    "store": ("dred-c",),
    "spark": (),  # counted while it is measured: that slows Spark by nothing
}
SPARK_RUNS = 2
OFF = {"modules": "off"}
LEVELS = """
reach(?x) :- edge(0, ?x) .
reach(?y) :- reach(?x), edge(?x, ?y), NOT closed(?y) .
closed(?x) :- edge(?x, ?y), edge(?x, ?z), FILTER(?y + 1 = ?z) .
missed(?x) :- edge(?x, ?y), NOT reach(?x) .
leaf(?y) :- edge(?x, ?y), NOT edge(?y, ?z) .
"""
GROUPS = """
degree(?x, ?n) :- AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
last(?x, ?m) :- AGGREGATE(edge(?x, ?y) ON ?x BIND MAX(?y) AS ?m) .
total(?n, ?s) :- AGGREGATE(degree(?x, ?n), last(?x, ?m) ON ?n BIND SUM(?m) AS ?s) .
hub(?x) :- degree(?x, ?n), FILTER(?n > 12) .
"""
MODULES = """
part(?x, ?z) :- part(?x, ?y), part(?y, ?z) .
part(?x, ?y) :- edge(?x, ?y) .
part(?x, ?y) :- made(?x, ?z), edge(?z, ?y) .
made(?x, ?y) :- part(?x, ?y), FILTER(?x + 400 < ?y) .
"""


@dataclass(frozen=True)
class Case:
    """Facts of a generator, its rules or others, and what is done with them.

    `task` is a function of `tasks.py`. A case that is `only_by_name` takes minutes, or is no
    measurement of time. One on Spark has at most so many `runs`.
    """

    task: str
    generator: str = ""
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    rules: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    only_by_name: bool = False
    runs: int | None = None

    @property
    def counted_by(self) -> Sequence[str]:
        """How it is counted: by which algorithms of maintenance, where `auto` would choose one."""
        return COUNTED_BY.get(self.task, ("counts",))


def _workload(generator: str, **parameters: int | str) -> Case:
    return Case("materialise", generator, parameters)


def _updates(
    generator: str,
    rules: str | None = None,
    options: Mapping[str, Any] | None = None,
    **parameters: int | str,
) -> Case:
    return Case("update", generator, parameters, rules, options or {})


def _spark(generator: str, rules: str | None = None, **parameters: int | str) -> Case:
    options = {"engine": "spark", "master": "local[2]", "maintenance": "dred-c"}
    return Case("spark", generator, parameters, rules, options, only_by_name=True, runs=SPARK_RUNS)


CASES: dict[str, Case] = {
    "dag": _workload("dag", nodes=10_000, edges=100_000, recursion="left"),
    "dag-right": _workload("dag", nodes=10_000, edges=100_000, recursion="right"),
    "dag-joins": Case("materialise", "dag", {"nodes": 3_000, "edges": 20_000}, options=OFF),
    "chain": Case("materialise", "chain", {"nodes": 800}, options=OFF),
    "cycle": Case("materialise", "cycle", {"nodes": 300}, options=OFF),
    "modules": Case("materialise", "dag", {"nodes": 500, "edges": 2_500}, MODULES),
    "modules-off": Case("materialise", "dag", {"nodes": 500, "edges": 2_500}, MODULES, OFF),
    "closures": _workload("cliques", cliques=800, size=100),
    "same-generation": _workload("same_generation", nodes=4_000, layers=8),
    "collaborators": _workload("collaborators", people=500, partners=100),
    "triangles": _workload("triangles", nodes=5_000, edges=100_000),
    "lubm": _workload("lubm", universities=1),
    "points-to": _workload("points_to", modules=8),
    "pathways": _workload("pathways", molecules=2_000, reactions=4_000, cells=20),
    "path-lengths": _workload("path_lengths", nodes=20_000, edges=200_000),
    "expressions": _workload("expressions", expressions=60, sets=60),
    "skewed": Case("materialise", "skewed", {"rows": 1_200_000, "hubs": 64}),
    "shuffled": Case("materialise", "skewed", {"rows": 1_200_000, "hubs": 0}),
    "update-dag": _updates("dag", nodes=3_000, edges=15_000),
    "update-dag-joins": _updates("dag", None, OFF, nodes=600, edges=2_500),
    "update-closures": _updates("cliques", cliques=200, size=50),
    "update-same-generation": _updates("same_generation", nodes=2_000, layers=8),
    "update-lubm": _updates("lubm", universities=1),
    "update-points-to": _updates("points_to", modules=5),
    "update-negation": _updates("dag", LEVELS, nodes=3_000, edges=15_000),
    "update-aggregates": _updates("dag", GROUPS, nodes=3_000, edges=15_000),
    "update-modules": _updates("dag", MODULES, nodes=500, edges=2_500),
    "update-modules-off": _updates("dag", MODULES, OFF, nodes=300, edges=1_500),
    "store-dag": Case("store", "dag", {"nodes": 1_000, "edges": 4_000}),
    "store-lubm": Case("store", "lubm", {"universities": 1}),
    "start": Case("start"),
    "cold": Case("start", only_by_name=True),
    "walk": Case("walk", only_by_name=True),
    "spark-closure": _spark("dag", nodes=2_000, edges=8_000),
    "spark-modules": _spark("dag", MODULES, nodes=300, edges=1_000),
    "spark-lubm": _spark("lubm", universities=1),
}


def prepare(name: str, folder: Path) -> Path:
    """Write what a case begins with into a folder of its own, and return that."""
    case, target = CASES[name], folder / name
    target.mkdir()
    tables: dict[str, pa.Table] = {}
    rules = case.rules
    if case.generator:
        made = _generator(case.generator)(**case.parameters)
        tables = made.tables()
        rules = made.rules if rules is None else rules
    chosen = _chosen({predicate: table.num_rows for predicate, table in tables.items()})
    described = {"task": case.task, "rules": rules or "", "options": dict(case.options)}
    relations = []
    for number, (predicate, table) in enumerate(tables.items()):
        pq.write_table(table, target / f"{number}.parquet")
        np.save(target / f"{number}.npy", chosen[predicate])
        relations.append(predicate)
    single = SINGLE_ON_SPARK if case.task == "spark" else SINGLE
    text = json.dumps({**described, "relations": relations, "single": single, "many": MANY})
    (target / "case.json").write_text(text)
    return target


def _generator(name: str) -> Callable[..., Any]:
    import stratalog_bench.generate

    return skewed.skewed if name == "skewed" else getattr(stratalog_bench.generate, name)


def _chosen(sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Return random rows of each relation, in random order: those that updates delete.

    The first `SINGLE` and the `MANY` after them, of all relations together; row r of the k-th
    chosen fact is at place k of its relation's array, -1 elsewhere.
    """
    total = sum(sizes.values())
    numbers = np.random.default_rng(SEED).permutation(total)[: SINGLE + MANY]
    found, first = {}, 0
    for predicate, size in sizes.items():
        inside = (numbers >= first) & (numbers < first + size)
        found[predicate] = np.where(inside, numbers - first, -1)
        first += size
    return found
