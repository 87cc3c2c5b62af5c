"""A symmetric and transitive relation: the members of a component are all related.

000 (Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs), Algorithms 7, 8 and 9.
Paper lines: 64-86.

| paper                      | here                                                        |
|----------------------------|-------------------------------------------------------------|
| U ∈ C_R                    | the pairs of U have the label X                             |
| Y_R                        | the batches `held`, for the length of an update             |
"""

from __future__ import annotations

from stratalog.facts.counts import Count
from stratalog.facts.engine import Engine
from stratalog.facts.labels import S, X
from stratalog.facts.sets import Batch, FactSet, Label, Over, Supported
from stratalog.plan.rules import Module, PlannedRule
from stratalog.reason.update import NOTHING, balanced_union, union

NR, R = Count.NONRECURSIVE, Count.RECURSIVE
FIRST = 0  # the first atom of a rule


class SymmetricClosure:
    """The functions of a module of a transitive and a symmetric rule."""

    def __init__(self, engine: Engine[PlannedRule], module: Module) -> None:
        self._engine = engine
        self._here = Over(frozenset({module.predicate}))
        self._by = module.chains
        self._held: list[Batch] = []
        self._seen: list[Batch] = []
        self._others: list[Batch] = []
        self._opened: list[Batch] = []
        self._proved: list[Batch] = []

    def add(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the pairs of components that new facts make or join."""
        return self._engine.settle(self._close_edges(delta, X) - pos)  # L64

    def _close_edges(self, delta: Batch, label: Label) -> Batch:  # L65
        """Let components, whose pairs have the label, follow new facts; return the new pairs."""
        engine, by = self._engine, self._by
        edges = engine.settle((delta & self._here) - label)
        if not edges:  # L66
            return edges
        # Differs: all facts are processed at once, with the components that they touch.
        ends = [engine.chain(r, FIRST, label, edges) for r in (by.source, by.target)]  # L67-71
        spokes = engine.chain(by.row, FIRST, label, union(engine, ends))
        pairs = engine.connect(edges, engine.settle(spokes & label))  # L72-75
        engine.mark(pairs, label)
        return pairs  # L76

    def delete(self, pos: FactSet, delta: Batch) -> Batch:  # noqa: ARG002  # as of all modules
        """Return the pairs of components that deleted facts were in, and forget these."""
        engine = self._engine
        edges = engine.settle((delta & self._here) & X)
        if not edges:  # L77
            return edges
        _, pairs = self._components(X, engine.chain(self._by.source, FIRST, X, edges))  # L78-79
        held = engine.settle(pairs & Supported(NR))
        self._held.append(held)  # L81
        engine.unmark(pairs, X)  # L82
        return engine.settle(pairs - held - delta)  # L80, L83

    def _components(self, pos: FactSet, ends: Batch) -> tuple[Batch, Batch]:
        """Return the members (x, x) of the components that some members are of, and all pairs."""
        members = self._engine.chain(self._by.ends, FIRST, pos, ends)
        return members, self._engine.chain(self._by.row, FIRST, pos, members)

    def rederive(self, deleted: Batch) -> Batch:
        """Return the deleted pairs of components that facts with C_nr > 0 still make."""
        engine = self._engine
        held = engine.settle(balanced_union(self._held) | engine.settle(NOTHING))
        found = self._close_edges(held, X)  # L84
        self._held = []  # L85
        return engine.settle(deleted & found)  # L86

    def take_held(self) -> list[Batch]:
        """Return the facts with C_nr > 0 of components that were forgotten, and forget them."""
        held, self._held = self._held, []
        return held

    def one_step(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the pairs of components that deleted facts are the first to leave."""
        engine = self._engine
        edges = engine.settle((delta & self._here) & X)
        if not edges:
            return edges
        _, pairs = self._components(X, engine.chain(self._by.source, FIRST, X, edges))
        engine.unmark(pairs, X)
        self._opened.append(pairs)
        return engine.settle((pairs & pos) - delta)

    def paths(self, pos: FactSet, facts: Batch) -> Batch:
        """Return the facts with C_nr > 0 of the components that facts are in."""
        engine = self._engine
        goals = engine.settle(facts & self._here)
        if not goals:
            return goals
        ends = engine.settle(
            engine.chain(self._by.source, FIRST, pos, goals) - balanced_union(self._seen)
        )
        members, pairs = self._components(pos, ends)
        self._seen += [ends, members]
        held = engine.settle(pairs & Supported(NR))
        self._others.append(engine.settle((pairs & Supported(R)) - held))
        return held

    def hidden_support(self, pos: FactSet, facts: Batch) -> Batch:  # noqa: ARG002
        """Return the facts of these components that other recursive rules derive."""
        nothing = self._engine.settle(NOTHING)
        others, self._others = union(self._engine, [nothing, *self._others]), []
        return others

    def prove(self, proved: Batch) -> Batch:
        """Return the pairs of components that facts just proved make or join."""
        pairs = self._close_edges(proved, S)
        self._proved.append(pairs)
        return pairs

    def finish_deletion(self, proved: Batch, deleted: Batch) -> None:  # noqa: ARG002
        """Let what is left of components be their pairs."""
        engine = self._engine
        nothing = engine.settle(NOTHING)
        engine.unmark(union(engine, [nothing, *self._proved]), S)
        engine.mark(union(engine, [nothing, *self._opened]), X)
        self.unmark_deleted(deleted)

    @property
    def deletes_exactly(self) -> bool:
        """No: what is still connected is deleted too."""
        return False

    def note_external(self, facts: Batch) -> None:
        """Do nothing: a fact that is there is in a component."""

    def unmark_deleted(self, deleted: Batch) -> None:
        """Let deleted facts be pairs of no component."""
        self._engine.unmark(self._engine.settle(deleted & self._here), X)

    def mark_derived(self, facts: Batch) -> None:
        """Let facts be pairs of components."""
        self._engine.mark(self._engine.settle(facts & self._here), X)
