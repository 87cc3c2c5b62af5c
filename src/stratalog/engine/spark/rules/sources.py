"""What rules read: the facts of an arity that an atom of a version ranges over."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from stratalog.plan.delta import Role

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Source(NamedTuple):
    """The facts of some predicates of one arity, from the set that a role stands for.

    OUTSIDE stands for Iⁿ and OUTSIDE_BOTH for Iⁿ∪Δⁿ: who asks wants to be outside of them.
    """

    role: Role
    arity: int
    predicates: frozenset[int]


Sources = Callable[[Source], "DataFrame"]
"""Gives the distinct facts of a source: columns p INT, c0 BIGINT, c1 BIGINT, ..."""

Sizes = Callable[[Source], int]
"""Gives about how many facts a source has, rather too many; 0 only if there are none."""


class Reading(NamedTuple):
    """How a call reads facts."""

    sources: Sources
    sizes: Sizes
