"""Edges that follow facts of several relations are those that the facts make from scratch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stratalog.closure.packed_pairs import pack, replace, swap, unpacked
from stratalog.engine.spark.side_edges import SideEdges, directed
from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec
from stratalog.lang.syntax import Predicate

Pair = tuple[int, int]

PAIRS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)
CLOSINGS = st.builds(
    lambda turns, sources, targets: ClosureSpec(
        tuple(ClosureSide(Predicate(f"p{i}", 2), is_turned) for i, is_turned in enumerate(turns)),
        has_sources=sources,
        has_targets=targets,
    ),
    st.lists(st.booleans(), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
)


def words(pairs: set[Pair]) -> np.ndarray:
    first, second = (np.array([p[i] for p in sorted(pairs)], np.uint32) for i in (0, 1))
    return pack((first, second))


def expected(closing: ClosureSpec, facts: list[set[Pair]]) -> set[Pair]:
    edges = {pair for each in facts for pair in each}
    loops = {(x, x) for x, _ in edges if closing.has_sources}
    loops |= {(y, y) for _, y in edges if closing.has_targets}
    return edges | loops


@given(CLOSINGS, st.data())
def test_edges_follow_facts_that_come_and_go(closing: ClosureSpec, data: st.DataObject):
    facts = [data.draw(PAIRS) for _ in closing.sides]
    sides = SideEdges.of(closing, [words(each) for each in facts])
    edges = sides.edges()
    for _ in range(3):
        touched = [sorted(data.draw(PAIRS)) for _ in closing.sides]
        kept = [[data.draw(st.booleans()) for _ in each] for each in touched]
        given = [
            (words(set(each)), np.array(mask, np.bool_))
            for each, mask in zip(touched, kept, strict=True)
        ]
        for known, each, mask in zip(facts, touched, kept, strict=True):
            known -= set(each)
            known |= {pair for pair, is_kept in zip(each, mask, strict=True) if is_kept}
        sides, lost, gained = sides.followed(edges, given)
        edges = replace(edges, lost, gained)
        assert list(edges) == sorted(words(expected(closing, facts)))
        assert [set(each) for each in sides.facts] == [set(words(each)) for each in facts]


def test_pairs_are_read_in_the_direction_of_the_closure():
    pairs = pack((np.array([1, 7], np.uint32), np.array([0xFFFFFFFF, 0], np.uint32)))
    first, second = unpacked(swap(pairs))
    assert (first.tolist(), second.tolist()) == ([0xFFFFFFFF, 0], [1, 7])
    predicate = Predicate("p", 2)
    assert directed(pairs, ClosureSide(predicate, is_turned=True)).tolist() == swap(pairs).tolist()
    assert directed(pairs, ClosureSide(predicate)) is pairs
    assert directed(pairs, None) is pairs
