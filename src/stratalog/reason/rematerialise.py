"""Maintenance by computing a stratum afresh from its explicit facts and the new earlier strata.

000 (Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs), Algorithm 1, MAT, for one
stratum of an update: the yardstick of 001's Table 2, and the better choice for large updates. With
rule modules it is Algorithm 2, in mat_mod.py.
Paper lines: 3-6.

| paper                      | here                                                        |
|----------------------------|-------------------------------------------------------------|
| I                          | NEW: all of the stratum's old facts are in D, new ones in A |
| E ∩ O^s                    | the batch `explicit`, after the update                      |
"""

from __future__ import annotations

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import A, D, E, I, X
from stratalog.facts.sets import Batch, FactSet, Over
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.modules.functions import functions
from stratalog.reason.modules.mat_mod import rounds
from stratalog.reason.update import NEW, Changed, StratumChanges, balanced_union, union

NR, R = Count.NONRECURSIVE, Count.RECURSIVE


def maintain(engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges) -> Changed:
    """Update one stratum after its earlier strata; D and A become the exact differences."""
    here = Over(stratum.predicates)
    old = engine.settle(here & I)
    engine.clear_counts(old)
    engine.mark(old, D)
    if stratum.modules:
        engine.unmark(old, X)
        engine.drop_closures(stratum.predicates)
    explicit = engine.settle(((here & E) - changes.deleted) | changes.inserted)
    added = _materialise(engine, stratum, explicit)
    unchanged = engine.settle(old & added)
    for label in (D, A):
        engine.unmark(unchanged, label)
    return Changed(engine.settle(old - unchanged), engine.settle(added - unchanged))


def _materialise(engine: Engine[PlannedRule], stratum: Stratum, explicit: Batch) -> Batch:
    engine.change_count(explicit, NR, 1)
    found: FactSet = explicit | engine.apply(stratum.nonrecursive, NEW, NEW, count=NR)  # L3
    if stratum.modules:
        modules = functions(engine, stratum, NEW)
        return union(engine, list(rounds(engine, stratum, modules, engine.settle(found), NEW, A)))
    added = [engine.settle(found - found)]
    while delta := engine.settle(found - A):  # L4
        engine.mark(delta, A)  # L5
        added.append(delta)
        found = engine.apply(stratum.recursive, NEW, NEW, delta, count=R)  # L6
    return engine.settle(balanced_union(added))
