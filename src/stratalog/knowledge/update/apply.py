"""Updates: facts and rules come and go, and the materialisation follows, wholly or not at all.

What is public here are methods of KnowledgeBase, kept in a file of their own.
"""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stratalog.knowledge.adapters import Encoded
from stratalog.knowledge.changes import ChangedFacts, ChangedTables, Changes, visible_facts
from stratalog.knowledge.display.progress import Reporter, reporter
from stratalog.knowledge.doubts import new_rules_never_joining
from stratalog.knowledge.guard import whole
from stratalog.knowledge.options import check_options
from stratalog.knowledge.programs import edit_program
from stratalog.knowledge.reader import names_given
from stratalog.knowledge.statistics import Totals, prefixes_with, profile_of, run_account, totals
from stratalog.knowledge.stored import save as persist
from stratalog.knowledge.update.edit_rules import edit_rules, undefined
from stratalog.knowledge.update.maintain import maintain
from stratalog.knowledge.update.request import UpdateRequest, read_given, without
from stratalog.knowledge.update.transaction import Told, Transaction
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.manifest import JSON
from stratalog.runtime.limits import full_memory_explained
from stratalog.runtime.telling import Warned

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase

DOING = "updating"

Mark = Callable[[Changes], Mapping[str, JSON]]
"""Told what is about to be committed, it returns how far streams have come with it."""


def update(
    self: KnowledgeBase,
    insert: object = None,
    delete: object = None,
    *,
    maintenance: str | None = None,
    add_rules: object = None,
    remove_rules: object = None,
) -> Changes:
    """Insert and delete explicit facts, add and remove rules; return what changed, net.

    `insert` and `delete` take what `facts` of `materialise` takes, rules are given as programs are.
    A fact that is inserted and deleted is inserted. A knowledge base with a store has a new version
    there when this returns. If anything goes wrong, nothing has changed.
    """
    return run(
        self, UpdateRequest(insert, delete, add_rules, remove_rules, algorithm(self, maintenance))
    )


def run(kb: KnowledgeBase, wish: UpdateRequest, mark: Mark | None = None) -> Changes:
    """Do an update; with `mark` it makes a version even if nothing changes."""
    with kb._turns.writing("update"):
        return apply(kb, wish, mark)


def apply(kb: KnowledgeBase, wish: UpdateRequest, mark: Mark | None = None) -> Changes:
    """Do an update in a writer's turn, which the caller has."""
    persist.check_current(kb)
    with _begun(kb, wish) as (transaction, done):
        done.reason(transaction)
        is_kept = done.is_needed or mark is not None
        if is_kept:
            done.save(transaction, mark)
        changes = done.changes()
        if is_kept:
            transaction.keep()
        return changes


@contextmanager
def _begun(kb: KnowledgeBase, wish: UpdateRequest) -> Iterator[tuple[Transaction, _Done]]:
    """Have the engine, and what is to be done; facts are drawn from the user's functions before."""
    with reporter(kb._options.progress) as report:
        with full_memory_explained(DOING):
            drawn = wish.drawn(report)
        with kb._turns.touching(), whole(kb, DOING), Transaction(kb) as transaction:
            yield transaction, _Done(kb, drawn, Told(report, kb, transaction))


def what_if(
    self: KnowledgeBase,
    insert: object = None,
    delete: object = None,
    *,
    maintenance: str | None = None,
    add_rules: object = None,
    remove_rules: object = None,
) -> Changes:
    """Return what `update` would change; nothing is changed."""
    wish = UpdateRequest(insert, delete, add_rules, remove_rules, algorithm(self, maintenance))
    with (
        self._turns.writing("what_if"),
        _begun(self, wish) as (transaction, done),
    ):
        done.reason(transaction)
        changes = done.changes()
        changes.added.decode()
        changes.removed.decode()
        return changes


def algorithm(kb: KnowledgeBase, given: str | None) -> str:
    """Return the choice of `maintenance`, of this update or of the knowledge base."""
    if given is None:
        return kb._options.maintenance
    return check_options(maintenance=given).maintenance


