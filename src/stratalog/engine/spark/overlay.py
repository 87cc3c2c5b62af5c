"""Facts in the driver: all that an update has touched, with marks and counts as they are now.

The overlay is a columnar engine that applies no rules: marks, counts, sets and undoing are its own.
What it holds goes before what segments say. Of each row it is known what its segment says, so that
statements leave out, or add, only facts whose membership differs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.facts.counts import Count
from stratalog.facts.labels import I
from stratalog.facts.sets import FactSet
from stratalog.facts.terms import Terms
from stratalog.lang.syntax import Predicate
from stratalog.runtime.limits import Limits

Words = npt.NDArray[np.int16]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ABSENT = -1  # no segment has the fact
UNTOLD = -2  # nobody but segments can say
UNKNOWN = np.uint32(0xFFFFFFFF)  # the row of a fact that is not here
NARROW = np.iinfo(np.int32).max


class States(NamedTuple):
    """Facts of one predicate as segments have them: label word (ABSENT for none) and counts."""

    predicate: Predicate
    columns: Sequence[Ids]
    words: Integers
    nonrecursive: Integers
    recursive: Integers

    def chosen(self, kept: Mask) -> States:
        """Return some of the facts."""
        columns = [np.asarray(column)[kept] for column in self.columns]
        return States(self.predicate, columns, *(each[kept] for each in self[2:]))


class Differences(NamedTuple):
    """Rows that are in a set though their segment says no, and the other way round."""

    added: Ids
    removed: Ids


class Overlay(ColumnarEngine):
    """Touched facts."""

    def __init__(self, terms: Terms, limits: Limits | None = None) -> None:
        super().__init__(terms, limits)
        self._base: dict[int, Words] = {}  # what segments say of each row, by relation number

    def drop(self, predicates: Sequence[Predicate]) -> None:
        """Forget relations, and what segments say of their rows: numbers come again."""
        super().drop(predicates)
        self._base = {n: words for n, words in self._base.items() if n < len(self.by_number)}

    def base(self, relation: Relation) -> Words:
        """Return the label word that its segment has for each row of a relation."""
        known = self._base.get(relation.number, np.empty(0, np.int16))
        if known.size < relation.rows:
            grown = np.full(relation.rows + relation.rows // 2, ABSENT, np.int16)
            grown[: known.size] = known
            known = self._base[relation.number] = grown
        return known[: relation.rows]

    def enter(self, states: States) -> Ids:
        """Return the rows of facts; those that were not here yet are as segments have them."""
        relation = self.relation(states.predicate)
        before, size = relation.rows, states.words.size
        self.store(states.predicate, states.columns, size)
        rows = relation.find(states.columns, size)
        is_new = rows >= before
        fresh, words = rows[is_new], states.words[is_new]
        self.base(relation)[fresh] = words
        relation.labels[fresh] = np.maximum(words, 0).astype(np.uint16)
        for count, given in zip(Count, states[3:], strict=True):
            self._set_counts(relation, count, fresh, given[is_new])
        relation.changes += 1
        return rows

    def _set_counts(self, relation: Relation, count: Count, rows: Ids, given: Integers) -> None:
        if not relation.is_wide and int(given.max(initial=0)) > NARROW:
            relation.promote_counts()
        relation.counts[count.value][rows] = given

    def add_to_counts(self, batch: dict[int, tuple[Ids, Integers]], count: Count) -> None:
        """Change a count of distinct rows by different numbers."""
        for number, (rows, change) in batch.items():
            relation = self.by_number[number]
            most = self._remember_counts(relation, rows, count)
            if not relation.is_wide and most + int(change.max(initial=0)) > NARROW:
                relation.promote_counts()
            counts = relation.counts[count.value]
            counts[rows] += change.astype(counts.dtype)

    def differences(
        self,
        predicate: Predicate,
        described: FactSet | None,
        delta: ColumnarBatch | None,
        sign: int,
    ) -> Differences:
        """Return where membership in a set differs from what segments say.

        `delta` is taken out of the set if sign is negative, and added to it otherwise; without a
        set, the delta is all there is.
        """
        relation = self.relations.get(predicate)
        if relation is None:
            return Differences(np.empty(0, np.uint32), np.empty(0, np.uint32))
        now, then = self._members(relation, described)
        rows = delta.rows.get(relation.number) if delta is not None else None
        if rows is not None:
            now[rows] = sign > 0
        added = np.flatnonzero(now & ~then).astype(np.uint32)
        return Differences(added, np.flatnonzero(then & ~now).astype(np.uint32))

    def _members(self, relation: Relation, described: FactSet | None) -> tuple[Mask, Mask]:
        """Return which rows are in a set, and which are by what segments say."""
        if described is None:
            return np.zeros(relation.rows, np.bool_), np.zeros(relation.rows, np.bool_)
        table = self.sets.table(described, relation.predicate)
        base = self.base(relation)
        now = table[relation.labels[: relation.rows]]
        return now, (base != ABSENT) & table[np.maximum(base, 0)]

    def columns_of(self, predicate: Predicate, rows: Ids) -> list[Ids]:
        """Return the constants of rows."""
        return [column[rows] for column in self.relation(predicate).columns]

    def unknown(self, predicate: Predicate, columns: Sequence[Ids], size: int) -> Mask:
        """Return which facts are not here."""
        relation = self.relations.get(predicate)
        if relation is None:
            return np.ones(size, np.bool_)
        is_unknown: Mask = relation.find(columns, size) == UNKNOWN
        return is_unknown

    def united(self, rows: Iterable[tuple[int, Ids]]) -> ColumnarBatch:
        """Return rows by relation number as a batch, each once; a relation may come repeatedly."""
        found: dict[int, list[Ids]] = defaultdict(list)
        for number, some in rows:
            if some.size:
                found[number].append(some)
        return ColumnarBatch({n: np.unique(np.concatenate(parts)) for n, parts in found.items()})

    def unstored(self) -> int:
        """Return how many facts no segment has."""
        return sum(int((self.base(r) == ABSENT).sum()) for r in self.by_number)

    def states(self) -> list[tuple[States, Mask]]:
        """Return all facts as they are now, and which of them segments have."""
        found = []
        for relation in self.by_number:
            n = relation.rows
            words = relation.labels[:n].astype(np.int64)
            counts = (count[:n].astype(np.int64) for count in relation.counts)
            constants = [column[:n] for column in relation.columns]
            states = States(relation.predicate, constants, words, *counts)
            found.append((states, self.base(relation) != ABSENT))
        return found

    def appended(self, states: States) -> States:
        """Return facts of a predicate with those of the overlay that are in the materialisation."""
        relation = self.relations.get(states.predicate)
        if relation is None:
            return states
        rows = self.rows_of(relation, I)
        arrays = (relation.labels, *relation.counts)
        mine: list[Any] = [*relation.columns, *(array.astype(np.int64) for array in arrays)]
        theirs: list[Any] = [*states.columns, *states[2:]]
        both = [np.concatenate([t, m[rows]]) for t, m in zip(theirs, mine, strict=True)]
        return States(states.predicate, both[: relation.arity], *both[relation.arity :])
