"""Workloads: sizes, shapes, and results that other means compute too."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

import stratalog
from stratalog.errors import DataError
from stratalog_bench import generate
from stratalog_bench.generate.catalogue import GENERATORS

SMALL = {
    "dag": {"nodes": 300, "edges": 1000},
    "chain": {"nodes": 100},
    "cycle": {"nodes": 50},
    "cliques": {"cliques": 5, "size": 20},
    "same_generation": {"nodes": 240, "layers": 6},
    "triangles": {"nodes": 200, "edges": 2000},
    "collaborators": {"people": 10, "partners": 6},
    "expressions": {"expressions": 10, "sets": 10},
    "points_to": {"modules": 1},
    "path_lengths": {"nodes": 1000, "edges": 10000},
    "pathways": {"molecules": 500, "reactions": 1000, "cells": 4},
}
GOLDEN = {
    "dag": (1000, 10368),
    "chain": (99, 4950),
    "cycle": (50, 2500),
    "cliques": (188, 1812),
    "same_generation": (400, 5408),
    "triangles": (2000, 7071),
    "collaborators": (242, 66),
    "expressions": (4533, 830),
    "points_to": (1111, 73856),
    "path_lengths": (10000, 12690),
    "pathways": (6212, 9817),
}
"""Explicit and derived facts of seed 0."""


def make(name: str, **more):
    return getattr(generate, name)(**{**SMALL[name], **more})


def materialised(workload):
    return stratalog.materialise(workload.rules, workload.facts)


def test_every_workload_is_tested():
    assert {each.name for each in GENERATORS} == {*SMALL, "lubm"}


@pytest.mark.parametrize("name", SMALL)
def test_sizes_and_results_stay_the_same(name):
    stats = materialised(make(name)).stats
    assert (stats["explicit"], stats["derived"]) == GOLDEN[name]


@pytest.mark.parametrize("name", SMALL)
def test_facts_are_different_rows_of_the_named_columns(name):
    workload = make(name)
    assert workload.count == sum(workload.counts().values())
    for predicate, rows in workload.facts.items():
        assert rows.dtype == np.int64
        assert rows.shape[1] == len(workload.names[predicate])
        assert len(np.unique(rows, axis=0)) == len(rows)


@pytest.mark.parametrize("name", SMALL)
def test_a_seed_makes_the_facts(name):
    first, again, other = make(name, seed=3), make(name, seed=3), make(name, seed=4)
    assert all((first.facts[p] == again.facts[p]).all() for p in first.facts)
    assert any(not np.array_equal(first.facts[p], other.facts[p]) for p in first.facts)


@pytest.mark.parametrize("name", SMALL)
def test_tables_hold_the_same_facts(name):
    workload = make(name)
    for predicate, table in workload.tables().items():
        assert tuple(table.column_names) == workload.names[predicate]
        assert np.array_equal(np.stack([c.to_numpy() for c in table.columns], 1),
                              workload.facts[predicate])  # fmt: skip


def reachable(edges: np.ndarray, nodes: int) -> int:
    """Return how many pairs are joined by a path: a row of bits per node, last nodes first."""
    order = topological(edges, nodes)
    bits = np.zeros((nodes, (nodes + 7) // 8), np.uint8)
    for node in reversed(order):
        for target in edges[edges[:, 0] == node, 1].tolist():
            bits[node] |= bits[target]
            bits[node, target // 8] |= 128 >> target % 8
    return int(np.unpackbits(bits).sum())


def topological(edges: np.ndarray, nodes: int) -> list[int]:
    waiting = Counter(edges[:, 1].tolist())
    ready = [node for node in range(nodes) if not waiting[node]]
    order = []
    while ready:
        order.append(node := ready.pop())
        for target in edges[edges[:, 0] == node, 1].tolist():
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    assert len(order) == nodes, "there is a cycle"
    return order


@pytest.mark.parametrize("recursion", ["left", "right", "both"])
@pytest.mark.parametrize(("nodes", "edges"), [(300, 1000), (40, 700), (20, 190), (9, 0)])
def test_paths_of_a_graph_without_cycles_are_as_many_as_bits(nodes, edges, recursion):
    workload = generate.dag(nodes, edges, recursion)
    found = workload.facts["edge"]
    assert len(found) == edges
    assert len(materialised(workload)["path"]) == reachable(found, nodes)


def test_a_chain_and_a_cycle_pass_every_node_once():
    for workload, missing in ((generate.chain(30), 1), (generate.cycle(30), 0)):
        edges = workload.facts["edge"]
        assert len(edges) == 30 - missing
        assert len(np.unique(edges[:, 0])) == len(np.unique(edges[:, 1])) == len(edges)
    assert len(materialised(generate.chain(30))["path"]) == 30 * 29 // 2
    assert len(materialised(generate.cycle(30))["path"]) == 30 * 30


def test_cliques_are_whole():
    kb = materialised(generate.cliques(cliques=4, size=9, extra=2))
    assert len(kb["related"]) == 4 * 9 * 9


def test_parents_are_different_members_of_the_layer_above():
    edges = generate.same_generation(60, 5, 3).facts["parent"]
    assert sorted(Counter(edges[:, 1].tolist()).values()) == [3] * 48
    assert len(materialised(generate.same_generation(60, 5, 3))["same"]) > 48


def test_triangles_are_those_of_the_adjacency_matrix():
    workload = generate.triangles(60, 400)
    edges = workload.facts["edge"]
    joined = np.zeros((60, 60), np.int64)
    joined[edges[:, 0], edges[:, 1]] = 1
    assert len(materialised(workload)["triangle"]) == np.trace(joined @ joined @ joined)
    degrees = np.bincount(edges[:, 0], minlength=60)
    assert degrees[:6].sum() > 3 * degrees[-6:].sum()


@pytest.mark.parametrize(("people", "partners"), [(4, 1), (12, 5)])
def test_collaborators_are_as_many_as_the_paper_says(people, partners):
    stats = materialised(generate.collaborators(people, partners)).stats
    assert stats["derived"] == people * partners + partners
    assert stats["explicit"] == 4 * people * partners + 2


def test_expressions_have_the_values_that_python_computes():
    workload = generate.expressions(6, 4, seed=2)
    facts = {name: rows.tolist() for name, rows in workload.facts.items()}
    signs = {"plus": int.__add__, "minus": int.__sub__, "times": int.__mul__}
    nodes = {e: (signs[name], l, r) for name in signs for e, l, r in facts[name]}
    node_of, set_of = dict(facts["of"]), dict(facts["set"])
    given = {(node_of[i], set_of[i]): value for i, value in facts["value"]}

    def value(node: int, number: int) -> int:
        if node not in nodes:
            return given[node, number]
        sign, left, right = nodes[node]
        return sign(value(left, number), value(right, number))

    expected = {(i, value(node_of[i], set_of[i])) for i in node_of}
    assert set(materialised(workload)["value"]) == expected


def test_statements_of_a_module_know_only_its_variables():
    workload = generate.points_to(
        modules=3, variables=10, addresses=5, assigns=9, loads=2, stores=2
    )
    for rows in workload.facts.values():
        assert (rows[:, 0] // 10 == rows[:, 1] // 10).all()
        assert rows.max() < 30


@pytest.mark.parametrize("longest", [1, 3])
def test_lengths_are_those_of_all_paths(longest):
    workload = generate.path_lengths(40, 90, longest, seed=1)
    edges = workload.facts["edge"].tolist()
    source = int(workload.program.split("edge(")[1].split(",")[0])
    assert all(target != source for _, target, _ in edges)
    found, front = set(), {(source, 0)}
    while front:
        front = {(t, n + k) for (x, n), (s, t, k) in itertools.product(front, edges) if x == s}
        found |= front
    assert found == set(materialised(workload)["length"])


@pytest.mark.parametrize("seed", range(4))
def test_most_of_pathways_survives_the_deletion_of_each_tenth_fact(seed):
    workload = generate.pathways(molecules=2000, reactions=4000, cells=3, seed=seed)
    given = workload.facts["given"]
    fewer = {**workload.facts, "given": given[np.arange(len(given)) % 10 != 0]}
    before = materialised(workload).stats["derived"]
    after = stratalog.materialise(workload.rules, fewer).stats
    assert after["derived"] > 0.9 * before
    assert after["derivations"] > 1.5 * after["derived"]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("dag", {"nodes": 1}),
        ("dag", {"nodes": 10, "edges": 46}),
        ("dag", {"edges": -1}),
        ("dag", {"recursion": "up"}),
        ("chain", {"nodes": True}),
        ("cliques", {"size": 1}),
        ("same_generation", {"nodes": 10, "layers": 6}),
        ("triangles", {"nodes": 3, "edges": 7}),
        ("triangles", {"nodes": 50, "edges": 2450, "skew": 16}),
        ("expressions", {"depth": 6}),
        ("path_lengths", {"edges": 0}),
        ("pathways", {"given": 101}),
        ("cycle", {"seed": -1}),
    ],
)
def test_a_wrong_parameter_is_refused_with_advice(name, wrong):
    with pytest.raises(DataError, match="D401") as caught:
        make(name, **wrong)
    assert caught.value.help
