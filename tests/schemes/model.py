"""What relations of a scheme hold, in Python sets: the facts, their marks and counts, no engine.

A scheme says what else holds, given the facts that hold by themselves. Here that is spelled out
anew after every change, by the definition; nothing is followed. Fact sets are evaluated fact by
fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product

from stratalog.facts.labels import A, D, E, I, X
from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec
from stratalog.facts.sets import FactSet, Label, Meet, Minus, Over, Supported, Union
from stratalog.lang.syntax import Predicate

Pair = tuple[int, int]
Pairs = set[Pair]
Facts = dict[Predicate, Pairs]

CONSTANTS = range(6)
ALL_PAIRS = tuple(product(CONSTANTS, CONSTANTS))


@dataclass(frozen=True)
class Kind:
    """Relations of rows alone, and schemes, each of which may read relations before it."""

    name: str
    rows: tuple[Predicate, ...] = ()
    schemes: tuple[ClosureSpec, ...] = ()

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        return (*self.rows, *(side.predicate for spec in self.schemes for side in spec.sides))

    @property
    def names(self) -> dict[str, Predicate]:
        return {predicate.name: predicate for predicate in self.predicates}


def turned(pairs: Iterable[Pair], side: ClosureSide) -> Pairs:
    """Return the pairs of a relation in the direction of its closure, or the other way round."""
    return {(y, x) if side.is_turned else (x, y) for x, y in pairs}


def closure(spec: ClosureSpec, own: Mapping[Predicate, Pairs]) -> Facts:
    """Return what holds of the relations of a closure, given what holds of others by themselves."""
    pairs = {pair for side in spec.sides for pair in turned(own[side.predicate], side)}
    if spec.is_symmetric:
        pairs |= {(y, x) for x, y in pairs}
    if spec.has_sources:
        pairs |= {(x, x) for x, _ in pairs}
    if spec.has_targets:
        pairs |= {(y, y) for _, y in pairs}
    steps = pairs if spec.steps is None else turned(own[spec.steps.predicate], spec.steps)
    while new := {(x, z) for x, y in steps for u, z in pairs if y == u} - pairs:
        pairs |= new
        steps = pairs if spec.steps is None else steps
    return {side.predicate: turned(pairs, side) for side in spec.sides}


@dataclass
class Model:
    """Marks and counts of all facts; `marks` has the facts that carry a label."""

    kind: Kind
    explicit: Facts
    derived: Facts  # by rules outside the schemes: one derivation more
    marks: dict[Label, Facts] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: Kind, explicit: Mapping[Predicate, AbstractSet[Pair]]) -> Model:
        """Return the model of a materialisation of explicit facts."""
        none: Facts = {predicate: set() for predicate in kind.predicates}
        given = {predicate: set(explicit.get(predicate, ())) for predicate in kind.predicates}
        model = cls(kind, given, deepcopy(none))
        model.marks = {label: deepcopy(none) for label in (E, I, D, A, X)}
        model.marks[E], model.marks[I] = deepcopy(given), model.holds()
        return model

    def copy(self) -> Model:
        return deepcopy(self)

    def count(self, predicate: Predicate, pair: Pair) -> int:
        """Return the count C_nr of a fact."""
        return (pair in self.explicit[predicate]) + (pair in self.derived[predicate])

    def holds(self) -> Facts:
        """Return all that holds: facts with a count, and what schemes say beyond them."""
        known = {p: self.explicit[p] | self.derived[p] for p in self.kind.predicates}
        for spec in self.kind.schemes:
            known |= closure(spec, known)
        return known

    def change(self, predicate: Predicate, pair: Pair, *, is_explicit: bool) -> int:
        """Give a fact a derivation, or take it if it has one; return what its count changes by."""
        facts = (self.explicit if is_explicit else self.derived)[predicate]
        facts ^= {pair}
        return 1 if pair in facts else -1

    def follow(self) -> None:
        """Mark what no longer holds D, and what holds now A."""
        now, before = self.holds(), self.marks[I]
        for predicate in self.kind.predicates:
            self.marks[D][predicate] = before[predicate] - now[predicate]
            self.marks[A][predicate] = now[predicate] - before[predicate]

    def unmark(self, *labels: Label) -> None:
        """Take labels off all facts."""
        for label in labels:
            self.marks[label] = {predicate: set() for predicate in self.kind.predicates}

    def clean(self) -> None:
        """Make marks what they are between updates."""
        self.unmark(D, A)
        self.marks[E], self.marks[I] = deepcopy(self.explicit), self.holds()

    def spell_out(self, spec: ClosureSpec) -> None:
        """Mark X what modules that read facts mark so, once a closure is spelled out."""
        for side in spec.sides if spec.is_plain else ():
            p = side.predicate
            everything = self.marks[I][p]
            own = self.explicit[p] | self.derived[p]
            self.marks[X][p] = set(everything if spec.is_symmetric else own)

    def facts(self, predicate: Predicate, described: FactSet) -> Pairs:
        """Return the facts of a predicate in a set."""
        match described:
            case Label():
                return self.marks[described][predicate]
            case Over(predicates):
                return set(ALL_PAIRS if predicate in predicates else ())
            case Supported():  # by C_nr: only rules outside schemes count
                return {pair for pair in ALL_PAIRS if self.count(predicate, pair)}
            case Union(left, right):
                return self.facts(predicate, left) | self.facts(predicate, right)
            case Meet(left, right):
                return self.facts(predicate, left) & self.facts(predicate, right)
            case Minus(left, right):
                return self.facts(predicate, left) - self.facts(predicate, right)
        raise TypeError(described)

    def stored(self) -> dict[tuple[Predicate, Pair], tuple[bool, int]]:
        """Return what a store has: each fact that holds, whether it is explicit, and its count."""
        return {
            (predicate, pair): (pair in self.marks[E][predicate], self.count(predicate, pair))
            for predicate, pair in self._present()
        }

    def _present(self) -> Iterator[tuple[Predicate, Pair]]:
        return ((p, pair) for p, pairs in self.marks[I].items() for pair in pairs)
