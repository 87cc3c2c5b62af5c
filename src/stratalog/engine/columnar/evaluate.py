"""Run compiled plans: joins in kernels, built-ins on whole blocks, facts merged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.bulk import Bulk
from stratalog.engine.columnar.compile import Segment
from stratalog.engine.columnar.expressions import ERROR, Evaluator
from stratalog.engine.columnar.grouping import reduce_groups
from stratalog.engine.columnar.planned import Planned
from stratalog.engine.columnar.relation import Directory, Ids, Relation
from stratalog.kernels import plan as k
from stratalog.kernels import rows
from stratalog.lang.syntax import Argument, Bind, Filter, Variable
from stratalog.plan.rules import Grouping, PlannedRule

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

OUT = 8 * k.BLOCK  # derived facts merged together: small enough for the cache
COMPUTED_OUT = 64 * k.BLOCK  # bindings handed to built-ins together: large enough to vectorise
WORK_SLICE = 2_000_000  # rows visited per kernel call: well below a second, so that Ctrl-C works
MERGE_SLICE = 1_000_000
MOST_JOINED = 512  # groups of plans kept; more means that they do not repeat

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

    def fit(self, segment: Segment, arity: int) -> None:
        """Make the buffers large enough for a segment over relations of up to this arity."""
        levels = segment.levels + 1
        if self.state.size < k.RUN_STATE + levels * k.LEVEL_STATE:
            self.state = np.zeros(k.RUN_STATE + levels * k.LEVEL_STATE, np.int64)
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

    def __init__(self, planned: Sequence[Planned], scratch: Scratch, arity: int) -> None:
        self.planned = planned
        segments = [p.segments[0] for p in planned]
        for segment in segments:
            scratch.fit(segment, arity)
        self.plans = np.concatenate([segment.plan for segment in segments])
        ends = np.cumsum([segment.plan.size for segment in segments])
        self.offsets = np.concatenate([[0], ends]).astype(np.int64)
        self.profile = np.zeros(
            (len(planned), 3), np.int64
        )  # derivations, rows visited, microseconds
        self.indexes = list(dict.fromkeys(used for segment in segments for used in segment.indexes))


class Evaluation:
    """Evaluates plans on an engine's relations."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._evaluator = Evaluator(engine.terms)
        self._scratch = Scratch(OUT)
        self._joined: dict[tuple[int, ...], Joined] = {}
        self._depths: list[Scratch] = []
        self._slots_of = np.empty(rows.BLOCK + 1, np.uint64)
        self._batch = np.zeros(k.BATCH_STATE, np.int64)
        self.bulk = Bulk(engine)

    def run(self, planned: Sequence[Planned]) -> None:
        """Evaluate the plans and merge what they derive into their head relations."""
        bulk = [p for p in planned if self.bulk.is_worth_it(p)]
        joins = [p for p in planned if p.is_join and p not in bulk]
        if joins:
            self._run_joins(self._together(joins))
        for plan in bulk:
            self._engine.running = rule_text(plan.rule)
            self.bulk.run(plan)
        if len(joins) + len(bulk) < len(planned):
            for plan in planned:
                if not plan.is_join:
                    self._run_computed(plan)

    # -- rules of one segment: many per kernel call

    def _together(self, planned: Sequence[Planned]) -> Joined:
        key = tuple(map(id, planned))
        joined = self._joined.get(key)
        if joined is None:
            if len(self._joined) >= MOST_JOINED:
                self.forget(lambda _: True)
            joined = self._joined[key] = Joined(planned, self._scratch, self._engine.arity)
        return joined

    def _run_joins(self, joined: Joined) -> None:
        engine, scratch, batch = self._engine, self._scratch, self._batch
        for relation, index in joined.indexes:
            index.catch_up(relation)
        batch[:] = 0
        batch[k.SINCE] = time.process_time_ns() // 1000
        k.start(scratch.state)
        while True:
            status = k.evaluate_all(
                joined.plans,
                joined.offsets,
                engine.directory.addresses,
                engine.sets.tables,
                batch,
                scratch.state,
                scratch.bind,
                scratch.active,
                scratch.key,
                scratch.out,
                self._slots_of,
                joined.profile,
                WORK_SLICE,
            )
            if status == k.DONE:
                break
            stopped = joined.planned[int(batch[k.PLAN_NUMBER])]
            self._attend(int(status), stopped, int(scratch.state[k.N_OUT]))

    def forget(self, which: Callable[[PlannedRule], bool]) -> None:
        """Let go of kept plans of some rules; what they have cost stays in the profile."""
        for key, joined in list(self._joined.items()):
            if any(which(p.rule) for p in joined.planned):
                for index, derivations, visited, seconds in _costs(joined):
                    self._engine.computed_profile[index].add(derivations, visited, seconds)
                del self._joined[key]

    def forget_terms(self, size: int) -> None:
        """Let go of what is known of ids from `size` on."""
        self._evaluator.forget(size)

    def profiled(self) -> Iterator[tuple[int, int, int, float]]:
        """Yield rule index, derivations, rows visited and seconds of what ran in kernels."""
        for joined in self._joined.values():
            yield from _costs(joined)

    def _attend(self, status: int, planned: Planned, more: int) -> None:
        """Do what a kernel asked for before it can go on."""
        self._engine.running = rule_text(planned.rule)
        if status == k.GROW:
            planned.head.reserve(more)
        elif status == k.PROMOTE:
            planned.head.promote_counts()
        self._engine.check()

    # -- rules with built-ins or aggregates: block by block through Python

    def _run_computed(self, planned: Planned) -> None:
        self._engine.running = rule_text(planned.rule)
        self._catch_up(planned)
        begun = time.process_time()
        derived = 0
        for block in self._derived(planned):
            derived += block.shape[1]
            self.merge(planned.head, block, planned.mode)
        cost = derived, derived, time.process_time() - begun
        self._engine.computed_profile[planned.rule.index].add(*cost)

    def answers(self, planned: Planned) -> Relation:
        """Return the distinct output rows of a plan in a relation of their own."""
        self._catch_up(planned)
        answers = Relation(planned.rule.head.predicate, 0, self._engine.account, Directory())
        try:
            for block in self._derived(planned):
                self.merge(answers, block, rows.UNCOUNTED)
        finally:
            answers.release()  # they belong to whoever asked
        return answers

    def _catch_up(self, planned: Planned) -> None:
        for segment in planned.segments:
            for relation, index in segment.indexes:
                index.catch_up(relation)

    def _derived(self, planned: Planned) -> Iterator[Block]:
        """Yield blocks of head facts: one per instance, or one per group of an aggregate."""
        blocks = self._blocks(planned.segments, 0, np.empty((0, 0), np.uint32))
        grouping = planned.rule.grouping
        if grouping is None:
            yield from blocks
            return
        held = 0
        matches: list[Block] = []
        try:
            for block in blocks:
                self._engine.account(2 * block.nbytes)  # twice while they are put together
                held += 2 * block.nbytes
                matches.append(block.copy())
            if matches:
                yield self._reduced(grouping, planned.segments[-1].outputs, matches)
        finally:
            self._engine.account(-held)

    def _reduced(
        self, grouping: Grouping, outputs: tuple[Argument, ...], matches: list[Block]
    ) -> Block:
        table = np.concatenate(matches, axis=1)
        columns = {v: table[i] for i, v in enumerate(outputs) if isinstance(v, Variable)}
        size = table.shape[1]
        reduced = reduce_groups(self._engine.terms, self._evaluator, grouping, columns, size)
        return np.ascontiguousarray(reduced, np.uint32)

    def _blocks(self, segments: Sequence[Segment], depth: int, table: Block) -> Iterator[Block]:
        """Yield the output of the segments from `depth` on, given the table they start from."""
        segment = segments[depth]
        for block in self._segment_blocks(segment, depth, table):
            if depth == len(segments) - 1:
                yield block
                continue
            columns = {
                v: block[i].copy() for i, v in enumerate(segment.outputs) if isinstance(v, Variable)
            }
            size = self._compute(segment.computed, columns, block.shape[1])
            if size:
                following = segments[depth + 1].inputs
                inputs = np.empty((len(following), size), np.uint32)
                for i, v in enumerate(following):
                    inputs[i] = columns[v]
                yield from self._blocks(segments, depth + 1, inputs)

    def _segment_blocks(self, segment: Segment, depth: int, table: Block) -> Iterator[Block]:
        """Yield the output of one segment in blocks that are overwritten by the next."""
        while len(self._depths) <= depth:
            self._depths.append(Scratch(COMPUTED_OUT))
        scratch, engine = self._depths[depth], self._engine
        scratch.fit(segment, engine.arity)
        k.start(scratch.state)
        status = k.FULL
        while status != k.DONE:
            status = k.evaluate(
                segment.plan,
                engine.directory.addresses,
                engine.sets.tables,
                scratch.state,
                scratch.bind,
                scratch.active,
                scratch.key,
                table,
                table.shape[1],
                scratch.out,
                scratch.state[k.WORK] + WORK_SLICE,
            )
            size = int(scratch.state[k.N_OUT])
            if size and status != k.PAUSED:
                yield scratch.out[: len(segment.outputs), :size]
                scratch.state[k.N_OUT] = 0
            self._engine.check()

    def _compute(
        self, builtins: Sequence[Filter | Bind], columns: dict[Variable, Ids], size: int
    ) -> int:
        """Evaluate FILTERs and BINDs on whole columns, in place; return what is left."""
        for builtin in builtins:
            if isinstance(builtin, Filter):
                kept = self._evaluator.holds(builtin.expression, columns, size)
            else:
                values = self._evaluator.evaluate(builtin.expression, columns, size)
                kept = values != ERROR
                if builtin.variable in columns:
                    kept &= values == columns[builtin.variable]
                columns[builtin.variable] = values
            if not kept.all():
                size = int(kept.sum())
                for v in columns:
                    columns[v] = columns[v][kept]
            if not size:
                break
        return size

    def merge(self, relation: Relation, block: Block, mode: int) -> None:
        """Find or insert the facts block[:, i]; see kernels/rows.py for the modes."""
        block = np.ascontiguousarray(block, np.uint32)
        size = block.shape[1]
        done = 0
        while done < size:
            end = min(size, done + MERGE_SLICE)
            relation.reserve(end - done)
            done = int(rows.merge(relation.descriptor, block, done, end, mode, self._slots_of))
            if done < end:
                relation.promote_counts()
            self._engine.check()


def _costs(joined: Joined) -> Iterator[tuple[int, int, int, float]]:
    for p, (derivations, visited, micros) in zip(
        joined.planned, joined.profile.tolist(), strict=True
    ):
        yield p.rule.index, derivations, visited, micros / 1e6


def rule_text(rule: PlannedRule) -> str:
    """Return the text of the user's rule that a planned rule comes from."""
    return rule.origin.text if rule.origin else f"(hidden rule for {rule.head.predicate.name})"
