"""Two versions of a store: how many facts of each predicate came and went."""

from __future__ import annotations

import os

import numpy as np

from stratalog.facts.labels import I
from stratalog.knowledge.adapters import Ids
from stratalog.knowledge.base import KnowledgeBase
from stratalog.knowledge.rows import distinct
from stratalog.knowledge.stored.open import open_store


def compare_versions(
    directory: str | os.PathLike[str], before: int, after: int
) -> dict[str, dict[str, int]]:
    """Return the number of facts added and removed per predicate, where there are any."""
    old, new = open_store(directory, before), open_store(directory, after)
    number_of = _translation(old, new)
    changes = {}
    for predicate in sorted({*old.visible(), *new.visible()}):
        mine, size = old._read(predicate, I)  # noqa: SLF001  # one idea in two modules
        yours, new_size = new._read(predicate, I)  # noqa: SLF001
        columns = [np.concatenate([number_of[a], b]) for a, b in zip(mine, yours, strict=True)]
        shared = size + new_size - distinct(columns, size + new_size)
        if size > shared or new_size > shared:
            known = new if predicate in new.visible() else old
            changes[known.name_of(predicate)] = {
                "added": new_size - shared,
                "removed": size - shared,
            }
    return changes


def _translation(old: KnowledgeBase, new: KnowledgeBase) -> Ids:
    """Return the numbers that the old constants have in the new dictionary."""
    stored = old._dictionary  # noqa: SLF001
    everything = np.arange(len(stored), dtype=np.uint32)
    number_of = np.empty(len(stored), np.uint32)
    for index, kind in enumerate(stored.kinds):
        ids = everything[stored.kind_ids[everything] == index]
        number_of[ids] = new._dictionary.intern(kind, stored.texts(ids))  # noqa: SLF001
    return number_of
