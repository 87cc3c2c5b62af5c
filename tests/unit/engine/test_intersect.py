"""Atoms that bind the same variable are intersected: as many steps as the shorter list has."""

from collections import Counter

import numpy as np
import pytest

from stratalog.engine.columnar import index, joins
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.facts.labels import I
from stratalog.kernels.plan import steps
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.plan.program import plan_program
from tests.unit.engine.test_columnar import counted, engine_with, run, skewed

TRIANGLES = "triangle(?x, ?y, ?z) :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?x) ."


def triangles(edges):
    following, coming = {}, {}
    for a, b in edges:
        following.setdefault(a, set()).add(b)
        coming.setdefault(b, set()).add(a)
    return Counter(
        (x, y, z) for x, y in edges for z in following.get(y, set()) & coming.get(x, set())
    )


@pytest.fixture(params=["laid out", "along chains"])
def way(request, monkeypatch):
    if request.param == "along chains":
        monkeypatch.setattr(index, "STALE", float("inf"))
    return request.param


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("work", [1, 1500, joins.WORK_SLICE])
def test_triangles_of_a_skewed_graph(work, monkeypatch):
    monkeypatch.setattr(joins, "WORK_SLICE", work)
    edges = skewed(1, 9000 if work > 1 else 1500, 300)
    engine = run(TRIANGLES, engine_with(edge=edges))
    expected = triangles(edges)
    assert expected.total() > steps.BLOCK
    assert counted(engine, "triangle", 3) == expected


@pytest.mark.usefixtures("way")
def test_the_work_is_bounded_by_the_shorter_lists():
    hub = [(0, i) for i in range(1, 2000)] + [(i, 2000) for i in range(1, 2000)]
    edges = [*hub, (2000, 0)]
    engine = run(TRIANGLES, engine_with(edge=edges))
    assert counted(engine, "triangle", 3) == triangles(edges)
    assert sum(c.rows_visited for c in engine.profile().values()) < 8 * len(edges)


@pytest.mark.usefixtures("way")
def test_three_and_more_atoms_are_intersected_at_once():
    rng = np.random.default_rng(5)
    lists = {n: sorted({tuple(r) for r in rng.integers(0, 40, (900, 2)).tolist()}) for n in "pqrs"}
    text = "h(?a, ?v) :- k(?a, ?b, ?c, ?d), p(?a, ?v), q(?b, ?v), r(?v, ?c), s(?d, ?v) ."
    keys = [(i % 40, i % 39, i % 38, i % 37) for i in range(300)]
    engine = run(text, engine_with(k=keys, **lists))
    held = {name: set(rows) for name, rows in lists.items()}
    expected = Counter(
        (a, v)
        for a, b, c, d in keys
        for v in range(40)
        if (a, v) in held["p"]
        and (b, v) in held["q"]
        and (v, c) in held["r"]
        and (d, v) in held["s"]
    )
    assert expected
    assert counted(engine, "h", 2) == expected


@pytest.mark.usefixtures("way")
def test_composite_keys_and_constants_are_intersected():
    rng = np.random.default_rng(6)
    p = sorted({tuple(r) for r in rng.integers(0, 12, (1500, 3)).tolist()})
    q = sorted({tuple(r) for r in rng.integers(0, 12, (1500, 3)).tolist()})
    engine = engine_with(p=p, q=q, k=[(a, b) for a in range(12) for b in range(12)])
    engine.terms.encode(parse_program(f"f({', '.join(map(str, range(12)))}) .").facts[0].args)
    run("h(?a, ?b, ?v) :- k(?a, ?b), p(?a, ?v, ?b), q(?v, ?b, 3) .", engine)
    known = {(v, b) for v, b, c in q if c == 3}
    expected = Counter((a, b, v) for a, v, b in p if (v, b) in known)
    assert expected.total() > 100
    assert counted(engine, "h", 3) == expected


def test_lists_grow_with_updates_without_being_laid_out_anew():
    edges = skewed(2, 6000, 200)
    engine = engine_with(edge=edges)
    rules = plan_program(parse_program(TRIANGLES)).rules
    relation = engine.relation(Predicate("edge", 2))
    engine.mark(ColumnarBatch({relation.number: np.arange(relation.rows, dtype=np.uint32)}), I)
    engine.apply(rules, I, I)
    laid_out = [i._laid_out for i in relation.indexes]
    assert max(laid_out) == len(edges)
    new = [(i, i + 1) for i in range(300, 330)] + [(330, 300), (0, 301), (302, 0)]
    new = [edge for edge in new if edge not in edges]
    columns = np.array(new, np.uint32).T
    engine.load(relation.predicate, list(columns), len(new))
    rows = np.arange(len(edges), relation.rows, dtype=np.uint32)
    engine.mark(ColumnarBatch({relation.number: rows}), I)
    found = engine.apply(rules, I, I, ColumnarBatch({relation.number: rows}))
    assert [i._laid_out for i in relation.indexes] == laid_out
    assert len(found) == len(triangles(edges + new)) - len(triangles(edges))
    relation.trim()
    assert [i._laid_out for i in relation.indexes] == [0] * len(laid_out)
    assert len(engine.apply(rules, I, I)) == len(triangles(edges + new))


def test_facts_outside_the_set_are_not_met():
    edges = skewed(3, 4000, 150)
    engine = engine_with(edge=edges)
    relation = engine.relation(Predicate("edge", 2))
    some = np.arange(0, relation.rows, 3, dtype=np.uint32)
    engine.mark(ColumnarBatch({relation.number: some}), I)
    rules = plan_program(parse_program(TRIANGLES)).rules
    kept = [(int(a), int(b)) for a, b in zip(*(c[some] for c in relation.columns), strict=True)]
    assert len(engine.apply(rules, I, I)) == len(triangles(kept)) > 0


def test_counts_of_rows_are_part_of_the_memory_that_is_reported():
    engine = run(TRIANGLES, engine_with(edge=skewed(4, 3000, 100)))
    relation = engine.relation(Predicate("edge", 2))
    assert sum(index.nbytes for index in relation.indexes) > 8 * relation.rows
    assert engine.allocated >= relation.nbytes
