"""The systems by name: whether they are installed, which version, and how they are run."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from stratalog_bench.systems.base import System

INSTALL = 'pip install "stratalog[bench]"'

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)
"""The environment of a worker: each library has a variable of its own."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A system: the package that it needs, and the class that runs it."""

    name: str
    summary: str
    package: str  # on PyPI
    module: str  # that the package installs
    place: str  # module:class, below stratalog_bench.systems
    reads_files: bool = False  # of its own, which are written before the first run

    @property
    def is_installed(self) -> bool:
        """Whether the package can be imported."""
        return find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """The version of the package."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "unknown"


SYSTEMS = (
    Entry("stratalog", "both derivation counts", "stratalog", "stratalog", "own:Stratalog"),
    Entry("duckdb", "a seminaïve loop of SQL", "duckdb", "duckdb", "duckdb_loop:DuckDBLoop"),
    Entry(
        "duckdb-recursion",
        "one WITH RECURSIVE statement",
        "duckdb",
        "duckdb",
        "duckdb_recursion:DuckDBRecursion",
    ),
    Entry("polars", "a seminaïve loop of joins", "polars", "polars", "polars_loop:PolarsLoop"),
    Entry(
        "polars-memory",
        "the same by its other engine",
        "polars",
        "polars",
        "polars_loop:PolarsMemoryLoop",
    ),
    Entry("nemo", "its own reasoning", "nemo-python", "nmo_python", "nemo:Nemo", reads_files=True),
    Entry(
        "clingo", "grounding alone", "clingo", "clingo", "clingo_ground:Clingo", reads_files=True
    ),
)
BY_NAME = {each.name: each for each in SYSTEMS}


TASKS = {
    "insert": {
        "stratalog": "own_tasks:StratalogInsert",
        "duckdb": "duckdb_tasks:DuckDBInsert",
        "polars": "polars_tasks:PolarsInsert",
        "polars-memory": "polars_tasks:PolarsMemoryInsert",
    },
    "join": {
        "stratalog": "own_tasks:StratalogJoin",
        "duckdb": "duckdb_tasks:DuckDBJoin",
        "polars": "polars_tasks:PolarsJoin",
        "polars-memory": "polars_tasks:PolarsMemoryJoin",
    },
    "two-threads": {"stratalog": "own_tasks:StratalogTwoThreads"},
    "growth": {"stratalog": "own_tasks:StratalogGrowth"},
}
"""The classes for tasks other than materialising."""


def system_class(name: str, task: str = "materialise") -> type[System]:
    """Return the class of a system for a task, imported now."""
    place = TASKS[task][name] if task in TASKS else BY_NAME[name].place
    module, _, kind = place.partition(":")
    found = getattr(import_module(f"stratalog_bench.systems.{module}"), kind)
    return cast("type[System]", found)
