"""Orders of long bodies: the next atom is the one that keeps the result smallest.

What reading an atom next would do to the result depends only on which of its columns are known.
So estimates are kept, and made anew just where a variable becomes known: their number grows with
the columns of a body, and with the atoms that miss one and the same variable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import Protocol

from stratalog.lang.syntax import Atom, Bind, Variable
from stratalog.plan.lower import expression_variables, variables_of
from stratalog.plan.steps import Group

Growth = tuple[float, float]
"""By what a read multiplies the result, and what it costs per binding so far."""


class Estimates(Protocol):
    """What reading atoms next would do."""

    def growth(self, group: Group, known: set[Variable]) -> Growth | None:
        """Return what a group of atoms would do; None if it is better read atom by atom."""


def greedy_groups(
    atoms: Mapping[int, Atom], binds: Iterable[Bind], known: set[Variable], estimates: Estimates
) -> list[Group]:
    """Return the atoms, by number, in the order in which to read them, given known variables."""
    greedy = _Greedy(atoms, binds, estimates)
    greedy.know(known)
    found: list[Group] = []
    while greedy.left:
        found.append(greedy.next())
    return found


class _Greedy:
    """Atoms that are not read yet, and what each would do."""

    def __init__(
        self, atoms: Mapping[int, Atom], binds: Iterable[Bind], estimates: Estimates
    ) -> None:
        self.left = dict(atoms)
        self._estimates = estimates
        self._known: set[Variable] = set()
        self._missing = {i: {*variables_of(atom)} for i, atom in atoms.items()}
        self._atoms_of: defaultdict[Variable, list[int]] = defaultdict(list)
        for i, missing in self._missing.items():
            for variable in missing:
                self._atoms_of[variable].append(i)
        self._together: defaultdict[Variable, list[int]] = defaultdict(list)  # all miss just it
        self._binds = [(b.variable, {*expression_variables(b.expression)}) for b in binds]
        self._best: list[tuple[float, float, Group]] = []  # a heap; what is outdated stays there
        self._valid: dict[Group, Growth] = {}
        self._changed: set[Variable] = set()  # whose atoms to be read together are others by now
        for i in self.left:
            self._renew(i)

    def know(self, variables: Iterable[Variable]) -> None:
        """Take variables as known, and those that BINDs compute from them; renew estimates."""
        new = {v for v in variables if v not in self._known}
        while new:
            self._known |= new
            for i in sorted({i for v in new for i in self._atoms_of.pop(v, ())}):
                if i in self.left:
                    self._missing[i] -= new
                    self._renew(i)
            new = {v for v, needs in self._binds if needs <= self._known} - self._known

    def next(self) -> Group:
        """Return what to read next, and take it as read."""
        for variable in self._changed - self._known:
            self._enter(tuple(sorted(self._together[variable])))
        self._changed.clear()
        while True:
            size, cost, group = heappop(self._best)
            if self._valid.get(group) == (size, cost) and self._can_be_read(group):
                break
        for i in group:
            del self.left[i]
        self.know({v for i in group for v in self._missing[i]})
        return group

    def _can_be_read(self, group: Group) -> bool:
        """Return whether atoms are left and, if several are read together, miss a variable."""
        is_single = len(group) == 1
        return all(i in self.left and (is_single or self._missing[i]) for i in group)

    def _renew(self, i: int) -> None:
        """Estimate an atom anew, of which other columns are known than before."""
        self._enter((i,))
        missing, atom = self._missing[i], self.left[i]
        if len(missing) == 1:
            (variable,) = missing
            if len(atom.args) > 1 and sum(a == variable for a in atom.args) == 1:
                self._together[variable].append(i)
                if len(self._together[variable]) > 1:
                    self._changed.add(variable)

    def _enter(self, group: Group) -> None:
        growth = self._estimates.growth(group, self._known)
        if growth is not None:
            self._valid[group] = growth
            heappush(self._best, (*growth, group))
