"""The columnar engine on data that is larger than a block, with every buffer forced to fill."""

from collections import Counter

import numpy as np
import pytest

from stratalog.engine.columnar import evaluate
from stratalog.engine.columnar import path_joins as bulk
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.errors import EngineError
from stratalog.facts.engine import Count
from stratalog.facts.labels import E, I
from stratalog.facts.sets import Over
from stratalog.kernels.plan import interpreter as kernels
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.program import plan_program
from stratalog.reason.seminaive import materialise
from stratalog.runtime.limits import Limits


def engine_with(limits=None, **relations):
    engine = ColumnarEngine(Dictionary(), limits)
    for name, rows in relations.items():
        columns = np.array(rows, np.uint32).reshape(len(rows), -1).T
        engine.load(Predicate(name, columns.shape[0]), list(columns), len(rows))
    return engine


def run(text, engine):
    plan = plan_program(parse_program(text), list(engine.relations))
    materialise(engine, plan.strata)
    return engine


def counted(engine, name, arity, count=0):
    relation = engine.relation(Predicate(name, arity))
    rows = engine.rows_of(relation, I)
    columns = [c[rows].tolist() for c in relation.columns]
    facts = list(zip(*columns, strict=True)) if columns else [()] * rows.size
    return Counter(dict(zip(facts, relation.counts[count][rows].tolist(), strict=True)))


def skewed(seed, size, constants):
    rng = np.random.default_rng(seed)
    values = (rng.random((size, 2)) ** 3 * constants).astype(int)
    return sorted({tuple(row) for row in values.tolist()})


@pytest.mark.parametrize("work", [1, 1500, evaluate.WORK_SLICE])
def test_a_join_larger_than_all_buffers_gives_every_instance_once(work, monkeypatch):
    monkeypatch.setattr(evaluate, "WORK_SLICE", work)
    r, s = skewed(1, 3000, 300), skewed(2, 3000, 300)
    engine = run("h(?x, ?z) :- r(?x, ?y), s(?y, ?z) .", engine_with(r=r, s=s))
    by_key = {}
    for y, z in s:
        by_key.setdefault(y, []).append(z)
    expected = Counter((x, z) for x, y in r for z in by_key.get(y, ()))
    assert expected.total() > 20 * kernels.BLOCK
    assert counted(engine, "h", 2) == expected


def test_a_product_without_shared_variables_is_evaluated_in_blocks():
    r, s = [(i,) for i in range(3000)], [(i,) for i in range(7)]
    engine = run("h(?y) :- r(?x), s(?y) . pair(?x, ?y) :- s(?y), r(?x) .", engine_with(r=r, s=s))
    assert counted(engine, "h", 1) == Counter({(i,): 3000 for i in range(7)})
    assert len(counted(engine, "pair", 2)) == 21_000


def test_recursion_agrees_with_breadth_first_search():
    edges = [(a, b) for a, b in skewed(3, 600, 200) if a != b]
    engine = run(
        "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .",
        engine_with(edge=edges),
    )
    following = {}
    for a, b in edges:
        following.setdefault(a, set()).add(b)
    expected = set()
    for start in following:
        seen, todo = set(), [start]
        while todo:
            for b in following.get(todo.pop(), ()):
                if b not in seen:
                    seen.add(b)
                    todo.append(b)
        expected |= {(start, b) for b in seen}
    recursive = counted(engine, "path", 2, count=1)
    assert set(recursive) == expected
    second = Counter(a for a, _ in expected)
    assert recursive.total() == sum(second[b] for _, b in expected)


@pytest.mark.parametrize("arity", range(9))
def test_every_arity_joins_and_deduplicates(arity):
    rng = np.random.default_rng(arity)
    rows = [tuple(row) for row in rng.integers(0, 2, (400, arity)).tolist()]
    variables = ", ".join(f"?v{i}" for i in range(arity))
    engine = run(
        f"h({variables}) :- r({variables}), r({variables}) .",
        engine_with(r=rows) if arity else _with_empty_fact(),
    )
    assert counted(engine, "h", arity) == Counter(dict.fromkeys(set(rows) or {()}, 1))


def _with_empty_fact():
    engine = ColumnarEngine(Dictionary())
    engine.load(Predicate("r", 0), [], 3)
    return engine


def test_constants_and_repeated_variables_select():
    engine = engine_with(r=[(0, 0, 1), (0, 1, 1), (2, 2, 2), (2, 2, 1)])
    numbers = engine.terms.encode([]).size
    assert numbers == 0
    engine.terms.encode(parse_program("f(10, 11, 12) .").facts[0].args)  # ids 0, 1, 2
    run("a(?x) :- r(?x, ?x, ?y) . b(?x) :- r(?x, ?y, 11) . c() :- r(10, 10, ?y) .", engine)
    assert set(counted(engine, "a", 1)) == {(0,), (2,)}
    assert set(counted(engine, "b", 1)) == {(0,), (2,)}
    assert counted(engine, "c", 0) == Counter({(): 1})


