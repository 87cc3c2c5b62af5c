"""Bulk evaluation: paths followed from each head constant, recursion closed group by group.

The plan interpreter is best for small deltas. Where much is derived, what costs is to ask for each
candidate whether it is known; here candidates are first counted in the cache and each distinct
head is merged once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.planned import Planned
from stratalog.engine.columnar.relation import Ids, Relation, too_many_derivations
from stratalog.facts.engine import Closed
from stratalog.facts.sets import FactSet
from stratalog.kernels import paths, rows
from stratalog.lang.syntax import Atom
from stratalog.plan.delta import Role
from stratalog.plan.paths import Hop, Passing
from stratalog.plan.rules import PlannedRule

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

LEAST = 4096  # facts to start from below which the plan interpreter is better
GAIN = 3.0  # how much cheaper a fact met on a path is than one met by the plan interpreter
WORK = 20_000_000  # steps of a kernel call: well below a second, so that Ctrl-C works


@dataclass(slots=True)
class Adjacency:
    """Binary facts by one column: targets[offsets[c] : offsets[c + 1]] belong to constant c."""

    offsets: Ids
    targets: Ids
    changes: int  # of the relation when it was laid out

    def record(self) -> list[int]:
        """Return the level of a path that reads it."""
        offsets, targets = self.offsets, self.targets
        sizes = offsets.ctypes.data, offsets.size, targets.ctypes.data, targets.size
        return [paths.LAID_OUT, *sizes]


@dataclass(slots=True)
class Chain:
    """Binary facts read along the chains of an index."""

    relation: Relation
    at: int  # where the index begins in the relation's descriptor
    column: int  # of the targets
    described: int  # number of the fact set

    def record(self) -> list[int]:
        """Return the level of a path that reads it."""
        address = self.relation.descriptor.ctypes.data
        return [paths.CHAINED, address, self.at, self.column, self.described]


def adjacency(keys: Ids, values: Ids, changes: int = 0) -> Adjacency:
    """Return values laid out by key."""
    size = int(keys.max()) + 2 if keys.size else 1
    offsets = np.zeros(size, np.uint32)
    paths.count_keys(keys, offsets)
    np.cumsum(offsets, out=offsets)
    targets = np.empty(keys.size, np.uint32)
    paths.fill_targets(keys, values, offsets[:-1].copy(), targets)
    return Adjacency(offsets, targets, changes)


class Bulk:
    """Bulk evaluation on an engine's relations."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._kept: dict[tuple[int, bool, int], Adjacency] = {}
        self._slots_of = np.empty(rows.BLOCK + 1, np.uint64)

    # -- paths

    def is_worth_it(self, planned: Planned) -> bool:
        """Return whether following a path touches less than joining fact by fact, by estimate."""
        if planned.path is None:
            return False
        body, start = planned.rule.body, planned.version.start
        given = planned.first_rows if start is None else self._size(body[start], is_delta=True)
        if given < LEAST:
            return False
        cost, _ = self._survey(planned, planned.path)
        return cost < GAIN * given * planned.visits

    def _size(self, atom: Atom, *, is_delta: bool = False) -> int:
        relation = self._engine.relation(atom.predicate)
        return relation.delta_rows.size if is_delta else relation.rows

    def _survey(self, planned: Planned, path: tuple[Hop, ...]) -> tuple[float, list[bool]]:
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

    def _is_ready(self, planned: Planned, hop: Hop) -> bool:
        """Return whether a laid-out copy of a hop's facts is there from before."""
        relation = self._engine.relation(planned.rule.body[hop.atom].predicate)
        kept = self._kept.get(self._key(relation, self._described(planned, hop), hop.forward))
        is_delta = planned.version.role(hop.atom) is Role.DELTA
        return not is_delta and kept is not None and kept.changes == relation.changes

    def _described(self, planned: Planned, hop: Hop) -> FactSet:
        relation = self._engine.relation(planned.rule.body[hop.atom].predicate)
        is_old = planned.version.role(hop.atom) is Role.OLD and relation.delta_rows.size
        return planned.old if is_old else planned.pos

    def run(self, planned: Planned) -> None:
        """Follow the path from every constant and merge the heads with their multiplicities."""
        path = planned.path or ()
        begun = time.process_time()
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
        starts = np.flatnonzero(np.diff(first.offsets)).astype(np.uint32)
        derived = self._follow(planned, levels, starts)
        cost = derived, derived, time.process_time() - begun
        self._engine.computed_profile[planned.rule.index].add(*cost)

    def _follow(self, planned: Planned, levels: npt.NDArray[np.int64], starts: Ids) -> int:
        """Run the kernel over all starts; return the number of derivations."""
        vertices = self._engine.constants
        counts = np.zeros((2, vertices), np.int64)
        reached = np.empty((2, vertices), np.uint32)
        out = np.empty((2, vertices + (1 << 16)), np.uint32)
        multiplicity = np.empty(out.shape[1] + 1, np.int64)
        buffers = np.empty(1, np.uint32), counts, reached, out, multiplicity
        begin, derived = 0, 0
        while begin < starts.size:
            tables = self._engine.sets.tables
            begin = int(paths.follow(levels, tables, starts, begin, *buffers, WORK))
            size = int(multiplicity[-1])
            if size < 0:
                raise too_many_derivations(self._engine.running)
            derived += int(multiplicity[:size].sum())
            self._merge(planned.head, out, multiplicity, size, planned.mode)
            self._engine.check()
        return derived

    def _chain(self, planned: Planned, hop: Hop) -> Chain:
        relation = self._engine.relation(planned.rule.body[hop.atom].predicate)
        index = relation.index((0 if hop.forward else 1,))
        index.catch_up(relation)
        described = self._engine.sets.number(self._described(planned, hop))
        return Chain(relation, index.at, 1 if hop.forward else 0, described)

    def _lay_out(self, planned: Planned, hop: Hop) -> Adjacency:
        relation = self._engine.relation(planned.rule.body[hop.atom].predicate)
        if planned.version.role(hop.atom) is Role.DELTA:
            return adjacency(*self._columns(relation, relation.delta_rows, hop.forward))
        return self.laid_out(relation, self._described(planned, hop), forward=hop.forward)

    def _key(self, relation: Relation, described: FactSet, forward: bool) -> tuple[int, bool, int]:
        return relation.number, forward, self._engine.sets.number(described)

    def laid_out(self, relation: Relation, described: FactSet, *, forward: bool) -> Adjacency:
        """Return the facts of a set by one column, kept as long as the relation does not change."""
        key = self._key(relation, described, forward)
        kept = self._kept.get(key)
        if kept is None or kept.changes != relation.changes:
            chosen = self._engine.rows_of(relation, described)
            kept = adjacency(*self._columns(relation, chosen, forward), relation.changes)
            self._kept[key] = kept
        return kept

    def _columns(self, relation: Relation, chosen: Ids, forward: bool) -> tuple[Ids, Ids]:
        keys, values = relation.columns if forward else reversed(relation.columns)
        return keys[chosen], values[chosen]

    def _merge(
        self, head: Relation, out: Ids, multiplicity: npt.NDArray[np.int64], size: int, mode: int
    ) -> None:
        done = 0
        while done < size:
            end = min(size, done + (1 << 20))
            head.reserve(end - done)
            done = int(
                paths.merge_counted(
                    head.descriptor, out, multiplicity, done, end, mode, self._slots_of
                )
            )
            if done < end:
                head.promote_counts()

    def forget(self) -> None:
        """Let go of what was laid out."""
        self._kept.clear()

    # -- recursion that passes a variable through

    def saturate(
        self,
        rules: Sequence[PlannedRule],
        passes: Sequence[Passing],
        seeds: Ids,
        described: FactSet,
    ) -> Closed:
        """Return all that follows from the seeds, which are all facts of the relation so far."""
        engine = self._engine
        begun = time.process_time()
        relation = engine.relation(rules[0].head.predicate)
        edges = [
            self._edges(rule, passed, described) for rule, passed in zip(rules, passes, strict=True)
        ]
        merged = adjacency(
            np.concatenate([keys for keys, _ in edges]),
            np.concatenate([values for _, values in edges]),
        )
        group = passes[0].group
        order = seeds[np.argsort(relation.columns[group][seeds], kind="stable")]
        first = relation.rows
        rounds = self._close(relation, group, order, merged)
        facts = relation.columns[1 - group][: relation.rows]
        seconds = (time.process_time() - begun) / len(rules)
        for rule, (keys, _) in zip(rules, edges, strict=True):
            derived = _instances(facts, keys)
            engine.computed_profile[rule.index].add(derived, derived, seconds)
        new = np.arange(first, relation.rows, dtype=np.uint32)
        return Closed(ColumnarBatch({relation.number: new} if new.size else {}), rounds)

    def _edges(self, rule: PlannedRule, passed: Passing, described: FactSet) -> tuple[Ids, Ids]:
        relation = self._engine.relation(rule.body[passed.edge.atom].predicate)
        chosen = self._engine.rows_of(relation, described)
        return self._columns(relation, chosen, passed.edge.forward)

    def _close(self, relation: Relation, group: int, order: Ids, edges: Adjacency) -> int:
        """Append all that follows group by group; return the number of rounds it stands for."""
        values = relation.columns[1 - group][: relation.rows]
        most = max(
            int(values.max()) if values.size else 0,
            int(edges.targets.max()) if edges.targets.size else 0,
        )
        stamp = np.zeros(most + 1, np.uint32)
        where = np.empty(most + 1, np.uint32)
        count = np.empty(most + 1, np.int64)
        queue = np.empty(most + 1, np.uint32)
        marks = np.zeros(2, np.uint32)  # of the last group begun, and the greatest depth reached
        first = relation.rows
        done = 0
        while done < order.size:
            before = done
            start = group, order, done, edges.offsets, edges.targets, marks
            done = int(
                paths.saturate(relation.descriptor, *start, stamp, where, count, queue, WORK)
            )
            self._engine.check()
            if done == before:
                per_seed = (relation.rows - first) / max(1, done)
                self._make_room(relation, most + 1, int(per_seed * (order.size - done)))
        return int(marks[1])

    def _make_room(self, relation: Relation, most: int, expected: int) -> None:
        """Let a group go on that did not fit: by room for what is expected, or by wider counts."""
        need = relation.rows + most
        if need > relation.capacity or 5 * need > 3 * relation.slots.size:
            relation.reserve(max(most, relation.rows // 2, expected + expected // 8), touched=0)
        else:
            relation.promote_counts()


def _instances(facts: Ids, keys: Ids) -> int:
    """Return how many pairs of a fact and an edge from it there are."""
    degrees = np.bincount(keys) if keys.size else np.zeros(1, np.int64)
    return int(degrees[facts[facts < degrees.size]].sum())
