"""Facts in random order, many of which begin with one of a few constants."""

from __future__ import annotations

import numpy as np

from stratalog_bench.generate.workload import Workload, rows_of

SPREAD = 1 << 20  # other constants


def skewed(*, rows: int, hubs: int, seed: int = 0) -> Workload:
    """Return so many different facts of three columns, half of them led by `hubs` constants."""
    draws = np.random.default_rng(seed)
    leading = draws.integers(hubs, SPREAD, rows)
    if hubs:
        led = draws.permutation(rows)[: rows // 2]
        leading[led] = draws.integers(0, hubs, led.size)
    facts = rows_of(leading, np.arange(rows) % 1_000, draws.permutation(rows))
    rules = "led(?y) :- quad(0, ?y, ?z) .\n"
    return Workload({"quad": facts}, {"quad": ("a", "b", "c")}, rules)
