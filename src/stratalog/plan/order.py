"""Join orders from statistics: in which order a rule's atoms are read, and by which columns.

An order is judged by the estimated work of its reads. Up to EXHAUSTIVE atoms all left-deep orders
are compared (dynamic programming over sets of atoms), beyond that the next atom is the one that
keeps the result smallest. Atoms that bind the same last variable are read together: per binding
the shortest of their lists is followed and the others are looked up, so that a cyclic body is not
evaluated by trying all pairs.

A small delta is always read first, so that work follows the size of the change. A delta that is
known to be large may be read anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from stratalog.lang.syntax import Atom, Bind, Predicate, Variable
from stratalog.plan.delta import Role, Version
from stratalog.plan.greedy import Growth, greedy_groups
from stratalog.plan.lower import expression_variables, variables_of
from stratalog.plan.steps import Group, Read, Step, bound_columns, steps_of

EXHAUSTIVE = 6
LEAST_MET = 2.0  # facts per binding below which atoms are better read one after the other
LEAST_GAIN = 0.5  # an order that begins elsewhere must be so much cheaper than the delta's own
SHORTEST = 0.7  # of lists that are about equally long on average, the shortest has that much

# Relative costs: a fact scanned, a key looked for, a fact met in its list, a fact looked up.
SCANNED, SOUGHT, FOLLOWED, LOOKED_UP = 1.0, 4.0, 4.0, 6.0


class Statistics(Protocol):
    """What an engine knows about the sizes of its relations."""

    def rows(self, predicate: Predicate) -> float:
        """Return about how many facts the relation holds."""

    def distinct(self, predicate: Predicate, column: int) -> float:
        """Return about how many different constants stand in the column."""


class _Order(NamedTuple):
    """A part of a join order, with its estimated work and result."""

    cost: float
    size: float
    groups: tuple[Group, ...]


_PER_BINDING = _Order(0.0, 1.0, ())


def join_order(
    version: Version, statistics: Statistics, delta_rows: float | None = None
) -> tuple[Step, ...]:
    """Return the steps that evaluate a version of a rule.

    `delta_rows` is the size of the version's delta if it is large enough not to be read first.
    """
    search = _Search(version, statistics, delta_rows)
    return steps_of(version, search.best().groups, search.is_scanned)


class _Search:
    """Looks for the cheapest order of a version's positive atoms."""

    def __init__(self, version: Version, statistics: Statistics, delta_rows: float | None) -> None:
        self._version = version
        self._body = version.rule.body
        self._statistics = statistics
        self._delta_rows = delta_rows
        self._binds = [b for b in version.rule.builtins if isinstance(b, Bind)]

    def best(self) -> _Order:
        """Return the cheapest order: the delta comes first unless it is large."""
        everything = frozenset(range(len(self._body)))
        begun = _Order(0.0, 1.0, ())
        start = self._version.start
        if start is None or self._version.negative:
            return self._complete(begun, everything)
        first = _Order(1.0, 1.0, ((start,),))
        if self._delta_rows is not None and len(everything) > 1:
            first = self._reading(begun, start, set())
        order = self._complete(first, everything - {start})
        if self._delta_rows is None or not 1 < len(everything) <= EXHAUSTIVE:
            return order
        free = self._complete(begun, everything)
        return free if free.cost < LEAST_GAIN * order.cost else order

    def _complete(self, begun: _Order, rest: frozenset[int]) -> _Order:
        if len(rest) <= 1 and (self._delta_rows is None or len(self._body) == 1):
            return begun._replace(groups=(*begun.groups, *((i,) for i in rest)))  # no choice
        if len(rest) > EXHAUSTIVE:
            return self._greedy(begun, rest)
        best = {frozenset[int](): begun}
        by_size: list[set[frozenset[int]]] = [set() for _ in range(len(rest) + 1)]
        by_size[0].add(frozenset())
        for done in (each for level in by_size for each in level):
            for order in self._longer(best[done], rest - done):
                key = done.union(*order.groups[len(best[done].groups) :])
                if key not in best or order < best[key]:
                    best[key] = order
                    by_size[len(key)].add(key)
        return best[rest]

    def _greedy(self, begun: _Order, rest: frozenset[int]) -> _Order:
        atoms = {i: self._body[i] for i in sorted(rest)}
        found = greedy_groups(atoms, self._binds, self._known(begun), self)
        return begun._replace(groups=(*begun.groups, *found))

    def growth(self, group: Group, known: set[Variable]) -> Growth | None:
        """Return what reading a group next does to the result, and what it costs, per binding."""
        if len(group) == 1:
            return self._growth(group[0], 1.0, known)
        met = self._met(group, known)
        if met < LEAST_MET:
            return None
        (variable,) = {v for v in variables_of(self._body[group[0]]) if v not in known}
        known.add(variable)
        read = self._meeting(_PER_BINDING, group, met, known)
        known.discard(variable)
        return read.size, read.cost

    def _longer(self, order: _Order, rest: frozenset[int]) -> Iterator[_Order]:
        """Yield the order with one more read."""
        known = self._known(order)
        last: dict[Variable, list[int]] = {}
        for i in sorted(rest):
            yield self._reading(order, i, known)
            atom = self._body[i]
            missing = {v for v in variables_of(atom) if v not in known}
            if len(missing) == 1 and 0 < len(bound_columns(atom, known)) == len(atom.args) - 1:
                last.setdefault(missing.pop(), []).append(i)
        for variable, group in last.items():
            met = self._met(group, known)
            if len(group) > 1 and met >= LEAST_MET:
                yield self._meeting(order, tuple(group), met, {*known, variable})

    def _known(self, order: _Order) -> set[Variable]:
        """Return the variables that the order's atoms bind, and those that BINDs compute then."""
        version = self._version
        known = {v for group in order.groups for i in group for v in variables_of(self._body[i])}
        if version.negative and version.start is not None:
            known.update(variables_of(version.rule.negated[version.start]))
        changed = bool(self._binds)
        while changed:
            ready = {
                b.variable for b in self._binds if known >= set(expression_variables(b.expression))
            }
            changed = not ready <= known
            known |= ready
        return known

    def is_listed(self) -> bool:
        """Return whether a delta that is read first is scanned: always, unless it has constants.

        A large delta with constants may be cheaper to find among all facts that have these.
        """
        if self._delta_rows is None or self._version.start is None or self._version.negative:
            return True
        atom = self._body[self._version.start]
        found = SOUGHT + FOLLOWED * fan_out(atom, set(), self._statistics)
        return not bound_columns(atom, set()) or SCANNED * self._delta_rows <= found

    def is_scanned(self, group: Group, known: set[Variable]) -> bool:
        """Return whether the delta in a group is read fact by fact, not found by its columns.

        A group that is read together needs a list of facts for each of its atoms.
        """
        if len(group) > 1:
            return False
        return self._delta_rows is None or (not known and self.is_listed())

    def _reading(self, order: _Order, i: int, known: set[Variable]) -> _Order:
        size, cost = self._growth(i, order.size, known)
        return _Order(order.cost + cost, size, (*order.groups, (i,)))

    def _growth(self, i: int, size: float, known: set[Variable]) -> Growth:
        """Return the size of the result after reading an atom, and what that costs."""
        atom = self._body[i]
        bound = bound_columns(atom, known)
        met = size * matching(atom, bound, self._statistics)
        if self._version.role(i) is Role.DELTA and self.is_scanned((i,), known):
            cost = SCANNED * size * (self._delta_rows or 1.0)
        elif len(bound) == len(atom.args):
            cost = LOOKED_UP * size
        elif bound:
            cost = SOUGHT * size + FOLLOWED * met
        else:
            cost = SCANNED * met
        return met * self._share(i), cost

    def _met(self, group: Iterable[int], known: set[Variable]) -> float:
        return min(fan_out(self._body[i], known, self._statistics) for i in group)

    def _meeting(self, order: _Order, group: Group, met: float, known: set[Variable]) -> _Order:
        """Return the order with a group of atoms read together; `known` has their variable."""
        others = len(group) - 1
        cost = SOUGHT * len(group) + SHORTEST * (FOLLOWED + LOOKED_UP * others) * met
        kept = [fan_out(self._body[i], known, self._statistics) * self._share(i) for i in group]
        size = order.size * met
        for share in sorted(kept)[:others]:
            size *= share
        return _Order(order.cost + order.size * cost, size, (*order.groups, group))

    def _share(self, i: int) -> float:
        """Return which part of an atom's facts is in the set that it is read from."""
        start = self._version.start
        if self._delta_rows is None or start is None:
            return 1.0
        rows = self._statistics.rows(self._body[i].predicate)
        if not rows:
            return 1.0
        if self._body[i].predicate != self._body[start].predicate:
            return 1.0
        in_delta = min(1.0, self._delta_rows / rows)
        return {Role.DELTA: in_delta, Role.OLD: 1.0 - in_delta}.get(self._version.role(i), 1.0)


