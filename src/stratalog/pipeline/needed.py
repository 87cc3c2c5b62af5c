"""Which columns of a table are read: those that declarations mention."""

from __future__ import annotations

from collections.abc import Sequence

from stratalog.pipeline.tables import Vocabulary


def needed(names: Sequence[str], predicate: str, vocabulary: Vocabulary) -> list[str] | None:
    """Return the columns that declarations mention, or None for all of them."""
    wanted = [
        column.source or column.name
        for declaration in vocabulary.declared(predicate)
        for column in declaration.columns
    ]
    chosen = [n for n in names if any(w == n or w.startswith(n + ".") for w in wanted)]
    return chosen or None
