"""A transitive relation, or a symmetric one too, by a closure that an engine keeps.

What a deletion leaves of a path is known at once, so that only what is lost is deleted: 000's
Definition 6 asks for more, because a path may lead through facts that another recursive rule
derives from what is deleted. Where there is such a rule, deletion is the paper's.
"""

from __future__ import annotations

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import X
from stratalog.facts.sets import Batch, FactSet, Over, Supported
from stratalog.plan.rules import Module, ModuleKind, PlannedRule
from stratalog.reason.modules.by_rules import PlainRules
from stratalog.reason.modules.path_proofs import supported
from stratalog.reason.modules.stc import SymmetricClosure
from stratalog.reason.modules.tc import TransitiveClosure
from stratalog.reason.update import union

NR = Count.NONRECURSIVE

PaperFunctions = TransitiveClosure | SymmetricClosure | PlainRules


def paper_functions(engine: Engine[PlannedRule], module: Module) -> PaperFunctions:
    """Return the functions of a module as the paper has them, if it has any for its kind."""
    match module.kind:
        case ModuleKind.TRANSITIVE:
            return TransitiveClosure(engine, module)
        case ModuleKind.SYMMETRIC:
            return SymmetricClosure(engine, module)
    return PlainRules(engine, module)


class ExactClosure:
    """The functions of a module whose relation has a closure."""

    def __init__(self, engine: Engine[PlannedRule], module: Module) -> None:
        self._engine = engine
        self._here = Over(frozenset({module.predicate}))
        self._is_alone = module.is_alone
        self._paper = paper_functions(engine, module)

    def add(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the pairs that the closure gains by new edges."""
        edges = self._engine.settle(delta & self._here)
        if not edges:
            return edges
        gained = self._engine.enclose(edges)
        return self._paper.add(pos, delta) if gained is None else self._engine.settle(gained - pos)

    def delete(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the pairs that the closure loses with deleted edges, or may lose."""
        engine = self._engine
        edges = engine.settle(delta & self._here)
        if not edges:
            return edges
        if self._is_alone:
            lost = engine.disclose(edges)
            return self._paper.delete(pos, delta) if lost is None else engine.settle(lost - delta)
        found = self._paper.delete(pos, delta)
        if engine.disclose(union(engine, [edges, found])) is not None:
            self._hold([edges, found])
        return found

    def _hold(self, facts: list[Batch]) -> None:
        """Mark the pairs of a symmetric closure, of which the paper's deletion forgets some."""
        if isinstance(self._paper, SymmetricClosure):
            pairs = union(self._engine, [*facts, *self._paper.take_held()])
            left = self._engine.enclosed(pairs)
            if left:
                self._engine.mark(left, X)

    def rederive(self, deleted: Batch) -> Batch:
        """Return the deleted pairs that are in the closure nevertheless."""
        lost = self._engine.settle(deleted & self._here)
        if not lost:
            return lost
        found = self._engine.enclosed(lost)
        return self._paper.rederive(deleted) if found is None else found

    def one_step(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the pairs that one step of the paper's rules makes with a deleted one."""
        return self._paper.one_step(pos, delta)

    def paths(self, pos: FactSet, facts: Batch) -> Batch:
        """Return what lies on the paths of facts."""
        return self._paper.paths(pos, facts)

    def hidden_support(self, pos: FactSet, facts: Batch) -> Batch:
        """Return what else may prove facts."""
        return self._paper.hidden_support(pos, facts)

    def prove(self, proved: Batch) -> Batch:
        """Return what facts in P lead to."""
        return self._paper.prove(proved)

    def finish_deletion(self, proved: Batch, deleted: Batch) -> None:
        """Let the closure have the edges that proof and deletion leave; it loses no other pair."""
        self._paper.finish_deletion(proved, deleted)
        engine = self._engine
        checked = engine.settle(proved & self._here)
        edges = supported(engine, checked)
        if engine.enclose(edges) is not None:
            others = engine.settle(checked - edges)
            engine.disclose(union(engine, [others, engine.settle(deleted & self._here)]))

    @property
    def deletes_exactly(self) -> bool:
        """Whether no other recursive rule derives the relation, or reads it."""
        return self._is_alone

    def note_external(self, facts: Batch) -> None:
        """Let facts of the closure be edges too, if they hold without the module."""
        held = self._engine.settle(facts & self._here & Supported(NR))
        if not held:
            return
        inside = self._engine.enclosed(held)
        if inside is None or self._engine.enclose(inside) is None:
            self._paper.note_external(facts)
