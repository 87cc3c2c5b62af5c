"""The choice of an algorithm, per stratum and update, by trial within a budget.

Which algorithm is best differs by orders of magnitude between data sets (001, Table 1), and no
look at the program tells. So each is tried with a budget, the one first that promises least work
by earlier updates of the same stratum. A spent budget rolls its changes back, and is remembered:
the next update knows that more is needed. Where no algorithm promises to beat it, or two have
failed, the stratum is rematerialised.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from stratalog.facts.engine import BudgetSpentError, Engine
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason import bf_c, counting, dred_c, rematerialise
from stratalog.reason.update import Changed, Maintain, StratumChanges

BUDGET = 0.15  # of the time of rematerialising: for an algorithm that nothing is known of
MOST = 0.6  # of that time: an algorithm that promises no less is not tried
TRIES = 2
LEAST = 0.002  # seconds that are always worth trying
WORK_PER_SECOND = 10_000_000  # about what an engine does: budgets are counted, not timed

ALGORITHMS: dict[str, Maintain] = {
    "counting": counting.maintain,
    "dred-c": dred_c.maintain,
    "bf-c": bf_c.maintain,
}


class Choice(NamedTuple):
    """The algorithm that has updated a stratum, and why it was chosen."""

    algorithm: str
    why: str


class _Known(NamedTuple):
    """The seconds an algorithm took, per changed fact; at least these, if it was stopped."""

    seconds: float
    was_stopped: bool


class Auto:
    """Chooses algorithms, and remembers what they have cost."""

    def __init__(self, cost: Callable[[Stratum], float]) -> None:
        self._cost = cost  # about the seconds of materialising a stratum
        self._known: dict[tuple[frozenset[object], str, bool], _Known] = {}

    def maintain(
        self, engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
    ) -> tuple[Changed, Choice]:
        """Update one stratum after its earlier strata, by whatever does it within its budget."""
        cost, size = self._cost(stratum), _size(changes)
        names = ("dred-c", "bf-c") if stratum.recursive else ("counting",)
        keys = {name: (stratum.predicates, name, _deletes(changes)) for name in names}
        promised = {name: self._promised(key, size) for name, key in keys.items()}
        worth = [name for name in names if promised[name] < max(LEAST, MOST * cost)]
        for name in sorted(worth, key=lambda n: promised[n])[:TRIES]:
            budget = max(LEAST, BUDGET * cost, 2 * promised[name])
            begun = time.process_time()
            changed = _try(engine, stratum, changes, ALGORITHMS[name], budget)
            seconds = time.process_time() - begun
            self._known[keys[name]] = _Known(seconds / size, changed is None)
            if changed is not None:
                return changed, Choice(name, _why(names, promised[name]))
        changed = rematerialise.maintain(engine, stratum, changes)
        why = (
            "other algorithms were stopped" if worth else "no other algorithm promises to be faster"
        )
        return changed, Choice("rematerialise", why)

    def _promised(self, key: tuple[frozenset[object], str, bool], size: int) -> float:
        """Return the seconds that an algorithm promises: none if it was never tried."""
        known = self._known.get(key)
        return known.seconds * size if known is not None else 0.0


def _deletes(changes: StratumChanges) -> bool:
    """Return whether facts may go, not only come."""
    return any((changes.deleted, changes.lost, changes.gained, changes.regrouped.lost))


def _size(changes: StratumChanges) -> int:
    parts = (changes.deleted, changes.inserted, changes.lost, changes.gained)
    return max(1, sum(len(part) for part in (*parts, *changes.regrouped)))


def _try(
    engine: Engine[PlannedRule],
    stratum: Stratum,
    changes: StratumChanges,
    maintain: Maintain,
    budget: float,
) -> Changed | None:
    """Return what an algorithm changes; None, and nothing is changed, if it was stopped."""
    moment = engine.savepoint()
    engine.limit_work(int(budget * WORK_PER_SECOND))
    try:
        return maintain(engine, stratum, changes)
    except BudgetSpentError:
        engine.roll_back(moment)
        return None
    finally:
        engine.limit_work(None)


def _why(names: tuple[str, ...], promised: float) -> str:
    if len(names) == 1:
        return "no recursive rules: counts decide"
    if not promised:
        return "tried for the first time, and within its budget"
    return f"it promised {promised * 1000:,.1f} ms by earlier updates"
