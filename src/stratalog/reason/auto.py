"""The choice of an algorithm, per stratum and update, by trial within a budget.

Which algorithm is best differs by orders of magnitude between data sets (001, Table 1), and no
look at the program tells. So each is tried with a budget, the one first that promises least time
by earlier updates of the same stratum and about the same size. A spent budget rolls its changes
back, and is remembered: the next trial may spend more. Where no algorithm promises to beat it, or
the allowance is used up, the stratum is rematerialised.

The allowance bounds the price of not knowing: over all updates of about the same size, a stratum
takes at most 1 + ALLOWED times as long as to rematerialise it each time, and in a single one at
most 1 + MOST times. What an update leaves of its allowance, later ones may spend on longer trials.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from stratalog.facts.engine import BudgetSpentError, Engine
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason import bf_c, counting, dred_c, rematerialise
from stratalog.reason.experience import Past, Pasts
from stratalog.reason.update import Changed, Maintain, StratumChanges

BUDGET = 0.15  # of the time of rematerialising: for an algorithm that nothing is known of
ALLOWED = 2 * BUDGET  # of that time: what trials in vain may cost per update
MOST = 0.8  # of that time: an algorithm that promises no less is not tried
LARGE = 0.5  # of that time: where doubling a budget ends
LEAST = 0.002  # seconds that are always worth trying
CLOCK = 0.005  # seconds of a budget below which only work is counted
WORK_PER_SECOND = 20_000_000  # about what an engine does when it is fast

ALGORITHMS: dict[str, Maintain] = {
    "counting": counting.maintain,
    "dred-c": dred_c.maintain,
    "bf-c": bf_c.maintain,
}


class Choice(NamedTuple):
    """The algorithm that has updated a stratum, and why it was chosen."""

    algorithm: str
    why: str


class Auto:
    """Chooses algorithms, and remembers what they have cost."""

    def __init__(self, cost: Callable[[Stratum], float]) -> None:
        self._cost = cost  # about the seconds of materialising a stratum
        self._pasts = Pasts()

    def maintain(
        self, engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
    ) -> tuple[Changed, Choice]:
        """Update one stratum after its earlier strata, by whatever does it within its budget."""
        deletes = _deletes(stratum, changes)
        past = self._pasts.of(stratum.predicates, _size(changes), deletes=deletes)
        estimate = self._cost(stratum)
        cost = past.correction * estimate
        names = _candidates(stratum, deletes=deletes)
        spent = 0.0
        for name in sorted(names, key=past.promised):
            promised, budget = past.promised(name), _budget(past, name, cost, spent)
            if promised >= max(LEAST, MOST * cost) or budget < promised:
                break
            why = _why(names, past, name)
            changed, seconds = _try(engine, stratum, changes, ALGORITHMS[name], budget)
            spent += seconds
            past.learn(name, max(seconds, budget), seconds if changed is not None else None)
            if changed is not None:
                past.save(cost, spent, ALLOWED, MOST)
                return changed, Choice(name, why)
        begun = time.process_time()
        changed = rematerialise.maintain(engine, stratum, changes)
        seconds = time.process_time() - begun
        past.correct(estimate, seconds)
        past.save(seconds, spent + seconds, ALLOWED, MOST)
        tried = "other algorithms were stopped" if spent else "no other promises to be faster"
        return changed, Choice("rematerialise", tried)


def _candidates(stratum: Stratum, *, deletes: bool) -> tuple[str, ...]:
    """Return the algorithms that differ for a stratum: insertion is the same in all."""
    if not stratum.recursive:
        return ("counting",)
    return ("dred-c", "bf-c") if deletes else ("dred-c",)


def _budget(past: Past, name: str, cost: float, spent: float) -> float:
    """Return the seconds that an algorithm may take now: no more than pays, and is allowed.

    After trials in vain with small budgets, one with a large budget settles the matter: it waits
    until that is allowed.
    """
    promised, finished = past.promised(name), past.finished()
    allowed = (ALLOWED + past.saved) * cost - spent
    wanted = max(BUDGET * cost, 2 * promised)
    if wanted > LARGE * cost:
        wanted = max(MOST * cost, promised)
        if name not in finished and allowed < wanted:
            return LEAST
    best = min((past.promised(other) for other in finished if other != name), default=wanted)
    return max(LEAST, min(wanted, max(best, promised), allowed))


def _deletes(stratum: Stratum, changes: StratumChanges) -> bool:
    """Return whether facts may go, not only come."""
    if changes.deleted or changes.lost or changes.regrouped.lost:
        return True
    rules = (*stratum.nonrecursive, *stratum.recursive)
    return bool(changes.gained) and any(rule.negated for rule in rules)


def _size(changes: StratumChanges) -> int:
    parts = (changes.deleted, changes.inserted, changes.lost, changes.gained)
    return max(1, sum(len(part) for part in (*parts, *changes.regrouped)))


def _try(
    engine: Engine[PlannedRule],
    stratum: Stratum,
    changes: StratumChanges,
    maintain: Maintain,
    budget: float,
) -> tuple[Changed | None, float]:
    """Return what an algorithm changes, and its seconds; None and no change if it was stopped."""
    begun = time.process_time()
    moment = engine.savepoint()
    engine.limit_work(int(budget * WORK_PER_SECOND), max(CLOCK, budget))
    changed = None
    try:
        changed = maintain(engine, stratum, changes)
    except BudgetSpentError:
        engine.roll_back(moment)
    finally:
        engine.limit_work(None)
    return changed, time.process_time() - begun


def _why(names: tuple[str, ...], past: Past, name: str) -> str:
    if len(names) == 1 and name == "counting":
        return "no recursive rules: counts decide"
    if name in past.finished():
        return f"it promised {past.promised(name) * 1000:,.1f} ms by earlier updates"
    if past.promised(name):
        return "tried again, and within a larger budget"
    return "tried for the first time, and within its budget"
