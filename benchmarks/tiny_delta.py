"""Microseconds per rule application when the delta is tiny: what one small update pays per rule.

    python benchmarks/tiny_delta.py [--rules 24] [--json FILE]

`rules` rules `h_i(x, z) :- r(x, y), s_i(y, z)` are applied to deltas of r of 1 to 1,000 facts in
one `apply`. CPU time, the minimum of 200 runs.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.facts.labels import I
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.program import plan_program
from stratalog.reason.seminaive import materialise

SIZES = (1, 10, 100, 1000)
RUNS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, default=24)
    parser.add_argument("--json")
    options = parser.parse_args()
    engine, rules = prepared(options.rules)
    result = {size: micros_per_rule(engine, rules, size) for size in SIZES}
    print(f"{'delta':>8}{'us per rule':>14}")
    for size, micros in result.items():
        print(f"{size:>8,}{micros:>14.1f}")
    if options.json:
        Path(options.json).write_text(json.dumps({"rules": options.rules, "microseconds": result}))


def prepared(rules: int):
    """An engine with a materialised program of `rules` joins over random relations."""
    text = " ".join(f"h{i}(?x, ?z) :- r(?x, ?y), s{i}(?y, ?z) ." for i in range(rules))
    plan = plan_program(parse_program(text))
    engine = ColumnarEngine(Dictionary())
    random = np.random.default_rng(1)
    for predicate in [Predicate("r", 2), *(Predicate(f"s{i}", 2) for i in range(rules))]:
        size = 20_000 if predicate.name == "r" else 2_000
        columns = random.integers(0, 2000, (2, size)).astype(np.uint32)
        engine.load(predicate, list(columns), size)
    materialise(engine, plan.strata)
    return engine, plan.rules


def micros_per_rule(engine: ColumnarEngine, rules, size: int) -> float:
    relation = engine.relation(Predicate("r", 2))
    delta = ColumnarBatch({relation.number: np.arange(size, dtype=np.uint32)})
    times = []
    for _ in range(RUNS):
        begun = time.process_time()
        engine.apply(rules, I, I, delta)
        times.append(time.process_time() - begun)
    return round(min(times) / len(rules) * 1e6, 2)


if __name__ == "__main__":
    main()
