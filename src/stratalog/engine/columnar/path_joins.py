"""Bulk joins: paths followed from each head constant, heads merged with their multiplicities.

The plan interpreter is best for small deltas. Where much is derived, what costs is to ask for each
candidate whether it is known; here candidates are first counted in the cache and each distinct
head is merged once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.adjacency import Adjacency, Chain, lay_out
from stratalog.engine.columnar.membership import MAX_SINGLE_SEGMENT_ROWS, segment_of_constants
from stratalog.engine.columnar.planned import CompiledVersion
from stratalog.engine.columnar.relation import Ids, Relation, too_many_derivations
from stratalog.facts.sets import FactSet
from stratalog.kernels.plan import interpreter as k
from stratalog.kernels.plan import path_joins
from stratalog.kernels.preparation import work_time
from stratalog.kernels.relation import modes
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Atom
from stratalog.plan.delta import Role
from stratalog.plan.shapes import Hop

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

MIN_BULK_ROWS = sized(4096, 2)  # facts to start from below which the plan interpreter is better
GAIN = 3.0  # how much cheaper a fact met on a path is than one met by the plan interpreter
SWEEP = 16.0  # constants that buffers are made for at the cost of one fact met on a path
WORK = sized(20_000_000, 3)  # steps of a kernel call: well below a second, so that Ctrl-C works
MIN_STARTS_PER_THREAD = sized(256, 2)  # starts below which one thread is enough
LEAST_SHARE = 0.01  # of the starts, from which one can tell how many rows all will give

Integers = npt.NDArray[np.int64]
Buffers = tuple[Ids, Integers, Ids, Ids, Integers]


@dataclass(slots=True)
class _Lane:
    """The starts that one thread follows paths from."""

    number: int
    starts: Ids
    buffers: Buffers
    status: int = k.PAUSED
    progress: Integers = field(default_factory=lambda: np.zeros(path_joins.PROGRESS, np.int64))
    ahead: npt.NDArray[np.uint64] = field(
        default_factory=lambda: np.empty((2, modes.BLOCK + 1), np.uint64)
    )

    @property
    def derived(self) -> int:
        upper, lower = self.progress[path_joins.DERIVED_UPPER], self.progress[path_joins.DERIVED]
        return (int(upper) << 32) + int(lower)

    @property
    def share_done(self) -> float:
        """How much of the lane's starts have been followed."""
        return int(self.progress[path_joins.NEXT_START]) / max(1, self.starts.size)

    @property
    def unmerged(self) -> int:
        return int(self.progress[path_joins.WRITTEN] - self.progress[path_joins.MERGED])


def _buffers(vertices: int) -> Buffers:
    """Return what following paths over so many constants needs; see the kernel."""
    counts = np.zeros((2, vertices), np.int64)
    reached = np.empty((2, vertices + 1), np.uint32)
    size = vertices + path_joins.MERGED_HEADS
    out, weights = np.empty((2, size), np.uint32), np.empty(size, np.int64)
    return np.empty(1, np.uint32), counts, reached, out, weights


