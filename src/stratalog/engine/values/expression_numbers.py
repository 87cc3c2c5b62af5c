"""What terms hold, by id: read from the dictionary when first asked for, and then remembered."""

from __future__ import annotations

import numpy as np

from stratalog.engine.values.expression_columns import (
    DOUBLE,
    NODE,
    SLOW,
    TEXT,
    TRUTH,
    UNREAD,
    WHOLE,
    Column,
    Ids,
    Integers,
    States,
)
from stratalog.facts.terms import Terms
from stratalog.lang.terms import BNODE_KIND, BOOLEAN, INTEGER, IRI_KIND, STRING
from stratalog.lang.terms import DOUBLE as DOUBLE_KIND

_STATES = {
    IRI_KIND: NODE,
    BNODE_KIND: NODE,
    STRING: TEXT,
    BOOLEAN: TRUTH,
    INTEGER: WHOLE,
    DOUBLE_KIND: DOUBLE,
}
# Texts that can be read without a check; longer integers and ill-typed texts are left to the terms.
_PATTERNS = {
    WHOLE: r"^-?[0-9]{1,18}$",
    DOUBLE: r"^-?(INF|[0-9]\.[0-9]{1,17}E-?[0-9]{1,3})$|^NaN$",
    TRUTH: r"^(true|false)$",
}


class Numbers:
    """The state and number of every id that was asked for."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._size = 0
        self._states: States = np.zeros(0, np.uint8)
        self._numbers: Integers = np.zeros(0, np.int64)
        self._kinds: States = np.zeros(0, np.uint8)

    def column(self, ids: Ids) -> Column:
        """Return the ids as a column of values."""
        self._make_room()
        states = self._states[ids]
        unread = states == UNREAD
        if unread.any():
            self._read(np.unique(ids[unread]))
            states = self._states[ids]
        numbers = self._numbers[ids] if np.any(states >= TRUTH) else np.zeros(ids.shape, np.int64)
        return Column(states, numbers, ids)

    def forget(self, size: int) -> None:
        """Forget the ids from `size` on: the dictionary has taken them back."""
        self._states[size:] = UNREAD
        self._size = min(self._size, size)

    def _make_room(self) -> None:
        size = len(self._terms)
        if size < self._size:
            self.forget(size)
        if size > self._states.size:
            # Pages that are never written to cost no memory.
            room = max(size, 2 * self._states.size)
            states, numbers = np.zeros(room, np.uint8), np.zeros(room, np.int64)
            states[: self._size] = self._states[: self._size]
            numbers[: self._size] = self._numbers[: self._size]
            self._states, self._numbers = states, numbers
        self._size = size

    def _read(self, ids: Ids) -> None:
        states = self._kind_states()[self._terms.kind_ids[ids]]
        self._states[ids] = states
        for state in _PATTERNS:
            chosen = ids[states == state]
            if chosen.size:
                self._read_texts(state, chosen)

    def _read_texts(self, state: np.uint8, ids: Ids) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = self._terms.texts(ids)
        readable = pc.match_substring_regex(texts, _PATTERNS[state])
        mask = readable.to_numpy(zero_copy_only=False)
        self._states[ids[~mask]] = SLOW
        chosen, good = ids[mask], texts.filter(readable)
        if state == WHOLE:
            self._numbers[chosen] = good.cast(pa.int64()).to_numpy()
        elif state == DOUBLE:
            values = good.cast(pa.float64()).to_numpy()
            self._numbers[chosen] = values.view(np.int64)
        else:
            self._numbers[chosen] = pc.equal(good, "true").to_numpy(zero_copy_only=False)

    def _kind_states(self) -> States:
        known = self._kinds.size
        if len(self._terms.kinds) > known:
            new = [_STATES.get(kind, SLOW) for kind in self._terms.kinds[known:]]
            self._kinds = np.concatenate([self._kinds, np.array(new, np.uint8)])
        return self._kinds
