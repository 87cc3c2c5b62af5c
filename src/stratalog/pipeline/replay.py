"""A relation from its rows and the deltas that later versions added to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]


def replay(base: pa.Table, deltas: Sequence[pa.Table], arity: int) -> pa.Table:
    """Return the rows of `base`, changed by the deltas one after the other."""
    names = _names(arity)
    changed = last_of_each(deltas, arity)
    kept = base.filter(pa.array(~_among(base, changed, names)))
    present = changed.filter(pc.not_equal(changed["label"], 0))
    return pa.concat_tables([kept, present])


def last_of_each(deltas: Sequence[pa.Table], arity: int) -> pa.Table:
    """Return of each fact the last row that the deltas have, as one delta."""
    changed = pa.concat_tables(deltas)
    return changed.filter(pa.array(_is_last(changed, _names(arity))))


def _names(arity: int) -> list[str]:
    return [f"c{place}" for place in range(arity)]


def _is_last(table: pa.Table, names: Sequence[str]) -> Mask:
    """Return for each row whether no later row is of the same fact."""
    rows = table.num_rows
    last = np.zeros(rows, np.bool_)
    words = _words([table], names)[::-1]
    _, first = np.unique(words, return_index=True)
    last[rows - 1 - first] = True
    return last


def _among(base: pa.Table, changed: pa.Table, names: Sequence[str]) -> Mask:
    """Return for each row of `base` whether its fact is in `changed`.

    Most rows are told apart by one column after the other; only the rest is compared as a whole.
    """
    candidates = np.arange(base.num_rows)
    for name in names:
        column = base[name].take(pa.array(candidates)) if name != names[0] else base[name]
        inside = pc.is_in(column, value_set=changed[name].combine_chunks())
        candidates = candidates[inside.to_numpy()]
    found = np.zeros(base.num_rows, np.bool_)
    if candidates.size:
        near = base.select(names).take(pa.array(candidates)) if names else base
        words = _words([near, changed], names)
        found[candidates] = np.isin(words[: candidates.size], words[candidates.size :])
    return found


def _words(tables: Sequence[pa.Table], names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return a number per row of all tables; facts are equal iff their numbers are."""
    words = np.zeros(sum(table.num_rows for table in tables), np.int64)
    for name in names:
        column = np.concatenate([table[name].to_numpy() for table in tables])
        _, ranks = np.unique(column, return_inverse=True)
        _, words = np.unique(words * (int(ranks.max(initial=0)) + 1) + ranks, return_inverse=True)
    return words
