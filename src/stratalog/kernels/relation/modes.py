"""What every way to merge facts shares: modes, marks, counts that must not overflow."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.sizes import sized

I32_MAX = np.int64(2**31 - 1)
I64_MAX = np.int64(2**63 - 1)

EXPLICIT_BIT = np.uint16(1 << 0)
SEEN_BIT = np.uint16(1 << 6)

TAKEN = sized(1024, 3)  # rows that a lane takes at once where it shares a relation
BLOCK = sized(256, 2)  # candidates whose slots are fetched together, so that cache misses overlap

# What `merge` does with each candidate besides storing it: 0 and 1 raise a count, 2 and 3 lower it.
LOWER = 2
UNCOUNTED = -1
AS_EXPLICIT = -2


@kernel
def add_to_count(counts, row, weight, most):
    """Change a count, unless it would exceed what it can hold; return whether it was changed."""
    before = np.int64(counts[row])
    if weight > 0 and before > most - weight:
        return False
    counts[row] = before + weight
    return True
