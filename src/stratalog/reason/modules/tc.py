"""A transitive relation: pairs of facts are joined only if one of them is external.

000 (Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs), Algorithms 4, 5 and 6.
Paper lines: 41-63.

| paper                      | here                                                        |
|----------------------------|-------------------------------------------------------------|
| X_R                        | the label X: facts that other rules derive, or the user     |
| Q, taken fact by fact      | the batch `queue`, joined at once                           |
| J, S                       | the label S, taken off in the end                           |
| R(u, v) ∈ X, R(v, w) ∈ Q   | engine.chain(follow, 1, X, queue)                           |

How pairs are proved, for B/F^c, is in paths.py.
"""

from __future__ import annotations

from stratalog.facts.counts import Count
from stratalog.facts.labels import S, X
from stratalog.facts.sets import Batch, FactSet, Supported
from stratalog.reason.modules.path_proofs import LEFT, RIGHT, PathProofs
from stratalog.reason.update import union

NR = Count.NONRECURSIVE


class TransitiveClosure(PathProofs):
    """The functions of a module of one transitive rule."""

    def add(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the pairs of the closure that new external facts bring."""
        engine = self._engine
        external = engine.settle(delta & self._here)
        if not external:
            return external
        engine.mark(external, X)  # L41
        # Differs: joins with all of Iᵖ, not Iᵖ∖Δ; what is met twice is found twice, and kept once.
        found = engine.chain(self._by.follow, LEFT, pos, external)  # L42-43
        found = union(engine, [external, engine.settle(found - pos)])
        return self._closed(found, pos, external)

    def _closed(self, queue: Batch, pos: FactSet, external: Batch) -> Batch:
        """Return what the queue leads to by external facts, and the queue, without Iᵖ."""
        engine = self._engine
        new = [engine.settle(queue - external)]
        engine.mark(new[0], S)
        while queue:  # L44-45
            found = engine.chain(self._by.follow, RIGHT, X, queue)  # L46
            queue = engine.settle(found - pos - S)
            engine.mark(queue, S)  # L47
            new.append(queue)
        return self._forget(new)  # L48

    def delete(self, pos: FactSet, delta: Batch) -> Batch:
        """Return the pairs that a path through a deleted fact may have led to."""
        engine = self._engine
        queue = engine.settle(delta & self._here)
        if not queue:
            return queue
        engine.unmark(queue, X)  # L49
        engine.mark(queue, S)
        seen = [queue]
        # Differs: line 50 ranges over Iᵖ, not Iᵖ∖S: a fact may be the second half of a path that
        # another deleted fact begins.
        found = engine.chain(self._by.follow, LEFT, pos, queue)  # L50
        more = engine.settle((found & pos) - S)
        queue = union(engine, [queue, more])
        while queue:  # L53
            engine.mark(more, S)  # L51, L56
            seen.append(more)
            found = engine.chain(self._by.follow, RIGHT, X, queue)  # L54-55
            queue = more = engine.settle((found & pos) - S)
        unsupported = engine.settle(self._forget(seen) - delta - Supported(NR))  # L52, L57
        engine.unmark(unsupported, X)  # Differs: or line 61 rederives a fact from itself
        return unsupported  # L58

    def rederive(self, deleted: Batch) -> Batch:
        """Return the deleted pairs that external facts still connect."""
        engine = self._engine
        lost = engine.settle(deleted & self._here)
        if not lost:  # L59
            return lost
        sources = engine.chain(self._by.source, LEFT, X, lost)  # L60
        queue = engine.chain(self._by.row, LEFT, X, sources)
        reached = []
        while queue:  # L61
            engine.mark(queue, S)
            reached.append(queue)  # L62
            queue = engine.settle(engine.chain(self._by.follow, LEFT, X, queue) - S)
        return engine.settle(lost & self._forget(reached))  # L63

    def note_external(self, facts: Batch) -> None:
        """Let facts be external that hold without the module."""
        self._engine.mark(self._engine.settle(facts & self._here & Supported(NR)), X)

    def _forget(self, seen: list[Batch]) -> Batch:
        """Return all that was seen, and take the label off."""
        everything = union(self._engine, seen)
        self._engine.unmark(everything, S)
        return everything
