"""Microseconds per rule application when the delta is tiny: what one small update pays per rule.

24 rules `h(x, z) :- r(x, y), s(y, z)` are applied to deltas of r of 1 to 1,000 facts in one
`apply`. CPU time, the minimum of 200 runs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.facts.labels import I
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.program import plan_program
from stratalog.plan.rules import PlannedRule
from stratalog_bench.reports import Figures
from stratalog_bench.systems.own import make_engine, run

SIZES = (1, 10, 100, 1000)
RULES = 24
RUNS = {"full": 200, "small": 20}
R = Predicate("r", 2)


def measure(scale: str) -> Figures:
    """Return the microseconds for each size of delta."""
    engine, rules = prepared()
    rows = [[size, micros_per_rule(engine, rules, size, RUNS[scale])] for size in SIZES]
    return {"columns": ["new facts", "us per rule"], "rows": rows, "notes": []}


def prepared() -> tuple[ColumnarEngine, Sequence[PlannedRule]]:
    """Return an engine with a materialised program of joins over random relations."""
    text = " ".join(f"h{i}(?x, ?z) :- r(?x, ?y), s{i}(?y, ?z) ." for i in range(RULES))
    plan = plan_program(parse_program(text))
    engine = make_engine(Dictionary())
    random = np.random.default_rng(1)
    for predicate in [R, *(Predicate(f"s{i}", 2) for i in range(RULES))]:
        size = 20_000 if predicate == R else 2_000
        columns = random.integers(0, 2000, (2, size)).astype(np.uint32)
        engine.load(predicate, list(columns), size)
    run(engine, plan.strata)
    return engine, plan.rules


def micros_per_rule(
    engine: ColumnarEngine, rules: Sequence[PlannedRule], size: int, runs: int
) -> float:
    """Return the CPU time of one rule in an application of all of them."""
    relation = engine.relation(R)
    delta = ColumnarBatch({relation.number: np.arange(size, dtype=np.uint32)})
    times = []
    for _ in range(runs):
        begun = time.process_time()
        engine.apply(rules, I, I, delta)
        times.append(time.process_time() - begun)
    return round(min(times) / len(rules) * 1e6, 2)
