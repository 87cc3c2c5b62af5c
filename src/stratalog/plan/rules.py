"""Planned rules: what engines evaluate. Frozen, no behaviour.

A planned rule is safe and its negated atoms are closed: every variable of theirs is bound by the
body or a BIND. Existential negation, aggregates and several heads have been reduced to this by
hidden predicates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.lang.syntax import Atom, Bind, Filter, Predicate, Reduction, Rule, Variable


@dataclass(frozen=True, slots=True)
class Grouping:
    """How a rule with an aggregate head reduces its instances: one fact per non-empty group.

    The instances of the rule's body are grouped by `group`; the head's arguments are the group's
    variables followed by the reductions' variables. A group one of whose reductions is an error
    gives no fact.
    """

    group: tuple[Variable, ...]
    reductions: tuple[Reduction, ...]


@dataclass(frozen=True, slots=True)
class PlannedRule:
    """`head :- body, NOT negated, builtins`; an instance fills in all variables."""

    index: int  # position in the plan, stable while the plan lives
    head: Atom
    body: tuple[Atom, ...]  # positive atoms, in the order of the text
    negated: tuple[Atom, ...] = ()
    builtins: tuple[Filter | Bind, ...] = ()
    grouping: Grouping | None = None
    origin: Rule | None = field(default=None, compare=False)


class ModuleKind(Enum):
    """What the rules of a module say about their relation."""

    TRANSITIVE = "transitive"
    SYMMETRIC = "symmetric and transitive"
    CLOSURE = "a closure"  # of another shape: see `Module.closing`


class ModuleRules(NamedTuple):
    """Rules by which a module follows its relation r; they derive nothing that is not meant."""

    follow: PlannedRule  # r(x, z) :- r(x, y), r(y, z)
    source: PlannedRule  # r(x, x) :- r(x, y)
    target: PlannedRule  # r(y, y) :- r(x, y)
    row: PlannedRule  # r(x, y) :- r(x, x), r(x, y)
    ends: PlannedRule  # r(y, y) :- r(x, x), r(x, y)


@dataclass(frozen=True, slots=True)
class Module:
    """Recursive rules of a stratum that a special algorithm evaluates together (000)."""

    kind: ModuleKind
    predicate: Predicate
    rules: tuple[PlannedRule, ...]
    chains: ModuleRules = field(compare=False)
    is_exact: bool = False  # evaluated by closures, not as 000 does
    is_alone: bool = False  # no other recursive rule derives its relation, or reads it
    closing: ClosureSpec | None = None  # what an engine may hold its relations as


@dataclass(frozen=True, slots=True)
class Stratum:
    """Predicates evaluated together. A rule is recursive if a body atom is of its own stratum."""

    predicates: frozenset[Predicate]
    nonrecursive: tuple[PlannedRule, ...]
    recursive: tuple[PlannedRule, ...]
    modules: tuple[Module, ...] = ()
    rest: tuple[PlannedRule, ...] = field(init=False, repr=False, compare=False)
    """The recursive rules of no module: their derivations are counted."""
    special: tuple[PlannedRule, ...] = field(init=False, repr=False, compare=False)
    """The recursive rules of modules."""
    reads: frozenset[Predicate] = field(init=False, repr=False, compare=False)
    """The predicates in the bodies of its rules."""
    aggregates: bool = field(init=False, repr=False, compare=False)
    """Whether a rule has an aggregate."""

    @property
    def closing(self) -> ClosureSpec | None:
        """The closure that all recursive rules together say its relations are, if they do."""
        return self.modules[0].closing if len(self.modules) == 1 else None

    def __post_init__(self) -> None:
        special = {rule.index for module in self.modules for rule in module.rules}
        rest = tuple(rule for rule in self.recursive if rule.index not in special)
        object.__setattr__(self, "rest", rest if special else self.recursive)
        object.__setattr__(self, "special", tuple(r for r in self.recursive if r.index in special))
        has_one = any(rule.grouping is not None for rule in self.nonrecursive)
        object.__setattr__(self, "aggregates", has_one)
        atoms = (a for r in (*self.nonrecursive, *self.recursive) for a in (*r.body, *r.negated))
        object.__setattr__(self, "reads", frozenset(a.predicate for a in atoms))


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned program: strata in an order in which each depends only on earlier ones."""

    rules: tuple[PlannedRule, ...]
    strata: tuple[Stratum, ...]
    hidden: frozenset[Predicate]
    stored_as_triples: bool = False  # the IRI-named unary and binary relations live in TRIPLE
    modules: str = "off"  # or "paper", "auto": how rules are evaluated that say what is transitive
    has_keys: bool = True  # equality filters may be join keys
    predicates: frozenset[Predicate] = field(init=False, repr=False, compare=False)
    """The predicates of all strata: only these can have facts."""
    rule_of: dict[int, PlannedRule] = field(init=False, repr=False, compare=False)
    """The rules by index."""

    @property
    def has_modules(self) -> bool:
        """Whether rules that special algorithms know are apart from the others."""
        return self.modules != "off"

    def __post_init__(self) -> None:
        found = frozenset(p for stratum in self.strata for p in stratum.predicates)
        object.__setattr__(self, "predicates", found)
        object.__setattr__(self, "rule_of", {rule.index: rule for rule in self.rules})