def fan_out(atom: Atom, known: set[Variable], statistics: Statistics) -> float:
    """Return the estimated number of facts that match the atom per binding of what is known."""
    return matching(atom, bound_columns(atom, known), statistics)


def matching(atom: Atom, columns: Iterable[int], statistics: Statistics) -> float:
    """Return about how many facts have given constants in some columns."""
    found = rows = statistics.rows(atom.predicate)
    for column in columns:
        found /= max(1.0, min(rows, statistics.distinct(atom.predicate, column)))
    return found


def visits(steps: Iterable[Step], statistics: Statistics, delta_rows: float | None = None) -> float:
    """Return about how many facts a join order meets per fact of its delta, or first relation."""
    reads = [step for step in steps if isinstance(step, Read)]
    total, size, given = 1.0, 1.0, 1.0
    if delta_rows is not None and reads and reads[0].role is not Role.DELTA:
        given = delta_rows
        total = size = fan_out(reads[0].atom, set(), statistics)
    known: set[Variable] = set()
    for place, read in enumerate(reads):
        if place:
            size *= 1.0 if read.negated else fan_out(read.atom, known, statistics)
            total += max(size, 1.0 if total == 1.0 else 0.0)
        known.update(variables_of(read.atom))
    return total / given


def sizes_changed(before: Mapping[Predicate, float], statistics: Statistics, factor: float) -> bool:
    """Return whether a relation has grown or shrunk by more than this factor since `before`."""
    return any(
        not (old / factor <= max(1.0, statistics.rows(p)) <= old * factor)
        for p, old in before.items()
    )
