"""Maintenance that deletes exactly, with rule modules: no fact goes whose paths still hold.

001 (Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations), Algorithm 3, B/F^c,
over the modules of 000, which leaves that to future work. Lines 58-61 are in losses.py, 70-86 in
bf_c.py: the search is the same, but for what it examines next. Rest rules are counted.
Paper lines: 53-55, 57, 62-69, 73, 85.

| limit   | what is examined next of an unproved fact                                      |
|---------|--------------------------------------------------------------------------------|
| FEW     | one body of each rule, modules' rules too: most facts are proved by it         |
| MORE    | paths of external facts, labelled X (paths.py); components (stc.py)            |
| MORE... | bodies of rest rules, if C_r > 0 says that there are any                       |
| HIDDEN  | facts that other rules support, and that may prove it although they have no X  |

Pairs are proved by proved pairs; those with C_nr > 0 are at once, when a fact needs them.

Why it is right. (1) *Each fact has a derivation without a circle by which all modules' instances
begin with an external fact.* So it is after materialisation, and all algorithms keep it: here since
what was proved, and has support, is X in the end. (2) *What is left follows.* Otherwise take a fact
left that does not, the one whose derivation of (1) is shortest. It was not doubted, since all that
was is proved or deleted. But of the facts in this derivation one is gone; when the first of them
went, `apply` or `doubt` met the derivation, and the fact was doubted. Of a symmetric relation all
pairs of a component are doubted with the first that goes. (3) *What is deleted does not follow.*
It was examined to the end, with all that this led to. Take one of C∖P that follows nevertheless,
the one whose derivation is shortest. By a rest rule, the body is in C, so in P, and the fact was
proved. By a module, it is joined by facts with support; if not all bodies were examined, the first
of these is X since HIDDEN at the latest. It and the pair that remains were checked, their
derivations are shorter, so they are in P, and the fact was proved.
"""

from __future__ import annotations

import sys

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import A, D, I
from stratalog.facts.sets import Batch, Supported
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.bf_c import FIRST_LIMIT, NEXT_LIMIT, Proofs
from stratalog.reason.insertion import first_gains
from stratalog.reason.losses import first_losses
from stratalog.reason.modules import dred_c_mod, mat_mod
from stratalog.reason.modules.functions import Functions, functions
from stratalog.reason.update import NEW, NOTHING, STANDING, Changed, StratumChanges, union

NR, R = Count.NONRECURSIVE, Count.RECURSIVE

HIDDEN = sys.maxsize  # the stage after all others


def maintain(engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges) -> Changed:
    """Update one stratum after its earlier strata."""
    modules = functions(engine, stratum)
    if all(module.deletes_exactly for module in modules):  # one closure: there is nothing to prove
        return dred_c_mod.maintain(engine, stratum, changes)
    proofs = _Proofs(engine, stratum, modules)  # L53
    deleted = _delete_unproved(engine, stratum, changes, proofs)  # L54
    proved = proofs.forget()
    for module in modules:
        module.finish_deletion(proved, deleted)
    return Changed(deleted, _insert(engine, stratum, changes, modules))  # L55


def _delete_unproved(  # L57
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges, proofs: _Proofs
) -> Batch:
    found = first_losses(engine, stratum, changes)
    deleted = []
    # Differs: what has C_nr > 0 is not even checked, unless another fact needs it.
    while delta := proofs.missing(engine.settle(found - D - Supported(NR))):  # L62-67
        lowered = engine.apply(stratum.rest, STANDING, I | A, delta, count=R, lower=True)  # L68
        own = [module.one_step(STANDING, delta) for module in proofs.modules]
        engine.mark(delta, D)  # L69
        deleted.append(delta)
        found = union(engine, [lowered, *own])
    return union(engine, [engine.settle(NOTHING), *deleted])


def _insert(
    engine: Engine[PlannedRule],
    stratum: Stratum,
    changes: StratumChanges,
    modules: list[Functions],
) -> Batch:
    """Add all that follows from what is new, as DRed^c-MOD does; return it."""
    gained = first_gains(engine, stratum, changes)
    for module in modules:
        module.note_external(gained)
    closing = mat_mod.rounds(engine, stratum, modules, gained, NEW, A)
    return union(engine, [engine.settle(NOTHING), *closing])


class _Proofs(Proofs):
    """Proofs by the rest rules and by modules."""

    def __init__(
        self, engine: Engine[PlannedRule], stratum: Stratum, modules: list[Functions]
    ) -> None:
        super().__init__(engine, stratum, lambda facts: engine.settle(facts & Supported(NR)))
        self._rules = stratum.rest
        self._special = stratum.special
        self.modules = modules

    def _needed(self, unproved: Batch, limit: int) -> Batch:
        """Return the facts that may prove what is unproved, by the paths of modules or by rules."""
        if limit == HIDDEN:
            found = [module.hidden_support(STANDING, unproved) for module in self.modules]
            return union(self._engine, found)
        # Differs: C_r is the number of instances in what stands, which the paper does not know.
        counted = self._engine.settle(unproved & Supported(R))
        found = [super()._needed(counted, limit)]  # L73
        if limit == FIRST_LIMIT:
            found.append(self._examine(self._special, unproved, limit))
        elif limit == NEXT_LIMIT:
            found += [module.paths(STANDING, unproved) for module in self.modules]
            self._unfinished[HIDDEN].append(unproved)
        return union(self._engine, found)

    def _follows(self, delta: Batch) -> Batch:
        found = [module.prove(delta) for module in self.modules]
        return union(self._engine, [super()._follows(delta), *found])  # L85
