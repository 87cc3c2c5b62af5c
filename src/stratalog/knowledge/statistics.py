"""What a knowledge base says about itself: sizes, costs, the counts of small data.

What is public here are methods of KnowledgeBase, kept in a file of their own.
"""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stratalog.facts.labels import E
from stratalog.lang.syntax import TRIPLE, Predicate
from stratalog.lang.terms import Term

if TYPE_CHECKING:
    from stratalog.knowledge.adapters import Costs
    from stratalog.knowledge.base import KnowledgeBase
    from stratalog.pipeline.files import ReadReport
    from stratalog.plan.rules import Plan


class Totals(NamedTuple):
    """How many facts users see."""

    facts: int
    explicit: int


def totals(kb: KnowledgeBase) -> Totals:
    """Return how many facts users see; counted once, then kept by updates."""
    with kb._lock:
        if kb._totals is None:
            stored = [p for p in kb._host.predicates() if is_seen(p, kb._plan)]
            facts = sum(kb._host.size(p) for p in stored)
            kb._totals = Totals(facts, sum(kb._host.size(p, E) for p in stored))
        return kb._totals


def start_limits(kb: KnowledgeBase, *, counts_present: bool) -> None:
    """Begin a run with the time and the number of facts allowed, facts that are there included."""
    absent, limits = 0, kb._host.limits
    if limits.max_facts is not None:
        present = totals(kb).facts if counts_present else 0
        absent = kb._host.engine.facts_stored() - present
    limits.start(absent)


def is_seen(predicate: Predicate, plan: Plan) -> bool:
    """Return whether users see the facts of a relation: triples only if they live nowhere else."""
    if predicate == TRIPLE:
        return plan.stored_as_triples
    return not predicate.name.startswith("$")


def note_run(
    self: KnowledgeBase,
    rounds: int,
    phases: dict[str, float],
    warnings: list[str],
    report: ReadReport,
) -> None:
    """Remember what making this knowledge base took."""
    self.report = report
    self._data_prefixes = prefixes_with(self._data_prefixes, report.prefixes)
    derivations = sum(n for n, _, _ in self._host.derivations().values())
    self._run = run_account(rounds, derivations, phases, warnings, report)


def prefixes_with(known: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """Return the prefixes of data read so far; "" stands for one that means several things."""
    clash = {name: "" for name, iri in found.items() if known.get(name, iri) != iri}
    return {**known, **found, **clash}


def run_account(
    rounds: int,
    derivations: int,
    phases: dict[str, float],
    warnings: list[str],
    report: ReadReport,
) -> dict[str, Any]:
    """Return what a run took, under the keys of `--json`."""
    return {
        "rounds": rounds,
        "derivations": derivations,
        "seconds": sum(s for name, s in phases.items() if not name.endswith("_cpu")),
        "phases": phases,
        "warnings": warnings,
        "bad_lines": report.bad_lines,
        "null_rows": report.null_rows,
        "graphs_dropped": report.graphs_dropped,
    }


def note_phase(self: KnowledgeBase, name: str, seconds: float) -> None:
    """Remember one more phase of making this knowledge base."""
    self._run["phases"][name] = seconds
    self._run["seconds"] += seconds


def stats(self: KnowledgeBase) -> dict[str, Any]:
    """Tell, under the keys of `--json`: facts, rounds, derivations, seconds, memory, choices."""
    with self._lock:
        return _stats(self)


def _stats(kb: KnowledgeBase) -> dict[str, Any]:
    facts, explicit = totals(kb)
    return {
        "explicit": explicit,
        "derived": facts - explicit,
        "facts": facts,
        "maintenance": kb._options.maintenance,
        **kb._run,
        "bytes_per_fact": round(kb._host.nbytes() / max(1, facts), 1),
        "engine": kb._host.name,
        "engine_why": kb._host.why,
        "rules": len(kb._program.rules),
        "strata": len(kb._plan.strata),
        "constants": len(kb._dictionary),
        "version": kb._version,
    }


def profile(self: KnowledgeBase) -> list[dict[str, Any]]:
    """Return time, rows and derivations per rule, the most expensive first."""
    with self._lock:
        return profile_of(self._plan, self._host.derivations()) or self._saved_profile


def profile_of(plan: Plan, costs: Costs) -> list[dict[str, Any]]:
    """Return the costs of a plan's rules as rows, the most expensive first."""
    rows = []
    for index, (derivations, visited, seconds) in costs.items():
        rule = plan.rule_of.get(index)
        if rule is not None:  # neither a query's nor one that was removed
            text = rule.origin.text if rule.origin else rule.head.predicate.name
            rows.append(
                {"rule": text, "derivations": derivations, "rows": visited, "seconds": seconds}
            )
    return sorted(rows, key=lambda row: -row["seconds"])


def counts(
    self: KnowledgeBase,
) -> dict[tuple[Predicate, tuple[Term, ...]], tuple[int, int]]:
    """Return C_nr and C_r of every fact, hidden predicates included; for small data."""
    with self._lock:
        return _counts(self)


def _counts(kb: KnowledgeBase) -> dict[tuple[Predicate, tuple[Term, ...]], tuple[int, int]]:
    result = {}
    for predicate in kb._host.predicates():
        columns, labels, found = kb._host.stored(predicate)
        decoded = [kb._dictionary.decode(column) for column in columns]
        facts = zip(*decoded, strict=True) if decoded else [()] * len(labels)
        for fact, nr, r in zip(facts, found[0].tolist(), found[1].tolist(), strict=True):
            result[predicate, tuple(fact)] = (nr, r)
    return result
