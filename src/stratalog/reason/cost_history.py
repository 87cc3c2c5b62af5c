"""What earlier updates of a stratum have cost: the ground on which `auto` chooses."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from stratalog.lang.syntax import Predicate

HALF_LIFE = 64  # updates after which a promise counts half: data change
NEWEST_WEIGHT = 0.5  # weight of the latest measurement
STOPPED_FACTOR = 1.25  # an algorithm that was stopped would have taken so much longer, at least
SIZE_CLASS_BITS = 3  # bits: sizes that differ by less than a factor of eight are about the same


class Promise(NamedTuple):
    """The seconds an algorithm took, and in which update.

    They are a lower bound if it was stopped, or if only updates of other sizes are known.
    """

    seconds: float
    is_bound: bool
    update: int


@dataclass(slots=True)
class CostHistory:
    """What is known of the updates of one stratum that change about as many facts."""

    size: int  # facts that the first of them changed
    updates: int = 0
    saved: float = 0.0  # of what trials in vain may cost, in times of rematerialising
    correction: float = 1.0  # of estimates for rematerialising
    _promises: dict[str, Promise] = field(default_factory=dict)

    def promised(self, name: str) -> float:
        """Return the seconds that an algorithm promises: none if it was never tried."""
        known = self._promises.get(name)
        if known is None:
            return 0.0
        if not known.is_bound:
            return known.seconds
        return float(known.seconds * 0.5 ** ((self.updates - known.update) / HALF_LIFE))

    def finished(self) -> list[str]:
        """Return the algorithms whose time is known."""
        return [name for name, known in self._promises.items() if not known.is_bound]

    def learn(self, name: str, at_least: float, seconds: float | None) -> None:
        """Remember the seconds of an algorithm; if it was stopped, that it takes some at least."""
        if seconds is None:
            self._promises[name] = Promise(
                STOPPED_FACTOR * at_least, is_bound=True, update=self.updates
            )
            return
        known = self._promises.get(name)
        if known is not None and not known.is_bound:
            seconds = NEWEST_WEIGHT * seconds + (1 - NEWEST_WEIGHT) * known.seconds
        self._promises[name] = Promise(seconds, is_bound=False, update=self.updates)

    def correct(self, estimate: float, seconds: float) -> None:
        """Remember how long rematerialising took, which was estimated."""
        if estimate > 0:
            self.correction = seconds / estimate

    def save(self, cost: float, spent: float, allowed: float, most: float) -> None:
        """Keep what an update leaves of its allowance, or a debt; to rematerialise takes `cost`."""
        if cost > 0:
            left = self.saved + 1 + allowed - spent / cost
            self.saved = min(left, most - allowed)

    def like(self, size: int) -> CostHistory:
        """Return what can be hoped for updates of another size."""
        share = min(1.0, size / self.size)
        scaled = {n: Promise(share * k.seconds, True, 0) for n, k in self._promises.items()}
        return CostHistory(size, correction=self.correction, _promises=scaled)


class CostHistories:
    """The pasts of all strata: deletions and insertions apart, and by size."""

    def __init__(self) -> None:
        self._by_size: defaultdict[tuple[frozenset[Predicate], bool], dict[int, CostHistory]]
        self._by_size = defaultdict(dict)

    def of(self, stratum: frozenset[Predicate], size: int, *, deletes: bool) -> CostHistory:
        """Return the past of the updates of about this size, one of which begins."""
        pasts = self._by_size[stratum, deletes]
        key = size.bit_length() // SIZE_CLASS_BITS
        if key not in pasts:
            nearest = min(pasts, key=lambda other: abs(other - key), default=None)
            pasts[key] = CostHistory(size) if nearest is None else pasts[nearest].like(size)
        pasts[key].updates += 1
        return pasts[key]
