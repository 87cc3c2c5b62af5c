"""Data sets made by programs, seeded: the workloads of benchmarks.

from stratalog_bench import generate

workload = generate.dag(nodes=1_000, edges=5_000, seed=1)
kb = stratalog.materialise(workload.rules, workload.facts)

universities = generate.lubm(universities=2)
kb = stratalog.materialise(universities.rules, universities.tables())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stratalog_bench.generate.columns import EncodedColumns
    from stratalog_bench.generate.cyclic_rules import collaborators, expressions
    from stratalog_bench.generate.families import same_generation
    from stratalog_bench.generate.files import write, write_lubm
    from stratalog_bench.generate.graphs import chain, cliques, cycle, dag, triangles
    from stratalog_bench.generate.lengths import path_lengths
    from stratalog_bench.generate.pointers import points_to
    from stratalog_bench.generate.reactions import pathways
    from stratalog_bench.generate.universities import lubm, lubm_blocks
    from stratalog_bench.generate.workload import Workload

__all__ = [
    "EncodedColumns",
    "Workload",
    "chain",
    "cliques",
    "collaborators",
    "cycle",
    "dag",
    "expressions",
    "lubm",
    "lubm_blocks",
    "path_lengths",
    "pathways",
    "points_to",
    "same_generation",
    "triangles",
    "write",
    "write_lubm",
]

_MODULES = {
    "columns": ("EncodedColumns",),
    "cyclic_rules": ("collaborators", "expressions"),
    "families": ("same_generation",),
    "graphs": ("chain", "cliques", "cycle", "dag", "triangles"),
    "lengths": ("path_lengths",),
    "reactions": ("pathways",),
    "pointers": ("points_to",),
    "universities": ("lubm", "lubm_blocks"),
    "workload": ("Workload",),
    "files": ("write", "write_lubm"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import on first use: the command line lists generators without NumPy."""
    if name not in _WHERE:
        raise AttributeError(f"module 'stratalog_bench.generate' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"stratalog_bench.generate.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
