"""Recursion that passes a variable through: closed group by group, each in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.adjacency import Adjacency, lay_out
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.membership import (
    MAX_SEGMENTS,
    MAX_SINGLE_SEGMENT_ROWS,
    segment_of_constants,
)
from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.facts.engine import Closed
from stratalog.facts.sets import FactSet
from stratalog.kernels import memory
from stratalog.kernels.plan import path_joins
from stratalog.kernels.preparation import work_time
from stratalog.kernels.sizes import sized
from stratalog.plan.rules import PlannedRule
from stratalog.plan.shapes import Passing

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

WORK = sized(20_000_000, 3)  # steps of a kernel call: well below a second, so that Ctrl-C works
GOING = -3  # a lane that nothing stops
MIN_SEEDS_PER_THREAD = sized(4096, 2)  # seeds below which one thread is enough


@dataclass(slots=True)
class _Groups:
    """The groups of one lane, and what closing them needs."""

    lane: int
    order: Ids  # rows of the seeds, by group
    depth: npt.NDArray[np.int64]
    where: Ids
    count: Ids
    queue: Ids
    met: npt.NDArray[np.int64]
    seeds: npt.NDArray[np.int64]  # by segment
    done: int = 0

    @property
    def per_seed(self) -> float:
        """How many facts a seed has led to so far, itself included."""
        return int(self.met.sum()) / self.done if self.done >= MIN_SEEDS_PER_THREAD else 0.0

    @property
    def buffers(self) -> tuple[npt.NDArray[np.int64], Ids, Ids, Ids, npt.NDArray[np.int64]]:
        return self.depth, self.where, self.count, self.queue, self.met


def _groups(lane: int, order: Ids, segments: Ids, most: int) -> _Groups:
    where, count = np.empty(most, np.uint32), np.zeros(most, np.uint32)
    queue, met = np.empty(most + 1, np.uint32), np.zeros(most, np.int64)
    seeds = np.bincount(segments, minlength=MAX_SEGMENTS)
    return _Groups(lane, order, np.zeros(1, np.int64), where, count, queue, met, seeds)


class Saturation:
    """Closes relations under rules that pass a variable through."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._counted = True

    def close(
        self,
        rules: Sequence[PlannedRule],
        passes: Sequence[Passing],
        seeds: Ids,
        described: FactSet,
        *,
        counted: bool,
    ) -> Closed:
        """Return all that follows from the seeds, which are all facts of the relation so far."""
        engine = self._engine
        begun = work_time()
        relation = engine.relation(rules[0].head.predicate)
        edges = [self._edges(r, p, described) for r, p in zip(rules, passes, strict=True)]
        keys = np.concatenate([keys for keys, _ in edges])
        values = np.concatenate([values for _, values in edges])
        laid_out = lay_out(keys, values, np.arange(keys.size, dtype=np.uint32))
        first = relation.rows
        self._counted = counted
        rounds, met = self._close(relation, passes[0].group, seeds, laid_out)
        seconds = (work_time() - begun) / len(rules)
        for rule, (sources, _) in zip(rules, edges, strict=True):
            derived = int(met[sources[sources < met.size]].sum())
            engine.costs.add(rule.index, derived, derived, seconds)
        new = np.arange(first, relation.rows, dtype=np.uint32)
        return Closed(ColumnarBatch({relation.number: new} if new.size else {}), rounds)

    def _edges(self, rule: PlannedRule, passed: Passing, described: FactSet) -> tuple[Ids, Ids]:
        relation = self._engine.relation(rule.body[passed.edge.atom].predicate)
        chosen = self._engine.rows_of(relation, described)
        source, target = (0, 1) if passed.edge.forward else (1, 0)
        return relation.columns[source][chosen], relation.columns[target][chosen]

    def _close(
        self, relation: Relation, group: int, seeds: Ids, edges: Adjacency
    ) -> tuple[int, npt.NDArray[np.int64]]:
        """Append all that follows; return the rounds it stands for, and facts by last constant."""
        threads = self._engine.threads
        relation.segments.divide(relation, group, max(4 * seeds.size, MAX_SINGLE_SEGMENT_ROWS + 1))
        values = relation.columns[1 - group][: relation.rows]
        most = 1 + max(int(values.max(initial=0)), int(edges.targets.max(initial=0)))
        order = seeds[np.argsort(relation.columns[group][seeds], kind="stable")]
        lanes = threads.count if order.size >= MIN_SEEDS_PER_THREAD else 1
        segments = segment_of_constants(relation.columns[group][order])
        chosen = [segments % lanes == n for n in range(lanes)]
        parts = [_groups(n, order[c], segments[c], most) for n, c in enumerate(chosen)]
        relation.lanes.share(relation, lanes)
        try:
            while left := [part for part in parts if part.done < part.order.size]:
                advance = [partial(self._advance, relation, group, edges, part) for part in left]
                threads.run(advance)
                for part in left:
                    self._make_room(relation, parts, part)
                self._engine.check()
        finally:
            relation.lanes.unshare(relation)
        met: npt.NDArray[np.int64] = sum((part.met for part in parts), np.zeros(most, np.int64))
        return max(int(part.depth[0]) for part in parts), met

    def _advance(self, relation: Relation, group: int, edges: Adjacency, part: _Groups) -> None:
        """Close groups of a lane until they are done or need more than room in a segment."""
        d, stop = relation.descriptor, self._engine.threads.stop
        graph = edges.offsets, edges.targets
        reason = 0
        while reason >= 0:
            relation.lanes.table[part.lane, memory.LANE_STOP] = GOING
            at = part.lane, self._counted, group, part.order, part.done
            part.done = int(path_joins.saturate(d, *at, *graph, *part.buffers, stop, WORK))
            reason = relation.lanes.stopped_by(part.lane)
            if reason >= 0:
                relation.segments.enlarge(relation, reason, 0.0, _expected(reason, part))

    def _make_room(self, relation: Relation, parts: Sequence[_Groups], part: _Groups) -> None:
        reason = relation.lanes.stopped_by(part.lane)
        if reason == memory.OVERFLOW:
            relation.promote_counts()
        elif reason == memory.NO_ROOM:
            promised = sum(1.1 * p.per_seed * (p.order.size - p.done) for p in parts)
            need = part.queue.size * len(parts)
            relation.reserve(max(need, relation.rows // 2, int(promised)))


def _expected(segment: int, part: _Groups) -> int:
    """Return how many rows to make room for in a segment: a group's, or what its seeds promise."""
    promised = 1.2 * part.per_seed * int(part.seeds[segment])
    return max(part.queue.size, int(promised))
