"""The two derivation counts of a fact (001)."""

from __future__ import annotations

from enum import Enum


class Count(Enum):
    """Which derivation count of a fact changes by one with each instance that derives it."""

    NONRECURSIVE = 0  # C_nr
    RECURSIVE = 1  # C_r
