"""Layers of children and parents, whose members of one layer are of the same generation."""

from __future__ import annotations

import numpy as np

from stratalog.errors import DataError
from stratalog_bench.generate.draws import Draws
from stratalog_bench.generate.parameters import whole
from stratalog_bench.generate.workload import Workload, rows_of

PROGRAM = """\
same(?x, ?y) :- parent(?p, ?x), parent(?p, ?y) .
same(?x, ?y) :- parent(?a, ?x), same(?a, ?b), parent(?b, ?y) .
"""


def same_generation(
    nodes: int = 15_000, layers: int = 12, parents: int = 2, seed: int = 0
) -> Workload:
    """Return layers of equal size, each member with random parents in the layer above."""
    whole("parents", parents, least=1, most=16)
    whole("layers", layers, least=2)
    size = whole("nodes", nodes, least=2) // layers
    if size < parents:
        raise DataError(
            "D401",
            f"{nodes:,} nodes in {layers:,} layers leave fewer than {parents} parents in a layer",
            help="ask for more nodes, fewer layers, or fewer parents",
        )
    draws = Draws(whole("seed", seed))
    names = draws.shuffled(size * layers)
    children = np.arange(size, size * layers)
    rows, chosen = draws.samples(np.full(len(children), size), np.full(len(children), parents))
    above = (children[rows] // size - 1) * size + chosen
    facts = {"parent": rows_of(names[above], names[children[rows]])}
    return Workload(facts, {"parent": ("parent", "child")}, PROGRAM)
