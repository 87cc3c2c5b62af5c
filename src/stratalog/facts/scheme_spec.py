"""What a module makes of its relations, said so that an engine can hold them as one closure."""

from __future__ import annotations

from dataclasses import dataclass, field

from stratalog.lang.syntax import Predicate


@dataclass(frozen=True, slots=True)
class ClosureSide:
    """A binary relation, read as it is or with both columns exchanged."""

    predicate: Predicate
    is_turned: bool = False


@dataclass(frozen=True, slots=True)
class ClosureSpec:
    """Relations that are all the same one up to their direction: the closure of their edges.

    Edges are the facts that hold without the module. They lead from fact to fact: the closure is
    transitive; symmetric too, if edges lead both ways; reflexive, if each first or each second
    constant of an edge is related to itself. With steps, edges do not lead on: a pair (x, z) is in
    the closure if steps lead from x to some y, in any number, and (y, z) is an edge.
    """

    sides: tuple[ClosureSide, ...]
    is_symmetric: bool = False
    has_sources: bool = False  # each first constant is related to itself
    has_targets: bool = False
    steps: ClosureSide | None = None
    is_plain: bool = field(default=False, compare=False)  # by 000's modules alone: X marks edges
    rule: int = field(default=-1, compare=False)  # the index of the one that it is accounted for as

    @property
    def predicates(self) -> frozenset[Predicate]:
        """The predicates of the relations."""
        return frozenset(side.predicate for side in self.sides)
