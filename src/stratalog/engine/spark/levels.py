"""Strata of one level as one: independent components share their rounds, and so their jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from stratalog.plan.rules import Stratum
from stratalog.plan.stratify import levels


def merged_levels(strata: Sequence[Stratum]) -> tuple[Stratum, ...]:
    """Return a stratum per level, and those that are a closure.

    A rule stays recursive only if it is so in its component.
    """
    by_level: dict[int, list[Stratum]] = defaultdict(list)
    for stratum, level in zip(strata, levels(strata), strict=True):
        by_level[level].append(stratum)
    return tuple(merged for level in sorted(by_level) for merged in _divided(by_level[level]))


def _divided(strata: Sequence[Stratum]) -> Iterator[Stratum]:
    """Yield what only a stratum of its own tells to be a closure, and all others as one."""
    others = [stratum for stratum in strata if stratum.closing is None]
    yield from (stratum for stratum in strata if stratum.closing is not None)
    if others:
        yield _together(others)


def _together(strata: Sequence[Stratum]) -> Stratum:
    if len(strata) == 1:
        return strata[0]
    return Stratum(
        frozenset(p for stratum in strata for p in stratum.predicates),
        tuple(rule for stratum in strata for rule in stratum.nonrecursive),
        tuple(rule for stratum in strata for rule in stratum.recursive),
        tuple(module for stratum in strata for module in stratum.modules),
    )
