"""What a rule module can do: the functions that 000 plugs into materialisation and maintenance.

000 (Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs), Definitions 3, 6 and 7.
Diff (Definition 5) is empty unless rules of a module read an earlier stratum; then `first_losses`
and `first_gains` find it by these rules. Of the rest module, which counts, all four are one call of
`engine.apply` each, in the algorithms.

What a module needs to prove facts (doubt, paths, uncover, prove, reckon) is ours, for bf_c_mod.py.

What a module remembers between calls are labels of facts, so that undoing them undoes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stratalog.facts.engine import Engine
from stratalog.facts.labels import I
from stratalog.facts.sets import Batch, FactSet
from stratalog.plan.rules import Module, ModuleKind, PlannedRule, Stratum
from stratalog.reason.modules.closure_index import ExactClosure, PaperFunctions, paper_functions
from stratalog.reason.update import union


class Functions(Protocol):
    """The functions of a module on one engine."""

    def add(self, pos: FactSet, delta: Batch) -> Batch:
        """Return all that the module derives from Iᵖ and Δ ⊆ Iᵖ, and that is not in Iᵖ."""

    def delete(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the facts of Iᵖ whose derivations may depend on Δ, but those with C_nr > 0."""

    def rederive(self, deleted: Batch) -> Batch:
        """Return those of the deleted facts that the module derives from what was not deleted."""

    def note_external(self, facts: Batch) -> None:
        """Take note of facts that hold without the module, whether they are new or not."""

    def one_step(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the facts of Iᵖ that the module has derived from Δ, which is deleted, in a step.

        Those that are still proved keep what follows from them; from others, Δ comes again.
        """

    def paths(self, pos: FactSet, facts: Batch) -> Batch:
        """Return the facts of Iᵖ that the module needs to prove some facts: on their paths."""

    def hidden_support(self, pos: FactSet, facts: Batch) -> Batch:
        """Return what else may prove facts that have no proof by their paths."""

    def prove(self, proved: Batch) -> Batch:
        """Return what the module derives from facts just marked P and others in P."""

    def finish_deletion(self, proved: Batch, deleted: Batch) -> None:
        """Let facts be external just if they hold without the module; deletion has ended."""

    @property
    def deletes_exactly(self) -> bool:
        """Whether `delete` returns only what is lost."""


def functions(
    engine: Engine[PlannedRule], stratum: Stratum, present: FactSet = I
) -> list[Functions]:
    """Return the functions of a stratum's modules, before any of the facts present changes."""
    return [_function(engine, module, present) for module in stratum.modules]


def _function(engine: Engine[PlannedRule], module: Module, present: FactSet) -> Functions:
    is_symmetric = module.kind is ModuleKind.SYMMETRIC
    if module.kind is ModuleKind.CLOSURE:
        return paper_functions(engine, module)
    kept = module.is_exact and engine.keep_closure(
        module.predicate, present, symmetric=is_symmetric
    )
    return ExactClosure(engine, module) if kept else paper_functions(engine, module)


def finish_deletion(
    engine: Engine[PlannedRule], stratum: Stratum, proved: Batch, deleted: Batch
) -> None:
    """Let modules know what an algorithm has proved, and deleted, that does not use them."""
    for module in _of_labels(engine, stratum):
        module.finish_deletion(proved, deleted)


def unmark_deleted(engine: Engine[PlannedRule], stratum: Stratum, deleted: Batch) -> None:
    """Let modules know what an algorithm has deleted that does not use them."""
    for module in _of_labels(engine, stratum):
        module.unmark_deleted(deleted)


def mark_derived(engine: Engine[PlannedRule], stratum: Stratum, found: Sequence[Batch]) -> None:
    """Let modules know what an algorithm has derived that does not use them."""
    for module in _of_labels(engine, stratum):
        module.mark_derived(union(engine, found))


def _of_labels(engine: Engine[PlannedRule], stratum: Stratum) -> list[PaperFunctions]:
    """Return functions that know facts by labels; closures are made anew when next needed."""
    if stratum.modules:
        engine.drop_closures(stratum.predicates)
    return [paper_functions(engine, module) for module in stratum.modules]
