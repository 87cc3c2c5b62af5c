"""Versions of rules by shape: what differs within a shape is a row of a table.

Two versions have one shape if they are the same but for their predicates, constants and the names
of variables. Atoms are brought into one order, so that the order of the text makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from stratalog.lang.syntax import Argument, Atom, Predicate, Variable
from stratalog.lang.terms import Term
from stratalog.plan.delta import Role, Version

Codes = tuple[int, ...]
"""Per argument the number of a variable, or -1 - n for the n-th constant."""


class Read(NamedTuple):
    """An atom of a shape: which set it is about, and its arguments."""

    role: Role
    args: Codes


class Shape(NamedTuple):
    """Versions that differ only in predicates and constants."""

    output: Codes  # the head's arguments
    reads: tuple[Read, ...]
    absent: tuple[Read, ...]


class Row(NamedTuple):
    """One version as a row of its shape's table; predicates are numbers, constants ids."""

    rule: int
    head: int
    reads: tuple[int, ...]
    absent: tuple[int, ...]
    constants: tuple[int, ...]


class Wanted(NamedTuple):
    """A version to evaluate, and what to say of its instances."""

    version: Version
    head: Atom
    absent: tuple[int, ...]
    """The numbers of the negated atoms to check."""
    tag: int
    """What the instances carry in the column `rule`."""


_RANKS = {
    role: rank
    for rank, role in enumerate(
        (
            Role.DELTA,
            Role.NEGATED_DELTA,
            Role.OLD,
            Role.FULL,
            Role.OUTSIDE,
            Role.OUTSIDE_BOTH,
        )
    )
}


def wanted(version: Version) -> Wanted:
    """Return that the heads of a version's instances are wanted."""
    rule = version.rule
    return Wanted(version, rule.head, tuple(range(len(rule.negated))), rule.index)


def shape_of(
    asked: Wanted,
    number: Callable[[Predicate], int],
    encode: Callable[[Term], int],
    variables: Sequence[Variable] = (),
) -> tuple[Shape, Row]:
    """Return the shape of a version and its row; the variables given have the first numbers."""
    naming = _Naming(number, encode)
    naming.take(variables)
    return naming.shape(asked)


class _Naming:
    """Numbers the variables and constants of one version in the order in which atoms are taken."""

    def __init__(self, number: Callable[[Predicate], int], encode: Callable[[Term], int]) -> None:
        self._number = number
        self._encode = encode
        self._variables: dict[Variable, int] = {}
        self._constants: list[Term] = []

    def shape(self, asked: Wanted) -> tuple[Shape, Row]:
        """Return the shape of a version, and its row."""
        reads, read_predicates = self._all(joined_atoms(asked.version))
        absent, absent_predicates = self._all(_outside(asked))
        output = self.take(asked.head.args)
        constants = tuple(map(self._encode, self._constants))
        row = Row(
            asked.tag,
            self._number(asked.head.predicate),
            read_predicates,
            absent_predicates,
            constants,
        )
        return Shape(output, reads, absent), row

    def _all(self, atoms: Sequence[tuple[Role, Atom]]) -> tuple[tuple[Read, ...], tuple[int, ...]]:
        """Return the atoms in an order that their text has no part in, with their predicates."""
        left = list(atoms)
        reads, predicates = [], []
        while left:
            role, atom = least = min(left, key=self._rank)
            left.remove(least)
            reads.append(Read(role, self.take(atom.args)))
            predicates.append(self._number(atom.predicate))
        return tuple(reads), tuple(predicates)

    def _rank(self, asked: tuple[Role, Atom]) -> tuple[int, int, Codes]:
        role, atom = asked
        met = dict(self._variables)
        codes = (
            met.setdefault(arg, len(met)) if isinstance(arg, Variable) else -1 for arg in atom.args
        )
        return _RANKS[role], len(atom.args), tuple(codes)

    def take(self, args: Sequence[Argument]) -> Codes:
        """Return the codes of arguments."""
        return tuple(map(self._code, args))

    def _code(self, arg: Argument) -> int:
        if isinstance(arg, Variable):
            return self._variables.setdefault(arg, len(self._variables))
        self._constants.append(arg)
        return -len(self._constants)


def joined_atoms(version: Version) -> list[tuple[Role, Atom]]:
    """Return the atoms to join with: those of the body, and a negated one that is in a delta."""
    rule = version.rule
    read = [(version.role(i), atom) for i, atom in enumerate(rule.body)]
    if version.negative and version.start is not None:
        read.append((Role.NEGATED_DELTA, rule.negated[version.start]))
    return read


def _outside(asked: Wanted) -> list[tuple[Role, Atom]]:
    """Return the negated atoms to be outside of."""
    version = asked.version
    atoms = ((version.negated_role(j), version.rule.negated[j]) for j in asked.absent)
    return [(role, atom) for role, atom in atoms if role is not Role.NEGATED_DELTA]
