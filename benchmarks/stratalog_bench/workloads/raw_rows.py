"""Random rows for the two operations that reasoning consists of: storing and joining."""

from __future__ import annotations

import numpy as np

from stratalog_bench.generate.draws import Draws
from stratalog_bench.generate.workload import Workload, rows_of

JOIN = "joined(?x, ?z) :- left(?x, ?y), right(?y, ?z) .\n"
PER_KEY = 10  # different rows per key


def insert(rows: int = 25_000_000, distinct: int = 20_000_000, seed: int = 0) -> Workload:
    """Return pairs in random order, of which so many are different."""
    draws = Draws(seed)
    keys = max(1, distinct // PER_KEY)
    key, place = np.divmod(np.arange(distinct), PER_KEY)
    other = (draws.below(keys, keys + 1)[key] + place) % max(keys, PER_KEY)
    chosen = np.concatenate([np.arange(distinct), draws.below(distinct, rows - distinct)])
    chosen = chosen[draws.shuffled(rows)]
    facts = {"pair": rows_of(key[chosen], other[chosen])}
    return Workload(facts, {"pair": ("key", "other")}, "")


def join(rows: int = 2_000_000, keys: int = 200_000, seed: int = 0) -> Workload:
    """Return two relations of almost so many rows, joined by a column of so many keys."""
    draws = Draws(seed)
    facts = {}
    for name in ("left", "right"):
        codes = np.unique(draws.below(keys, rows) * keys + draws.below(keys, rows))
        codes = codes[draws.shuffled(len(codes))]
        facts[name] = rows_of(codes // keys, codes % keys)
    return Workload(facts, {"left": ("x", "y"), "right": ("y", "z")}, JOIN)
