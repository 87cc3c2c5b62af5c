"""What segments say of facts that an update has not touched yet, but may ask for next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stratalog.engine.spark.overlay import ABSENT, UNKNOWN, Mask, Overlay, States
from stratalog.facts.terms import Terms

if TYPE_CHECKING:
    from stratalog.engine.spark.near import Encoded
    from stratalog.engine.spark.overlay import Integers


class Ahead:
    """Facts as segments have them, for as long as segments stay as they are."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._heard = Overlay(self._terms)

    def enter(self, states: States) -> None:
        """Remember what segments say of facts, also that they have none of them."""
        if states.words.size:
            self._heard.enter(states)

    def unknown(self, facts: Encoded) -> Mask:
        """Return which facts nothing is known of."""
        return self._heard.unknown(*facts)

    def words(self, facts: Encoded) -> Integers:
        """Return the label word of each fact, ABSENT where no segment is known to have it."""
        predicate, columns, size = facts
        words = np.full(size, ABSENT, np.int64)
        relation = self._heard.relations.get(predicate)
        if relation is not None:
            rows = relation.find(columns, size)
            words[rows != UNKNOWN] = self._heard.base(relation)[rows[rows != UNKNOWN]]
        return words

    def states(self, facts: Encoded) -> States:
        """Return what segments say of facts that are known."""
        predicate, columns, size = facts
        relation = self._heard.relation(predicate)
        rows = relation.find(columns, size)
        counts = (count[rows].astype(np.int64) for count in relation.counts)
        words = self._heard.base(relation)[rows].astype(np.int64)
        return States(predicate, columns, words, *counts)