def test_a_count_that_overflows_32_bits_is_promoted_not_wrapped():
    engine = engine_with(r=[(1, 2), (1, 3)], s=[(2, 4), (3, 4)])
    plan = plan_program(parse_program("h(?x, ?z) :- r(?x, ?y), s(?y, ?z) ."))
    everything = engine.settle(E & Over(frozenset(engine.relations)))
    engine.mark(everything, I)
    engine.apply(plan.rules, I, I, count=Count.RECURSIVE)
    head = engine.relation(Predicate("h", 2))
    head.counts[1][0] = 2**31 - 2
    engine.apply(plan.rules, I, I, count=Count.RECURSIVE)
    assert head.counts[1].dtype == np.int64
    assert head.counts[1][0] == 2**31


def test_explicit_facts_are_a_set():
    engine = engine_with(r=[(1, 2), (1, 2), (1, 2)])
    run("h(?x) :- r(?x, ?y) .", engine)
    assert counted(engine, "r", 2) == Counter({(1, 2): 1})
    assert counted(engine, "h", 1) == Counter({(1,): 1})


def test_sparse_and_dense_indexes_find_the_same_rows():
    dense = [(i % 50, i) for i in range(2000)]
    sparse = [(a * 4_000_000, b) for a, b in dense]
    for rows, factor in ((dense, 1), (sparse, 4_000_000)):
        probes = [(i * factor,) for i in range(50)]
        engine = run("h(?x, ?y) :- p(?x), r(?x, ?y) .", engine_with(r=rows, p=probes))
        assert len(counted(engine, "h", 2)) == 2000


def test_trimming_keeps_every_fact_and_gives_room_back():
    engine = run("h(?y, ?x) :- r(?x, ?y) .", engine_with(r=skewed(5, 5000, 900)))
    before, bytes_before = counted(engine, "h", 2), engine.nbytes()
    engine.trim()
    assert engine.nbytes() < bytes_before
    assert counted(engine, "h", 2) == before
    engine.load(Predicate("r", 2), [np.array([7777], np.uint32)] * 2, 1)
    assert engine.size(Predicate("r", 2), E) == len(before) + 1


def test_the_memory_limit_names_the_rule():
    rows = [(i,) for i in range(3000)]
    engine = engine_with(Limits(memory=20_000_000), r=rows, s=rows)
    with pytest.raises(EngineError, match=r"E101.*h\(\?x, \?y\)"):
        run("h(?x, ?y) :- r(?x), s(?y) .", engine)


def test_the_time_limit_stops_a_long_join():
    rows = [(i,) for i in range(4000)]
    limits = Limits(timeout=0.2)
    engine = engine_with(limits, r=rows, s=rows, t=rows)
    limits.start()
    with pytest.raises(EngineError, match="E102"):
        run("h() :- r(?x), s(?y), t(?z) .", engine)


def test_max_facts_stops_an_endless_program():
    engine = engine_with(Limits(max_facts=5000))
    with pytest.raises(EngineError, match="E103"):
        engine.load(Predicate("r", 1), [np.arange(6000, dtype=np.uint32)], 6000)


def test_an_apply_that_is_cut_short_leaves_no_scaffolding_on_facts():
    engine = engine_with(
        Limits(max_facts=20_000), edge=[(i, i + 1) for i in range(2000)], start=[(0,)]
    )
    rules = parse_program("pair(?x, ?y) :- edge(?x, ?z), edge(?y, ?w), start(?s) .")
    stratum = plan_program(rules, list(engine.relations)).strata[1]
    given = engine.settle(Over(frozenset(engine.relations)))
    engine.mark(given, I)
    engine.limits.start()
    with pytest.raises(EngineError, match="E103"):
        engine.apply(stratum.nonrecursive, I, I, given, count=Count.NONRECURSIVE)
    for relation in engine.by_number:
        marks = {int(word) for word in np.unique(relation.labels[: relation.rows])}
        assert marks <= {0, 1 << E.bit | 1 << I.bit}
        assert relation.take_touched().size == 0


def test_a_count_beyond_64_bits_is_an_error_and_never_wraps(monkeypatch):
    monkeypatch.setattr(bulk, "MIN_BULK_ROWS", 1)
    body = ", ".join(f"edge(?v{i}, ?v{i + 1})" for i in range(10))
    every_pair = [(a, b) for a in range(130) for b in range(130)]
    with pytest.raises(EngineError, match="E108"):
        run(f"far(?v0, ?v10) :- {body} .", engine_with(edge=every_pair))


def test_counts_of_nearly_64_bits_are_exact(monkeypatch):
    monkeypatch.setattr(bulk, "MIN_BULK_ROWS", 1)
    body = ", ".join(f"edge(?v{i}, ?v{i + 1})" for i in range(10))
    every_pair = [(a, b) for a in range(100) for b in range(100)]
    engine = run(f"far(?v0, ?v10) :- {body} .", engine_with(edge=every_pair))
    assert set(counted(engine, "far", 2).values()) == {100**9}


def test_a_query_leaves_nothing_laid_out_behind():
    engine = run(
        "far(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) .", engine_with(edge=skewed(9, 20_000, 3000))
    )
    engine.drop([])
    assert engine._evaluation.bulk._kept == {}
