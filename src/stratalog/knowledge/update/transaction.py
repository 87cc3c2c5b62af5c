"""All or nothing: what an update has done is kept when it says so, and undone otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from stratalog.knowledge.absent import without_host
from stratalog.knowledge.display.progress import Reporter
from stratalog.knowledge.reading import settle
from stratalog.knowledge.update.replan import rule_constants

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase


class Transaction:
    """Left without `keep`, it makes the knowledge base the one before, constants included.

    Whoever has one has the engine, and Ctrl-C must be held back while it lives: what is undone is
    undone to the end. Until `begin` facts are as they were, and others may look at them.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._host = kb._host  # noqa: SLF001  # this module and base.py are one
        self._dictionary = kb._dictionary  # noqa: SLF001
        self._watch = self._dictionary.watch  # another engine may take its place
        _prepare(kb)
        self._fields = dict(kb.__dict__)
        self._constants = self._dictionary.checkpoint()
        self._predicates = set(self._host.predicates())
        self._host.expect_facts()
        self.is_begun = False
        self._is_kept = False

    def __enter__(self) -> Self:
        return self

    def begin(self) -> None:
        """Start to change facts; who has read a part of them gets the rest as it is now."""
        settle(self._kb)
        self._host.begin()
        self.is_begun = True

    def keep(self) -> None:
        """Make what was done permanent."""
        self._is_kept = True
        self._host.engine.commit()

    def __exit__(self, *error: object) -> None:
        if self._is_kept:
            return
        if self.is_begun:
            self._host.engine.roll_back()
        self._dictionary.truncate(self._constants)
        self._dictionary.watch = self._watch
        new = [p for p in self._host.predicates() if p not in self._predicates]
        self._host.drop([p for p in new if not p.name.startswith("$")])  # an engine's own stay
        fields = self._kb.__dict__  # never empty: other threads find the locks there
        fields.update(self._fields)
        for name in fields.keys() - self._fields.keys():
            del fields[name]


class Told(Reporter):
    """Tells of an update; the user's function may not look at facts while they change."""

    def __init__(self, report: Reporter, kb: KnowledgeBase, transaction: Transaction) -> None:
        self._report = report
        self._kb = kb
        self._transaction = transaction
        self._is_users = callable(kb._options.progress)  # noqa: SLF001
        self.list_stages = report.list_stages  # type: ignore[method-assign]

    def __call__(self, stage: str, detail: str) -> None:
        if self._is_users and self._transaction.is_begun:
            with without_host(self._kb):
                self._report(stage, detail)
        else:
            self._report(stage, detail)

    def finish(self, stage: str, detail: str, seconds: float) -> None:
        """Hear what a stage has done; a function that fails may not end what is committed."""
        if self._is_users and self._transaction.is_begun:
            super().finish(stage, detail, seconds)
        else:
            self._report.finish(stage, detail, seconds)

    def pause(self) -> None:
        self._kb._turns.pause()  # noqa: SLF001


def _prepare(kb: KnowledgeBase) -> None:
    """Make what plans of rules refer to by number: it must outlive a change that is undone."""
    if kb._prepared is not kb._plan:  # noqa: SLF001
        kb._dictionary.encode(sorted(rule_constants(kb._plan)))  # noqa: SLF001
        kb._host.prepare(kb._plan.predicates)  # noqa: SLF001
        kb._prepared = kb._plan  # noqa: SLF001
