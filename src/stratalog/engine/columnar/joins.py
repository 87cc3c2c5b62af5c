"""Run rules that are plain joins, many per kernel call, and in several threads if there is much.

Threads divide the rules by head relation, so that each relation has one writer. Readers may meet
rows that are just being written: those have no label yet, so they are in no fact set. Whatever
moves arrays waits until all threads have stopped.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.compile import PlanPiece
from stratalog.engine.columnar.planned import CompiledVersion, rule_text
from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.engine.columnar.statistics import PAIR, PER_KEY
from stratalog.engine.shared.costs import Costs
from stratalog.kernels.plan import interpreter as k
from stratalog.kernels.preparation import PREPARATION
from stratalog.kernels.relation import modes
from stratalog.kernels.sizes import sized
from stratalog.plan.rules import PlannedRule

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

OUT = 8 * k.BLOCK  # derived facts merged together: small enough for the cache
WORK_SLICE = sized(
    2_000_000, 7
)  # rows visited per kernel call: well below a second, so that Ctrl-C works
MOST_JOINED = sized(512, 2)  # groups of plans kept; more means that they do not repeat
MIN_EXPECTED_ROWS = sized(1024, 2)  # facts to start from for whose heads room is made first
MIN_ROWS_PER_THREAD = sized(50_000, 1)  # facts to start from that are worth another thread

Block = npt.NDArray[np.uint32]


class Scratch:
    """The buffers of one running plan, reused from run to run."""

    def __init__(self, width: int) -> None:
        self._width = width
        self.state = np.zeros(0, np.int64)
        self.bind: Block = np.empty((0, k.BLOCK), np.uint32)
        self.active: Block = np.empty((0, k.BLOCK), np.uint32)
        self.key: Ids = np.empty(8, np.uint32)
        self.out: Block = np.empty((1, width), np.uint32)

    def fit(self, segment: PlanPiece, arity: int) -> None:
        """Make the buffers large enough for a segment over relations of up to this arity."""
        levels = segment.levels + 1
        if self.state.size < k.RUN_STATE + levels * k.LEVEL_STATE:
            larger = np.zeros(k.RUN_STATE + levels * k.LEVEL_STATE, np.int64)
            larger[: self.state.size] = self.state  # the work done so far
            self.state = larger
        if self.bind.shape[0] < levels * segment.variables:
            self.bind = np.empty((levels * segment.variables, k.BLOCK), np.uint32)
        if self.active.shape[0] < 2 * levels:
            self.active = np.empty((2 * levels, k.BLOCK), np.uint32)
        if self.key.size < arity:
            self.key = np.empty(arity, np.uint32)
        if self.out.shape[0] < len(segment.outputs):
            self.out = np.empty((len(segment.outputs), self._width), np.uint32)


class Joined:
    """Plans of one segment that run in one kernel call; kept, because rounds repeat them."""

    def __init__(self, planned: Sequence[CompiledVersion]) -> None:
        self.planned = planned
        self.segments = [p.segments[0] for p in planned]
        self.plans = np.concatenate([segment.plan for segment in self.segments])
        ends = np.cumsum([segment.plan.size for segment in self.segments])
        self.offsets = np.concatenate([[0], ends]).astype(np.int64)
        self.profile = np.zeros(
            (len(planned), 3), np.int64
        )  # derivations, rows visited, microseconds
        used = (used for segment in self.segments for used in segment.indexes)
        self.indexes = list(dict.fromkeys(used))

    def tell_costs(self, costs: Costs, preparation: float) -> None:
        """Note what the plans have cost since the last time, without preparing their kernels."""
        share = 1.0
        if preparation:  # which is rare, and this is called often
            measured = self.profile[:, 2].sum() / 1e6
            share = max(0.0, 1 - preparation / measured) if measured else 0.0
        for p, (derivations, visited, micros) in zip(
            self.planned, self.profile.tolist(), strict=True
        ):
            costs.add(p.rule.index, derivations, visited, share * micros / 1e6)
        self.profile[:] = 0


class _Lane:
    """What one thread needs to run plans."""

    def __init__(self) -> None:
        self.scratch = Scratch(OUT)
        self.batch = np.zeros(k.BATCH_STATE, np.int64)
        self.ahead = np.empty((2, modes.BLOCK + 1), np.uint64)
        self.status = k.DONE

    def begin(self, joined: Joined, arity: int) -> None:
        self.joined = joined
        for segment in joined.segments:
            self.scratch.fit(segment, arity)
        self.batch[:] = 0
        self.batch[k.SINCE] = time.process_time_ns() // 1000
        self.status = k.PAUSED
        k.start(self.scratch.state)

    @property
    def work(self) -> int:
        state = self.scratch.state
        return int(state[k.WORK]) if state.size else 0

    @property
    def running(self) -> CompiledVersion:
        return self.joined.planned[int(self.batch[k.PLAN_NUMBER])]


class Joins:
    """Runs joins on an engine's relations."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._kept: dict[tuple[int, ...], Joined] = {}
        self._lanes = [_Lane() for _ in range(engine.threads.count)]

    def run(self, planned: Sequence[CompiledVersion]) -> None:
        """Evaluate the plans and merge what they derive into their head relations."""
        engine = self._engine
        self._expect(planned)
        parts = self._divided(planned)
        lanes = self._lanes[: len(parts)]
        prepared = PREPARATION.seconds
        for lane, part in zip(lanes, parts, strict=True):
            lane.begin(self._together(part), engine.arity)
            for relation, index in lane.joined.indexes:
                index.catch_up(relation)
        try:
            while left := [lane for lane in lanes if lane.status != k.DONE]:
                engine.threads.run([partial(self._advance, lane) for lane in left])
                for lane in left:
                    self._attend(lane)
        finally:
            for lane in lanes:
                lane.joined.tell_costs(engine.costs, PREPARATION.seconds - prepared)

    def _expect(self, planned: Sequence[CompiledVersion]) -> None:
        """Make room in heads that are about to receive much from rules with one atom."""
        expected: defaultdict[Relation, list[int]] = defaultdict(list)
        keys: defaultdict[Relation, set[int | None]] = defaultdict(set)
        for p in planned:
            if len(p.rule.body) == 1 and (given := self._engine.given_rows(p)) >= MIN_EXPECTED_ROWS:
                expected[p.head].append(self._different(p, given))
                keys[p.head].add(self._key(p, given) if p.head.arity == PAIR else None)
        for head, sizes in expected.items():
            total = min(sum(sizes), 2 * max(sizes)) if head.arity > 1 else max(sizes)
            if total > 2 * head.rows:
                key = keys[head].pop() if len(keys[head]) == 1 else None
                head.expect(total - head.rows, key)

    def _key(self, planned: CompiledVersion, given: int) -> int | None:
        """Return the column of a head that is almost a key of what a rule with one atom derives."""
        (atom,), head = planned.rule.body, planned.rule.head
        found = {
            column: self._engine.statistics.distinct(atom.predicate, atom.args.index(variable))
            for column, variable in enumerate(head.args)
            if variable in atom.args
        }
        column = max(found, key=lambda each: found[each], default=None)
        return column if column is not None and found[column] * PER_KEY >= given else None

    def _different(self, planned: CompiledVersion, given: int) -> int:
        """Return about how many heads there are: all constants of a column, for one variable."""
        (atom,), head = planned.rule.body, planned.rule.head
        if planned.head.arity != 1 or head.args[0] not in atom.args:
            return given
        column = atom.args.index(head.args[0])
        return min(given, int(self._engine.statistics.distinct(atom.predicate, column)))

    def _divided(self, planned: Sequence[CompiledVersion]) -> list[Sequence[CompiledVersion]]:
        """Return the plans in a part per thread, if there is much to do, each head in one part."""
        parts = self._engine.threads.count
        given = [self._engine.given_rows(p) for p in planned] if parts > 1 else []
        if sum(given) < MIN_ROWS_PER_THREAD:
            return [planned]
        work: defaultdict[int, float] = defaultdict(float)  # by head
        for p, size in zip(planned, given, strict=True):
            work[p.head.number] += size * (1 + p.visits)
        part_of: dict[int, int] = {}
        filled = [0.0] * parts
        for number in sorted(work, key=lambda n: -work[n]):
            part_of[number] = filled.index(min(filled))
            filled[part_of[number]] += work[number]
        divided = [[p for p in planned if part_of[p.head.number] == n] for n in range(parts)]
        return [part for part in divided if part]

    def _together(self, planned: Sequence[CompiledVersion]) -> Joined:
        key = tuple(map(id, planned))
        joined = self._kept.get(key)
        if joined is None:
            if len(self._kept) >= MOST_JOINED:
                self.forget(lambda _: True)
            joined = self._kept[key] = Joined(planned)
        return joined

    def _advance(self, lane: _Lane) -> None:
        engine, joined, scratch = self._engine, lane.joined, lane.scratch
        evaluate_all = k.evaluate_all if engine.may_read_views else k.evaluate_all_rows
        lane.status = evaluate_all(
            joined.plans,
            joined.offsets,
            engine.directory.addresses,
            engine.sets.tables,
            lane.batch,
            scratch.state,
            scratch.bind,
            scratch.active,
            scratch.key,
            scratch.out,
            lane.ahead,
            joined.profile,
            engine.threads.stop,
            engine.slice_of_work(WORK_SLICE),
        )

    def work(self) -> int:
        """Return how many rows plans have visited and derived."""
        return sum(lane.work for lane in self._lanes)

    def _attend(self, lane: _Lane) -> None:
        """Do what a kernel asked for before it can go on."""
        if lane.status != k.DONE:
            self._engine.running = rule_text(lane.running.rule)
            if lane.status == k.STUCK:
                lane.running.head.unblock(int(lane.scratch.state[k.N_OUT]))
            self._engine.check()

    def forget(self, which: Callable[[PlannedRule], bool]) -> None:
        """Let go of kept plans of some rules."""
        for key, joined in list(self._kept.items()):
            if any(which(p.rule) for p in joined.planned):
                del self._kept[key]
