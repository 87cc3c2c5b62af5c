"""The benchmarks by name: what the command line lists without NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

STRATALOG = "stratalog"
OPERATIONS = (STRATALOG, "duckdb", "polars", "polars-memory")
REASONERS = (STRATALOG, "duckdb", "duckdb-recursion", "polars", "nemo", "clingo")
ALL_SYSTEMS = (*REASONERS, "polars-memory")

Parameters = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A workload of `stratalog_bench.generate` with its parameters at both scales.

    `task` is what a worker does with it: "materialise" the rules, "insert" the facts without
    duplicates, "join" and count derivations, materialise several sizes ("growth"), or with more
    "threads", compare algorithms of "maintenance", time whole "updates", compare rule "modules",
    time what is "on-spark", or the name of a module of `stratalog_bench.reports`, about Stratalog
    alone.
    """

    name: str
    summary: str
    generator: str = ""
    full: Parameters = field(default_factory=dict)
    small: Parameters = field(default_factory=dict)
    systems: tuple[str, ...] = REASONERS
    task: str = "materialise"
    only_by_name: bool = False

    def parameters(self, scale: str) -> dict[str, int | str]:
        """Return the generator's parameters at "full" or "small" scale."""
        return dict(self.full if scale == "full" else self.small)


BENCHMARKS = (
    Benchmark(
        "dag",
        "Reachability in a random graph without cycles, left-linear.",
        "dag",
        {"nodes": 10_000, "edges": 100_000, "recursion": "left"},
        {"nodes": 400, "edges": 1_600, "recursion": "left"},
    ),
    Benchmark(
        "dag-right",
        "The same, right-linear.",
        "dag",
        {"nodes": 10_000, "edges": 100_000, "recursion": "right"},
        {"nodes": 400, "edges": 1_600, "recursion": "right"},
    ),
    Benchmark(
        "chain",
        "All parts of a path, by the nonlinear rule.",
        "chain",
        {"nodes": 2_000, "recursion": "both"},
        {"nodes": 120, "recursion": "both"},
    ),
    Benchmark(
        "cycle",
        "A cycle whose paths are symmetric and transitive.",
        "cycle",
        {"nodes": 1_500},
        {"nodes": 60},
    ),
    Benchmark(
        "same-generation",
        "Who is of the same generation, in twelve layers.",
        "same_generation",
        {"nodes": 15_000, "layers": 12, "parents": 2},
        {"nodes": 600, "layers": 6, "parents": 2},
    ),
    Benchmark(
        "collaborators",
        "A cyclic rule that joins of two atoms try in vain.",
        "collaborators",
        {"people": 500, "partners": 100},
        {"people": 40, "partners": 10},
    ),
    Benchmark(
        "triangles",
        "Directed triangles in a skewed graph.",
        "triangles",
        {"nodes": 20_000, "edges": 1_000_000, "skew": 3},
        {"nodes": 1_000, "edges": 5_000, "skew": 3},
    ),
    Benchmark(
        "lubm",
        "Universities, with the generator's rules or those of --rules.",
        "lubm",
        {"universities": 50},
        {"universities": 1},
    ),
    Benchmark(
        "points-to",
        "Andersen's points-to analysis.",
        "points_to",
        {"modules": 140},
        {"modules": 1, "variables": 60, "addresses": 40, "assigns": 100},
    ),
    Benchmark(
        "pathways",
        "Reactions whose facts support each other in cycles.",
        "pathways",
        {"molecules": 5_000, "reactions": 10_000, "cells": 20, "given": 10},
        {"molecules": 200, "reactions": 400, "cells": 5, "given": 10},
    ),
    Benchmark(
        "path-lengths",
        "Lengths of paths from one node, added up by a built-in.",
        "path_lengths",
        {"nodes": 100_000, "edges": 1_000_000, "longest": 1},
        {"nodes": 500, "edges": 2_000, "longest": 1},
    ),
    Benchmark(
        "expressions",
        "Expression trees, evaluated by rules of nine atoms and a built-in.",
        "expressions",
        {"expressions": 300, "sets": 300, "depth": 5},
        {"expressions": 10, "sets": 10, "depth": 4},
    ),
    Benchmark(
        "insert",
        "Rows stored once each: 25 million, of which 20 million differ.",
        "insert",
        {"rows": 25_000_000, "distinct": 20_000_000},
        {"rows": 25_000, "distinct": 20_000},
        OPERATIONS,
        "insert",
    ),
    Benchmark(
        "join",
        "Two million rows joined with two million; 20 million derivations are counted.",
        "join",
        {"rows": 2_000_000, "keys": 200_000},
        {"rows": 20_000, "keys": 2_000},
        OPERATIONS,
        "join",
    ),
    Benchmark(
        "lubm-large", "Stratalog's time and memory at 10, 50, 200 universities.", task="growth"
    ),
    Benchmark("counts", "What Stratalog's derivation counts cost.", task="counts"),
    Benchmark("threads", "What a second thread brings Stratalog.", task="threads"),
    Benchmark(
        "maintenance",
        "Deleting facts, by each algorithm and from scratch; run by name only.",
        task="maintenance",
        only_by_name=True,
    ),
    Benchmark(
        "updates",
        "Updates of a million and ten million facts; run by name only.",
        task="updates",
        only_by_name=True,
    ),
    Benchmark(
        "modules",
        "Transitive relations, by rule modules and without; run by name only.",
        task="modules",
        only_by_name=True,
    ),
    Benchmark("tiny-delta", "What a rule costs when few facts are new.", task="tiny_delta"),
    Benchmark(
        "start",
        "What comes first, with kernels compiled and without; run by name only.",
        task="start",
        only_by_name=True,
    ),
    Benchmark(
        "handover",
        "Tables to Spark and back; needs Spark, run by name only.",
        task="handover",
        only_by_name=True,
    ),
    Benchmark(
        "ingest",
        "N-Triples to numbers, by Spark and without; run by name only.",
        task="ingest",
        only_by_name=True,
    ),
    Benchmark(
        "spark",
        "Universities on Spark, by Stratalog and by a loop of joins; run by name only.",
        task="on-spark",
        only_by_name=True,
    ),
)
COMPARED = ("materialise", "insert", "join")
"""The tasks whose results are a row per system."""

BY_NAME = {each.name: each for each in BENCHMARKS}
