"""Thresholds between ways of working, low in this process: small data then take the ways of large.

STRATALOG_TINY makes all sizes tiny, those inside compiled kernels too, for a whole process. Here
are those that Python looks at, for a part of the random tests of any run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from stratalog.engine.columnar import joins, planned, saturate
from stratalog.engine.columnar import path_joins as bulk

LOW = (
    (planned, "LARGE_DELTA_ROWS", 2),  # facts of a delta that need not be read first
    (bulk, "MIN_BULK_ROWS", 2),  # facts to start from that follow paths
    (bulk, "MIN_STARTS_PER_THREAD", 2),
    (saturate, "MIN_SEEDS_PER_THREAD", 2),
    (joins, "MIN_EXPECTED_ROWS", 2),
)


@contextmanager
def lowered(*, low: bool = True) -> Iterator[None]:
    """Let few facts be many."""
    with ExitStack() as stack:
        for module, name, value in LOW if low else ():
            stack.enter_context(patch.object(module, name, value))
        yield
