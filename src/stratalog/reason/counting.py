"""Maintenance by counting derivations alone, for strata without recursion.

001 (Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations), Algorithm 2, DRed^c,
which becomes Counting (Gupta, Mumick, Subrahmanian 1993) where no rule is recursive: a fact whose
count falls to zero is gone, and nothing depends on it in its own stratum.
Paper lines: 28-30, 34, 38, 41-42.
"""

from __future__ import annotations

from stratalog.errors import EngineError
from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import D
from stratalog.facts.sets import Supported
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.insertion import insert
from stratalog.reason.losses import first_losses
from stratalog.reason.update import NOTHING, Changed, StratumChanges

NR = Count.NONRECURSIVE


def applies_to(stratum: Stratum) -> bool:
    """Return whether counts alone decide which facts of the stratum hold."""
    return not stratum.recursive


def check(stratum: Stratum) -> None:
    """Raise unless Counting applies to the stratum."""
    if applies_to(stratum):
        return
    rule = stratum.recursive[0]
    text = rule.origin.text if rule.origin else f"a rule for {rule.head.predicate.name}"
    raise EngineError(
        "E125",
        f"maintenance by counting cannot follow a recursive rule: {text}",
        help='facts that derive each other would never go; use maintenance="auto" or "dred-c"',
    )


def maintain(engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges) -> Changed:
    """Update one stratum after its earlier strata."""
    check(stratum)
    found = first_losses(engine, stratum, changes)  # L28-30
    deleted = engine.settle(found - Supported(NR))  # L34
    engine.mark(deleted, D)  # L38
    added = insert(engine, stratum, changes, engine.settle(NOTHING))  # L41-42
    return Changed(deleted, added)
