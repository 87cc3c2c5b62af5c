"""Rules that come and go: strata with other rules are made afresh, the others follow.

Counts hold only for the rules that made them. A stratum whose rules, or whose split into recursive
and other rules, have changed is rematerialised from its explicit facts; what is untouched keeps its
counts.
"""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING

from stratalog.errors import StratalogWarning
from stratalog.facts.labels import E
from stratalog.knowledge.display.progress import Reporter
from stratalog.knowledge.programs import Edit
from stratalog.knowledge.update.maintain import Outcome, maintain
from stratalog.knowledge.update.rebuild import rebuild
from stratalog.knowledge.update.replan import aligned
from stratalog.knowledge.update.request import UpdateFacts
from stratalog.lang.check import undefined_predicates
from stratalog.lang.syntax import TRIPLE, Predicate, Program
from stratalog.plan.lower import lower_rules
from stratalog.plan.program import plan_program, predicates_of
from stratalog.plan.rules import Plan, Stratum
from stratalog.plan.triples import is_triple_shaped

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase


def edit_rules(
    kb: KnowledgeBase, program: Program, given: UpdateFacts, maintenance: str, report: Reporter
) -> Outcome:
    """Give the knowledge base another program, and let its facts follow."""
    old = kb._plan
    inserted = {p for p in given.insert.predicates() if given.insert.size(p)}
    data = sorted(_data(kb) | inserted)
    new = plan_program(program, data, modules=old.modules, has_keys=old.has_keys)
    kb._program, kb._mentioned = program, predicates_of(program)
    if _is_stored_otherwise(old, new):
        return rebuild(kb, given, report)
    kb._plan = aligned(new, old)
    return maintain(kb, given, maintenance, report, _changed(kb._plan, old))


def undefined(
    kb: KnowledgeBase, edit: Edit, given: UpdateFacts, named: Container[str]
) -> list[StratalogWarning]:
    """Return warnings about new rules that read what has neither facts nor rules.

    Predicates that are `named` with the facts to insert may have none yet.
    """
    rules = lower_rules(edit.program.rules)
    known = {rule.head.predicate for rule in rules} | _data(kb)
    known |= {p for p in given.insert.predicates() if given.insert.size(p)}
    known |= {atom.predicate for r in rules for atom in r.body if atom.predicate.name in named}
    return undefined_predicates(replace(edit.program, rules=edit.rules), known)


def _data(kb: KnowledgeBase) -> set[Predicate]:
    """Return the predicates that have facts without rules, or may have."""
    plan, host = kb._plan, kb._host
    if kb._triples is not None:
        explicit = set(kb._triples.sizes(host, E))
    else:
        explicit = {p for p in host.predicates() if is_triple_shaped(p) and host.size(p, E)}
    explicit |= {p for p in host.predicates() if not is_triple_shaped(p) and host.size(p, E)}
    derived = {rule.head.predicate for rule in plan.rules}
    given = plan.predicates - derived
    return {p for p in explicit | given if not p.name.startswith("$")}


def _is_stored_otherwise(old: Plan, new: Plan) -> bool:
    """Return whether triples are kept in another way; then no relation can stay as it is."""
    return old.stored_as_triples != new.stored_as_triples or (
        TRIPLE in old.predicates - new.predicates
    )


def _changed(new: Plan, old: Plan) -> list[Stratum]:
    """Return the strata to make afresh; predicates that no longer occur lose their facts."""
    known = set(map(id, old.strata))
    derived = {rule.head.predicate for rule in old.rules}
    changed = [s for s in new.strata if id(s) not in known and (s.nonrecursive or s.recursive)]
    bare = {p for s in new.strata if not (s.nonrecursive or s.recursive) for p in s.predicates}
    lost = (bare & derived) | (old.predicates - new.predicates)
    return [Stratum(frozenset(lost), (), ()), *changed] if lost else changed
