"""A knowledge base to a store: saved whole, or what an update has changed."""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from stratalog.errors import StoreError
from stratalog.facts.labels import STORED, STORED_MARKS, I
from stratalog.knowledge.adapters import Counts, Host, Ids, Labels
from stratalog.knowledge.turns import Turns
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.manifest import JSON
from stratalog.pipeline.snapshot import Delta, Snapshot
from stratalog.pipeline.store import Store
from stratalog.plan.rules import Plan
from stratalog.runtime.limits import full_memory_explained

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase
    from stratalog.knowledge.update.maintain import Outcome


class _Relations(Mapping[Predicate, pa.Table]):
    """The relations of an engine as tables, each made when it is asked for."""

    def __init__(self, host: Host, plan: Plan, turns: Turns) -> None:
        self._host = host
        self._turns = turns
        planned, in_rules = plan.predicates, _mentioned(plan)
        # A relation without facts is kept if nothing else tells that there is such a predicate.
        self._predicates = [
            p for p in host.predicates() if p in planned and (p not in in_rules or host.rows(p))
        ]

    def __getitem__(self, predicate: Predicate) -> pa.Table:
        with self._turns.touching():  # and no longer: others ask between two relations
            columns, labels, counts = self._host.stored(predicate)
        return _table(columns, labels & labels.dtype.type(STORED_MARKS), counts)

    def __iter__(self) -> Iterator[Predicate]:
        return iter(self._predicates)

    def __len__(self) -> int:
        return len(self._predicates)


def _mentioned(plan: Plan) -> set[Predicate]:
    return {a.predicate for rule in plan.rules for a in (rule.head, *rule.body, *rule.negated)}


def _read_as_triples(plan: Plan) -> list[Predicate]:
    """Return the predicates that rules of ours read: the program alone does not tell of them."""
    rules = [rule for rule in plan.rules if rule.origin is None]
    return sorted({atom.predicate for rule in rules for atom in rule.body})


def _table(columns: Sequence[Ids], labels: Labels, counts: Sequence[Counts]) -> pa.Table:
    arrays = [pa.array(column.astype(np.int64)) for column in columns]
    arrays.append(pa.array(labels.astype(np.int32)))
    arrays += [pa.array(count) for count in counts]
    names = [f"c{i}" for i in range(len(columns))] + ["label", "nonrecursive", "recursive"]
    return pa.table(arrays, names=names)


def save(kb: KnowledgeBase, directory: str | os.PathLike[str], note: str) -> int:
    """Write all to a store, made if there is none; the caller has a writer's turn."""
    with kb._turns.touching():
        saved = snapshot(kb)
    store = Store.create_or_open(directory)
    is_bound = kb._store is not None and store.path.resolve() == kb._store.path.resolve()
    is_moving = kb._store is not None and not is_bound
    if is_moving:
        saved.options.pop("keep", None)  # it was said of the other store's versions
    expected = kb._version if is_bound else store.version
    with full_memory_explained("saving"):
        version = store.commit(saved, expected=expected, note=note, extends_dictionary=is_bound)
    if is_bound or not any(stream.is_active for stream in list(kb._streams)):
        kb._store, kb._version = store, version
        if is_moving:
            _forget_keep(kb)
    return version


def _forget_keep(kb: KnowledgeBase) -> None:
    """Leave it to the store how many of its versions stay."""
    kb._options = replace(kb._options, keep=None)
    kb._given = {name: value for name, value in kb._given.items() if name != "keep"}


def snapshot(kb: KnowledgeBase, profile: list[dict[str, Any]] | None = None) -> Snapshot:
    """Return all that a store keeps of a knowledge base; the caller has the engine.

    Relations are read later, one by one: the caller has a writer's turn until then.
    """
    costs = kb.profile() if profile is None else profile
    relations: Mapping[Predicate, pa.Table] = _Relations(kb._host, kb._plan, kb._turns)
    if kb._host.name == "reference":
        relations = dict(relations)  # its facts are terms, which get numbers when they are read
    return Snapshot(
        kinds=list(kb._dictionary.kinds),  # a question may add to them
        dictionary=kb._dictionary.to_table(),
        relations=relations,
        program=kb._texts.of_program(kb._program),
        options=kb._options.saved(),
        plan=kb._texts.of_plan(kb._plan),
        statistics={
            **kb.stats,
            "origins": _origins(kb),
            "prefixes": kb._data_prefixes,
            "profile": costs,
            "read_as_triples": [list(predicate) for predicate in _read_as_triples(kb._plan)],
        },
        labels={label.name: label.bit for label in STORED},
    )


def _origins(kb: KnowledgeBase) -> list[list[Any]]:
    return [[*predicate, origin] for predicate, origin in sorted(kb._origins.items())]


def check_current(kb: KnowledgeBase) -> None:
    """Refuse to update what is no longer the current version of its store."""
    if kb._store is not None:
        kb._store.check_current(kb._version)


def commit_update(
    kb: KnowledgeBase,
    outcome: Outcome,
    profile: list[dict[str, Any]],
    streams: Mapping[str, JSON] | None = None,
) -> None:
    """Write a version of what an update has changed, or of everything.

    The knowledge base is of the new version once that exists, whatever is raised afterwards.
    """
    store, before = kb._bound_store(), kb._version
    saved = snapshot(kb, profile)
    changed = {} if outcome.is_whole else dict(_deltas(kb, outcome))
    stored = set() if outcome.is_whole else _stored(store, before) & set(saved.relations)
    unchanged = stored - set(changed)
    try:
        store.commit(
            saved,
            expected=before,
            unchanged=unchanged,
            changed=changed,
            extends_dictionary=True,
            streams=streams,
        )
    finally:
        kb._version = max(before, store.written)


def _stored(store: Store, version: int) -> set[Predicate]:
    """Return the predicates of the current version; T105 if it no longer is, though it is gone."""
    try:
        return store.predicates(version)
    except StoreError as error:
        if error.code == "T102":
            store.check_current(version)
        raise


def _deltas(kb: KnowledgeBase, outcome: Outcome) -> Iterator[tuple[Predicate, Delta]]:
    """Yield how each relation that changed differs from the stored one."""
    facts, explicit = outcome.more_facts(), outcome.more_explicit()
    planned = kb._plan.predicates
    for predicate, columns, labels, counts in kb._host.changed():
        if predicate not in planned:
            continue  # of a rule that was removed
        is_there = (labels >> I.bit & 1).astype(np.bool_)
        stored = np.where(is_there, labels & labels.dtype.type(STORED_MARKS), 0)
        table = _table(columns, stored, [np.where(is_there, count, 0) for count in counts])
        yield predicate, Delta(table, facts[predicate], explicit[predicate])
