"""The facts of a store as an engine takes them, checked before they reach one.

An id must be of a constant: in 32 bits, 2**32 + 7 would be the constant 7. A label word has no
other marks than those that are stored, and counts that could be true of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stratalog.facts.labels import STORED_MARKS, E, I
from stratalog.knowledge.adapters import Counts, Ids, Labels, Saved
from stratalog.lang.syntax import TRIPLE, Predicate
from stratalog.pipeline.dictionary import IRI_INDEX, Dictionary
from stratalog.pipeline.manifest import MOST_ROWS
from stratalog.pipeline.ordinary import damaged
from stratalog.pipeline.snapshot import COUNTS
from stratalog.pipeline.store import StoredRelations
from stratalog.plan.rules import Plan

PIECE = 1 << 16  # numbers that are checked and copied while the cache has them

Numbers = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """Reads relations of a store whose dictionary and plan are known."""

    relations: Mapping[Predicate, pa.Table]
    dictionary: Dictionary
    constants: int  # in the dictionary when it was read
    uncounted: AbstractSet[Predicate]  # facts that special algorithms derive have no counts
    path: Path

    def saved(self, predicate: Predicate) -> Saved:
        """Return the columns, label words and counts of a relation; T103 if one cannot be."""
        self._check_size(predicate)
        table = self.relations[predicate]
        block = np.empty((predicate.arity, table.num_rows), np.uint32)
        for place, column in enumerate(block):
            self._take(table.column(f"c{place}"), column)
        if predicate == TRIPLE:
            self._check_properties(block[1])
        labels = np.empty(table.num_rows, np.uint16)
        self._take_labels(table.column("label"), labels)
        counts = [table.column(name).to_numpy() for name in COUNTS]
        if labels.size:
            self._check_counts(predicate, labels, counts)
        return cast("Sequence[Ids]", block), labels, counts

    def check_closed(self, predicate: Predicate, rows: int, pairs: int) -> None:
        """Refuse a closure of other pairs than were stored, as far as their number tells."""
        if rows != pairs:
            raise damaged(
                self.path, f"{_name(predicate)} has {rows} facts, its closure has {pairs}"
            )

    def _check_size(self, predicate: Predicate) -> None:
        """Refuse more rows than there can be facts, before they are read."""
        relations = self.relations
        if not isinstance(relations, StoredRelations):
            return
        most = min(MOST_ROWS, self.constants**predicate.arity)
        if max(relations.rows(predicate), relations.longest(predicate)) > most:
            raise damaged(self.path, f"{_name(predicate)} has more rows than there can be facts")

    def _take(self, stored: Any, ids: Ids) -> None:  # noqa: ANN401  # Arrow has no types
        """Copy the ids of a column; T103 if one is of no constant, in all of its 64 bits."""
        for part, numbers in _parts(stored):
            # As unsigned numbers, negative ones are above all others.
            if int(numbers.view(np.uint64).max()) >= self.constants:
                raise damaged(self.path, "a fact has a constant that is not in the dictionary")
            ids[part] = numbers

    def _check_properties(self, ids: Ids) -> None:
        is_iri = self.dictionary.kind_ids == IRI_INDEX
        if not is_iri[ids].all():
            raise damaged(self.path, "a triple has a property that is no IRI")

    def _take_labels(self, stored: Any, labels: Labels) -> None:  # noqa: ANN401
        """Copy label words; T103 if one has other marks than stored facts have."""
        for part, numbers in _parts(stored):
            labels[part] = numbers
            present, common = np.bitwise_or.reduce(numbers), np.bitwise_and.reduce(numbers)
            if present & ~STORED_MARKS or not common & 1 << I.bit:
                raise damaged(self.path, "a fact has marks that no stored fact has")

    def _check_counts(self, predicate: Predicate, labels: Labels, counts: list[Counts]) -> None:
        """Refuse counts below zero, and those that contradict marks."""
        outside, inside = counts
        least = [int(count.min()) for count in counts]
        if min(least) < 0:
            raise damaged(self.path, "a count of derivations is below zero")
        if least[0] > 0:
            return
        is_lost = (labels & (1 << E.bit) != 0) & (outside == 0)
        if predicate not in self.uncounted:
            is_lost |= (outside | inside) == 0
        if is_lost.any():
            raise damaged(self.path, f"a fact of {_name(predicate)} has no derivation")


def stored_facts(
    relations: Mapping[Predicate, pa.Table], dictionary: Dictionary, plan: Plan, path: Path
) -> StoredFacts:
    """Return what reads the relations of a store; T103 if the plan does not know one."""
    for predicate in relations:
        if predicate not in plan.predicates:
            raise damaged(path, f"there is no relation {_name(predicate)} in its plan")
    special = {rule.head.predicate for stratum in plan.strata for rule in stratum.special}
    closings = [stratum.closing for stratum in plan.strata if stratum.closing is not None]
    closed = {predicate for closing in closings for predicate in closing.predicates}
    return StoredFacts(relations, dictionary, len(dictionary), special | closed, path)


def _name(predicate: Predicate) -> str:
    return f"{predicate.name[:40]!a}"


def _parts(column: Any) -> Iterator[tuple[slice, Numbers]]:  # noqa: ANN401
    """Yield the numbers of a column as they were read, piece by piece, with their places."""
    first = 0
    for chunk in column.chunks:
        numbers = chunk.to_numpy()
        for begin in range(0, len(numbers), PIECE):
            piece = numbers[begin : begin + PIECE]
            yield slice(first + begin, first + begin + len(piece)), piece
        first += len(numbers)
