"""Closures that no process can hold: joins, round by round, and components by star contraction.

Kiveris, Lattanzi, Mirrokni, Rastogi and Vassilvitskii (Connected Components in MapReduce and
Beyond, SoCC 2014): each node's larger neighbours are led to its least one (large star), then its
smaller ones (small star), until nothing changes. Components of a partition's edges are found first,
which leaves a spoke per constant and partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stratalog.closure.packed_pairs import Words, pack
from stratalog.engine.spark.batch import NOTHING, SparkBatch, in_use
from stratalog.engine.spark.cuts import Written
from stratalog.engine.spark.deriving import Change
from stratalog.engine.spark.facts import ids
from stratalog.engine.spark.reading import Reader, deltas
from stratalog.engine.spark.rooms import most_edges
from stratalog.facts.labels import I, S, X
from stratalog.facts.sets import FactSet, Over
from stratalog.kernels.closure import union_find
from stratalog.lang.syntax import Atom, Predicate, Variable
from stratalog.plan.delta import Version
from stratalog.plan.rules import PlannedRule
from stratalog.spark import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stratalog.engine.spark.engine import SparkEngine
    from stratalog.engine.spark.session import Work

PAIRS = "c0 BIGINT, c1 BIGINT"
SCHEMA = pa.schema([("c0", pa.int64()), ("c1", pa.int64())])
LEFT, RIGHT = 0, 1  # atoms of a rule
_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")


class Far:
    """Closes edges without ever having them all in one process."""

    def __init__(self, engine: SparkEngine) -> None:
        self._engine = engine

    # -- transitive

    def closed(self, predicate: Predicate, edges: SparkBatch) -> SparkBatch:
        """Return the new facts that edges lead to, joined with others round by round."""
        engine = self._engine
        engine.mark(edges, X)
        rule = _transitive(predicate)
        queue = engine.settle(self._step(rule, LEFT, I, edges) | edges)
        while queue:
            queue = self._step(rule, RIGHT, X, queue)
        found = engine.settle(Over(frozenset({predicate})) & S)
        engine.unmark(found, S)
        return found

    def _step(
        self, rule: PlannedRule, start: int, others: FactSet, delta: SparkBatch
    ) -> SparkBatch:
        """Return the new facts that a delta leads to, marked S."""
        engine = self._engine
        engine.facts.merge(in_use())
        versions = [Version(rule, start, is_chain=True)]
        meanings = deltas(others, others, delta, NOTHING)
        found = engine.joined(versions, meanings, Change(None))
        new = SparkBatch(found.batch.cells)
        engine.mark(new, S)
        return new

    # -- components

    def spokes(self, edges: SparkBatch) -> Words | None:
        """Return what connects the constants that edges connect, None if that is too much.

        Each partition has its own components; a constant comes with the least one of its own.
        """
        work = self._engine.session
        most = most_edges(work)
        with work.described(f"components of {len(edges):,} edges by partition"):
            forests = map_in_arrow(work.sql(_text(edges)), list_spokes, PAIRS)
            found = work.fetched(forests.limit(most + 1))
        if found.num_rows > most:
            return None
        return np.unique(pack([ids(found, "c0"), ids(found, "c1")]))

    def connected(self, predicate: Predicate, edges: SparkBatch) -> SparkBatch:
        """Return the new pairs of components that edges make or join."""
        work = self._engine.session
        held = self._engine.settle(Over(frozenset({predicate})) & X)
        with work.described(f"components of {len(edges):,} edges"):
            forests = map_in_arrow(work.sql(_text(edges)), list_spokes, PAIRS)
            old = f"SELECT c0, min(c1) AS c1 FROM ({_text(held)}) GROUP BY c0" if held else ""  # noqa: S608
            given = Written(work, forests.union(work.sql(old)) if old else forests)
            links = contracted(work, given)
            members = (
                f"SELECT n.c0 AS node, coalesce(l.c1, n.c0) AS part"  # noqa: S608
                f" FROM (SELECT DISTINCT c0 FROM {given.view}) n"
                f" LEFT JOIN {links.view} l ON n.c0 = l.c0"
            )
            pairs = work.sql(
                f"WITH member AS ({members}) SELECT a.node AS c0, b.node AS c1"  # noqa: S608
                " FROM member a JOIN member b ON a.part = b.part"
            )
            found = self.entered(predicate, pairs)
        given.free()
        links.free()
        return found

    def entered(self, predicate: Predicate, pairs: DataFrame) -> SparkBatch:
        """Return those of the pairs that were not stored, in a segment."""
        engine = self._engine
        number = engine.facts.number(predicate)
        with (
            engine.session.described(f"pairs of {predicate.name}"),
            Reader(engine.facts, engine.overlay, {}).closed() as reader,
        ):
            heads = pairs.selectExpr(f"{number} AS p", "c0", "c1", "1L AS n")
            found = engine.deriving.in_segments({2: heads}, {number}, reader, Change(None))
        return SparkBatch(found.batch.cells)


def contracted(work: Work, given: Written) -> Written:
    """Return links from all but the least constant of each component to that one."""
    links, told = _kept(
        work,
        "SELECT DISTINCT greatest(c0, c1) AS c0, least(c0, c1) AS c1"  # noqa: S608
        f" FROM {given.view} WHERE c0 <> c1",
    )
    while True:
        more, now = _kept(work, _small_star(_large_star(links.view)))
        links.free()
        if now == told:
            return more
        links, told = more, now


def _large_star(links: str) -> str:
    """Return the statement that leads larger neighbours to the least one, or to the node."""
    both = f"SELECT c0 AS u, c1 AS v FROM {links} UNION ALL SELECT c1, c0 FROM {links}"  # noqa: S608
    least = "least(u, min(v) OVER (PARTITION BY u))"
    return f"SELECT DISTINCT v AS c0, m AS c1 FROM (SELECT u, v, {least} AS m FROM ({both})) WHERE v > u"  # noqa: E501, S608


def _small_star(links: str) -> str:
    """Return the statement that leads a node and its smaller neighbours to the least of them."""
    least = f"SELECT c0, c1, min(c1) OVER (PARTITION BY c0) AS m FROM ({links})"  # noqa: S608
    return (
        f"WITH t AS ({least}) SELECT DISTINCT c0, c1 FROM (SELECT c1 AS c0, m AS c1 FROM t"  # noqa: S608
        " WHERE c1 <> m UNION ALL SELECT c0, m FROM t)"
    )


def _kept(work: Work, text: str) -> tuple[Written, tuple[int, object]]:
    """Write pairs, and return what tells whether they are the same as others."""
    kept = Written(work, work.sql(text))
    total = "sum(CAST(xxhash64(c0, c1) AS DECIMAL(38)))"
    found = kept.summarised(f"SELECT count(*) AS n, {total} AS h FROM {kept.view}").to_pylist()[0]  # noqa: S608
    return kept, (found["n"], found["h"])


def list_spokes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield each constant of a partition's pairs with its component: this runs in executors."""
    table = pa.Table.from_batches(batches, SCHEMA)
    pairs = [table.column(name).to_numpy() for name in ("c0", "c1")]
    constants, numbers = np.unique(np.concatenate(pairs), return_inverse=True)
    parents = np.arange(constants.size)
    edges = numbers.astype(np.int64).reshape(2, -1)
    union_find.link(parents, edges)  # a kernel
    yield pa.record_batch([pa.array(constants), pa.array(constants[parents])], schema=SCHEMA)


def _transitive(predicate: Predicate) -> PlannedRule:
    body = Atom(predicate, (_X, _Y)), Atom(predicate, (_Y, _Z))
    return PlannedRule(-1, Atom(predicate, (_X, _Z)), body)


def _text(batch: SparkBatch) -> str:
    """Return the statement for pairs of whole cells."""
    return " UNION ALL ".join(
        f"SELECT c0, c1 FROM ({segment.body}) WHERE {segment.where(cells)}"  # noqa: S608
        for segment, cells in batch.cells.items()
    )
