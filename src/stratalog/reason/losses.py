"""The facts that lose a derivation to the update itself or to earlier strata.

001 (Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations), Algorithm 2, the
beginning of OVERDELETE. Paper lines 8 of Algorithm 1 and 58-61 of Algorithm 3 are the same with
fewer counts; here all algorithms keep both, so that each may follow any other.
Paper lines: 28-32.
"""

from __future__ import annotations

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.sets import Batch
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.update import OLD, StratumChanges, union

NR, R = Count.NONRECURSIVE, Count.RECURSIVE


def first_losses(
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges, *, diff: bool = True
) -> Batch:
    """Lower the counts by the derivations that are gone, and return the facts that had them.

    With `diff`, derivations by rules of modules, which have no count, are among them.
    """
    lost, gained = changes.lost, changes.gained
    found = [changes.deleted, changes.regrouped.lost]  # L28
    engine.change_count(changes.deleted, NR, -1)
    engine.change_count(changes.regrouped.lost, NR, -1)
    if lost or gained:
        rules, recursive = stratum.nonrecursive, stratum.rest
        found.append(engine.apply(rules, OLD, OLD, lost, gained, count=NR, lower=True))  # L29-30
        found.append(engine.apply(recursive, OLD, OLD, lost, gained, count=R, lower=True))  # L31-32
        if diff and stratum.special:  # 000's Diff
            found.append(engine.apply(stratum.special, OLD, OLD, lost, gained))
    return union(engine, found)
