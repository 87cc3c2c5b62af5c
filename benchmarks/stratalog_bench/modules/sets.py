"""The data sets of 000's tables and examples, or what comes nearest to them."""

from __future__ import annotations

from pathlib import Path

from stratalog_bench.maintenance.datasets import BY_NAME as MAINTAINED
from stratalog_bench.maintenance.datasets import DataSet, with_files

DAG_R = DataSet(
    "DAG-R",
    "dag",
    {"nodes": 10_000, "edges": 100_000, "recursion": "both"},
    {"nodes": 400, "edges": 1_600, "recursion": "both"},
)
LUBM_LE = MAINTAINED["LUBM_LE"]
TABLED = (
    DAG_R,
    LUBM_LE,
    *(MAINTAINED[name] for name in ("Claros_LE", "SKOS", "Wikipedia")),
)
QUICK = ("DAG-R", "LUBM_LE", "Wikipedia")  # at small scale: files have but one size
EXAMPLES = (
    DataSet("chain", "chain", {"nodes": 2_000, "recursion": "both"}, {"nodes": 150}),
    DataSet("cycle", "cycle", {"nodes": 1_500}, {"nodes": 80}),
)
CLIQUE = DataSet(
    "clique",
    "cliques",
    {"size": 5_000, "extra": 1},
    {"size": 100, "extra": 1},
)
WITHOUT = tuple(MAINTAINED[name] for name in ("same-generation", "points-to"))
BY_NAME = {each.name: each for each in TABLED}


def tabled_sets(
    names: list[str], scale: str, folder: Path | None
) -> tuple[list[DataSet], list[str]]:
    """Return the data sets asked for, or all of a scale, and the names of those left out."""
    usual = [each.name for each in TABLED if scale == "full" or each.name in QUICK]
    return with_files([BY_NAME[name] for name in dict.fromkeys(names or usual)], folder)
