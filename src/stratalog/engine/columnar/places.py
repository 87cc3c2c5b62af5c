"""Where the variables of a plan stand in its bindings.

A variable has a place from the step that binds it to the last that needs it; then the place is
another's. So a plan of many atoms needs no more places than variables that are needed at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from stratalog.lang.syntax import Variable


class Places:
    """The places of variables, step by step; what a step reads and what it writes lie apart."""

    def __init__(self, uses: Sequence[Iterable[Variable]], outputs: Iterable[Variable]) -> None:
        self._last: dict[Variable, int] = {}
        for step, variables in enumerate((*uses, outputs)):
            self._last.update(dict.fromkeys(variables, step))
        self._ending: defaultdict[int, list[Variable]] = defaultdict(list)
        for variable, step in self._last.items():
            self._ending[step].append(variable)
        self._place_of: dict[Variable, int] = {}
        self._free: list[int] = []
        self._step = -1
        self._kept: set[Variable] = set()
        self.bound: set[Variable] = set()
        self.size = 0

    def begin(self) -> None:
        """Go on to the next step: what nothing needs after it gives its place to what it binds."""
        self._step += 1
        for variable in self._ending[self._step]:
            if variable in self._place_of:
                self._kept.discard(variable)
                heappush(self._free, self._place_of[variable])

    def is_needed(self, variable: Variable) -> bool:
        """Return whether a later step, or the output, needs a variable."""
        return self._last.get(variable, -1) > self._step

    def of(self, variable: Variable) -> int:
        """Return the place of a variable, a free one if the step binds it."""
        place = self._place_of.get(variable)
        if place is None:
            place = heappop(self._free) if self._free else self.size
            self.size = max(self.size, place + 1)
            self._place_of[variable] = place
        return place

    def copies(self) -> list[int]:
        """Return the places of variables that are bound by now and needed after the step."""
        return [self._place_of[variable] for variable in sorted(self._kept)]

    def end(self, variables: Iterable[Variable]) -> None:
        """Take variables as bound by the step."""
        for variable in self._ending[self._step]:
            place = self._place_of.pop(variable, None)
            if place is not None and variable not in self.bound:
                heappush(self._free, place)  # bound by this step alone
        for variable in variables:
            if variable not in self.bound:
                self.bound.add(variable)
                if self.is_needed(variable):
                    self._kept.add(variable)
