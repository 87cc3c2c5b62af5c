"""Closures that are not spelled out, against sets of pairs, whatever happens to their edges."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratalog.closure import bit_rows as rows
from stratalog.closure import closure
from stratalog.closure import representation as form
from stratalog.closure.closure import (
    GAINED,
    KEPT,
    LOST,
    Closure,
    TooLargeError,
)
from stratalog.kernels.closure import list_rows as closure_list
from stratalog.kernels.closure import read as closure_read

ALL = LOST | KEPT | GAINED
KINDS = ["transitive", "linear", "symmetric"]
NODES = 9


def constant(node):
    return node * 479_001_599 % (2**32 - 5)


def columns(edges):
    pairs = np.array([[constant(x), constant(y)] for x, y in sorted(edges)], np.uint32)
    return tuple(np.ascontiguousarray(column) for column in pairs.reshape(-1, 2).T)


def reach(steps, sources):
    """Return where zero or more steps lead."""
    found, todo = set(sources), list(sources)
    while todo:
        x = todo.pop()
        new = {z for y, z in steps if y == x} - found
        found |= new
        todo += new
    return found


@cache
def related(kind, seeds, steps):
    if kind == "symmetric":
        both = seeds | {(y, x) for x, y in seeds}
        nodes = {x for edge in seeds for x in edge}
        return frozenset((x, z) for x in nodes for z in reach(both, [x]))
    steps = steps if kind == "linear" else seeds
    nodes = {x for edge in seeds | steps for x in edge}
    pairs = ((x, z) for x in nodes for y in reach(steps, [x]) for w, z in seeds if w == y)
    return frozenset(pairs)


def close(kind, budget=1 << 20):
    return Closure(symmetric=kind == "symmetric", linear=kind == "linear", budget=budget)


class Model:
    """A closure, and the same pairs spelled out."""

    def __init__(self, kind, budget=1 << 20):
        self.kind = kind
        self.closure = close(kind, budget)
        self.seeds, self.steps = frozenset(), frozenset()
        self.before, self.old_edges = frozenset(), (self.seeds, self.steps)
        self.savepoints = []
        self.reads_backward = True

    @property
    def after(self):
        return related(self.kind, self.seeds, self.steps)

    def toggle(self, seeds, steps):
        """Take the edges that are there, add the others."""
        changes = [columns(seeds & self.seeds), columns(seeds - self.seeds)]
        if self.kind == "linear":
            changes += [columns(steps & self.steps), columns(steps - self.steps)]
        self.closure.change(*changes)
        self.seeds, self.steps = self.seeds ^ seeds, self.steps ^ steps

    def commit(self):
        self.closure.commit()
        self.before, self.old_edges = self.after, (self.seeds, self.steps)
        self.savepoints = []

    def roll_back(self):
        self.closure.roll_back()
        self.seeds, self.steps = self.old_edges
        self.savepoints = []

    def save(self):
        self.savepoints.append((self.closure.savepoint(), self.seeds, self.steps))

    def roll_back_to(self, number):
        if self.savepoints:
            number %= len(self.savepoints)
            savepoint, self.seeds, self.steps = self.savepoints[number]
            self.closure.roll_back(savepoint)
            del self.savepoints[number:]

    def expected(self, regions):
        parts = {
            LOST: self.before - self.after,
            KEPT: self.before & self.after,
            GAINED: self.after - self.before,
        }
        chosen = (pairs for region, pairs in parts.items() if regions & region)
        return {(constant(x), constant(z)) for pairs in chosen for x, z in pairs}

    def check(self):
        every = np.array([constant(x) for x in range(NODES + 1)], np.uint32)
        for regions in range(1, ALL + 1):
            expected = self.expected(regions)
            assert self.closure.size(regions) == len(expected)
            self.check_listed(regions, expected, every)
            self.check_kernels(regions, expected, every)
        self.check_regions(every)

    def check_listed(self, regions, expected, every):
        listed = as_list(self.closure.pairs(regions))
        assert sorted(listed) == sorted(expected)
        origins, targets = self.closure.forward(every, regions)
        assert sorted(zip(every[origins], targets, strict=True)) == sorted(expected)
        if self.reads_backward:
            origins, sources = self.closure.backward(every[::-1], regions)
            assert sorted(zip(sources, every[::-1][origins], strict=True)) == sorted(expected)

    def check_kernels(self, regions, expected, every):
        """Second constants are listed in pieces of any size."""
        out = np.zeros(3, np.uint32)
        for x in every:
            found, cursor, room = [], closure_list.START, 0
            while cursor != closure_list.END:
                room = room % 3 + 1
                n, cursor = closure_read.closure_list(
                    self.closure.descriptor, x, cursor, regions, out, 0, room
                )
                found += out[:n].tolist()
            assert sorted(found) == sorted(z for y, z in expected if y == x)

    def check_regions(self, every):
        sources, targets = (side.ravel() for side in np.meshgrid(every, every))
        regions = self.closure.regions_of(sources, targets)
        for region in (LOST, KEPT, GAINED):
            chosen = regions == region
            found = zip(sources[chosen], targets[chosen], strict=True)
            assert set(found) == self.expected(region)
        held = np.isin(regions, [0, LOST, KEPT, GAINED])
        assert held.all()


def as_list(blocks):
    return [pair for block in blocks for pair in zip(*block, strict=True)]


edges = st.frozensets(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=8)
rare = st.one_of(st.just(frozenset()), edges)
events = st.one_of(
    st.tuples(st.just("toggle"), edges, rare),
    st.tuples(st.sampled_from(["commit", "roll_back", "save"])),
    st.tuples(st.just("roll_back_to"), st.integers(0, 3)),
)


@pytest.mark.parametrize("ease", [0, 12, 1000], ids=["bits", "mixed", "runs"])
@pytest.mark.parametrize("kind", KINDS)
@given(history=st.lists(events, max_size=8), reads_backward=st.booleans())
def test_a_closure_is_what_its_edges_say_before_and_after(kind, ease, history, reads_backward):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "EASE", ease)
        patch.setattr(form, "STALE", 3)  # so that some are made anew
        patch.setattr(closure, "BLOCK", 3)
        model = Model(kind)
        model.reads_backward = reads_backward
        for name, *arguments in history:
            getattr(model, name)(*arguments)
            model.check()
        model.reads_backward = True
        model.check()


@pytest.mark.parametrize("kind", KINDS)
@given(histories=st.lists(st.tuples(edges, edges), min_size=1, max_size=3))
def test_a_closure_that_becomes_too_large_is_as_it_was(kind, histories):
    model = Model(kind, budget=8 * 6)
    for seeds, steps in histories:
        old = model.seeds, model.steps
        try:
            model.toggle(seeds, steps)
        except TooLargeError:
            assert model.closure.size(LOST | GAINED) == 0
            assert (model.seeds, model.steps) == old
        else:
            model.commit()
        assert sorted(as_list(model.closure.pairs(ALL))) == sorted(model.expected(ALL))


def test_components_that_split_are_found_beside_edges_that_lead_to_others():
    model = Model("symmetric")
    model.toggle(frozenset([(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)]), frozenset())
    model.commit()
    model.toggle(frozenset([(1, 2), (5, 6), (0, 4), (3, 7), (8, 8)]), frozenset())
    model.check()
    model.toggle(frozenset([(0, 4), (4, 5), (8, 8)]), frozenset())
    model.check()


def test_a_large_component_of_few_edges_changes_without_listing_its_pairs():
    count = 200_000
    path = np.arange(count, dtype=np.uint32)
    closure = close("symmetric", 1 << 24)
    closure.change(columns([]), (path[:-1], path[1:]))
    closure.commit()
    closure.change((path[9:10], path[10:11]), columns([]))
    assert closure.size(LOST) == 2 * 10 * (count - 10)
    assert closure.size(KEPT) == 10 * 10 + (count - 10) ** 2
    origins, targets = closure.forward(path[-1:], LOST)
    assert np.array_equal(np.sort(targets), path[:10])
    assert not origins.any()
    closure.roll_back()
    assert closure.size(KEPT) == count**2
    assert closure.nbytes < 200 * count


def random_edges(draws, count, nodes, *, is_acyclic):
    ends = draws.integers(0, nodes, (count, 2))
    ends = np.sort(ends, axis=1) if is_acyclic else ends
    return frozenset((int(x), int(y)) for x, y in ends if x != y)


def packed(blocks):
    blocks = [block[0].astype(np.uint64) << np.uint64(32) | block[1] for block in blocks]
    return np.sort(np.concatenate([np.empty(0, np.uint64), *blocks]))


def rows_of(edges, nodes):
    """Return the pairs of a transitive closure, by squaring a matrix."""
    matrix = np.zeros((nodes, nodes), bool)
    matrix[tuple(np.array(sorted(edges)).reshape(-1, 2).T)] = True
    while True:
        larger = matrix | (matrix.astype(np.float32) @ matrix.astype(np.float32) > 0)
        if (larger == matrix).all():
            return matrix
        matrix = larger


def expected_pairs(matrix):
    constants = np.array([constant(x) for x in range(len(matrix))], np.uint64)
    sources, targets = np.nonzero(matrix)
    return np.sort(constants[sources] << np.uint64(32) | constants[targets])


def spelled(seeds, steps, nodes):
    """Return the pairs of the closure of seeds under steps, or under themselves."""
    if steps is None:
        return rows_of(seeds, nodes)
    matrix = np.zeros((nodes, nodes), bool)
    matrix[tuple(np.array(sorted(seeds)).reshape(-1, 2).T)] = True
    paths = rows_of(steps, nodes).astype(np.float32) + np.eye(nodes, dtype=np.float32)
    return paths @ matrix.astype(np.float32) > 0


@pytest.mark.parametrize("ease", [0, 1000])
@pytest.mark.parametrize("is_acyclic", [True, False])
@pytest.mark.parametrize(("kind", "degree"), [("transitive", 1), ("transitive", 3), ("linear", 2)])
def test_rows_of_many_words(monkeypatch, kind, is_acyclic, degree, ease):
    monkeypatch.setattr(rows, "EASE", ease)
    nodes, draws = 400, np.random.default_rng(degree)
    closure = close(kind, 1 << 24)
    sets = [
        random_edges(draws, degree * nodes, nodes, is_acyclic=is_acyclic)
        for _ in range(1 + (kind == "linear"))
    ]
    closure.change(*(side for edges in sets for side in (columns([]), columns(edges))))
    closure.commit()
    before = spelled(sets[0], sets[1] if len(sets) > 1 else None, nodes)
    for turn in range(4):
        change = []
        for number, edges in enumerate(sets):
            gone = frozenset(sorted(edges)[turn :: 20 * (turn + 1)])
            come = random_edges(draws, 30, nodes, is_acyclic=is_acyclic) - edges
            sets[number] = edges - gone | come
            change += [columns(gone), columns(come)]
        closure.change(*change)
        after = spelled(sets[0], sets[1] if len(sets) > 1 else None, nodes)
        check_regions(closure, before, after)
        if turn % 2:
            closure.commit()
            before = after


def check_regions(closure, before, after):
    parts = {LOST: before & ~after, KEPT: before & after, GAINED: after & ~before}
    for regions in range(1, ALL + 1):
        union = sum(part for region, part in parts.items() if regions & region) > 0
        expected = expected_pairs(union)
        assert closure.size(regions) == expected.size
        assert np.array_equal(packed(closure.pairs(regions)), expected)
    every = np.array([constant(x) for x in range(len(before))], np.uint32)
    origins, sources = closure.backward(every, LOST | GAINED)
    changed = expected_pairs(before != after)
    assert np.array_equal(packed([(sources, every[origins])]), changed)
