"""Join orders from statistics: in which order a rule's atoms are read, and by which columns.

An order is judged by the sum of the estimated sizes of its intermediate results. Up to EXHAUSTIVE
atoms all left-deep orders are compared (dynamic programming over sets of atoms), beyond that the
next atom is the one that keeps the result smallest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from stratalog.lang.syntax import Atom, Bind, Filter, Predicate, Variable
from stratalog.plan.delta import Role, Version
from stratalog.plan.lower import expression_variables, variables_of

EXHAUSTIVE = 6


class Statistics(Protocol):
    """What an engine knows about the sizes of its relations."""

    def rows(self, predicate: Predicate) -> float:
        """Return about how many facts the relation holds."""

    def distinct(self, predicate: Predicate, column: int) -> float:
        """Return about how many different constants stand in the column."""


@dataclass(frozen=True, slots=True)
class Read:
    """Join with an atom: its columns `bound` are known by now, the others get bound."""

    atom: Atom
    role: Role
    bound: tuple[int, ...]

    @property
    def negated(self) -> bool:
        return self.role in {Role.OUTSIDE, Role.OUTSIDE_BOTH}


@dataclass(frozen=True, slots=True)
class Compute:
    """Evaluate a FILTER or a BIND; a BIND whose variable is bound by now compares."""

    builtin: Filter | Bind


Step = Read | Compute


def join_order(version: Version, statistics: Statistics) -> tuple[Step, ...]:
    """Return the steps that evaluate a version of a rule."""
    rule = version.rule
    rest = set(range(len(rule.body)))
    first: list[tuple[Atom, Role]] = []
    if version.start is not None and version.negative:
        first = [(rule.negated[version.start], Role.NEGATED_DELTA)]
    elif version.start is not None:
        first = [(rule.body[version.start], Role.DELTA)]
        rest.discard(version.start)
    bound = {v for atom, _ in first for v in variables_of(atom)}
    sequence = _best_sequence(version, frozenset(rest), bound, statistics)
    atoms = first + [(rule.body[i], version.role(i)) for i in sequence]
    return _with_checks(version, atoms)


def _best_sequence(
    version: Version, rest: frozenset[int], bound: set[Variable], statistics: Statistics
) -> tuple[int, ...]:
    body = version.rule.body
    if len(rest) <= 1:
        return tuple(rest)
    closed = _Closure(version)
    if len(rest) > EXHAUSTIVE:
        return _greedy(body, rest, bound, closed, statistics)
    best: dict[frozenset[int], tuple[float, float, tuple[int, ...]]] = {frozenset(): (0.0, 1.0, ())}
    for _ in rest:
        longer: dict[frozenset[int], tuple[float, float, tuple[int, ...]]] = {}
        for done, (cost, size, sequence) in best.items():
            known = closed.after(bound, (body[i] for i in sequence))
            for i in rest - done:
                grown = size * fan_out(body[i], known, statistics)
                candidate = (cost + grown, grown, (*sequence, i))
                key = done | {i}
                if key not in longer or candidate < longer[key]:
                    longer[key] = candidate
        best = longer
    return best[rest][2]


def _greedy(
    body: tuple[Atom, ...],
    rest: frozenset[int],
    bound: set[Variable],
    closed: _Closure,
    statistics: Statistics,
) -> tuple[int, ...]:
    sequence: list[int] = []
    while len(sequence) < len(rest):
        known = closed.after(bound, (body[i] for i in sequence))
        left = [i for i in sorted(rest) if i not in sequence]
        sequence.append(min(left, key=lambda i: fan_out(body[i], known, statistics)))
    return tuple(sequence)


class _Closure:
    """Which variables are known once some atoms are read: theirs, and those that BINDs compute."""

    def __init__(self, version: Version) -> None:
        self._binds = [b for b in version.rule.builtins if isinstance(b, Bind)]

    def after(self, bound: Iterable[Variable], atoms: Iterable[Atom]) -> set[Variable]:
        known = {*bound, *(v for atom in atoms for v in variables_of(atom))}
        changed = bool(self._binds)
        while changed:
            ready = {
                b.variable for b in self._binds if known >= set(expression_variables(b.expression))
            }
            changed = not ready <= known
            known |= ready
        return known


def fan_out(atom: Atom, known: set[Variable], statistics: Statistics) -> float:
    """Return the estimated number of facts that match the atom per binding of what is known."""
    rows = statistics.rows(atom.predicate)
    matching = rows
    for column in bound_columns(atom, known):
        matching /= max(1.0, min(rows, statistics.distinct(atom.predicate, column)))
    return matching


def visits(steps: Iterable[Step], statistics: Statistics) -> float:
    """Return about how many facts a join order meets per fact of its first relation."""
    total, size = 1.0, 1.0
    reads = [step for step in steps if isinstance(step, Read)]
    for read in reads[1:]:
        known = {a for i in read.bound if isinstance(a := read.atom.args[i], Variable)}
        size *= 1.0 if read.negated else fan_out(read.atom, known, statistics)
        total += max(size, 1.0 if total == 1.0 else 0.0)
    return total


def bound_columns(atom: Atom, known: set[Variable]) -> tuple[int, ...]:
    """Return the columns of the atom that hold a constant or a known variable."""
    return tuple(i for i, a in enumerate(atom.args) if not isinstance(a, Variable) or a in known)


def _with_checks(version: Version, atoms: list[tuple[Atom, Role]]) -> tuple[Step, ...]:
    """Return the reads with every filter, BIND and negated atom as early as its variables allow."""
    rule = version.rule
    checks: dict[int, tuple[set[Variable], Step]] = {}
    for builtin in rule.builtins:
        needs = set(expression_variables(builtin.expression))
        checks[len(checks)] = (needs, Compute(builtin))
    for j, atom in enumerate(rule.negated):
        role = version.negated_role(j)
        if role is not Role.NEGATED_DELTA:
            columns = tuple(range(atom.predicate.arity))
            checks[len(checks)] = (set(variables_of(atom)), Read(atom, role, columns))
    known: set[Variable] = set()
    steps: list[Step] = []
    _add_ready(checks, known, steps)
    for atom, role in atoms:
        steps.append(Read(atom, role, bound_columns(atom, known)))
        known.update(variables_of(atom))
        _add_ready(checks, known, steps)
    return tuple(steps)


def _add_ready(
    checks: dict[int, tuple[set[Variable], Step]], known: set[Variable], steps: list[Step]
) -> None:
    """Move the checks whose variables are known to the steps, those that cost least first."""
    while ready := [key for key, (needs, _) in checks.items() if needs <= known]:
        key = min(ready, key=lambda k: (isinstance(checks[k][1], Compute), k))
        step = checks.pop(key)[1]
        steps.append(step)
        if isinstance(step, Compute) and isinstance(step.builtin, Bind):
            known.add(step.builtin.variable)


def sizes_changed(before: Mapping[Predicate, float], statistics: Statistics) -> bool:
    """Return whether a relation has grown or shrunk by an order of magnitude since `before`."""
    order = 8.0
    return any(
        not (old / order <= max(1.0, statistics.rows(p)) <= old * order)
        for p, old in before.items()
    )