class _Done:
    """An update that is done in memory, and its account."""

    def __init__(self, kb: KnowledgeBase, wish: UpdateRequest, report: Reporter) -> None:
        """Read what is given; no fact changes yet."""
        self._kb = kb
        self._wish = wish
        self._report = report
        self._begun = time.perf_counter()
        self._phases: dict[str, float] = {}
        self._before, self._shown = totals(kb), kb.names()
        self._edit = edit_program(kb._program, wish.add_rules, wish.remove_rules)
        self._warned = Warned()
        self._warned.tell(self._edit.warnings)
        self._given = read_given(kb, wish, self._edit, report, self._warned)
        if self._edit.rules:
            named = names_given(wish.insert, kb._program.prefixes)
            self._warned.tell(undefined(kb, self._edit, self._given, named))
            self._warned.tell(new_rules_never_joining(kb, self._edit, self._given.insert))
        self._end("read")

    def reason(self, transaction: Transaction) -> None:
        """Let the materialisation follow."""
        kb, edit, wish = self._kb, self._edit, self._wish
        cpu = time.process_time()
        transaction.begin()
        if edit.is_edited:
            self._outcome = edit_rules(
                kb, edit.program, self._given, wish.maintenance, self._report
            )
        else:
            self._outcome = maintain(kb, self._given, wish.maintenance, self._report)
        self._end("reason")
        self._phases["reason_cpu"] = time.process_time() - cpu
        self.is_needed = edit.is_edited or self._outcome.is_needed
        self._added = self._visible(self._outcome.added)
        self._removed = self._visible(self._outcome.removed)
        self._note_facts()
        self._note_run()
        told = f"+{kb._run['added']:,} -{kb._run['removed']:,} facts"
        self._report.finish("reason", told, self._phases["reason"])

    def _end(self, phase: str) -> None:
        now = time.perf_counter()
        self._phases[phase] = now - self._begun
        self._begun = now

    def _visible(self, facts: Iterable[Encoded]) -> list[Encoded]:
        triples = self._kb._plan.stored_as_triples
        return visible_facts(facts, self._kb._dictionary, triples=triples)

    def _note_facts(self) -> None:
        """Bring up to date what the knowledge base knows about its facts."""
        before, shown = self._before, self._shown
        kb, outcome, given = self._kb, self._outcome, self._given.insert
        kb._totals = Totals(
            before.facts + _size(self._added) - _size(self._removed),
            before.explicit + _size(outcome.inserted) - _size(outcome.deleted),
        )
        kb._host.limits.check_facts(kb._totals.facts, "the update")
        changed = {predicate for predicate, _, _ in (*self._added, *self._removed)}
        if self._edit.is_edited:
            kb._visible = kb._names = None
        elif not changed <= shown.keys():
            kb._visible, kb._names = sorted(shown.keys() | changed), None
        kb._program = without(kb._program, self._visible(outcome.deleted), kb)
        new = {p: given.origin(p) for p in given.predicates() if p not in kb._origins}
        rdf = {p: "rdf" for p in given.predicates() if given.origin(p) == "rdf"}
        kb._origins = {**kb._origins, **new, **rdf}

    def _note_run(self) -> None:
        """Remember what the update took."""
        kb, outcome = self._kb, self._outcome
        host = kb._host
        costs = host.derivations() if outcome.is_whole else host.recent_derivations()
        self._profile = profile_of(kb._plan, costs)
        derivations = sum(n for n, _, _ in costs.values())
        warnings, report = self._warned.texts, self._given.report
        kb.report = report
        if report.prefixes:
            kb._data_prefixes = prefixes_with(kb._data_prefixes, report.prefixes)
        kb._run = {
            "maintenance": self._wish.maintenance,
            **run_account(outcome.rounds, derivations, self._phases, warnings, report),
            "added": _size(self._added),
            "removed": _size(self._removed),
            "inserted": _size(outcome.inserted),
            "deleted": _size(outcome.deleted),
            "not_explicit": outcome.not_explicit,
            "per_stratum": outcome.per_stratum,
        }

    def save(self, transaction: Transaction, mark: Mark | None) -> None:
        """Commit to the store, if there is one; what is on disk then is kept in memory too."""
        kb = self._kb
        if kb._store is None:
            return
        self._report("save", str(kb._store.path))
        begun, before = time.perf_counter(), kb._version
        streams = None if mark is None else mark(self.changes())
        try:
            persist.commit_update(kb, self._outcome, self._profile, streams)
        finally:
            if kb._version > before:
                transaction.keep()
        kb.note_phase("save", seconds := time.perf_counter() - begun)
        self._report.finish("save", f"{kb._store.path} version {kb._version}", seconds)

    def changes(self) -> Changes:
        """Return what users see of it."""
        changed = {predicate for predicate, _, _ in (*self._added, *self._removed)}
        known = self._kb.names()
        is_known = changed <= known.keys()
        names = known if is_known else self._kb.named({*self._kb.visible(), *changed})
        stats = {**self._kb.stats, "profile": self._profile}
        return Changes(self._tables(self._added, names), self._tables(self._removed, names), stats)

    def _tables(self, facts: list[Encoded], names: dict[Predicate, str]) -> ChangedTables:
        kb = self._kb
        tables = {
            names[predicate]: ChangedFacts(
                columns, size, kb._dictionary, kb.declaration(predicate), kb.is_rdf(predicate)
            )
            for predicate, columns, size in sorted(facts, key=lambda each: each[0])
        }
        return ChangedTables(tables)


def _size(facts: Iterable[Encoded]) -> int:
    return sum(size for _, _, size in facts)
