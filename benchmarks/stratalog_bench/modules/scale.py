"""How much is measured at each scale, and what is wanted of the figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

PATIENCE = 5  # times the limit of an update: how long materialising may take


@dataclass(frozen=True, slots=True)
class Scale:
    """The amounts of a scale."""

    facts: int  # in an update
    few: int  # in an update of a small data set
    subsets: int
    links: int
    universities: int  # that together have the facts wanted
    interleaved: int  # turns
    turns: int = 1
    limit: float = 60.0  # CPU seconds for an update

    def within(self, limit: float | None, turns: int) -> Scale:
        """Return the same with the user's limit and number of turns."""
        return replace(self, limit=limit or self.limit, turns=turns)

    @property
    def patience(self) -> float:
        """CPU seconds to materialise."""
        return PATIENCE * self.limit

    @property
    def cell(self) -> dict[str, Any]:
        """The amounts of a cell of the tables."""
        names = ("facts", "few", "subsets", "turns", "limit", "patience")
        return {name: getattr(self, name) for name in names}


AMOUNTS = {
    "full": Scale(1_000, 100, 5, 20, 30, 11),
    "small": Scale(50, 10, 2, 3, 1, 3),
}

SEARCHED = 50  # times faster than scipy
WITHOUT_MODULES = 100  # times faster than the engine without modules
EXAMPLE = 100  # the same of the examples of 000
PAPER = 20  # times faster than the algorithms of 000
ARROW = 0.3  # seconds
UPDATE = 50.0  # milliseconds
BYTES = 1.0  # per fact
LINK = 10.0  # milliseconds
UNIVERSITY_UPDATE = 30.0  # milliseconds
SLOWER = 1.1  # the median with modules wanted over that without
JOINED = 25  # times faster than joins on Spark
