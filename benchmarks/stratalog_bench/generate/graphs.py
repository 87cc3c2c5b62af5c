"""Graphs: random ones without cycles, chains, cycles, cliques, and skewed ones with triangles."""

from __future__ import annotations

import numpy as np

from stratalog_bench.generate.draws import Draws
from stratalog_bench.generate.pairs import ascending_pairs, skewed_pairs
from stratalog_bench.generate.parameters import one_of, whole
from stratalog_bench.generate.workload import Workload, rows_of

EDGE = {"edge": ("source", "target")}
BASE = "path(?x, ?y) :- edge(?x, ?y) .\n"
RECURSIONS = {
    "left": BASE + "path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n",
    "right": BASE + "path(?x, ?z) :- edge(?x, ?y), path(?y, ?z) .\n",
    "both": BASE + "path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .\n",
}
SYMMETRIC = "path(?y, ?x) :- path(?x, ?y) .\n"


def dag(
    nodes: int = 10_000, edges: int = 100_000, recursion: str = "left", seed: int = 0
) -> Workload:
    """Return a random graph without cycles, and rules for its paths (DAG-R of Hu et al. 2022).

    Edges are different uniform pairs, directed from the smaller to the larger; then the nodes are
    renamed at random. `recursion` is the side of the recursive rule that is a path, or both.
    """
    whole("nodes", nodes, least=2)
    whole("edges", edges, least=0)
    one_of("recursion", recursion, RECURSIONS)
    draws = Draws(whole("seed", seed))
    low, high = ascending_pairs(draws, nodes, edges)
    names = draws.shuffled(nodes)
    return Workload({"edge": rows_of(names[low], names[high])}, EDGE, RECURSIONS[recursion])


def chain(nodes: int = 2_000, recursion: str = "both", seed: int = 0) -> Workload:
    """Return one path through all nodes, which are named at random."""
    one_of("recursion", recursion, RECURSIONS)
    names = Draws(whole("seed", seed)).shuffled(whole("nodes", nodes, least=2))
    return Workload({"edge": rows_of(names[:-1], names[1:])}, EDGE, RECURSIONS[recursion])


def cycle(nodes: int = 1_500, seed: int = 0) -> Workload:
    """Return one cycle through all nodes, and rules that make paths symmetric and transitive."""
    names = Draws(whole("seed", seed)).shuffled(whole("nodes", nodes, least=2))
    facts = {"edge": rows_of(names, np.roll(names, -1))}
    return Workload(facts, EDGE, RECURSIONS["both"] + SYMMETRIC)


def cliques(cliques: int = 50, size: int = 100, extra: int = 1, seed: int = 0) -> Workload:
    """Return groups that a symmetric and transitive relation makes cliques of.

    The members of a group hang together by a random tree, and by `extra` more facts per member, so
    that most deletions leave a group whole.
    """
    whole("cliques", cliques, least=1)
    whole("size", size, least=2)
    whole("extra", extra, most=100)
    draws = Draws(whole("seed", seed))
    names = draws.shuffled(cliques * size).reshape(cliques, size)
    groups = np.repeat(np.arange(cliques), size - 1)
    members = np.tile(np.arange(1, size), cliques)
    tree = rows_of(names[groups, draws.below(members, len(members))], names[groups, members])
    amount = cliques * size * extra
    groups = np.repeat(np.arange(cliques), size * extra)
    one = draws.below(size, amount)
    other = (one + 1 + draws.below(size - 1, amount)) % size
    more = rows_of(names[groups, one], names[groups, other])
    facts = np.unique(np.concatenate([tree, more]), axis=0)
    program = (
        "related(?y, ?x) :- related(?x, ?y) .\n"
        "related(?x, ?z) :- related(?x, ?y), related(?y, ?z) .\n"
    )
    return Workload({"related": facts}, {"related": ("one", "other")}, program)


def triangles(
    nodes: int = 20_000, edges: int = 1_000_000, skew: int = 3, seed: int = 0
) -> Workload:
    """Return a graph whose edges meet in few nodes, and a rule for its directed triangles.

    Both ends of an edge are nodes * u**skew with u uniform from 0 to 1.
    """
    whole("nodes", nodes, least=2)
    whole("edges", edges)
    whole("skew", skew, least=1, most=16)
    first, second = skewed_pairs(Draws(whole("seed", seed)), nodes, edges, skew)
    program = "triangle(?x, ?y, ?z) :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?x) .\n"
    return Workload({"edge": rows_of(first, second)}, EDGE, program)
