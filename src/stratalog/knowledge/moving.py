"""A knowledge base moves on to the current version of its store, all at once."""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

from typing import TYPE_CHECKING

from stratalog.knowledge.reading import settle
from stratalog.knowledge.stored.open import open_store
from stratalog.runtime.interrupts import delivered

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase

SHARED = frozenset({"_turns", "_lock", "_readings", "_streams"})
"""What other threads may hold meanwhile, so that it stays."""


def move_on(kb: KnowledgeBase) -> int:
    """Make a knowledge base what its store holds now; the caller has a writer's turn.

    The new version is opened beside the present one, of which others read until then, with the
    options that were given first.
    """
    store, limits = kb._bound_store(), kb._host.limits
    if store.version != kb._version:
        with delivered():
            new = open_store(store.path, **kb._given)
        new.set_timeout(limits.timeout)
        with kb._turns.touching():
            _become(kb, new)
    return kb._version


def _become(kb: KnowledgeBase, new: KnowledgeBase) -> None:
    settle(kb)
    old = kb._host
    kb.__dict__.update({n: field for n, field in new.__dict__.items() if n not in SHARED})
    old.close()
