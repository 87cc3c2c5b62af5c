"""Which algorithm updates which stratum: what its scheme allows, what was asked for, or `auto`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from stratalog.facts.engine import Engine
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason.algorithms import ALGORITHMS
from stratalog.reason.auto import Auto, Choice
from stratalog.reason.modules import closure_relation
from stratalog.reason.update import Changed, StratumChanges

SECONDS_PER_FACT = 3e-7
"""About what it takes to derive a fact again, where its rules have not been seen at work."""

SECONDS_PER_MARK = 3e-8
"""About what it takes to delete a fact and to add it again, without its rules."""


MOST_USES = sized(64, 2)
"""Updates after which facts are counted again, even if relations take the same room."""


class Sizes(Protocol):
    """What is asked of where the facts live, to estimate costs."""

    def nbytes(self) -> int:
        """Return the bytes that relations take."""

    def rows(self, predicate: Predicate) -> int:
        """Return how many facts a relation has."""

    def derivations(self) -> Mapping[int, tuple[int, int, float]]:
        """Return derivations, rows visited and seconds by rule index."""


@dataclass(slots=True)
class _Estimate:
    """How long it takes to rematerialise a stratum, while relations have this size."""

    size: int
    seconds: float
    uses: int = 0


class Chooser:
    """Gives strata to algorithms, and remembers from update to update what they have cost."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._auto = Auto(self._seconds)
        self._by_rule: dict[int, float] | None = None  # seconds, when all was materialised
        self._per_fact: dict[frozenset[Predicate], float] = {}
        self._estimates: dict[frozenset[Predicate], _Estimate] = {}

    def _seconds(self, stratum: Stratum) -> float:
        """Return about how long it takes to rematerialise a stratum; small updates ask often."""
        size = self._sizes.nbytes()
        known = self._estimates.get(stratum.predicates)
        if known is None or known.size != size or known.uses >= MOST_USES:
            known = self._estimates[stratum.predicates] = _Estimate(size, self._estimate(stratum))
        known.uses += 1
        return known.seconds

    def _estimate(self, stratum: Stratum) -> float:
        rows = sum(self._sizes.rows(p) for p in stratum.predicates)
        per_fact = self._per_fact.get(stratum.predicates)
        if per_fact is None:
            per_fact = self._per_fact[stratum.predicates] = self._measured(stratum, max(1, rows))
        return per_fact * rows

    def _measured(self, stratum: Stratum, rows: int) -> float:
        """Return the seconds per fact that materialising a stratum took, if that was here."""
        if self._by_rule is None:  # in the first update: nothing else has happened yet
            self._by_rule = {i: cost[2] for i, cost in self._sizes.derivations().items()}
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
        changed = ALGORITHMS[name].of(stratum)(engine, stratum, changes)
        return changed, Choice(name, "asked for")


def check(strata: Sequence[Stratum], name: str) -> None:
    """Refuse an algorithm that cannot follow some stratum, before anything is changed."""
    algorithm = ALGORITHMS.get(name)
    if algorithm is not None and algorithm.check is not None:
        for stratum in strata:
            algorithm.check(stratum)
