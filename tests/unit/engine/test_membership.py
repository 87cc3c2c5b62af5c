"""Every way a relation knows its facts: by hash, on pages, chained, and from one to another."""

import numpy as np
import pytest

from stratalog.engine.columnar import membership as segments
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.facts.labels import E
from stratalog.kernels import memory
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary

MANY = 2 * segments.MAX_SINGLE_SEGMENT_ROWS + 40
UNARY, PAIRS = Predicate("p", 1), Predicate("p", 2)


class Facts:
    """A relation of an engine, and the same facts in an array."""

    def __init__(self, predicate):
        self.predicate = predicate
        self.engine = ColumnarEngine(Dictionary())
        self.expected = np.empty(0, np.uint64)

    @property
    def segments(self):
        return self.engine.relation(self.predicate).segments

    def load(self, facts):
        block = np.asarray(facts, np.uint32).T
        self.engine.load(self.predicate, list(block), block.shape[1])
        self.expected = np.union1d(self.expected, packed(block))

    def check(self):
        columns, size = self.engine.read(self.predicate, E)
        assert size == len(self.expected)
        assert np.array_equal(np.sort(packed(columns)), self.expected)
        assert self.contains(self.expected).all()
        others = self.expected + np.uint64(1)
        assert np.array_equal(self.contains(others), np.isin(others, self.expected))

    def contains(self, facts):
        columns = [(facts >> np.uint64(32)).astype(np.uint32), facts.astype(np.uint32)]
        return self.engine.contains(
            self.predicate, columns[2 - self.predicate.arity :], facts.size, E
        )


def packed(columns):
    """Return a number per fact."""
    high = columns[0].astype(np.uint64) << np.uint64(32) if len(columns) > 1 else np.uint64(0)
    return high | columns[-1].astype(np.uint64)


def keyed(column, size=MANY, per_key=1, spread=1, seed=0):
    """Return pairs of which one column is almost a key."""
    draws = np.random.default_rng(seed)
    keys = np.arange(size) // per_key * spread
    pairs = np.stack([keys, draws.integers(0, 50, size)], axis=1)
    return pairs if column == 0 else pairs[:, ::-1]


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("in_order", [True, False])
def test_pairs_are_chained_by_the_column_that_is_almost_a_key(column, in_order):
    facts = Facts(PAIRS)
    pairs = keyed(column)
    if not in_order:
        pairs = np.random.default_rng(1).permutation(pairs)
    facts.load(pairs)
    assert facts.segments.is_paged
    assert facts.segments.by == column
    facts.check()
    facts.load(np.concatenate([pairs[::2], keyed(column, seed=2)]))  # old ones, and second ones
    assert facts.segments.is_paged
    facts.check()


@pytest.mark.parametrize("column", [0, 1])
def test_a_segment_is_hashed_where_a_constant_has_many_facts(column):
    facts = Facts(PAIRS)
    facts.load(keyed(column))
    hub = np.stack([np.full(500, 7), np.arange(1000, 1500)], axis=1)
    facts.load(hub if column == 0 else hub[:, ::-1])
    sizes = facts.segments.table[:, memory.SEGMENT_DIRECTORY]
    assert facts.segments.is_paged
    assert (sizes < 0).sum() == 1  # and the others are as they were
    facts.check()
    facts.load(keyed(column, seed=3))
    facts.load(keyed(column, size=4 * MANY, seed=4))  # the hashed segment grows too
    facts.check()


def test_pairs_without_a_key_are_hashed():
    facts = Facts(PAIRS)
    draws = np.random.default_rng(5)
    side = int(MANY**0.5)
    facts.load(np.stack(np.divmod(draws.permutation(side * side * 2), side), axis=1))
    assert not facts.segments.is_paged
    facts.check()


@pytest.mark.parametrize("predicate", [UNARY, PAIRS])
def test_pages_that_are_mostly_empty_are_given_up(predicate):
    facts = Facts(predicate)
    spread = 1 << 10
    rows = keyed(0, spread=spread)
    facts.load(rows[:, : predicate.arity])
    later = keyed(0, size=2 * MANY, spread=spread, seed=6)
    facts.load(later[:, : predicate.arity])
    facts.check()
    assert not facts.segments.is_paged


def test_chained_facts_survive_growth_trimming_and_undone_updates():
    facts = Facts(PAIRS)
    facts.load(keyed(0))
    facts.engine.trim()
    facts.check()
    facts.engine.begin()
    block = keyed(0, size=3 * MANY, seed=8).astype(np.uint32).T
    new = facts.engine.store(PAIRS, block, block.shape[1])
    facts.engine.mark(new, E)
    facts.engine.roll_back()
    facts.check()
    facts.load(keyed(0, size=3 * MANY, seed=9))
    facts.check()
