"""A knowledge base from a version of a store."""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stratalog.errors import StoreError
from stratalog.knowledge.adapters import Host
from stratalog.knowledge.engines import choose, make_host
from stratalog.knowledge.options import Options, check_reopening
from stratalog.knowledge.stored.checks import Stored, checked
from stratalog.knowledge.stored.facts import StoredFacts, stored_facts
from stratalog.knowledge.stored.texts import plan_key
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.layout import version_path
from stratalog.pipeline.store import Store, StoredRelations
from stratalog.plan.program import plan_program
from stratalog.plan.rules import Plan
from stratalog.tracebacks import shown_briefly

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase

ATTEMPTS = 5
"""How often the current version is opened if others drop it meanwhile."""

COUNTED = ("explicit", "derived", "facts")  # statistics that the facts themselves tell


def open_store(
    directory: str | os.PathLike[str],
    version: int | None = None,
    **options: Any,  # noqa: ANN401  # they are checked
) -> KnowledgeBase:
    """Return the knowledge base that a version of a store holds, the current one by default.

    Options are those of `materialise` that say how to read and reason, for updates and queries.
    """
    from stratalog.knowledge.values import check_path, check_version

    given = check_reopening(options)
    check_path("directory", directory)
    check_version(version)
    store = Store.open(directory)
    with shown_briefly():
        return _opened(store, version, given)


def _opened(store: Store, version: int | None, given: Mapping[str, Any]) -> KnowledgeBase:
    attempts = ATTEMPTS if version is None else 1
    while True:
        attempts -= 1
        try:
            return _read(store, version, given)
        except StoreError as error:  # the current version may be overtaken and dropped meanwhile
            if error.code != "T102" or not attempts:
                raise


def _read(store: Store, version: int | None, options: Mapping[str, Any]) -> KnowledgeBase:
    from stratalog.knowledge.base import KnowledgeBase

    saved = store.read(version)
    place = version_path(store.path, saved.version)
    stored = checked(saved, place)
    chosen = Options(**{**stored.options, **options})
    dictionary = Dictionary.from_table(saved.kinds, saved.dictionary)
    dictionary.max_digits = chosen.max_digits
    plan = _plan_of(stored, saved.relations, modules=chosen.modules)
    if plan is None:
        raise StoreError(
            "T111",
            "the store was planned by another version of Stratalog: its counts are not valid here",
            path=str(store.path),
            help="materialise its program and facts again into a new store",
        )
    facts = stored_facts(saved.relations, dictionary, plan, place)
    host = make_host(chosen, dictionary, _explicit(saved.relations, dictionary, chosen))
    _restore(host, facts, plan)
    kb = KnowledgeBase(stored.program, plan, host, dictionary, chosen, stored.origins)
    kb._given = dict(options)
    kb._data_prefixes = stored.prefixes
    kb._saved_profile = stored.profile
    kb._run = {name: told for name, told in stored.statistics.items() if name not in COUNTED}
    kb._store, kb._version = store, saved.version
    return kb


def _explicit(relations: object, dictionary: Dictionary, options: Options) -> int:
    """Return how many facts are explicit; files are looked at before a number starts Spark."""
    if not isinstance(relations, StoredRelations):
        return 0
    explicit = relations.explicit()
    if options.engine == "auto" and choose(options, dictionary, explicit).engine == "spark":
        relations.check()
    return explicit


def _restore(host: Host, stored: StoredFacts, plan: Plan) -> None:
    """Store all facts as they were saved; what can be held as a closure is held as one."""
    closings = [stratum.closing for stratum in plan.strata if stratum.closing is not None]
    enclosed = {predicate for closing in closings for predicate in closing.predicates}
    for predicate in stored.relations:
        if predicate not in enclosed:
            host.restore(predicate, *stored.saved(predicate))
    for closing in closings:  # in the order of strata: steps may be held as closures themselves
        facts = {p: stored.saved(p) for p in closing.predicates if p in stored.relations}
        if not host.hold(closing, facts):
            for predicate, saved in facts.items():
                host.restore(predicate, *saved)
            continue
        for predicate, (_, labels, _) in facts.items():
            stored.check_closed(predicate, labels.size, host.size(predicate))


def _plan_of(
    stored: Stored, relations: Mapping[Predicate, pa.Table], *, modules: str
) -> Plan | None:
    """Return the plan that the counts of a store are valid for, None if it cannot be made.

    A store may have been made without the modules that its options allow, or without join keys.
    """
    data = [p for p in (*relations, *stored.read_as_triples) if not p.name.startswith("$")]
    choices = dict.fromkeys((modules, "auto", "paper", "off"))
    for has_keys, choice in product((True, False), choices):
        plan = plan_program(stored.program, data, modules=choice, has_keys=has_keys)
        if sorted(plan_key(plan)) == sorted(stored.plan):  # an update puts rules at the end
            return plan
    return None
