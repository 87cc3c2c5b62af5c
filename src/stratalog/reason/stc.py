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
from stratalog.facts.labels import X
from stratalog.facts.sets import Batch, FactSet, Over, Supported
from stratalog.plan.rules import Module, PlannedRule
from stratalog.reason.update import NOTHING, joined, together

NR = Count.NONRECURSIVE
FIRST = 0  # the first atom of a rule


class SymmetricClosure:
    """The functions of a module of a transitive and a symmetric rule."""

    def __init__(self, engine: Engine[PlannedRule], module: Module) -> None:
        self._engine = engine
        self._here = Over(frozenset({module.predicate}))
        self._by = module.chains
        self._held: list[Batch] = []

    def add(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the pairs of components that new facts make or join."""
        return self._engine.settle(self._close_edges(delta) - pos)  # L64

    def _close_edges(self, delta: Batch) -> Batch:  # L65
        """Let components follow new facts; return the pairs that these connect."""
        engine, by = self._engine, self._by
        edges = engine.settle((delta & self._here) - X)
        if not edges:  # L66
            return edges
        # Differs: all facts are processed at once, with the components that they touch.
        ends = [engine.chain(rule, FIRST, X, edges) for rule in (by.source, by.target)]  # L67-71
        spokes = engine.chain(by.row, FIRST, X, joined(engine, ends))
        pairs = engine.connect(edges, engine.settle(spokes & X))  # L72-75
        engine.mark(pairs, X)
        return pairs  # L76

    def delete(self, pos: FactSet, delta: Batch) -> Batch:  # noqa: ARG002  # as of all modules
        """Return the pairs of components that deleted facts were in, and forget these."""
        engine, by = self._engine, self._by
        edges = engine.settle((delta & self._here) & X)
        if not edges:  # L77
            return edges
        ends = engine.chain(by.source, FIRST, X, edges)  # L78
        members = engine.chain(by.ends, FIRST, X, ends)
        pairs = engine.chain(by.row, FIRST, X, members)  # L79
        held = engine.settle(pairs & Supported(NR))
        self._held.append(held)  # L81
        engine.unmark(pairs, X)  # L82
        return engine.settle(pairs - held - delta)  # L80, L83

    def rederive(self, deleted: Batch) -> Batch:
        """Return the deleted pairs of components that facts with C_nr > 0 still make."""
        engine = self._engine
        held = engine.settle(together(self._held) | engine.settle(NOTHING))
        found = self._close_edges(held)  # L84
        self._held = []  # L85
        return engine.settle(deleted & found)  # L86

    def take_held(self) -> list[Batch]:
        """Return the facts with C_nr > 0 of components that were forgotten, and forget them."""
        held, self._held = self._held, []
        return held

    def support(self, facts: Batch) -> None:
        """Do nothing: a fact that is there is in a component."""

    def lose(self, deleted: Batch) -> None:
        """Let deleted facts be pairs of no component."""
        self._engine.unmark(self._engine.settle(deleted & self._here), X)

    def gain(self, facts: Batch) -> None:
        """Let facts be pairs of components."""
        self._engine.mark(self._engine.settle(facts & self._here), X)
