"""Pairs of a transitive relation, proved by paths of external facts: for bf_c_mod.py.

A pair (x, z) is derived by a path of *external* facts, labelled X. One step along it is an external
fact (x, y), and the pair (y, z) that remains, or y = z. So a fact has as many instances to examine
as x has external facts, where the rule itself joins any two pairs.

X may miss a fact: one that the module had derived when another rule derived it too. It has support
and lies on paths of external facts anyway. But these may rest on what is deleted, and it may not:
`uncover` finds such facts where a proof is still missing, and `reckon` labels those that were
proved. What was proved, and has no support, is external no longer.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import C, P, S, X
from stratalog.facts.sets import Batch, FactSet, Over, Supported
from stratalog.plan.rules import Module, PlannedRule
from stratalog.reason.update import NOTHING, balanced_union, union

LEFT, RIGHT = 0, 1  # the atoms of a rule


class Steps(NamedTuple):
    """Rules that go one step along the path of a pair (x, z)."""

    rest: PlannedRule  # r(y, z) :- r(x, z), r(x, y)
    first: PlannedRule  # r(x, y) :- r(x, z), r(x, y), r(y, z)


@lru_cache(maxsize=1024)  # engines know rules by identity
def steps_of(follow: PlannedRule) -> Steps:
    """Return the steps along paths of a relation, made of r(x, z) :- r(x, y), r(y, z)."""
    pair, (first, second) = follow.head, follow.body
    return Steps(
        rest=replace(follow, head=second, body=(pair, first)),
        first=replace(follow, head=first, body=(pair, first, second)),
    )


def supported(engine: Engine[PlannedRule], facts: Batch) -> Batch:
    """Return the facts that the user has given, or rules derive that are of no module."""
    return union(engine, [engine.settle(facts & Supported(count)) for count in Count])


class PathProofs:
    """The functions of a transitive module that prove pairs."""

    def __init__(self, engine: Engine[PlannedRule], module: Module) -> None:
        self._engine = engine
        self._here = Over(frozenset({module.predicate}))
        self._by = module.chains
        self._steps = steps_of(module.chains.follow)
        self._seen: list[Batch] = []  # (x, x) of the rows that `uncover` has looked at
        self._hidden: list[Batch] = []

    def one_step(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the pairs that an external fact and a deleted one have made."""
        engine, by = self._engine, self._by
        lost = engine.settle(delta & self._here)
        if not lost:
            return lost
        first = engine.chain(by.follow, LEFT, pos, engine.settle(lost & X))
        found = union(engine, [first, engine.chain(by.follow, RIGHT, X, lost)])
        engine.unmark(lost, X)
        return engine.settle((found & pos) - delta)

    def paths(self, pos: FactSet, facts: Batch) -> Batch:
        """Return, of the paths of facts, the first external facts and the pairs that remain."""
        engine, by = self._engine, self._steps
        goals = engine.settle(facts & self._here)
        if not goals:
            return goals
        rests = engine.settle(engine.chain(by.rest, LEFT, X, goals) & pos)
        engine.mark(rests, S)
        firsts = engine.settle(engine.chain(by.first, LEFT, X | S, goals) & X)
        engine.unmark(rests, S)
        return union(engine, [rests, firsts])

    def hidden_support(self, pos: FactSet, facts: Batch) -> Batch:
        """Let facts begin paths too that other rules derive, and the module had derived before."""
        engine, by = self._engine, self._by
        goals = engine.settle(facts & self._here)
        sources = engine.settle(
            engine.chain(by.source, LEFT, pos, goals) - balanced_union(self._seen)
        )
        self._seen.append(sources)
        row = engine.settle(engine.chain(by.row, LEFT, pos, sources) - X)
        hidden = supported(engine, row)
        if not hidden:
            return hidden
        engine.mark(hidden, X)
        self._hidden.append(hidden)
        sources = engine.chain(by.source, LEFT, pos, hidden)
        unproved = engine.chain(by.row, LEFT, C - P, sources)
        return self.paths(pos, unproved)

    def prove(self, proved: Batch) -> Batch:
        """Return the pairs that facts just proved make with others."""
        engine, by = self._engine, self._by
        new = engine.settle(proved & self._here)
        return union(engine, [engine.chain(by.follow, atom, P, new) for atom in (LEFT, RIGHT)])

    def finish_deletion(self, proved: Batch, deleted: Batch) -> None:
        """Let proved facts be external if a count says so, and no fact that was deleted."""
        engine = self._engine
        engine.unmark(union(engine, [engine.settle(NOTHING), *self._hidden]), X)
        engine.unmark(engine.settle(proved & self._here), X)
        self.mark_derived(proved)
        self.unmark_deleted(deleted)

    @property
    def deletes_exactly(self) -> bool:
        """No: what is still reachable is deleted too."""
        return False

    def unmark_deleted(self, deleted: Batch) -> None:
        """Let deleted facts be external no longer."""
        self._engine.unmark(self._engine.settle(deleted & self._here), X)

    def mark_derived(self, facts: Batch) -> None:
        """Let the facts be external that other rules derive, or the user."""
        here = self._engine.settle(facts & self._here)
        self._engine.mark(supported(self._engine, here), X)
