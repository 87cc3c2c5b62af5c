"""Maintenance by overdeletion, rederivation and insertion, guided by counts.

001 (Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations), Algorithm 2, DRed^c.
Lines 21-22 and 26 are in update.py, 28-32 in losses.py, 39-50 in insertion.py.
Paper lines: 23-25, 27-38.

| paper                      | here                                                        |
|----------------------------|-------------------------------------------------------------|
| D, A                       | the labels D and A                                          |
| D∖A, A∖D (earlier strata)  | changes.lost, changes.gained                                |
| D ∩ O^s                    | the batch `deleted`: D gets no other facts of this stratum  |
| E⁻ ∩ O^s                   | changes.deleted                                             |
| I∖(D∖A)                    | STANDING                                                    |
| Π⟦Iᵖ, Iⁿ : P, N⟧           | engine.apply(rules, Iᵖ, Iⁿ, P, N, count=..., lower=...)     |
"""

from __future__ import annotations

from collections.abc import Callable

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import A, D, I
from stratalog.facts.sets import Batch, Supported
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.insertion import insert
from stratalog.reason.losses import first_losses
from stratalog.reason.update import STANDING, Changed, StratumChanges, union

NR, R = Count.NONRECURSIVE, Count.RECURSIVE


def maintain(
    engine: Engine[PlannedRule],
    stratum: Stratum,
    changes: StratumChanges,
    halfway: Callable[[], None] = lambda: None,
) -> Changed:
    """Update one stratum after its earlier strata; `halfway` is called after overdeletion."""
    deleted = _overdelete(engine, stratum, changes)  # L23
    halfway()
    rederived = engine.settle(deleted & Supported(R))  # L24
    added = insert(engine, stratum, changes, rederived)  # L25
    return Changed(deleted, added)


def _overdelete(  # L27
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
) -> Batch:
    found = first_losses(engine, stratum, changes)  # L28-32
    deleted = []
    while delta := engine.settle(found - D - Supported(NR)):  # L33-35
        found = engine.apply(
            stratum.recursive, STANDING, I | A, delta, count=R, lower=True
        )  # L36-37
        engine.mark(delta, D)  # L38
        deleted.append(delta)
    return union(engine, deleted)
