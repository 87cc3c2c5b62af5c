"""Insertion by seminaïve evaluation, the last phase of every maintenance algorithm.

001 (Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations), Algorithm 2, INSERT.
Lines 14-20 of Algorithm 1 and 87-96 of Algorithm 3 are the same with fewer counts; here all
algorithms keep both, so that each may follow any other. (Line 91 as printed evaluates Π_nr, which
line 89 has done; it is Π_r.)
Paper lines: 39-50.
"""

from __future__ import annotations

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import A
from stratalog.facts.sets import Batch
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.modules.functions import mark_derived
from stratalog.reason.update import NEW, StratumChanges, derive, union

NR, R = Count.NONRECURSIVE, Count.RECURSIVE


def insert(  # L39
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges, rederived: Batch
) -> Batch:
    """Add all that follows from what was rederived, inserted or changed earlier; return it."""
    gained = first_gains(engine, stratum, changes)
    found = union(engine, [rederived, gained])
    added: list[Batch] = []
    delta = engine.settle(found - NEW)  # L45-47
    while delta:
        engine.mark(delta, A)  # L48
        added.append(delta)
        found = derive(engine, stratum, NEW, NEW, delta)  # L49-50
        delta = engine.settle(found - NEW)
    mark_derived(engine, stratum, [gained, *added])
    return union(engine, added)


def first_gains(
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges, *, diff: bool = True
) -> Batch:
    """Raise the counts by the derivations that are new, and return the facts that have them.

    With `diff`, derivations by rules of modules, which have no count, are among them.
    """
    lost, gained = changes.lost, changes.gained
    found = [changes.inserted, changes.regrouped.gained]  # L40
    engine.change_count(changes.inserted, NR, 1)
    engine.change_count(changes.regrouped.gained, NR, 1)
    if gained or lost:
        found.append(engine.apply(stratum.nonrecursive, NEW, NEW, gained, lost, count=NR))  # L41-42
        found.append(engine.apply(stratum.rest, NEW, NEW, gained, lost, count=R))  # L43-44
        if diff and stratum.special:  # 000's Diff
            found.append(engine.apply(stratum.special, NEW, NEW, gained, lost))
    return union(engine, found)
