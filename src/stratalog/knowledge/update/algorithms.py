"""Which algorithm maintains which stratum in an update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from stratalog.facts.engine import Engine
from stratalog.kernels.sizes import sized
from stratalog.knowledge.adapters import Host
from stratalog.lang.syntax import Predicate
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason import counting
from stratalog.reason.auto import Auto, Choice
from stratalog.reason.modules import closure_relation
from stratalog.reason.update import Changed, Maintain, StratumChanges

ALGORITHMS = {
    "counting": "counting",
    "dred": "dred",
    "dred-c": "dred_c",
    "bf": "bf",
    "bf-c": "bf_c",
    "rematerialise": "rematerialise",
}
"""The file of `reason/` that each choice of `maintenance` stands for."""

WITH_MODULES = {"dred-c": "modules.dred_c_mod", "bf-c": "modules.bf_c_mod"}
"""The same, for strata with rule modules; others evaluate the modules' rules like all rules."""

SECONDS_PER_FACT = 3e-7
"""About what it takes to derive a fact again, where its rules have not been seen at work."""

SECONDS_PER_MARK = 3e-8
"""About what it takes to delete a fact and to add it again, without its rules."""


MOST_USES = sized(64, 2)
"""Updates after which facts are counted again, even if relations take the same room."""


@dataclass(slots=True)
class _Estimate:
    """How long it takes to rematerialise a stratum, while relations have this size."""

    size: int
    seconds: float
    uses: int = 0


class Maintenance:
    """Gives strata to algorithms, and remembers from update to update what they have cost."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._auto = Auto(self._seconds)
        self._by_rule: dict[int, float] | None = None  # seconds, when all was materialised
        self._per_fact: dict[frozenset[Predicate], float] = {}
        self._estimates: dict[frozenset[Predicate], _Estimate] = {}

    def _seconds(self, stratum: Stratum) -> float:
        """Return about how long it takes to rematerialise a stratum; small updates ask often."""
        size = self._host.nbytes()
        known = self._estimates.get(stratum.predicates)
        if known is None or known.size != size or known.uses >= MOST_USES:
            known = self._estimates[stratum.predicates] = _Estimate(size, self._estimate(stratum))
        known.uses += 1
        return known.seconds

    def _estimate(self, stratum: Stratum) -> float:
        rows = sum(self._host.rows(p) for p in stratum.predicates)
        per_fact = self._per_fact.get(stratum.predicates)
        if per_fact is None:
            per_fact = self._per_fact[stratum.predicates] = self._measured(stratum, max(1, rows))
        return per_fact * rows

    def _measured(self, stratum: Stratum, rows: int) -> float:
        """Return the seconds per fact that materialising a stratum took, if that was here."""
        if self._by_rule is None:  # in the first update: nothing else has happened yet
            self._by_rule = {i: cost[2] for i, cost in self._host.derivations().items()}
        rules = [rule.index for rule in (*stratum.nonrecursive, *stratum.recursive)]
        if rules and self._by_rule.keys().isdisjoint(rules):
            return SECONDS_PER_FACT
        return SECONDS_PER_MARK + sum(self._by_rule.get(i, 0.0) for i in rules) / rows

    def choose(
        self,
        name: str,
        engine: Engine[PlannedRule],
        stratum: Stratum,
        changes: StratumChanges,
    ) -> tuple[Changed, Choice]:
        """Update a stratum by the algorithm of this name; return what it did, and why it."""
        if stratum.closing is not None:
            changed = closure_relation.maintain(engine, stratum, changes)
            if changed is not None:
                return changed, Choice("closure", "its rules say that it is one")
        if name == "auto":
            return self._auto.maintain(engine, stratum, changes)
        chosen = algorithm(name, has_modules=bool(stratum.modules))
        return chosen(engine, stratum, changes), Choice(name, "asked for")


def algorithm(name: str, *, has_modules: bool = False) -> Maintain:
    """Return the algorithm of a name, for strata with rule modules or without."""
    file = (WITH_MODULES if has_modules else ALGORITHMS).get(name, ALGORITHMS[name])
    found: Maintain = import_module(f"stratalog.reason.{file}").maintain
    return closure_relation.or_by(found) if has_modules else found


def check_maintenance(strata: Sequence[Stratum], name: str) -> None:
    """Refuse an algorithm that cannot keep some stratum, before anything is changed."""
    if name == "counting":
        for stratum in strata:
            counting.check(stratum)
