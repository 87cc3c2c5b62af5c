"""Run compiled plans: joins in kernels, built-ins on whole blocks, facts merged."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.compile import PlanPiece
from stratalog.engine.columnar.joins import WORK_SLICE, Joins, Scratch
from stratalog.engine.columnar.path_joins import PathJoins
from stratalog.engine.columnar.planned import CompiledVersion, rule_text
from stratalog.engine.columnar.relation import Directory, Ids, Relation
from stratalog.engine.values.expressions import ERROR, Evaluator
from stratalog.engine.values.grouping import reduce_groups
from stratalog.kernels.plan import interpreter as k
from stratalog.kernels.preparation import work_time
from stratalog.kernels.relation.modes import UNCOUNTED
from stratalog.lang.syntax import Argument, Bind, Filter, Variable
from stratalog.plan.rules import Grouping, PlannedRule

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

COMPUTED_OUT = 64 * k.BLOCK  # bindings handed to built-ins together: large enough to vectorise
BULK_HEADS_PER_ROW = 16  # heads derived in bulk that take as long as a row visited
SMALL_OUT = 2 * k.BLOCK  # where few bindings may be enough

Block = npt.NDArray[np.uint32]


class Evaluation:
    """Evaluates plans on an engine's relations."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._evaluator = Evaluator(engine.terms, engine.check)
        self._joins = Joins(engine)
        self._large: list[Scratch] = []  # one per segment of a plan
        self._small: list[Scratch] = []
        self._scratches = self._large
        self._visited = 0  # rows, by plans that run block by block
        self.bulk = PathJoins(engine)

    def run(self, planned: Sequence[CompiledVersion]) -> None:
        """Evaluate the plans and merge what they derive into their head relations."""
        bulk = [p for p in planned if self.bulk.is_worth_it(p)]
        joins = [p for p in planned if p.is_join and p not in bulk]
        if joins:
            self._joins.run(joins)
        for plan in bulk:
            self._engine.running = rule_text(plan.rule)
            self.bulk.run(plan)
        if len(joins) + len(bulk) < len(planned):
            for plan in planned:
                if not plan.is_join:
                    self._run_computed(plan)

    def forget(self, which: Callable[[PlannedRule], bool]) -> None:
        """Let go of kept plans of some rules."""
        self._joins.forget(which)

    def work(self) -> int:
        """Return how many rows were visited, and heads derived in bulk."""
        return self._visited + self._joins.work() + self.bulk.derived // BULK_HEADS_PER_ROW

    def forget_terms(self, size: int) -> None:
        """Let go of what is known of ids from `size` on."""
        self._evaluator.forget(size)

    # -- rules with built-ins or aggregates: block by block through Python

    def _run_computed(self, planned: CompiledVersion) -> None:
        self._engine.running = rule_text(planned.rule)
        self._catch_up(planned)
        begun, before = work_time(), self._visited
        derived = 0
        for block in self._derived(planned):
            derived += block.shape[1]
            self._engine.merge(planned.head, block, planned.mode)
        cost = derived, self._visited - before, work_time() - begun
        self._engine.costs.add(planned.rule.index, *cost)

    def answers(self, planned: CompiledVersion) -> Relation:
        """Return the distinct output rows of a plan in a relation of their own."""
        engine = self._engine
        engine.running = rule_text(planned.rule)
        self._catch_up(planned)
        answers = Relation(planned.rule.head.predicate, 0, engine.account, Directory())
        try:
            for block in self._derived(planned):
                engine.merge(answers, block, UNCOUNTED)
                engine.check_facts(answers.rows)
        finally:
            answers.release()  # they belong to whoever asked
        return answers

    def blocks(self, planned: CompiledVersion, *, small: bool = False) -> Iterator[Block]:
        """Yield blocks of a plan's outputs, each overwritten by the next."""
        self._catch_up(planned)
        self._scratches = self._small if small else self._large
        begun, before = work_time(), self._visited
        try:
            yield from self._derived(planned)
        finally:
            self._scratches = self._large
            cost = 0, self._visited - before, work_time() - begun
            self._engine.costs.add(planned.rule.index, *cost)

    def _catch_up(self, planned: CompiledVersion) -> None:
        for segment in planned.segments:
            for relation, index in segment.indexes:
                index.catch_up(relation)

    def _derived(self, planned: CompiledVersion) -> Iterator[Block]:
        """Yield blocks of head facts: one per instance, or one per group of an aggregate."""
        blocks = self._blocks(planned.segments)
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

    def _blocks(self, segments: Sequence[PlanPiece]) -> Iterator[Block]:
        """Yield the output of the last segment; each gets what is computed of the one before."""
        running = [self._segment_blocks(segments[0], 0, np.empty((0, 0), np.uint32))]
        try:
            while running:
                depth = len(running)
                block = next(running[-1], None)
                if block is None:
                    running.pop()
                elif depth == len(segments):
                    yield block
                else:
                    table = self._table(segments[depth - 1], segments[depth].inputs, block)
                    if table.shape[1]:
                        running.append(self._segment_blocks(segments[depth], depth, table))
        finally:
            for blocks in reversed(running):
                blocks.close()

    def _table(self, segment: PlanPiece, variables: Sequence[Variable], block: Block) -> Block:
        """Return the values of variables after a segment, given a block that it has produced."""
        columns = {
            v: block[i].copy() for i, v in enumerate(segment.outputs) if isinstance(v, Variable)
        }
        size = self._compute(segment.computed, columns, block.shape[1])
        table = np.empty((len(variables), size), np.uint32)
        if size:  # otherwise not all of them have been computed
            for i, v in enumerate(variables):
                table[i] = columns[v]
        return table

    def _segment_blocks(
        self, segment: PlanPiece, depth: int, table: Block
    ) -> Generator[Block, None, None]:
        """Yield the output of one segment in blocks that are overwritten by the next."""
        scratches, engine = self._scratches, self._engine
        while len(scratches) <= depth:
            scratches.append(Scratch(SMALL_OUT if scratches is self._small else COMPUTED_OUT))
        scratch = scratches[depth]
        scratch.fit(segment, engine.arity)
        k.start(scratch.state)
        before = int(scratch.state[k.WORK])
        status = k.FULL
        try:
            while status != k.DONE:
                evaluate = k.evaluate if engine.may_read_views else k.evaluate_rows
                status = evaluate(
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
                    scratch.state[k.WORK] + engine.slice_of_work(WORK_SLICE),
                )
                size = int(scratch.state[k.N_OUT])
                if size and status != k.PAUSED:
                    yield scratch.out[: len(segment.outputs), :size]
                    scratch.state[k.N_OUT] = 0
                self._engine.check()
        finally:  # also if nobody wants more
            self._visited += int(scratch.state[k.WORK]) - before

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
