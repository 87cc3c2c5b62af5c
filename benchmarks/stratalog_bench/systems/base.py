"""What a worker asks of every system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from stratalog.lang.syntax import Predicate
from stratalog.plan.rules import Plan
from stratalog_bench.failures import Inexpressible
from stratalog_bench.measure import Clock, Lap
from stratalog_bench.workloads.inputs import Input

COMPILED = "kernels_compiled"
"""The figure that tells how many kernels were compiled while the clock was running."""

Told = Callable[[str], None]  # hears the stages "load" and "reason" as they begin


class Laps(NamedTuple):
    """How long the two measured stages took."""

    load: Lap
    reason: Lap


class System(ABC):
    """One run of one system; making it imports, plans and prepares, none of which is measured."""

    def __init__(self, given: Input) -> None:
        self.given = given
        self.plan: Plan = given.plan()

    @classmethod  # noqa: B027  # most have none
    def write_files(cls, given: Input) -> None:
        """Write the files of a system that reads files of its own, once for all runs."""

    @abstractmethod
    def load(self) -> None:
        """Take the encoded columns into the system."""

    @abstractmethod
    def reason(self) -> None:
        """Derive all facts."""

    @abstractmethod
    def count(self, predicate: Predicate) -> int:
        """Return how many facts of a predicate there are."""

    def measure(self, told: Told) -> Laps:
        """Load and reason, and return how long each took."""
        told("load")
        clock = Clock()
        self.load()
        load = clock.lap()
        told("reason")
        clock.lap()
        self.reason()
        return Laps(load, clock.lap())

    def figures(self) -> dict[str, Any]:
        """Return what else the system can tell about its run."""
        return {}

    def counts(self) -> dict[str, int]:
        """Return the number of facts of each predicate that users see."""
        seen = sorted(p for p in self.predicates() if not p.name.startswith("$"))
        return {shown(predicate): self.count(predicate) for predicate in seen}

    def predicates(self) -> set[Predicate]:
        """Return the predicates of the rules and the explicit facts."""
        return predicates_of(self.plan, self.given)


def predicates_of(plan: Plan, given: Input) -> set[Predicate]:
    """Return the predicates of rules and explicit facts."""
    used = {a.predicate for rule in plan.rules for a in (rule.head, *rule.body)}
    return used | set(given.predicates())


def shown(predicate: Predicate) -> str:
    """Return a predicate's name; an IRI with its arity, since it may have two."""
    is_iri = predicate.name.startswith("<")
    return f"{predicate.name}/{predicate.arity}" if is_iri else predicate.name


def names_of(plan: Plan, given: Input) -> dict[Predicate, str]:
    """Return a name for each predicate that every system accepts: p0, p1, ..."""
    return {each: f"p{i}" for i, each in enumerate(sorted(predicates_of(plan, given)))}


def refuse_beyond_positive(plan: Plan) -> None:
    """Refuse programs with more than positive atoms."""
    for rule in plan.rules:
        if rule.grouping:
            raise Inexpressible("aggregates")
        if rule.negated:
            raise Inexpressible("negation")
        if rule.builtins:
            raise Inexpressible("built-ins")
        refuse_no_arguments(plan)


def refuse_no_arguments(plan: Plan) -> None:
    """Refuse predicates without arguments."""
    if any(a.predicate.arity == 0 for rule in plan.rules for a in (rule.head, *rule.body)):
        raise Inexpressible("predicates without arguments")
