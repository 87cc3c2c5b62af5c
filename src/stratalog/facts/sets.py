"""Fact sets: descriptions built from labels with `|`, `&` and `-`; they hold no facts."""

from __future__ import annotations

from dataclasses import dataclass

from stratalog.facts.counts import Count
from stratalog.lang.syntax import Predicate


class FactSet:
    """A description of facts, evaluated when an engine reads it."""

    __slots__ = ()

    def __or__(self, other: FactSet) -> FactSet:
        return Union(self, other)

    def __and__(self, other: FactSet) -> FactSet:
        return Meet(self, other)

    def __sub__(self, other: FactSet) -> FactSet:
        return Minus(self, other)


@dataclass(frozen=True, slots=True)
class Label(FactSet):
    """The stored facts that carry one mark: bit `bit` of the label word."""

    name: str
    bit: int


@dataclass(frozen=True, slots=True)
class Union(FactSet):
    left: FactSet
    right: FactSet


@dataclass(frozen=True, slots=True)
class Meet(FactSet):
    left: FactSet
    right: FactSet


@dataclass(frozen=True, slots=True)
class Minus(FactSet):
    left: FactSet
    right: FactSet


@dataclass(frozen=True, slots=True)
class Over(FactSet):
    """All stored facts of some predicates, whatever their labels."""

    predicates: frozenset[Predicate]


@dataclass(frozen=True, slots=True)
class Supported(FactSet):
    """The stored facts with a count above zero. Only `settle` reads it, bounded by a batch."""

    count: Count


class Batch(FactSet):
    """Facts that an engine has evaluated; never changes. Falsy when empty."""

    __slots__ = ()

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} must say how many facts it holds")