class PathJoins:
    """Bulk evaluation on an engine's relations."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._kept: dict[tuple[int, bool, int], Adjacency] = {}
        self.derived = 0  # heads, with their multiplicities

    def is_worth_it(self, planned: CompiledVersion) -> bool:
        """Return whether following a path touches less than joining fact by fact, by estimate."""
        if planned.path is None:
            return False
        given = self._engine.given_rows(planned)
        if given < MIN_BULK_ROWS:
            return False
        cost, _ = self._survey(planned, planned.path)
        cost += self._engine.constants / SWEEP
        return cost < GAIN * given * planned.visits

    def _size(self, atom: Atom, *, is_delta: bool = False) -> int:
        relation = self._engine.relation(atom.predicate)
        return relation.delta_rows.size if is_delta else relation.rows

    def _survey(self, planned: CompiledVersion, path: tuple[Hop, ...]) -> tuple[float, list[bool]]:
        """Return about how many facts a path meets, and which of its hops are laid out for it."""
        cost, met = 0.0, 1.0
        laid_out = []
        for i, hop in enumerate(path):
            atom = planned.rule.body[hop.atom]
            is_delta = planned.version.role(hop.atom) is Role.DELTA
            rows = float(self._size(atom, is_delta=is_delta))
            keys = self._engine.statistics.distinct(atom.predicate, 0 if hop.forward else 1)
            met = rows if i == 0 else min(rows, met * rows / max(1.0, min(keys, rows)))
            is_ready = self._is_ready(planned, hop)
            laid_out.append(i == 0 or is_delta or is_ready or rows <= 2 * met)
            cost += met + (rows if laid_out[-1] and not is_ready else 0)
        return cost, laid_out

    def _is_ready(self, planned: CompiledVersion, hop: Hop) -> bool:
        """Return whether a laid-out copy of a hop's facts is there from before."""
        relation = self._engine.relation(planned.rule.body[hop.atom].predicate)
        kept = self._kept.get(self._key(relation, self._described(planned, hop), hop.forward))
        is_delta = planned.version.role(hop.atom) is Role.DELTA
        return not is_delta and kept is not None and kept.changes == relation.changes

    def _described(self, planned: CompiledVersion, hop: Hop) -> FactSet:
        relation = self._engine.relation(planned.rule.body[hop.atom].predicate)
        is_old = planned.version.role(hop.atom) is Role.OLD and relation.delta_rows.size
        return planned.old if is_old else planned.pos

    def run(self, planned: CompiledVersion) -> None:
        """Follow the path from every constant and merge the heads with their multiplicities."""
        path = planned.path or ()
        begun = work_time()
        _, laid_out = self._survey(planned, path)
        first = self._lay_out(planned, path[0])
        using = (
            [first]
            + [  # kept alive while kernels know their addresses
                self._lay_out(planned, hop) if is_laid_out else self._chain(planned, hop)
                for hop, is_laid_out in zip(path[1:], laid_out[1:], strict=True)
            ]
        )
        levels = np.array([level.record() for level in using], np.int64)
        derived = self._follow(planned, levels, first.starts())
        cost = derived, derived, work_time() - begun
        self._engine.costs.add(planned.rule.index, *cost)

    def _follow(self, planned: CompiledVersion, levels: Integers, starts: Ids) -> int:
        """Run the kernel over all starts, in a lane per thread; return the derivations."""
        head, threads = planned.head, self._engine.threads
        head.segments.expect(head, max(0, MAX_SINGLE_SEGMENT_ROWS + 1 - head.rows))
        is_shared = (
            threads.count > 1
            and starts.size >= MIN_STARTS_PER_THREAD
            and head.segments.can_be_shared
        )
        lanes = self._lanes(starts, threads.count if is_shared else 1)
        before, first_new = self.derived, head.rows
        if is_shared:
            head.lanes.share(head, threads.count)
        try:
            while left := [lane for lane in lanes if lane.status != k.DONE]:
                advance = partial(self._advance, planned, levels, first_new)
                threads.run([partial(advance, lane) for lane in left])
                for lane in left:
                    if lane.status == path_joins.TOO_MANY:
                        raise too_many_derivations(self._engine.running)
                    if lane.status == k.STUCK:
                        promised = int(head.rows * _growth(head, first_new, lane))
                        head.unblock(max(lane.unmerged, promised), lane.number)
                self.derived = before + sum(lane.derived for lane in lanes)
                self._engine.check()
        finally:
            if is_shared:
                head.lanes.unshare(head)
        return self.derived - before

    def _lanes(self, starts: Ids, count: int) -> list[_Lane]:
        vertices = self._engine.constants
        if count == 1:
            return [_Lane(0, starts, _buffers(vertices))]
        of_lane = segment_of_constants(starts) % count
        return [_Lane(n, starts[of_lane == n], _buffers(vertices)) for n in range(count)]

    def _advance(
        self, planned: CompiledVersion, levels: Integers, first_new: int, lane: _Lane
    ) -> None:
        """Follow paths in a lane until they are done or need more than room in a segment."""
        head, tables = planned.head, self._engine.sets.tables
        of_lane = lane.starts, lane.progress, lane.buffers, lane.ahead
        while True:
            at = head.descriptor, lane.number, planned.mode, levels, tables
            until = self._engine.threads.stop, self._engine.slice_of_work(WORK)
            lane.status = int(path_joins.follow(*at, *of_lane, *until))
            full = head.lanes.stopped_by(lane.number) if lane.status == k.STUCK else -1
            if full < 0:
                return
            head.segments.enlarge(head, full, _growth(head, first_new, lane))

    def _chain(self, planned: CompiledVersion, hop: Hop) -> Chain:
        relation = self._engine.relation(planned.rule.body[hop.atom].predicate)
        index = relation.index((0 if hop.forward else 1,))
        index.catch_up(relation)
        described = self._described(planned, hop)
        number = self._engine.sets.number(described, relation.predicate)
        return Chain(relation, index.at, 1 if hop.forward else 0, number)

    def _lay_out(self, planned: CompiledVersion, hop: Hop) -> Adjacency:
        relation = self._engine.relation(planned.rule.body[hop.atom].predicate)
        if planned.version.role(hop.atom) is Role.DELTA:
            return lay_out(*_oriented(relation, hop.forward), relation.delta_rows)
        return self._laid_out(relation, self._described(planned, hop), hop.forward)

    def _key(self, relation: Relation, described: FactSet, forward: bool) -> tuple[int, bool, int]:
        return relation.number, forward, self._engine.sets.number(described, relation.predicate)

    def _laid_out(self, relation: Relation, described: FactSet, forward: bool) -> Adjacency:
        """Return the facts of a set by one column, kept as long as the relation does not change."""
        key = self._key(relation, described, forward)
        kept = self._kept.get(key)
        if kept is None or kept.changes != relation.changes:
            chosen = self._engine.rows_of(relation, described)
            kept = lay_out(*_oriented(relation, forward), chosen, relation.changes)
            self._kept[key] = kept
        return kept

    def forget(self) -> None:
        """Let go of what was laid out."""
        self._kept.clear()


def _growth(head: Relation, first_new: int, lane: _Lane) -> float:
    """Return how many more rows are to come per row, by what the starts so far have given."""
    if lane.share_done < LEAST_SHARE:
        return 0.0
    new = (head.rows - first_new) / max(1, head.rows)
    return 1.05 * new * (1 / lane.share_done - 1)


def _oriented(relation: Relation, forward: bool) -> tuple[Ids, Ids]:
    """Return the columns that a hop comes from and goes to."""
    first, second = relation.columns
    return (first, second) if forward else (second, first)
