"""The steps that evaluate a version of a rule: atoms in a given order, checks where they fit.

Every FILTER, BIND and negated atom comes as soon as its variables are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

from stratalog.lang.syntax import Atom, Bind, Filter, Variable
from stratalog.plan.delta import Role, Version
from stratalog.plan.lower import expression_variables, variables_of


@dataclass(frozen=True, slots=True)
class Read:
    """Join with an atom: its columns `bound` are known by now, the others get bound."""

    atom: Atom
    role: Role
    bound: tuple[int, ...]
    together: bool = False  # with the read before: both bind the same variable

    @property
    def negated(self) -> bool:
        return self.role in {Role.OUTSIDE, Role.OUTSIDE_BOTH}


@dataclass(frozen=True, slots=True)
class Compute:
    """Evaluate a FILTER or a BIND; a BIND whose variable is bound by now compares."""

    builtin: Filter | Bind


Step = Read | Compute
Group = tuple[int, ...]  # atoms of the body that are read together, mostly one

IsScanned = Callable[[Group, set[Variable]], bool]
"""Whether the delta is scanned that is in a group, once these variables are known."""


def bound_columns(atom: Atom, known: set[Variable]) -> tuple[int, ...]:
    """Return the columns of the atom that hold a constant or a known variable."""
    return tuple([i for i, a in enumerate(atom.args) if not isinstance(a, Variable) or a in known])


def steps_of(version: Version, groups: Iterable[Group], is_scanned: IsScanned) -> tuple[Step, ...]:
    """Return the steps that read a version's atoms group by group."""
    steps = _Steps(version)
    for group in groups:
        steps.read(group, is_scanned)
    return tuple(steps.found)


class _Steps:
    """Steps put together one after the other."""

    def __init__(self, version: Version) -> None:
        self.found: list[Step] = []
        self._version = version
        self._body = version.rule.body
        self._known: set[Variable] = set()
        self._checks = _checks(version)
        self._missing: list[int] = []  # how many variables each check waits for
        self._waiting: defaultdict[Variable, list[int]] = defaultdict(list)
        self._ready: list[tuple[bool, int]] = []  # a heap: what costs least first
        for number, (needs, _) in enumerate(self._checks):
            self._missing.append(len(needs) + 1)
            for variable in needs:
                self._waiting[variable].append(number)
            self._wait_less(number)
        self._check()
        if version.negative and version.start is not None:
            atom = version.rule.negated[version.start]
            self.found.append(Read(atom, Role.NEGATED_DELTA, ()))
            self._learn(variables_of(atom))

    def read(self, group: Group, is_scanned: IsScanned) -> None:
        """Add the reads of a group of atoms, and the checks that are possible then."""
        for place, i in enumerate(group):
            role, bound = self._version.role(i), bound_columns(self._body[i], self._known)
            if role is Role.DELTA and is_scanned(group, self._known):
                bound = ()
            self.found.append(Read(self._body[i], role, bound, together=place > 0))
        self._learn(v for i in group for v in variables_of(self._body[i]))

    def _learn(self, variables: Iterable[Variable]) -> None:
        for variable in variables:
            self._know(variable)
        self._check()

    def _know(self, variable: Variable) -> None:
        if variable not in self._known:
            self._known.add(variable)
            for number in self._waiting.pop(variable, ()):
                self._wait_less(number)

    def _wait_less(self, number: int) -> None:
        self._missing[number] -= 1
        if not self._missing[number]:
            heappush(self._ready, (isinstance(self._checks[number][1], Compute), number))

    def _check(self) -> None:
        """Add the checks whose variables are known."""
        while self._ready:
            step = self._checks[heappop(self._ready)[1]][1]
            self.found.append(step)
            if isinstance(step, Compute) and isinstance(step.builtin, Bind):
                self._know(step.builtin.variable)


def _checks(version: Version) -> list[tuple[set[Variable], Step]]:
    """Return the filters, BINDs and negated atoms, each with the variables that it needs."""
    computed = [
        (set(expression_variables(b.expression)), Compute(b)) for b in version.rule.builtins
    ]
    looked_up = [
        (set(variables_of(atom)), Read(atom, role, tuple(range(len(atom.args)))))
        for j, atom in enumerate(version.rule.negated)
        if (role := version.negated_role(j)) is not Role.NEGATED_DELTA
    ]
    return [*computed, *looked_up]
