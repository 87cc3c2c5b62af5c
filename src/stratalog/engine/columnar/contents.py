"""The facts of an engine: relations by predicate, facts in and out, memory accounted for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar import listing
from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.relation import NONE, Directory, Ids, Relation
from stratalog.engine.columnar.settle_regions import view_of
from stratalog.engine.columnar.statistics import key_of
from stratalog.engine.shared.set_tables import SetTables
from stratalog.errors import StoreError
from stratalog.facts.labels import I
from stratalog.facts.sets import Batch, FactSet
from stratalog.facts.terms import Terms
from stratalog.kernels.relation import labels as marks
from stratalog.kernels.relation import merge as merging
from stratalog.kernels.relation.modes import AS_EXPLICIT, BLOCK, SEEN_BIT, UNCOUNTED
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate
from stratalog.runtime.limits import Limits

Columns = Sequence[Ids] | npt.NDArray[np.uint32]
Block = npt.NDArray[np.uint32]
Weights = npt.NDArray[np.int64]

UNWEIGHTED: Weights = np.empty(0, np.int64)
MERGE_SLICE = sized(1_000_000, 2)


def repeated(predicate: Predicate) -> StoreError:
    """Return the error for facts of a store that are not all different."""
    return StoreError(
        "T103",
        f"a file of the store is damaged: {predicate.name[:40]!a} has a fact twice",
        help="restore the file from a backup, open another version, or materialise again",
    )


class Contents:
    """Facts in columns of this process."""

    def __init__(self, terms: Terms, limits: Limits | None) -> None:
        self.terms = terms
        self.limits = limits or Limits()
        self.relations: dict[Predicate, Relation] = {}
        self.by_number: list[Relation] = []
        self.directory = Directory()
        self.arity = 0  # the greatest of all relations
        self.sets = SetTables()
        self.allocated = 0
        self.running = "loading facts"
        self._loaded = 0  # constants are below this, if they are not in the dictionary
        self._accounting = Lock()
        self._ascending: Ids = np.empty(0, np.uint32)
        self._ahead = np.empty((2, BLOCK + 1), np.uint64)

    def relation(self, predicate: Predicate) -> Relation:
        """Return the relation of a predicate, empty if it is new."""
        relation = self.relations.get(predicate)
        if relation is None:
            number = len(self.by_number)
            relation = Relation(predicate, number, self.account, self.directory)
            self.relations[predicate] = relation
            self.by_number.append(relation)
            self.arity = max(self.arity, predicate.arity)
        return relation

    def load(self, predicate: Predicate, columns: Sequence[Ids], size: int) -> None:
        """Store explicit facts: marked E, C_nr one higher than before if they were not explicit."""
        relation = self.relation(predicate)
        block = np.asarray(columns, np.uint32).reshape(predicate.arity, size)
        self._meet_constants(block)
        relation.expect(size, key_of(block))
        self.merge(relation, relation.segments.clustered(block), AS_EXPLICIT)
        relation.changes += 1

    def store(self, predicate: Predicate, columns: Columns, size: int) -> ColumnarBatch:
        """Return the facts, stored without a mark where they are new."""
        relation = self.relation(predicate)
        block = np.asarray(columns, np.uint32).reshape(predicate.arity, size)
        self._meet_constants(block)
        try:  # cut short, it leaves no list of rows to the next call
            self.merge(relation, relation.segments.clustered(block), UNCOUNTED)
        finally:
            rows = relation.take_touched()
        return ColumnarBatch({relation.number: rows} if rows.size else {})

    def _meet_constants(self, block: npt.NDArray[np.uint32]) -> None:
        self._loaded = max(self._loaded, int(block.max(initial=0)) + 1)
        self.directory.constants = self.constants

    def find(self, predicate: Predicate, columns: Columns, size: int) -> ColumnarBatch:
        """Return those of the facts that are stored, each once."""
        relation = self.relation(predicate)
        rows = np.empty(size, np.uint32)
        found = relation.find(columns, size)
        n = int(marks.distinct_rows(relation.labels, found, SEEN_BIT, rows))
        return ColumnarBatch({relation.number: rows[:n]} if n else {})

    def restore(
        self,
        predicate: Predicate,
        columns: Sequence[Ids],
        labels: npt.NDArray[np.unsignedinteger[Any]],
        counts: Sequence[npt.NDArray[np.int64]],
    ) -> None:
        """Store facts as they were saved, all different, and what is stored already among them."""
        relation = self.relation(predicate)
        block = np.asarray(columns, np.uint32).reshape(predicate.arity, labels.size)
        self.directory.constants = self.constants  # all are in the dictionary
        had_some = relation.rows > 0
        relation.expect(labels.size, key_of(block))
        self.merge(relation, block, UNCOUNTED)
        relation.take_touched()
        if relation.rows != labels.size:
            raise repeated(predicate)
        wide = [count for count in counts if count.size and count.dtype != np.int32]
        if any(int(count.max()) > np.iinfo(np.int32).max for count in wide):
            relation.promote_counts()
        rows: Ids | slice = slice(labels.size)  # in the order of the facts, if there were none
        if had_some:
            rows = relation.find(block, labels.size)
        relation.labels[rows] = labels
        relation.changes += 1
        for mine, saved in zip(relation.counts, counts, strict=True):
            mine[rows] = saved

    def merge(
        self, relation: Relation, block: Block, mode: int, weights: Weights = UNWEIGHTED
    ) -> None:
        """Find or insert the facts block[:, i]; see kernels/relation/rows.py for the modes."""
        block = np.ascontiguousarray(block, np.uint32)
        size = block.shape[1]
        done = 0
        while done < size:
            end = min(size, done + MERGE_SLICE)
            if mode != AS_EXPLICIT:
                relation.lanes.reserve(0, end - done)
            done = int(
                merging.merge(relation.descriptor, 0, block, weights, done, end, mode, self._ahead)
            )
            if done < end:
                relation.unblock(end - done)
            self.check()

    def check(self) -> None:
        """Raise if a limit is reached."""
        self.limits.check_time(self.running)
        self.check_facts()

    def check_facts(self, more: int = 0) -> None:
        """Raise if there are too many facts, with so many more that are not in a relation."""
        if self.limits.max_facts is not None:
            self.limits.check_stored(self.facts_stored() + more, self.running)

    def account(self, more: int) -> None:
        """Note that arrays become so many bytes longer; raise if they must not."""
        with self._accounting:
            if more > 0:
                self.check_room(more)
            self.allocated += more

    def check_room(self, more: int) -> None:
        """Raise if so many more bytes, beside facts and constants, are above the limit."""
        self.limits.check_memory(self.allocated + self.terms.nbytes + more, self.running)

    @property
    def constants(self) -> int:
        """A bound above every constant in a relation."""
        return max(self._loaded, len(self.terms), 1)

    def trim(self) -> None:
        """Give back the room that relations keep for growth."""
        for relation in self.by_number:
            relation.trim()

    def parts(self, batch: Batch) -> list[tuple[Relation, Ids]]:
        """Return the relations of a batch with their rows."""
        if not isinstance(batch, ColumnarBatch):
            raise TypeError(f"a {type(batch).__name__} of another engine")
        by_number = self.by_number
        return [(by_number[number], rows) for number, rows in batch.rows.items()]

    def listed(self, batch: Batch) -> list[tuple[Relation, tuple[int, int]]]:
        """Return the relations that a batch has pairs of closures of: regions, and how many."""
        if not isinstance(batch, ColumnarBatch) or not batch.regions:
            return []
        return [(self.by_number[number], region) for number, region in batch.regions.items()]

    def listed_facts(self, batch: Batch) -> Iterator[tuple[Predicate, Sequence[Ids], int]]:
        """Yield a batch's pairs of closures, to be listed when somebody reads a column."""
        for relation, (regions, size) in self.listed(batch):
            yield relation.predicate, view_of(relation).frozen(regions), size

    def read(self, predicate: Predicate, described: FactSet) -> tuple[list[Ids], int]:
        """Return copies of the columns of a predicate's facts in a set, and how many there are."""
        relation = self.relations.get(predicate)
        if relation is None:
            return [np.empty(0, np.uint32) for _ in range(predicate.arity)], 0
        if relation.view is not None:
            columns = listing.read(relation, self.sets.table(described, predicate))
            return columns, columns[0].size
        rows = self.rows_of(relation, described)
        return [column[rows] for column in relation.columns], rows.size

    def columns_in(self, predicate: Predicate, described: FactSet) -> list[Ids]:
        """Return the columns of a predicate's facts in a set of labels or in a batch."""
        if not isinstance(described, ColumnarBatch):
            return self.read(predicate, described)[0]
        relation = self.relation(predicate)
        if relation.number in described.regions:
            return list(view_of(relation).columns(described.regions[relation.number][0]))
        rows = described.rows.get(relation.number, NONE)
        return [column[rows] for column in relation.columns]

    def rows_of(self, relation: Relation, described: FactSet) -> Ids:
        """Return the rows of a relation's facts in a set of labels."""
        table = self.sets.table(described, relation.predicate)
        if marks.count_members(relation.labels, relation.rows, table) == relation.rows:
            return self._first_rows(relation.rows)
        rows = np.empty(relation.rows, np.uint32)
        n = marks.scan_labels(relation.labels, 0, relation.rows, table, rows)
        return rows[: int(n)]

    def _first_rows(self, size: int) -> Ids:
        """Return the numbers of so many rows from the first on, which nobody may change."""
        if size > self._ascending.size:
            self._ascending = np.arange(size + size // 2, dtype=np.uint32)
        return self._ascending[:size]

    def size(self, predicate: Predicate, described: FactSet = I) -> int:
        """Return how many facts of the predicate are in a set of labels."""
        relation = self.relations.get(predicate)
        if relation is None:
            return 0
        table = self.sets.table(described, predicate)
        if relation.view is not None:
            return listing.size(relation, table)
        return int(marks.count_members(relation.labels, relation.rows, table))

    def contains(
        self, predicate: Predicate, columns: Sequence[Ids], size: int, described: FactSet = I
    ) -> npt.NDArray[np.bool_]:
        """Return for each fact whether it is in a set of labels."""
        relation = self.relation(predicate)
        if relation.view is not None:
            table = self.sets.table(described, predicate)
            return listing.contains(relation, table, list(columns))
        found = relation.find(columns, size)
        stored = found != np.uint32(0xFFFFFFFF)
        result = np.zeros(size, np.bool_)
        result[stored] = self.sets.table(described, predicate)[relation.labels[found[stored]]]
        return result

    def facts_stored(self) -> int:
        return sum(relation.facts for relation in self.by_number)

    def nbytes(self, predicates: Iterable[Predicate] | None = None) -> int:
        """Return the bytes of the arrays that hold these relations, all by default."""
        if predicates is None:
            return self.allocated
        return sum(self.relations[p].nbytes for p in predicates if p in self.relations)
