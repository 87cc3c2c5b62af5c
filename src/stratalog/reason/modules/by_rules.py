"""A module whose rules are evaluated as they are, uncounted, where no engine holds its closure.

Not of the papers: the functions of 000's Definitions 3, 6 and 7 by rounds of the rules themselves.
Diff (Definition 5) is what `first_losses` and `first_gains` find by the same rules.
"""

from __future__ import annotations

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import P, S
from stratalog.facts.sets import Batch, FactSet, Over, Supported
from stratalog.plan.rules import Module, PlannedRule
from stratalog.reason.update import NEW, NOTHING, STANDING, union

NR = Count.NONRECURSIVE


class PlainRules:
    """The functions of a module by its rules."""

    def __init__(self, engine: Engine[PlannedRule], module: Module) -> None:
        self._engine = engine
        self._rules = module.rules
        self._here = Over(frozenset(rule.head.predicate for rule in module.rules))

    def add(self, pos: FactSet, delta: Batch) -> Batch:
        """Return all that follows from new facts, in any number of rounds."""
        engine = self._engine
        queue = engine.settle(delta & self._here)
        found = []
        while queue:
            derived = engine.apply(self._rules, pos | S, pos | S, queue)
            queue = engine.settle(derived - pos - S)
            engine.mark(queue, S)
            found.append(queue)
        return self._forget(found)

    def delete(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the facts that deleted ones may have led to, but those with C_nr > 0."""
        engine = self._engine
        queue = engine.settle(delta & self._here)
        found = []
        while queue:
            derived = engine.apply(self._rules, pos, pos, queue)
            queue = engine.settle((derived & pos) - delta - S - Supported(NR))
            engine.mark(queue, S)
            found.append(queue)
        return self._forget(found)

    def rederive(self, deleted: Batch) -> Batch:
        """Return the deleted facts that still follow, and all that follows from them.

        Where an earlier stratum has new facts, that may be more than was deleted.
        """
        engine = self._engine
        lost = engine.settle(deleted & self._here)
        if not lost:
            return lost
        queue = engine.bodies_of(self._rules, lost, NEW, NEW, NOTHING).derived
        found = []
        while queue:
            engine.mark(queue, S)
            found.append(queue)
            derived = engine.apply(self._rules, NEW | S, NEW | S, queue)
            queue = engine.settle(derived - NEW - S)
        return self._forget(found)

    def one_step(self, pos: FactSet, delta: Batch) -> Batch:
        """Return what follows from deleted facts in one step."""
        derived = self._engine.apply(self._rules, pos, pos, delta)
        return self._engine.settle((derived & pos) - delta)

    def paths(self, pos: FactSet, facts: Batch) -> Batch:
        """Return the facts that derive others in one step."""
        return self._engine.bodies_of(self._rules, facts, pos, pos, self._here).facts

    def hidden_support(self, pos: FactSet, facts: Batch) -> Batch:  # noqa: ARG002
        """Return nothing: `paths` looks at all bodies."""
        return self._engine.settle(NOTHING)

    def prove(self, proved: Batch) -> Batch:
        """Return what follows in one step from facts just proved, and others."""
        known = P | (STANDING - self._here)
        return self._engine.apply(self._rules, known, known, proved)

    def finish_deletion(self, proved: Batch, deleted: Batch) -> None:
        """Do nothing."""

    @property
    def deletes_exactly(self) -> bool:
        """No: what still follows is deleted too."""
        return False

    def note_external(self, facts: Batch) -> None:
        """Do nothing: the rules look at the facts themselves."""

    def unmark_deleted(self, deleted: Batch) -> None:
        """Do nothing."""

    def mark_derived(self, facts: Batch) -> None:
        """Do nothing."""

    def _forget(self, found: list[Batch]) -> Batch:
        """Return all that was found, and take the label off."""
        everything = union(self._engine, found or [self._engine.settle(NOTHING)])
        self._engine.unmark(everything, S)
        return everything
