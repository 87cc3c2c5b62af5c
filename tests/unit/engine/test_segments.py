"""The membership table: what it costs to store facts, in slots that are looked at."""

import numpy as np
import pytest

from stratalog.engine.columnar import membership as segments
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.engine.columnar.membership import MembershipTable
from stratalog.facts.labels import E
from stratalog.kernels import memory
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary

ROWS = 60_000
KEYS = 1_000  # constants of a column
HUBS = 64
MOST = 20  # slots a row, all growths together
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
UPPER = np.uint64(32)


def looked_at(relation, numbers=slice(None)):
    """Return how many slots were passed to enter the rows of some segments where they are.

    A row never moves within a table, so that is how far each is from its own slot.
    """
    columns = [column[: relation.rows].astype(np.uint64) for column in relation.columns]
    hashes = np.full(relation.rows, relation.arity, np.uint64)
    for column in columns:
        hashes = (hashes ^ column) * MULTIPLIER
        hashes ^= hashes >> UPPER
    return sum(distances(slots, hashes) for slots in relation.segments._slots[numbers])


def distances(slots, hashes):
    found = np.flatnonzero(slots != memory.NULL)
    own = ((hashes[slots[found]] >> UPPER) * np.uint64(slots.size)) >> UPPER
    return int(((found - own.astype(np.int64)) % slots.size).sum())


@pytest.fixture
def work(monkeypatch):
    """Add up the work before each growth; return a function that gives the sum for a relation."""
    spent = []
    monkeypatch.setattr(segments, "MANY_FACTS", 1 << 12)
    enlarge = MembershipTable.enlarge

    def counted(self, relation, segment, *args, **options):
        spent.append(looked_at(relation, slice(segment, segment + 1)))
        return enlarge(self, relation, segment, *args, **options)

    monkeypatch.setattr(MembershipTable, "enlarge", counted)
    return lambda relation: sum(spent) + looked_at(relation)


def skewed(arity):
    """Return facts in random order, half of them led by a few constants."""
    draws = np.random.default_rng(1)
    leading = draws.integers(HUBS, KEYS, ROWS)
    leading[draws.permutation(ROWS)[: ROWS // 2]] = draws.integers(0, HUBS, ROWS // 2)
    others = [draws.integers(0, KEYS, ROWS) for _ in range(arity - 1)]
    facts = np.unique(np.array([leading, *others], np.uint32), axis=1)
    return draws.permutation(facts, axis=1)


@pytest.mark.parametrize("arity", [2, 3])
def test_facts_with_few_leading_constants_cost_no_more_than_others_to_load(arity, work):
    engine, predicate = ColumnarEngine(Dictionary()), Predicate("p", arity)
    facts = skewed(arity)
    engine.load(predicate, facts, facts.shape[1])
    relation = engine.relation(predicate)
    assert engine.size(predicate, E) == relation.rows == facts.shape[1]
    assert engine.contains(predicate, facts, facts.shape[1], E).all()
    assert len(relation.segments) > 1
    assert work(relation) < MOST * relation.rows


@pytest.mark.parametrize("arity", [2, 3])
def test_facts_in_the_order_in_which_another_relation_keeps_them_cost_no_more(arity, work):
    engine = ColumnarEngine(Dictionary())
    predicate, other = Predicate("p", arity), Predicate("q", arity)
    facts = skewed(arity)
    engine.load(predicate, facts, facts.shape[1])
    relation = engine.relation(predicate)
    before = work(relation)
    labels, counts = relation.labels[: relation.rows], [c[: relation.rows] for c in relation.counts]
    engine.restore(other, engine.read(predicate, E)[0], labels, counts)
    copy = engine.relation(other)
    assert engine.contains(other, facts, facts.shape[1], E).all()
    assert work(copy) - before < MOST * copy.rows
