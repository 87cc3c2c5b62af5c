"""Strata that are one closure: an engine holds them, and follows their edges exactly.

Not of the papers. Where the recursive rules of a stratum say no more than that its relations are
one closure, its edges are the facts with C_nr > 0, which counts tell at once; what the closure
then loses and gains is D∖A and A∖D of the stratum. Nothing is overdeleted.
"""

from __future__ import annotations

from stratalog.facts.engine import Engine
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.insertion import first_gains
from stratalog.reason.losses import first_losses
from stratalog.reason.update import Changed, Maintain, StratumChanges, union


def or_by(otherwise: Maintain) -> Maintain:
    """Return an algorithm that maintains what is held as a closure so, and all else otherwise."""

    def chosen(engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges) -> Changed:
        done = maintain(engine, stratum, changes)
        return otherwise(engine, stratum, changes) if done is None else done

    return chosen


def maintain(
    engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
) -> Changed | None:
    """Update one stratum after its earlier strata; None, and nothing is changed, if unable."""
    closing = stratum.closing
    if closing is None or not engine.holds(closing):
        return None
    moment = engine.savepoint()
    touched = [
        first_losses(engine, stratum, changes, diff=False),
        first_gains(engine, stratum, changes, diff=False),
    ]
    done = engine.reclose(closing, union(engine, touched), changes.lost, changes.gained)
    if done is not None:
        return Changed(done.lost, done.gained)
    engine.roll_back(moment)
    engine.drop_closures(closing.predicates)
    return None
