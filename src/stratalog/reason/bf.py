"""Maintenance that deletes exactly, without the help of counts.

001 (Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations), Algorithm 3, with
B/F's own test in line 79: nonrecursive rules are evaluated backwards, as in line 4 of Algorithm 1.
All other lines are in bf_c.py. Both counts are kept, but not looked at.
Paper lines: 4, 79.
"""

from __future__ import annotations

from stratalog.facts.engine import Engine
from stratalog.facts.labels import A, E, I
from stratalog.facts.sets import Batch, FactSet
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.bf_c import maintain_by_proof
from stratalog.reason.update import NOTHING, STANDING, Changed, StratumChanges


def maintain(engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges) -> Changed:
    """Update one stratum after its earlier strata."""

    def holds(facts: Batch) -> FactSet:  # L79
        explicit = engine.settle((facts & E) - changes.deleted)
        doubtful = engine.settle(facts - explicit)
        rules = stratum.nonrecursive
        found = engine.bodies_of(rules, doubtful, STANDING, I | A, NOTHING)  # L4
        return explicit | found.derived

    return maintain_by_proof(engine, stratum, changes, holds)
