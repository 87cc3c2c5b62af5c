"""The delta versions of a rule: together they meet each affected instance exactly once.

For Π[Iᵖ, Iⁿ : Δᵖ, Δⁿ] the version of positive atom i reads earlier atoms from Iᵖ∖Δᵖ, atom i from
Δᵖ and later ones from Iᵖ; the version of negative atom j reads all positive atoms from Iᵖ∖Δᵖ,
wants earlier negative atoms outside Iⁿ∪Δⁿ, atom j in Δⁿ and later ones outside Iⁿ. So an instance
is found by the version of its first positive atom in Δᵖ, or, if it has none, of its first negative
atom in Δⁿ. (004's equation 7 is the positive part.)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from stratalog.plan.rules import PlannedRule


class Role(Enum):
    """From which set an atom of a version is read; negative atoms want to be outside of it."""

    FULL = "pos"
    OLD = "pos - delta"
    DELTA = "delta"
    OUTSIDE = "outside neg"
    OUTSIDE_BOTH = "outside neg and its delta"
    NEGATED_DELTA = "delta of neg"


@dataclass(frozen=True, slots=True)
class Version:
    """One delta version of a rule; `start` is the atom read from a delta, None for none."""

    rule: PlannedRule
    start: int | None = None
    negative: bool = False  # `start` counts the negated atoms
    is_chain: bool = False  # all other atoms are read from Iᵖ, whether in the delta or not

    def role(self, atom: int) -> Role:
        """Return where positive atom number `atom` is read from."""
        if self.start is None or (self.is_chain and atom != self.start):
            return Role.FULL
        if self.negative or atom < self.start:
            return Role.OLD
        return Role.DELTA if atom == self.start else Role.FULL

    def negated_role(self, atom: int) -> Role:
        """Return what negated atom number `atom` must be outside of, or that it is in the delta."""
        if not self.negative or self.start is None or atom > self.start:
            return Role.OUTSIDE
        return Role.NEGATED_DELTA if atom == self.start else Role.OUTSIDE_BOTH


def versions(rule: PlannedRule) -> tuple[Version, ...]:
    """Return all delta versions of the rule, those of positive atoms first."""
    positive = [Version(rule, i) for i in range(len(rule.body))]
    negative = [Version(rule, j, negative=True) for j in range(len(rule.negated))]
    return (*positive, *negative)
