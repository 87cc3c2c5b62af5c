"""The generators by name, with their parameters: what the command line knows without NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from stratalog_bench.generate.columns import EncodedColumns
    from stratalog_bench.generate.workload import Workload


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number or word that a generator takes."""

    name: str
    default: int | str
    meaning: str


@dataclass(frozen=True, slots=True)
class Generator:
    """A function of `stratalog_bench.generate`, which also takes a seed."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]

    def function(self) -> Callable[..., Workload | EncodedColumns]:
        """Return the function, imported now."""
        found = getattr(import_module("stratalog_bench.generate"), self.name)
        return cast("Callable[..., Workload | EncodedColumns]", found)


_NODES = "Number of nodes."
_EDGES = "Number of different edges."
_RECURSION = "Where the recursive rule has a path: left, right or both."

GENERATORS = (
    Generator(
        "lubm",
        "Universities of the LUBM benchmark.",
        (Parameter("universities", 1, "Number of universities, about 135,000 triples each."),),
    ),
    Generator(
        "dag",
        "A random graph without cycles, and its paths.",
        (
            Parameter("nodes", 10_000, _NODES),
            Parameter("edges", 100_000, _EDGES),
            Parameter("recursion", "left", _RECURSION),
        ),
    ),
    Generator(
        "chain",
        "One path through all nodes, and all its parts.",
        (Parameter("nodes", 2_000, _NODES), Parameter("recursion", "both", _RECURSION)),
    ),
    Generator(
        "cycle",
        "One cycle, whose paths are symmetric and transitive.",
        (Parameter("nodes", 1_500, _NODES),),
    ),
    Generator(
        "cliques",
        "Groups that rules make cliques of.",
        (
            Parameter("cliques", 50, "Number of groups."),
            Parameter("size", 100, "Members of each."),
            Parameter("extra", 1, "Facts per member beyond those that a group needs."),
        ),
    ),
    Generator(
        "same_generation",
        "Layers of parents and children.",
        (
            Parameter("nodes", 15_000, _NODES),
            Parameter("layers", 12, "Number of layers."),
            Parameter("parents", 2, "Parents of each child."),
        ),
    ),
    Generator(
        "triangles",
        "A skewed graph, and its triangles.",
        (
            Parameter("nodes", 20_000, _NODES),
            Parameter("edges", 1_000_000, _EDGES),
            Parameter("skew", 3, "An end of an edge is node nodes * u**skew, u uniform."),
        ),
    ),
    Generator(
        "collaborators",
        "A cyclic rule that joins of two atoms try in vain.",
        (
            Parameter("people", 500, "Number of people."),
            Parameter("partners", 100, "Coworkers and coauthors of each."),
        ),
    ),
    Generator(
        "expressions",
        "Expression trees, and rules to evaluate them.",
        (
            Parameter("expressions", 300, "Number of trees."),
            Parameter("sets", 300, "Sets of values for the leaves."),
            Parameter("depth", 5, "Greatest depth of a tree."),
        ),
    ),
    Generator(
        "points_to",
        "Programs for Andersen's points-to analysis.",
        (
            Parameter("modules", 140, "Number of program modules."),
            Parameter("variables", 400, "Variables of each."),
            Parameter("addresses", 300, "Statements y = &x of each."),
            Parameter("assigns", 800, "Statements y = x of each."),
            Parameter("loads", 8, "Statements y = *x of each."),
            Parameter("stores", 8, "Statements *y = x of each."),
        ),
    ),
    Generator(
        "path_lengths",
        "Lengths of paths from one node, added up by a built-in.",
        (
            Parameter("nodes", 100_000, _NODES),
            Parameter("edges", 1_000_000, _EDGES),
            Parameter("longest", 1, "Greatest length of an edge."),
        ),
    ),
    Generator(
        "pathways",
        "Reactions, whose facts support each other in cycles.",
        (
            Parameter("molecules", 5_000, "Number of molecules."),
            Parameter("reactions", 10_000, "Number of reactions, each with its reverse."),
            Parameter("cells", 20, "Number of cells."),
            Parameter("given", 10, "Molecules in a hundred that a cell has to begin with."),
        ),
    ),
)
