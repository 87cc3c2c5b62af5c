"""What rules with many atoms take: materialising, and updates of one fact.

    python benchmarks/long_rules.py [--atoms 20 40 80 160] [--maintenance auto counting]

The first update of a fact plans the versions that its predicate begins; `delete` and `insert` are
the median of those after it, `most` is the longest of these. All figures are milliseconds of CPU
time.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import stratalog as sl

TURNS = 5
Workload = tuple[str, dict[str, list[tuple[int, ...]]], str]
"""A program, its facts, and the predicate whose first fact goes and comes."""


def chain(atoms: int) -> Workload:
    """Return a path of so many relations."""
    body = ", ".join(f"e{i}(?x{i}, ?x{i + 1})" for i in range(atoms))
    facts = {f"e{i}": [(k, k) for k in range(20)] for i in range(atoms)}
    return f"p(?x0, ?x{atoms}) :- {body} .", facts, f"e{atoms // 2}"


def star(atoms: int) -> Workload:
    """Return so many relations that share one variable."""
    body = ", ".join(f"e{i}(?x, ?y{i})" for i in range(atoms))
    facts = {f"e{i}": [(k, k) for k in range(20)] for i in range(atoms)}
    return f"p(?x) :- {body} .", facts, f"e{atoms // 2}"


def parts(atoms: int) -> Workload:
    """Return atoms that share no variable, each with one fact."""
    body = ", ".join(f"e{i}(?x{i}, ?y{i})" for i in range(atoms))
    return f"p(?x0) :- {body} .", {f"e{i}": [(i, i)] for i in range(atoms)}, f"e{atoms // 2}"


def ground(atoms: int) -> Workload:
    """Return atoms of one relation that have no variable."""
    body = ", ".join(f"e({i}, {i + 1})" for i in range(atoms))
    return f"p() :- {body} .", {"e": [(i, i + 1) for i in range(atoms)]}, "e"


def path(atoms: int) -> Workload:
    """Return a path of one relation: every version begins with the fact that comes."""
    body = ", ".join(f"e(?x{i}, ?x{i + 1})" for i in range(atoms))
    return f"p(?x0, ?x{atoms}) :- {body} .", {"e": [(i, i + 1) for i in range(atoms + 20)]}, "e"


WORKLOADS = (chain, star, parts, ground, path)
COLUMNS = ("materialise", "first delete", "first insert", "delete", "insert", "most")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what some work gives, and the milliseconds of CPU time that it takes."""
    gc.collect()
    begun = time.process_time()
    result = work()
    return result, 1000 * (time.process_time() - begun)


def measure(workload: Workload, maintenance: str) -> list[float]:
    """Return the figures of one row."""
    text, facts, name = workload
    fact = {name: facts[name][:1]}
    kb, made = timed(lambda: sl.materialise(text, facts, progress=False, maintenance=maintenance))
    before = len(kb["p"])
    deleted, inserted = [], []
    for _ in range(TURNS):
        deleted.append(timed(lambda: kb.update(delete=fact))[1])
        inserted.append(timed(lambda: kb.update(insert=fact))[1])
    if len(kb["p"]) != before:
        raise AssertionError("facts differ")
    later = deleted[1:], inserted[1:]
    return [made, deleted[0], inserted[0], *map(median, later), max(map(max, later))]


def main() -> None:
    """Print a table of all workloads."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--atoms", type=int, nargs="+", default=[20, 40, 80, 160])
    parser.add_argument("--maintenance", nargs="+", default=["auto"])
    options = parser.parse_args()
    for maintenance in options.maintenance:
        measure(chain(2), maintenance)  # loads kernels
    print(f"{'body':8}{'atoms':>6}{'by':>15}", *(f"{name:>13}" for name in COLUMNS))
    for make in WORKLOADS:
        for atoms in options.atoms:
            for maintenance in options.maintenance:
                row = measure(make(atoms), maintenance)
                figures = (f"{figure:13.1f}" for figure in row)
                print(f"{make.__name__:8}{atoms:6}{maintenance:>15}", *figures, flush=True)


if __name__ == "__main__":
    main()
