"""Different random pairs of numbers: the edges of random graphs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stratalog.errors import DataError
from stratalog_bench.generate.draws import Draws, Mask, Numbers

Draw = Callable[[int], Numbers]

PATIENCE = 200  # passes without enough new pairs before a distribution is called exhausted


def ascending_pairs(draws: Draws, nodes: int, amount: int) -> tuple[Numbers, Numbers]:
    """Return different pairs below `nodes`, the first smaller, each pair as likely as another."""
    total = nodes * (nodes - 1) // 2
    if amount > total:
        raise _too_many(amount, total)
    if 2 * amount > total:
        low, high = np.triu_indices(nodes, 1)
        chosen = draws.shuffled(total)[:amount]
        return low[chosen].astype(np.int64), high[chosen].astype(np.int64)

    def draw(size: int) -> Numbers:
        one, other = draws.below(nodes, size), draws.below(nodes, size)
        codes = np.minimum(one, other) * nodes + np.maximum(one, other)
        differ: Mask = one != other
        return np.compress(differ, codes)

    codes = _different(draw, amount)
    return codes // nodes, codes % nodes


def skewed_pairs(draws: Draws, nodes: int, amount: int, skew: int) -> tuple[Numbers, Numbers]:
    """Return different pairs of different numbers, number n * u**skew for u uniform below 1."""
    if amount > nodes * (nodes - 1):
        raise _too_many(amount, nodes * (nodes - 1))

    def one(size: int) -> Numbers:
        uniform = draws.fractions(size)
        power = uniform.copy()
        for _ in range(skew - 1):  # products round alike everywhere, pow does not
            power *= uniform
        return (power * nodes).astype(np.int64)

    def draw(size: int) -> Numbers:
        first, second = one(size), one(size)
        differ: Mask = first != second
        return np.compress(differ, first * nodes + second)

    codes = _different(draw, amount)
    return codes // nodes, codes % nodes


def _different(draw: Draw, amount: int) -> Numbers:
    """Return the first `amount` different codes in the order in which they are drawn."""
    found: Numbers = np.empty(0, np.int64)
    for _ in range(PATIENCE):
        missing = amount - len(found)
        if missing <= 0:
            return found[:amount]
        drawn = np.concatenate([found, draw(max(64, missing + missing // 8))])
        _, first = np.unique(drawn, return_index=True)
        found = drawn[np.sort(first)]
    if len(found) >= amount:
        return found[:amount]
    raise DataError(
        "D401",
        f"after {PATIENCE} attempts there are {len(found):,} different edges, not {amount:,}",
        help="ask for fewer edges, more nodes, or less skew",
    )


def _too_many(amount: int, total: int) -> DataError:
    return DataError(
        "D401",
        f"edges = {amount:,}, but so many nodes have {total:,} different edges at most",
        help="ask for fewer edges, or more nodes",
    )
