"""From the facts of an update to what it changes: store, reason, account."""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from stratalog.facts.engine import Engine
from stratalog.facts.labels import E
from stratalog.facts.sets import Batch
from stratalog.knowledge.adapters import Encoded
from stratalog.knowledge.display.progress import Reporter, plural
from stratalog.knowledge.load import as_stored
from stratalog.knowledge.statistics import start_limits
from stratalog.knowledge.update.replan import with_predicates
from stratalog.knowledge.update.request import UpdateFacts
from stratalog.knowledge.update.rounds import MOST_ROUNDS_WITH_BIND, Endless, Rounds
from stratalog.lang.names import show_name
from stratalog.lang.syntax import Predicate
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.reason import choose
from stratalog.reason.update import Changed, StratumChanges, Updated
from stratalog.reason.update import update as follow

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase

MOST_NAMES = 8  # of a stratum's predicates, in an account


@dataclass(slots=True)
class Outcome:
    """What an update has done, as the relations hold it."""

    added: list[Encoded]
    removed: list[Encoded]
    inserted: list[Encoded]  # facts that are explicit now and were not
    deleted: list[Encoded]  # facts that were explicit and are no longer
    not_explicit: int
    rounds: int
    per_stratum: list[dict[str, Any]]
    is_whole: bool = False  # all relations are new, not only what has changed

    @property
    def is_needed(self) -> bool:
        """Whether anything is different from before."""
        return bool(self.inserted or self.deleted or self.added or self.removed)

    def more_facts(self) -> Counter[Predicate]:
        """Return how many facts more, or fewer, each relation has."""
        return _difference(self.added, self.removed)

    def more_explicit(self) -> Counter[Predicate]:
        """Return how many explicit facts more, or fewer, each relation has."""
        return _difference(self.inserted, self.deleted)


def _difference(more: list[Encoded], fewer: list[Encoded]) -> Counter[Predicate]:
    found: Counter[Predicate] = Counter()
    for facts, sign in ((more, 1), (fewer, -1)):
        for predicate, _, size in facts:
            found[predicate] += sign * size
    return found


def maintain(
    kb: KnowledgeBase,
    given: UpdateFacts,
    maintenance: str,
    report: Reporter,
    changed: Sequence[Stratum] = (),
) -> Outcome:
    """Let the materialisation follow explicit facts that come and go.

    The `changed` strata have other rules than those that made their facts.
    """
    host, engine = kb._host, kb._host.engine
    start_limits(kb, counts_present=False)  # some may go: how many there are is known in the end
    new = [p for p in given.insert.predicates() if given.insert.size(p)]
    kb._plan = with_predicates(kb._plan, kb._program, new)
    choose.check(kb._plan.strata, maintenance)
    stored = host.store(as_stored(kb._plan, given.insert, kb._dictionary))
    known = engine.settle(host.find(given.delete) & E)
    deleted = engine.settle(known - stored)
    inserted = engine.settle(stored - E)
    watch = _Watch(kb, maintenance, report, changed)
    updated = watch.follow(deleted, inserted)
    return Outcome(
        added=list(host.facts_of(updated.added)),
        removed=list(host.facts_of(updated.removed)),
        inserted=list(host.facts_of(inserted)),
        deleted=list(host.facts_of(deleted)),
        not_explicit=given.asked - len(known),
        rounds=watch.rounds.count,
        per_stratum=watch.done,
    )


class _Watch:
    """Gives each stratum to an algorithm, and writes down what it did."""

    def __init__(
        self, kb: KnowledgeBase, maintenance: str, report: Reporter, changed: Sequence[Stratum]
    ) -> None:
        self._kb = kb
        self._maintenance = maintenance
        self._report = report
        self._changed = changed
        self.rounds = Rounds(kb._host.engine, partial(_notice, kb, report))
        self.done: list[dict[str, Any]] = [
            {"predicates": self._names(s), "algorithm": "rematerialise", "why": "other rules"}
            for s in changed
        ]

    def follow(self, deleted: Batch, inserted: Batch) -> Updated:
        """Update all strata."""
        self._report("reason", f"{len(deleted):,} facts to delete, {len(inserted):,} to insert")
        engine, strata = self.rounds.engine, self._strata()
        return follow(engine, strata, deleted, inserted, self._maintain, changed=self._changed)

    def _strata(self) -> list[Stratum]:
        """Return all strata; predicates that have lost their rules are one of their own."""
        planned = self._kb._plan.strata
        if not self._changed:
            return list(self._kb._host.strata(planned))
        bare = [stratum for stratum in self._changed if stratum not in planned]
        apart = {p for stratum in bare for p in stratum.predicates}
        return bare + [
            replace(s, predicates=s.predicates - apart) if s.predicates & apart else s
            for s in planned
        ]

    def _maintain(
        self, engine: Engine[PlannedRule], stratum: Stratum, changes: StratumChanges
    ) -> Changed:
        self.rounds.start()
        begun = time.perf_counter()
        chooser = self._kb._maintenance
        changed, choice = chooser.choose(self._maintenance, engine, stratum, changes)
        if stratum.nonrecursive or stratum.recursive:
            self.done.append(
                {
                    "predicates": self._names(stratum),
                    "algorithm": choice.algorithm,
                    "why": choice.why,
                    "rounds": self.rounds.of_stratum,
                    "deleted": len(changed.deleted),
                    "added": len(changed.added),
                    "seconds": time.perf_counter() - begun,
                }
            )
        return changed

    def _names(self, stratum: Stratum) -> list[str]:
        return list(_shown(stratum.predicates, self._kb._program.prefixes))


def _notice(kb: KnowledgeBase, report: Reporter, rounds: int, batch: Batch) -> None:
    """Tell of a round, and stop a recursion that makes values without end."""
    report("reason", f"round {rounds:,} of a stratum, {plural(len(batch), 'fact')}")
    if rounds > MOST_ROUNDS_WITH_BIND:
        here = kb._host.engine.predicates_of(batch)
        for stratum in kb._plan.strata:
            if here & stratum.predicates:
                Endless(kb._options).check(stratum, rounds)


@lru_cache(maxsize=1024)
def _shown(
    predicates: frozenset[Predicate], prefixes: tuple[tuple[str, str], ...]
) -> tuple[str, ...]:
    """Return the names of a few predicates as users write them."""
    shown = tuple(show_name(p.name, prefixes) for p in sorted(predicates)[:MOST_NAMES])
    return shown if len(predicates) <= MOST_NAMES else (*shown, "...")
