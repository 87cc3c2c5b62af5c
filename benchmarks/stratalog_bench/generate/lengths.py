"""Lengths of paths from one node, made by a built-in (SSPE of Hu, Motik, Horrocks 2018).

The sum of two lengths cannot be read backwards: whoever looks for another way to a length tries all
lengths of all nodes before. So what that costs, compared with counting ways, grows with the number
of lengths per node: with the greatest length of an edge, and the edges per node.
"""

from __future__ import annotations

from stratalog.errors import DataError
from stratalog_bench.generate.draws import Draws
from stratalog_bench.generate.pairs import ascending_pairs
from stratalog_bench.generate.parameters import whole
from stratalog_bench.generate.workload import Workload, rows_of


def path_lengths(
    nodes: int = 100_000, edges: int = 1_000_000, longest: int = 1, seed: int = 0
) -> Workload:
    """Return a random graph without cycles, with lengths from 1 to `longest`, and rules (6)-(7).

    Paths begin at the first node, in an order that all edges follow, from which an edge leads.
    """
    whole("nodes", nodes, least=2)
    whole("longest", longest, least=1)
    if not whole("edges", edges):
        raise DataError("D401", "edges = 0 leaves no path", help="ask for at least one edge")
    draws = Draws(whole("seed", seed))
    low, high = ascending_pairs(draws, nodes, edges)
    names = draws.shuffled(nodes)
    facts = {"edge": rows_of(names[low], names[high], draws.between(1, longest, edges))}
    program = (
        f"length(?y, ?n) :- edge({names[low.min()]}, ?y, ?n) .\n"
        "length(?y, ?n) :- length(?x, ?a), edge(?x, ?y, ?b), BIND(?a + ?b AS ?n) .\n"
    )
    return Workload(facts, {"edge": ("source", "target", "length")}, program)
