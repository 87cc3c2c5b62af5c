"""Maintenance by overdeletion, rederivation and insertion.

001 (Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations), Algorithm 1, DRed.
Lines 1-2 and 6 are in update.py, 14-20 in insertion.py.
Paper lines: 3-5, 7-13.

| paper                      | here                                                        |
|----------------------------|-------------------------------------------------------------|
| I∖(D∖A)                    | STANDING                                                    |
| E∖E⁻                       | E - changes.deleted                                         |
| r' with h(r') = F          | engine.bodies_of(rules, facts, Iᵖ, Iⁿ, ...).derived         |

The paper's DRed needs no counts. Here they are kept: overdeletion takes from a fact each derivation
that uses a lost or an overdeleted fact, once, and insertion gives back each that uses one that is
new or came back. What was never taken stays, also with facts that are overdeleted meanwhile.
"""

from __future__ import annotations

from stratalog.facts.engine import Engine
from stratalog.facts.labels import A, D, E, I
from stratalog.facts.sets import Batch
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.insertion import insert
from stratalog.reason.losses import first_losses
from stratalog.reason.modules.functions import unmark_deleted
from stratalog.reason.update import NOTHING, STANDING, Changed, StratumChanges, derive, union


def maintain(engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges) -> Changed:
    """Update one stratum after its earlier strata."""
    deleted = _overdelete(engine, stratum, changes)  # L3
    unmark_deleted(engine, stratum, deleted)
    rederived = _rederive(engine, stratum, changes, deleted)  # L4
    added = insert(engine, stratum, changes, rederived)  # L5
    return Changed(deleted, added)


def _overdelete(  # L7
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
) -> Batch:
    found = first_losses(engine, stratum, changes)  # L8
    deleted = []
    while delta := engine.settle(found - D):  # L9-11
        # Differs: Π_r instead of Π; no other rule has a body atom in Δ_D.
        found = derive(engine, stratum, STANDING, I | A, delta, lower=True)  # L12
        engine.mark(delta, D)  # L13
        deleted.append(delta)
    return union(engine, deleted)


def _rederive(
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges, deleted: Batch
) -> Batch:
    """Return the overdeleted facts that hold in one step from what stands.

    The prose evaluates in the new materialisation; with what is new in earlier strata, insertion
    finds the same facts.
    """
    found = engine.settle((deleted & E) - changes.deleted)
    for rules in (stratum.nonrecursive, stratum.recursive):
        doubtful = engine.settle(deleted - found)
        derived = engine.bodies_of(rules, doubtful, STANDING, I | A, NOTHING).derived
        found = union(engine, [found, derived])
    return found
