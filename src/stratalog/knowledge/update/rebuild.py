"""Everything is derived again from the explicit facts, where no relation can stay as it is.

A new engine takes the place of the old one; what has changed is found by comparing the two.
"""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

from typing import TYPE_CHECKING

from stratalog.facts.labels import E, I
from stratalog.facts.sets import FactSet, Over
from stratalog.knowledge.adapters import Encoded
from stratalog.knowledge.changes import visible_facts
from stratalog.knowledge.display.progress import Reporter
from stratalog.knowledge.engines import make_host, modules_for
from stratalog.knowledge.load import as_stored
from stratalog.knowledge.rows import missing
from stratalog.knowledge.triples import Triples
from stratalog.knowledge.update.maintain import Outcome
from stratalog.knowledge.update.request import UpdateFacts
from stratalog.lang.syntax import Predicate
from stratalog.plan.program import plan_program
from stratalog.reason.choose import Chooser

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase

WHY = "triples are stored in another way: all is derived again from the explicit facts"

Relations = dict[Predicate, Encoded]


def rebuild(kb: KnowledgeBase, given: UpdateFacts, report: Reporter) -> Outcome:
    """Give the knowledge base another engine, with the explicit facts that an update leaves."""
    from stratalog.knowledge.build import run

    old, old_explicit = _relations(kb, I), _relations(kb, E)
    known, kept = _kept(kb, given)
    derived = {rule.head.predicate for rule in kb._plan.rules}
    data = {*old_explicit, *given.insert.predicates(), *(p for p in old if p not in derived)}
    size = sum(each[2] for each in (*kept, *given.insert))
    modules = modules_for(kb._options, kb._dictionary, size)
    kb._plan = plan_program(kb._program, sorted(data), modules=modules)
    kb._host = make_host(kb._options, kb._dictionary, size)
    kb._maintenance = Chooser(kb._host)
    kb._triples = Triples(kb._dictionary) if kb._plan.stored_as_triples else None
    for facts in as_stored(kb._plan, [*kept, *given.insert], kb._dictionary):
        kb._host.load(*facts)
    rounds = run(kb._host, kb._plan, kb._options, report)
    new, new_explicit = _relations(kb, I), _relations(kb, E)
    return Outcome(
        added=_absent(new, old),
        removed=_absent(old, new),
        inserted=_absent(new_explicit, old_explicit),
        deleted=_absent(old_explicit, new_explicit),
        not_explicit=given.asked - known,
        rounds=rounds,
        is_whole=True,
        per_stratum=[{"predicates": ["..."], "algorithm": "rematerialise", "why": WHY}],
    )


def _relations(kb: KnowledgeBase, described: FactSet) -> Relations:
    """Return the facts of a set that users see, by predicate."""
    host = kb._host
    facts = [(p, *host.read(p, described)) for p in host.predicates()]
    triples = kb._plan.stored_as_triples
    return {each[0]: each for each in visible_facts(facts, kb._dictionary, triples=triples)}


def _kept(kb: KnowledgeBase, given: UpdateFacts) -> tuple[int, list[Encoded]]:
    """Return how many facts to delete are explicit, and the explicit facts without them."""
    host, engine = kb._host, kb._host.engine
    gone = engine.settle(host.find(given.delete) & E)
    everything = Over(frozenset(host.predicates()))
    kept = host.facts_of(engine.settle((everything & E) - gone))
    triples = kb._plan.stored_as_triples
    return len(gone), visible_facts(kept, kb._dictionary, triples=triples)


def _absent(relations: Relations, others: Relations) -> list[Encoded]:
    """Return the facts that the others have not."""
    found: list[Encoded] = []
    for predicate, columns, size in relations.values():
        _, other, other_size = others.get(predicate, (predicate, [c[:0] for c in columns], 0))
        absent = missing(columns, size, other, other_size)
        if absent.any():
            kept = [column[absent] for column in columns]
            found.append((predicate, kept, int(absent.sum())))
    return found
