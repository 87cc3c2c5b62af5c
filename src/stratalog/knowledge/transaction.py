"""All or nothing: what an update has done is kept when it says so, and undone otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from stratalog.knowledge.replan import rule_constants

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase


class Transaction:
    """Left without `keep`, it makes the knowledge base the one before, constants included.

    Ctrl-C must be held back while it lives: what is undone is undone to the end.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._host = kb._host  # noqa: SLF001  # this module and base.py are one
        self._dictionary = kb._dictionary  # noqa: SLF001
        _prepare(kb)
        self._fields = dict(kb.__dict__)
        self._constants = self._dictionary.checkpoint()
        self._predicates = set(self._host.predicates())
        self._is_kept = False

    def __enter__(self) -> Self:
        self._host.begin()
        return self

    def keep(self) -> None:
        """Make what was done permanent."""
        self._is_kept = True
        self._host.engine.commit()

    def __exit__(self, *error: object) -> None:
        if self._is_kept:
            return
        self._host.engine.roll_back()
        self._dictionary.truncate(self._constants)
        new = [p for p in self._host.predicates() if p not in self._predicates]
        self._host.drop([p for p in new if not p.name.startswith("$")])  # an engine's own stay
        self._kb.__dict__.clear()
        self._kb.__dict__.update(self._fields)


def _prepare(kb: KnowledgeBase) -> None:
    """Make what plans of rules refer to by number: it must outlive a change that is undone."""
    if kb._prepared is not kb._plan:  # noqa: SLF001
        kb._dictionary.encode(sorted(rule_constants(kb._plan)))  # noqa: SLF001
        kb._host.prepare(kb._plan.predicates)  # noqa: SLF001
        kb._prepared = kb._plan  # noqa: SLF001
