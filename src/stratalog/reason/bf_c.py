"""Maintenance that deletes exactly: a fact goes only when no other proof of it is found.

001 (Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations), Algorithm 3, B/F^c.
Lines 51-52 and 56 are in update.py, 58-61 in losses.py, 87-96 in insertion.py.
Paper lines: 53-55, 57-86.

| paper                              | here                                                |
|------------------------------------|-----------------------------------------------------|
| C, P, Y                            | the labels C (checked), P (proved), Y (delayed)     |
| C_nr[F] > 0                        | holds(facts): what bf.py asks in another way        |
| I∖(D∖A)                            | STANDING                                            |
| O^{<s} ∩ (I∖(D∖A))                 | STANDING - Over(stratum.predicates)                 |
| Δ_D, filled fact by fact           | the batch `delta`, decided at once                  |

C_r, which the paper's B/F^c does not have, is kept: lines 61 and 68 lower it, insertion raises it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import A, C, D, I, P, Y
from stratalog.facts.sets import Batch, FactSet, Over, Supported
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.insertion import insert
from stratalog.reason.losses import first_losses
from stratalog.reason.modules.functions import finish_deletion
from stratalog.reason.update import (
    NOTHING,
    STANDING,
    Changed,
    StratumChanges,
    balanced_union,
    derive,
    union,
)

NR = Count.NONRECURSIVE

FIRST_LIMIT, NEXT_LIMIT = 1, 2  # instances per fact and rule that are examined at first, and next
LIMIT_FACTOR = 8  # times as many in each further attempt

Holds = Callable[[Batch], FactSet]
"""Returns the facts of a batch that hold without recursion, after the losses of the update."""


def maintain(engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges) -> Changed:
    """Update one stratum after its earlier strata."""
    return maintain_by_proof(
        engine, stratum, changes, lambda facts: engine.settle(facts & Supported(NR))
    )


def maintain_by_proof(
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges, holds: Holds
) -> Changed:
    """Update one stratum; `holds` is all that B/F and B/F^c do not share."""
    proofs = Proofs(engine, stratum, holds)  # L53
    deleted = _delete_unproved(engine, stratum, changes, proofs)  # L54
    finish_deletion(engine, stratum, proofs.forget(), deleted)
    added = insert(engine, stratum, changes, engine.settle(NOTHING))  # L55
    return Changed(deleted, added)


def _delete_unproved(  # L57
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges, proofs: Proofs
) -> Batch:
    found = first_losses(engine, stratum, changes)  # L58-61
    deleted = []
    # Differs: all facts of a round are checked at once, so that Δ_D is ∅ in line 74.
    while delta := proofs.missing(engine.settle(found - D)):  # L62-67
        found = derive(engine, stratum, STANDING, I | A, delta, lower=True)  # L68
        engine.mark(delta, D)  # L69
        deleted.append(delta)
    return union(engine, deleted)


class Proofs:
    """The facts of a stratum that were checked so far, and those of them that were proved."""

    def __init__(self, engine: Engine[PlannedRule], stratum: Stratum, holds: Holds) -> None:
        self._engine = engine
        self._is_recursive = bool(stratum.recursive)
        self._rules = stratum.recursive
        self._here = Over(stratum.predicates)
        self._holds = holds
        self._checked: list[Batch] = []
        self._delayed: list[Batch] = []
        # Checked facts with instances not examined, by how many to examine next.
        self._unfinished: defaultdict[int, list[FactSet]] = defaultdict(list)

    def missing(self, doubtful: Batch) -> Batch:  # L70
        """Return the doubtful facts that have no proof from facts that stand.

        Differs: a frontier is checked at once, for each fact the instance first that promises most,
        and others only when all that these lead to has been checked in vain. The search stops early
        only if every doubtful fact is proved; otherwise all instances that derive an unproved fact,
        and all that can be reached from them, have been examined. So, when a fact is returned, each
        fact in C∖P is disproved, whatever cycles there are.
        """
        engine = self._engine
        if not self._is_recursive:  # nothing to search: what holds is known at once
            return engine.settle(doubtful - self._holds(doubtful))
        frontier = engine.settle(doubtful - C)  # L71
        while True:
            self._saturate(frontier)  # L72
            if not engine.settle(doubtful - P):  # L76
                break
            self._unfinished[FIRST_LIMIT].append(frontier)
            limit, unproved = self._next()
            if not unproved:
                break
            frontier = engine.settle(self._needed(unproved, limit) - C)
        return engine.settle(doubtful - P)

    def _next(self) -> tuple[int, Batch]:
        """Return unproved facts to examine, and how many instances of each; none at the end."""
        while self._unfinished:
            limit = min(self._unfinished)
            unproved = self._engine.settle(balanced_union(self._unfinished.pop(limit)) - P)
            if unproved:
                return limit, unproved
        return FIRST_LIMIT, self._engine.settle(NOTHING)

    def _needed(self, unproved: Batch, limit: int) -> Batch:
        """Return the facts that some instances need to derive what is unproved."""
        return self._examine(self._rules, unproved, limit)

    def _examine(self, rules: Sequence[PlannedRule], heads: Batch, limit: int) -> Batch:
        """Return the facts that so many instances of rules need; heads with more are put off."""
        # What was checked in vain so far leads nowhere, unless others prove it.
        wanted = self._here if limit == FIRST_LIMIT else self._here - (C - P)
        found = self._engine.bodies_of(rules, heads, STANDING, I | A, wanted, limit)  # L73-75
        if found.unfinished:
            self._unfinished[NEXT_LIMIT if limit == FIRST_LIMIT else LIMIT_FACTOR * limit].append(
                found.unfinished
            )
        return found.facts

    def _saturate(self, frontier: Batch) -> None:  # L77
        """Check the frontier, and prove all that follows from it and from what was proved."""
        engine = self._engine
        if not frontier:
            return
        engine.mark(frontier, C)  # L78
        self._checked.append(frontier)
        known = engine.settle(frontier & Y)
        self._prove(known | self._holds(engine.settle(frontier - known)))  # L79-80

    def _prove(self, found: FactSet) -> None:
        """Prove what is found and checked, and all that follows."""
        while delta := self._proved_now(found):  # L81-83
            self._engine.mark(delta, P)  # L84
            found = self._follows(delta)

    def _follows(self, delta: Batch) -> Batch:
        """Return what follows from facts just proved, together with others that are proved."""
        proved = P | (STANDING - self._here)
        return self._engine.apply(self._rules, proved, I | A, delta)  # L85

    # Differs: lines 83 and 86 tell whether the fact was proved; here the label P does.
    def _proved_now(self, found: FactSet) -> Batch:  # L86
        """Return what is found and checked; what is not checked yet is delayed."""
        delayed = self._engine.settle(found - C)  # L82
        if delayed:
            self._engine.mark(delayed, Y)
            self._delayed.append(delayed)
        return self._engine.settle((found & C) - P)

    def forget(self) -> Batch:
        """Take off C, P and Y, and return what was proved."""
        checked = union(self._engine, [self._engine.settle(NOTHING), *self._checked])
        proved = self._engine.settle(checked & P)
        for label in (C, P):
            self._engine.unmark(checked, label)
        self._engine.unmark(union(self._engine, self._delayed), Y)
        return proved
