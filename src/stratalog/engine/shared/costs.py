"""What rules have cost: derivations, rows visited, seconds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass


@dataclass(slots=True)
class RuleProfile:
    """What a rule has cost."""

    derivations: int = 0
    rows_visited: int = 0
    seconds: float = 0.0

    def add(self, derivations: int, rows_visited: int, seconds: float) -> None:
        self.derivations += derivations
        self.rows_visited += rows_visited
        self.seconds += seconds


class Costs:
    """What each rule has cost, by its index: in all, and since the last update began."""

    def __init__(self) -> None:
        self.in_all: dict[int, RuleProfile] = defaultdict(RuleProfile)
        self.recent: dict[int, RuleProfile] = defaultdict(RuleProfile)

    def add(self, rule: int, derivations: int, rows_visited: int, seconds: float) -> None:
        """Note that a rule has cost so much more."""
        self.in_all[rule].add(derivations, rows_visited, seconds)
        self.recent[rule].add(derivations, rows_visited, seconds)

    def begin(self) -> None:
        """Let what comes be recent, and nothing else."""
        self.recent = defaultdict(RuleProfile)
