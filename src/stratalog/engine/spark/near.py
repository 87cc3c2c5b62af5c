"""Versions of rules whose instances the driver finds alone: one fact names all their constants.

Rules with a single atom are such, and those whose other atoms are about the same constants. What
they may name after some facts is known before any of it is looked up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stratalog.engine.spark.overlay import Mask, Overlay
from stratalog.facts.terms import Terms
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Atom, Predicate, Variable
from stratalog.lang.terms import Term
from stratalog.plan.delta import Role, Version, versions
from stratalog.plan.lower import variables_of
from stratalog.plan.rules import PlannedRule

Ids = npt.NDArray[np.uint32]
Encoded = tuple[Predicate, Sequence[Ids], int]
Constant = Callable[[Term], int]

MOST_REACHED = sized(50_000, 40)  # facts: more are not looked up before they are asked for


class Near(NamedTuple):
    """A version all of whose variables are in the atom that is read from a delta."""

    start: Atom
    delta: Role
    head: Atom
    reads: tuple[tuple[Role, Atom], ...]
    absent: tuple[tuple[Role, Atom], ...]

    @property
    def others(self) -> tuple[Atom, ...]:
        """The atoms that are not read from the delta, and the head."""
        return (self.head, *(atom for _, atom in (*self.reads, *self.absent)))


def near_version(version: Version) -> Near | None:
    """Return what a version reads if one fact names all its constants."""
    rule, at = version.rule, version.start
    if at is None or rule.builtins or rule.grouping is not None:
        return None
    start = (rule.negated if version.negative else rule.body)[at]
    named = set(variables_of(start))
    if not all(named.issuperset(variables_of(a)) for a in (rule.head, *rule.body, *rule.negated)):
        return None
    delta = Role.NEGATED_DELTA if version.negative else Role.DELTA
    reads = ((version.role(i), atom) for i, atom in enumerate(rule.body))
    absent = ((version.negated_role(j), atom) for j, atom in enumerate(rule.negated))
    return Near(start, delta, rule.head, _others(reads, delta), _others(absent, delta))


def _others(atoms: Iterator[tuple[Role, Atom]], delta: Role) -> tuple[tuple[Role, Atom], ...]:
    return tuple((role, atom) for role, atom in atoms if role is not delta)


class Instances(NamedTuple):
    """Instances of a near version, as far as its start tells: a column per variable."""

    columns: dict[Variable, Ids]
    size: int

    def chosen(self, kept: Mask) -> Instances:
        """Return some of the instances."""
        columns = {variable: column[kept] for variable, column in self.columns.items()}
        return Instances(columns, int(kept.sum()))

    def filled(self, atom: Atom, constant: Constant) -> Encoded:
        """Return what an atom is in each of the instances."""
        columns = [
            self.columns[arg]
            if isinstance(arg, Variable)
            else np.full(self.size, constant(arg), np.uint32)
            for arg in atom.args
        ]
        return atom.predicate, columns, self.size


def instances(start: Atom, columns: Sequence[Ids], size: int, constant: Constant) -> Instances:
    """Return the instances that begin with facts of the start's predicate."""
    bound: dict[Variable, Ids] = {}
    kept = np.ones(size, np.bool_)
    for arg, column in zip(start.args, columns, strict=True):
        if not isinstance(arg, Variable):
            kept &= column == constant(arg)
        elif arg in bound:
            kept &= column == bound[arg]
        else:
            bound[arg] = column
    return Instances(bound, size).chosen(kept)


class Paths:
    """The near versions of all rules that were applied: where facts may lead."""

    def __init__(self, terms: Terms, constant: Constant) -> None:
        self.constant = constant
        self._terms = terms
        self._by_start: dict[Predicate, dict[Near, None]] = defaultdict(dict)

    def learn(self, rules: Sequence[PlannedRule]) -> None:
        """Remember the near versions of rules."""
        kept = (rule for rule in rules if rule.index >= 0)  # a query's rules have no index
        for version in (version for rule in kept for version in versions(rule)):
            near = near_version(version)
            if near is not None:
                self._by_start[near.start.predicate][near] = None

    def reached(self, given: Sequence[Encoded]) -> Iterator[Encoded]:
        """Yield the facts that rules may name once they have met the given ones, each once."""
        if sum(size for _, _, size in given) > MOST_REACHED:
            return
        found = Overlay(self._terms)
        for each in given:
            found.store(*each)
        first = {relation.number: relation.rows for relation in found.by_number}
        self._follow(found)
        for relation in found.by_number:
            begin = first.get(relation.number, 0)
            if relation.rows > begin:
                columns = [column[begin : relation.rows] for column in relation.columns]
                yield relation.predicate, columns, relation.rows - begin

    def _follow(self, found: Overlay) -> None:
        """Store all that may be named after what is stored, unless it is too much."""
        done: dict[int, int] = defaultdict(int)
        while grown := [r for r in found.by_number if r.rows > done[r.number]]:
            for relation in grown:
                begin, end = done[relation.number], relation.rows
                done[relation.number] = end
                columns = [column[begin:end].copy() for column in relation.columns]
                self._name(relation.predicate, columns, end - begin, found)

    def _name(
        self, predicate: Predicate, columns: Sequence[Ids], size: int, found: Overlay
    ) -> None:
        for near in self._by_start.get(predicate, ()):
            if sum(relation.rows for relation in found.by_number) > MOST_REACHED:
                return
            met = instances(near.start, columns, size, self.constant)
            if met.size:
                for atom in near.others:
                    found.store(*met.filled(atom, self.constant))
