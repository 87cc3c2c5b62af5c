"""Maintenance by overdeletion, rederivation and insertion, with rule modules.

000 (Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs), Algorithm 3, DRed^c-MOD.
Lines 16-17 and 20 are in update.py, 36-40 in mat_mod.py; what lines 23, 25, 32 and 35 evaluate is
in losses.py and insertion.py.
Paper lines: 18-19, 21-35.

| paper                      | here                                                        |
|----------------------------|-------------------------------------------------------------|
| Δ_1, ..., Δ_n(s)           | own, of the special modules                                 |
| Del^{s,i}, Red^{s,i}       | module.delete, module.rederive                              |
| the rest, as one module    | engine.apply(stratum.rest, ...), which counts               |

The printed algorithm is repaired where `Differs` says so.
"""

from __future__ import annotations

from collections.abc import Callable

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import A, D, I
from stratalog.facts.sets import Batch, Supported
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.insertion import first_gains
from stratalog.reason.losses import first_losses
from stratalog.reason.modules import mat_mod
from stratalog.reason.modules.functions import Functions, functions
from stratalog.reason.update import NEW, NOTHING, STANDING, Changed, StratumChanges, union

NR, R = Count.NONRECURSIVE, Count.RECURSIVE


def maintain(
    engine: Engine[PlannedRule],
    stratum: Stratum,
    changes: StratumChanges,
    halfway: Callable[[], None] = lambda: None,
) -> Changed:
    """Update one stratum after its earlier strata; `halfway` is called after overdeletion."""
    modules = functions(engine, stratum)
    deleted = _overdelete(engine, stratum, changes, modules)  # L18
    halfway()
    added = _rederive_insert(engine, stratum, changes, modules, deleted)  # L19
    return Changed(deleted, added)


def _overdelete(  # L21
    engine: Engine[PlannedRule],
    stratum: Stratum,
    changes: StratumChanges,
    modules: list[Functions],
) -> Batch:
    own = [engine.settle(NOTHING) for _ in modules]  # L22
    found = first_losses(engine, stratum, changes)  # L23-25
    deleted = []
    # Differs: of what Diff finds, too, only facts with C_nr = 0 go: no Red brings others back. A
    # module may find again what it found a round ago, which is in D by now.
    while delta := engine.settle(found - D - Supported(NR)):  # L26
        # Differs: the rest module takes one step per round, so that each instance lowers C_r once,
        # whichever module deletes the other facts of its body, and when.
        lowered = engine.apply(stratum.rest, STANDING, I | A, delta, count=R, lower=True)
        own = [
            module.delete(STANDING, engine.settle(delta - mine))
            for module, mine in zip(modules, own, strict=True)  # L27-28
        ]
        engine.mark(delta, D)  # L29
        deleted.append(delta)
        found = union(engine, [lowered, *own])  # L30
    return union(engine, deleted)


def _rederive_insert(  # L31
    engine: Engine[PlannedRule],
    stratum: Stratum,
    changes: StratumChanges,
    modules: list[Functions],
    deleted: Batch,
) -> Batch:
    gained = first_gains(engine, stratum, changes)  # L32, L35
    own = [module.rederive(deleted) for module in modules]  # L33-34
    for module in modules:  # Differs: also those of them that are in the materialisation already
        module.note_external(gained)
    # Differs: the Red of the rest module is one step, whose facts its rules then meet like others.
    rederived = engine.settle(deleted & Supported(R))
    found = union(engine, [gained, rederived, *own])
    closing = mat_mod.rounds(engine, stratum, modules, found, NEW, A, own=own)
    return union(engine, [engine.settle(NOTHING), *closing])
