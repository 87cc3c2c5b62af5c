"""What the suite asks of schemes, in the words of the seam, answered by the columnar engine.

Everything that the suite knows of an engine is in this file. Facts are pairs of small numbers here,
and never sets: a fact that an engine gives twice must be seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from stratalog.closure import closure as closures
from stratalog.closure.closure import TooLargeError
from stratalog.facts.counts import Count
from stratalog.facts.engine import Reclosed
from stratalog.facts.labels import STORED_MARKS, A, D, E, I
from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.facts.sets import Batch, FactSet, Label, Over, Supported
from stratalog.knowledge.adapters import ColumnarHost, Encoded, Saved
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.program import plan_program
from stratalog.plan.rules import PlannedRule
from stratalog.reason.update import union
from stratalog.runtime.limits import Limits
from tests.schemes.model import ALL_PAIRS, CONSTANTS, Kind, Pair

NR = Count.NONRECURSIVE
ONE, TWO = Predicate("one", 1), Predicate("two", 2)
Stored = dict[tuple[Predicate, Pair], tuple[bool, int]]

READERS = {
    (): "p(?x, ?y)",
    (0,): "one(?x), p(?x, ?y)",
    (1,): "one(?y), p(?x, ?y)",
    (0, 1): "two(?x, ?y), p(?x, ?y)",
    "not": "two(?x, ?y), NOT p(?x, ?y)",
    "loops": "p(?x, ?x), p(?x, ?y)",
    "loop": "one(?x), p(?x, ?x), p(?y, ?x)",
    "path": "p(?x, ?z), p(?z, ?y)",
    "circle": "p(?x, ?y), p(?y, ?x)",
}
"""Bodies by the columns of p that are bound, or by name; all heads are (?x, ?y)."""


@cache
def reader(predicate: Predicate, body: object) -> tuple[PlannedRule, ...]:
    """Return a rule that reads a relation."""
    text = READERS[body].replace("p(", f"{predicate.name}(")
    head = f"{predicate.name}_{list(READERS).index(body)}"
    return plan_program(parse_program(f"{head}(?x, ?y) :- {text} .")).rules


class Schemes:
    """Relations of an engine and the schemes that some of them have."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._host = ColumnarHost(Dictionary(), Limits())
        self._engine = self._host.engine
        self._engine.expects_views = bool(kind.schemes)
        self._host.prepare([ONE, TWO, *kind.predicates])
        self._load(ONE, [(n,) for n in CONSTANTS])
        self._load(TWO, ALL_PAIRS)
        self.nothing = self._engine.settle(Over(frozenset()))

    def _load(self, predicate: Predicate, facts: Iterable[Sequence[int]]) -> None:
        rows = list(facts)
        self._engine.load(predicate, columns(rows, predicate.arity), len(rows))

    # -- a materialisation, a store

    @classmethod
    def materialise(cls, kind: Kind, explicit: Mapping[Predicate, Iterable[Pair]]) -> Schemes:
        """Return relations with explicit facts, each adopted by its scheme."""
        schemes = cls(kind)
        for predicate in kind.predicates:
            schemes._load(predicate, explicit.get(predicate, ()))
        for predicate in kind.rows:
            schemes.mark(schemes.select(Over(frozenset({predicate})) & E), I)
        for spec in kind.schemes:
            assert not schemes.has(spec)
            assert schemes.adopt(spec, schemes.select(Over(spec.predicates) & E))
        return schemes

    def save(self) -> dict[Predicate, Saved]:
        """Return all facts as a store has them."""
        return {predicate: self._host.stored(predicate) for predicate in self.kind.predicates}

    @classmethod
    def open(cls, kind: Kind, saved: Mapping[Predicate, Saved]) -> Schemes:
        """Return relations with facts as they were saved."""
        schemes = cls(kind)
        for predicate in kind.rows:
            schemes._host.restore(predicate, *saved[predicate])
        for spec in kind.schemes:
            facts = {predicate: saved[predicate] for predicate in spec.predicates}
            assert schemes._host.hold(spec, facts)
        return schemes

    # -- schemes

    def adopt(self, spec: ClosureSpec, own: Batch) -> bool:
        """Let a scheme say what else holds than these facts."""
        return self._engine.hold(spec, own)

    def has(self, spec: ClosureSpec) -> bool:
        """Return whether relations have their scheme."""
        return self._engine.holds(spec)

    def follow(
        self, spec: ClosureSpec, touched: Batch, lost: Batch, gained: Batch
    ) -> Reclosed | None:
        """Let a scheme follow facts whose counts have changed, and changes of what it reads."""
        return self._engine.reclose(spec, touched, lost, gained)

    def follow_rows(self, touched: Batch) -> Reclosed:
        """Let relations without a scheme follow facts whose counts have changed."""
        lost = self.select((touched & I) - Supported(NR))
        gained = self.select((touched & Supported(NR)) - I)
        self.mark(lost, D)
        self.mark(gained, A)
        return Reclosed(lost, gained)

    def release(self, spec: ClosureSpec) -> None:
        """Make rows of all that holds."""
        self._engine.drop_closures(spec.predicates)

    @contextmanager
    def no_room(self) -> Iterator[None]:
        """Let schemes be too large for any change."""

        def too_large(*_: object) -> None:
            raise TooLargeError

        with patch.object(closures.Closure, "_apply", too_large):
            yield

    # -- facts, marks, counts

    def support(self, predicate: Predicate, pairs: Sequence[Pair], change: int) -> Batch:
        """Raise or lower the count C_nr of facts; return them."""
        facts = self._engine.store(predicate, columns(pairs), len(pairs))
        self._engine.change_count(facts, NR, change)
        return facts

    def rows(self, predicate: Predicate, pairs: Sequence[Pair]) -> Batch:
        """Return those of the facts that are rows."""
        return self._engine.find(predicate, columns(pairs), len(pairs))

    def mark(self, part: Batch, label: Label) -> None:
        self._engine.mark(part, label)

    def unmark(self, part: Batch, label: Label) -> None:
        self._engine.unmark(part, label)

    def union(self, parts: Sequence[Batch]) -> Batch:
        return union(self._engine, parts) if parts else self.nothing

    # -- moments

    def begin(self) -> None:
        self._engine.begin()

    def savepoint(self) -> int:
        return self._engine.savepoint()

    def roll_back(self, to: int | None = None) -> None:
        self._engine.roll_back(to)

    def settle(self) -> None:
        """Forget what was before the update that ends now."""
        self._engine.commit()

    def changed(self, stored: Stored) -> Stored:
        """Return what a store has after the update that runs, given what it had before."""
        stored = dict(stored)
        for predicate, found, labels, counts in self._host.changed():
            if predicate in self.kind.predicates:
                facts = pairs_of(found)
                assert len(facts) == len(set(facts))
                for pair in facts:
                    stored.pop((predicate, pair), None)
                stored |= stored_facts(predicate, (found, labels, counts))
        return stored

    # -- reads of relations

    def read(self, predicate: Predicate, described: FactSet) -> list[Pair]:
        """Return the facts of a relation in a set."""
        found, size = self._host.read(predicate, described)
        facts = pairs_of(found)
        assert len(facts) == size
        return facts

    def size(self, predicate: Predicate, described: FactSet) -> int:
        return self._host.size(predicate, described)

    def contains(
        self, predicate: Predicate, pairs: Sequence[Pair], described: FactSet
    ) -> list[bool]:
        found = self._engine.contains(predicate, columns(pairs), len(pairs), described)
        return [bool(each) for each in found]

    def estimate(self, predicate: Predicate) -> float:
        """Return about how many facts there are."""
        return self._engine.statistics.rows(predicate)

    def distinct(self, predicate: Predicate, column: int) -> float:
        """Return about how many constants stand in a column."""
        return self._engine.statistics.distinct(predicate, column)

    # -- reads of parts

    def select(self, described: FactSet) -> Batch:
        """Return the facts in a set, which names relations or a part."""
        return self._engine.settle(described)

    def facts(self, part: Batch) -> Counter[tuple[Predicate, Pair]]:
        """Return the facts of a part, listed at once."""
        found: Counter[tuple[Predicate, Pair]] = Counter()
        for predicate in self.kind.predicates:
            pairs = pairs_of(self._engine.columns_in(predicate, part))
            found.update((predicate, pair) for pair in pairs)
        return found

    def blocks(self, part: Batch, most: int) -> Iterator[tuple[Predicate, list[Pair]]]:
        """Yield the facts of a part in blocks of so many at most."""
        for relation, rows in self._engine.parts(part):
            for begin in range(0, rows.size, most):
                some = rows[begin : begin + most]
                yield relation.predicate, pairs_of([c[some] for c in relation.columns])
        with patch.object(closures, "BLOCK", most):
            for relation, (regions, _) in self._engine.listed(part):
                for block in relation.view.pairs(regions):
                    yield relation.predicate, pairs_of(block)

    def freeze(self, part: Batch) -> list[Encoded]:
        """Return the facts of a part, to be read by `thaw` whatever changes meanwhile."""
        return list(self._host.facts_of(part))

    # -- reads by rules

    def expand(
        self, predicate: Predicate, bound: tuple[int, ...], keys: Sequence[Any], wanted: FactSet
    ) -> Counter[Pair]:
        """Return the facts in a set that have one of the keys in their bound columns."""
        if not bound:
            return self.derive(predicate, (), wanted)
        relation = ONE if len(bound) == 1 else TWO
        rows = [key if isinstance(key, tuple) else (key,) for key in keys]
        found = self._engine.find(relation, columns(rows, relation.arity), len(rows))
        return self.derive(predicate, bound, wanted, delta=found)

    def count(
        self, predicate: Predicate, bound: tuple[int, ...], keys: Sequence[Any], wanted: FactSet
    ) -> Counter[Any]:
        """Return for each key how many facts in a set have it."""
        found = self.expand(predicate, bound, keys, wanted)
        return Counter(pair[bound[0]] if len(bound) == 1 else pair for pair in found)

    def derive(
        self,
        predicate: Predicate,
        body: object,
        wanted: FactSet,
        delta: Batch | None = None,
        negated: Batch | None = None,
    ) -> Counter[Pair]:
        """Return what a reader of the relation derives: Π[wanted ∪ keys, wanted : Δᵖ, Δⁿ]."""
        pos = wanted | Over(frozenset({ONE, TWO}))
        heads = self._engine.apply(reader(predicate, body), pos, wanted, delta, negated)
        return Counter(
            pair for _, found, _ in self._host.facts_of(heads) for pair in pairs_of(found)
        )


def columns(facts: Sequence[Sequence[int]], arity: int = 2) -> list[npt.NDArray[np.uint32]]:
    return list(np.array(facts, np.uint32).reshape(len(facts), arity).T.copy())


def pairs_of(found: Sequence[npt.NDArray[np.uint32]]) -> list[Pair]:
    return list(zip(*(column.tolist() for column in found), strict=True))


def thaw(frozen: Iterable[Encoded]) -> Counter[tuple[Predicate, Pair]]:
    """Return facts that were frozen."""
    found: Counter[tuple[Predicate, Pair]] = Counter()
    for predicate, listed, size in frozen:
        pairs = pairs_of(listed)
        assert len(pairs) == size
        found.update((predicate, pair) for pair in pairs)
    return found


def stored_facts(predicate: Predicate, saved: Saved) -> Stored:
    """Return the facts of a predicate that a store has: whether they are explicit, and C_nr."""
    found, labels, counts = saved
    words = [int(word) & STORED_MARKS for word in labels]
    rows = zip(pairs_of(found), words, counts[NR.value].tolist(), strict=True)
    return {
        (predicate, pair): (bool(word >> E.bit & 1), count)
        for pair, word, count in rows
        if word >> I.bit & 1
    }
