"""What a rule module can do: the functions that 000 plugs into materialisation and maintenance.

000 (Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs), Definitions 3, 6 and 7.
Diff (Definition 5) is empty for the modules here: their rules read no earlier stratum. Of the
rest module, which counts, all four are one call of `engine.apply` each, in the algorithms.

What a module remembers between calls are labels of facts, so that undoing them undoes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stratalog.facts.engine import Engine
from stratalog.facts.sets import Batch, FactSet
from stratalog.plan.rules import Module, ModuleKind, PlannedRule, Stratum
from stratalog.reason.stc import SymmetricClosure
from stratalog.reason.tc import TransitiveClosure
from stratalog.reason.update import joined


class Functions(Protocol):
    """The functions of a module on one engine."""

    def add(self, pos: FactSet, delta: Batch) -> Batch:
        """Return all that the module derives from Iᵖ and Δ ⊆ Iᵖ, and that is not in Iᵖ."""

    def delete(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the facts of Iᵖ whose derivations may depend on Δ, but those with C_nr > 0."""

    def rederive(self, deleted: Batch) -> Batch:
        """Return those of the deleted facts that the module derives from what was not deleted."""

    def support(self, facts: Batch) -> None:
        """Take note of facts that hold without the module, whether they are new or not."""

    def lose(self, deleted: Batch) -> None:
        """Take note that facts no longer hold, as others have found."""

    def gain(self, facts: Batch) -> None:
        """Take note of all facts that are new, or newly derived, as others have found."""


def functions(engine: Engine[PlannedRule], stratum: Stratum) -> list[Functions]:
    """Return the functions of a stratum's modules."""
    return [_function(engine, module) for module in stratum.modules]


def _function(engine: Engine[PlannedRule], module: Module) -> Functions:
    if module.kind is ModuleKind.SYMMETRIC:
        return SymmetricClosure(engine, module)
    return TransitiveClosure(engine, module)


def lose(engine: Engine[PlannedRule], stratum: Stratum, deleted: Batch) -> None:
    """Let modules know what an algorithm has deleted that does not use them."""
    for module in functions(engine, stratum):
        module.lose(deleted)


def gain(engine: Engine[PlannedRule], stratum: Stratum, found: Sequence[Batch]) -> None:
    """Let modules know what an algorithm has derived that does not use them."""
    for module in functions(engine, stratum):
        module.gain(joined(engine, found))
