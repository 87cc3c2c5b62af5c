"""The protocol every engine implements: what an algorithm of `reason/` may ask for.

`apply(rules, pos, neg, pos_delta, neg_delta)` is the papers' operator Π[Iᵖ, Iⁿ : Δᵖ, Δⁿ]. It
considers every rule instance exactly once: for the positive atom i, earlier atoms range over
Iᵖ∖Δᵖ, atom i over Δᵖ, later ones over Iᵖ; for the negative atom j, all positive atoms over Iᵖ∖Δᵖ,
earlier negative atoms outside Iⁿ∪Δⁿ, atom j in Δⁿ, later ones outside Iⁿ. Without deltas it is
Π[Iᵖ, Iⁿ]: every instance.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar

from stratalog.facts.sets import Batch, FactSet, Label

RuleT_contra = TypeVar("RuleT_contra", contravariant=True)


class Count(Enum):
    """Which derivation count of a fact changes by one with each instance that derives it."""

    NONRECURSIVE = 0  # C_nr
    RECURSIVE = 1  # C_r


class Closed(NamedTuple):
    """All that follows from a delta, and the rounds that finding it round by round would take."""

    facts: Batch
    rounds: int


class Engine(Protocol[RuleT_contra]):
    """Where facts live. Only an engine knows how they are stored and joined."""

    def settle(self, described: FactSet) -> Batch:
        """Return the facts that `described` stands for now."""

    def mark(self, batch: Batch, label: Label) -> None:
        """Put `label` on every fact of the batch."""

    def unmark(self, batch: Batch, label: Label) -> None:
        """Take `label` off every fact of the batch."""

    def saturate(
        self,
        rules: Sequence[RuleT_contra],
        pos: FactSet,
        delta: Batch,
        *,
        count: Count | None = None,
    ) -> Closed | None:
        """Return all that follows from the delta in any number of rounds; None if unable."""

    def apply(  # the operator's own arguments
        self,
        rules: Sequence[RuleT_contra],
        pos: FactSet,
        neg: FactSet,
        pos_delta: Batch | None = None,
        neg_delta: Batch | None = None,
        *,
        count: Count | None = None,
    ) -> Batch:
        """Return the facts derived; each instance raises the named count of its head."""
