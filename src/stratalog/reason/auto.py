"""The choice of an algorithm, per stratum and update, by trial within a budget.

Which algorithm is best differs by orders of magnitude between data sets (001, Table 1), and no
look at the program tells. So each is tried with a budget, the one first that promises least time
by earlier updates of the same stratum and about the same size. A spent budget rolls its changes
back, and is remembered: the next trial may spend more. Where no algorithm promises to beat it, or
the allowance is used up, the stratum is rematerialised.

The allowance bounds the price of not knowing: over many updates of about the same size, a stratum
takes at most 1 + ALLOWED times as long as to rematerialise it each time, and in a single one at
most about 1 + MOST times. What an update leaves of its allowance, later ones may spend on longer
trials; what it takes beyond, later ones do without. Plans of long rules are kept when a trial is
stopped: the time that they take, about as long as to rematerialise at most, is that of no
algorithm, and the next trial goes on with them. DRed^c may finish once it has overdeleted: to
bring facts back takes about as long as to overdelete them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import NamedTuple

from stratalog.facts.engine import BudgetSpentError, Engine
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason import dred_c, rematerialise
from stratalog.reason.algorithms import ALGORITHMS, candidates
from stratalog.reason.cost_history import STOPPED_FACTOR, CostHistories, CostHistory
from stratalog.reason.modules import dred_c_mod
from stratalog.reason.update import Changed, StratumChanges

FIRST_TRIAL_SHARE = (
    0.15  # of the time of rematerialising: for an algorithm that nothing is known of
)
VAIN_TRIALS_SHARE = 2 * FIRST_TRIAL_SHARE  # of that time: what trials in vain may cost per update
MAX_TRIAL_SHARE = 0.8  # of that time: an algorithm that promises no less is not tried
DOUBLING_END_SHARE = 0.5  # of that time: where doubling a budget ends
SECOND_HALF_FACTOR = 1.5  # how much longer the second half of an algorithm may take than the first
MIN_TRIAL_SECONDS = 0.002  # seconds that are always worth trying
MIN_CLOCKED_SECONDS = (
    0.05  # seconds of a budget below which only work is counted: what is small stays the same
)
WORK_PER_SECOND = 20_000_000  # about what an engine does when it is fast


class Choice(NamedTuple):
    """The algorithm that has updated a stratum, and why it was chosen."""

    algorithm: str
    why: str


class Auto:
    """Chooses algorithms, and remembers what they have cost."""

    def __init__(self, cost: Callable[[Stratum], float]) -> None:
        self._cost = cost  # about the seconds of materialising a stratum
        self._pasts = CostHistories()

    def maintain(
        self, engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
    ) -> tuple[Changed, Choice]:
        """Update one stratum after its earlier strata, by whatever does it within its budget."""
        deletes = _deletes(stratum, changes)
        past = self._pasts.of(stratum.predicates, _size(changes), deletes=deletes)
        estimate = self._cost(stratum)
        cost = past.correction * estimate
        names = candidates(stratum, deletes=deletes)
        spent = 0.0
        for name in sorted(names, key=past.promised):
            promised, budget = past.promised(name), _budget(past, name, cost, spent)
            if promised >= max(MIN_TRIAL_SECONDS, MAX_TRIAL_SHARE * cost) or budget < promised:
                break
            why = _why(names, past, name)
            trial = _Trial(engine, budget, MAX_TRIAL_SHARE * cost)
            changed = trial.run(name, stratum, changes)
            seconds = trial.seconds
            spent += seconds
            at_least = seconds if trial.planning else max(seconds, budget)
            past.learn(name, at_least, seconds if changed is not None else None)
            if changed is not None:
                past.save(cost, spent, VAIN_TRIALS_SHARE, MAX_TRIAL_SHARE)
                return changed, Choice(name, why)
        begun = engine.work_time()
        changed = rematerialise.maintain(engine, stratum, changes)
        seconds = engine.work_time() - begun
        past.correct(estimate, seconds)
        past.save(seconds, spent + seconds, VAIN_TRIALS_SHARE, MAX_TRIAL_SHARE)
        tried = "other algorithms were stopped" if spent else "no other promises to be faster"
        return changed, Choice("rematerialise", tried)


def _budget(past: CostHistory, name: str, cost: float, spent: float) -> float:
    """Return the seconds that an algorithm may take now: no more than pays, and is allowed.

    After trials in vain with small budgets, one with a large budget settles the matter: it waits
    until that is allowed. An algorithm whose time is known needs no allowance.
    """
    promised, finished = past.promised(name), past.finished()
    if name in finished:
        return max(
            MIN_TRIAL_SECONDS,
            FIRST_TRIAL_SHARE * cost,
            min(2 * promised, MAX_TRIAL_SHARE * cost),
            STOPPED_FACTOR * promised,
        )
    allowed = (VAIN_TRIALS_SHARE + past.saved) * cost - spent
    wanted = max(FIRST_TRIAL_SHARE * cost, 2 * promised)
    if wanted > DOUBLING_END_SHARE * cost:
        wanted = MAX_TRIAL_SHARE * cost
        if allowed < wanted:
            return MIN_TRIAL_SECONDS
    best = min((past.promised(other) for other in finished), default=wanted)
    return max(MIN_TRIAL_SECONDS, min(wanted, best, allowed))


def _deletes(stratum: Stratum, changes: StratumChanges) -> bool:
    """Return whether facts may go, not only come."""
    if changes.deleted or changes.lost or changes.regrouped.lost:
        return True
    rules = (*stratum.nonrecursive, *stratum.recursive)
    return bool(changes.gained) and any(rule.negated for rule in rules)


def _size(changes: StratumChanges) -> int:
    parts = (changes.deleted, changes.inserted, changes.lost, changes.gained)
    return max(1, sum(len(part) for part in (*parts, *changes.regrouped)))


class _Trial:
    """One algorithm at work within a budget."""

    def __init__(self, engine: Engine[PlannedRule], budget: float, most: float) -> None:
        self._engine = engine
        self._budget = budget
        self._most = most
        self._begun = time.perf_counter()
        self._cpu = engine.work_time()
        self._planned = engine.planning()

    @property
    def planning(self) -> float:
        """Work time since it began that went into plans: the next trial does without."""
        return self._engine.planning() - self._planned

    @property
    def seconds(self) -> float:
        """Work time since it began, but that of plans; of a moment the time itself.

        That is cheaper to ask for.
        """
        passed = time.perf_counter() - self._begun
        if passed >= MIN_TRIAL_SECONDS:
            passed = self._engine.work_time() - self._cpu
        return max(0.0, passed - self.planning)

    def run(self, name: str, stratum: Stratum, changes: StratumChanges) -> Changed | None:
        """Return what an algorithm changes; None, and nothing is changed, if it was stopped."""
        engine = self._engine
        moment = engine.savepoint()
        self._allow(self._budget)
        try:
            if name == "dred-c":
                maintain = dred_c_mod.maintain if stratum.modules else dred_c.maintain
                return maintain(engine, stratum, changes, self._halfway)
            return ALGORITHMS[name].of(stratum)(engine, stratum, changes)
        except BudgetSpentError:
            engine.roll_back(moment)
            return None
        finally:
            engine.limit_work(None)

    def _allow(self, seconds: float) -> None:
        deadline = seconds if seconds >= MIN_CLOCKED_SECONDS else inf
        self._engine.limit_work(int(seconds * WORK_PER_SECOND), deadline)

    def _halfway(self) -> None:
        so_far = self.seconds
        self._allow(
            max(self._budget - so_far, min(SECOND_HALF_FACTOR * so_far, self._most - so_far))
        )


def _why(names: tuple[str, ...], past: CostHistory, name: str) -> str:
    if len(names) == 1 and name == "counting":
        return "no recursive rules: counts decide"
    if name in past.finished():
        return f"it promised {past.promised(name) * 1000:,.1f} ms by earlier updates"
    if past.promised(name):
        return "tried again, and within a larger budget"
    return "tried for the first time, and within its budget"
