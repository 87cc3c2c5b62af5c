"""Sizes of blocks and thresholds, all tiny where STRATALOG_TINY is set.

Tests set it: then a handful of facts fills every buffer, divides every table and takes the ways
that otherwise only large data take.
"""

from __future__ import annotations

import os

TINY = os.environ.get("STRATALOG_TINY", "0") not in {"", "0"}


def sized(usual: int, tiny: int) -> int:
    """Return the usual size, or the tiny one for tests."""
    return tiny if TINY else usual
