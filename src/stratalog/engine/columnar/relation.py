"""A relation in columns: constants, label word, two counts and a membership table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.closure.closure import LOST
from stratalog.engine.columnar.index import Index
from stratalog.engine.columnar.membership import MembershipTable
from stratalog.engine.columnar.merge_buffers import MergeBuffers
from stratalog.engine.columnar.view import View
from stratalog.errors import EngineError
from stratalog.kernels import memory
from stratalog.kernels.arrays import zeros
from stratalog.kernels.plan import interpreter as plan
from stratalog.kernels.relation import find, modes
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate

Ids = npt.NDArray[np.uint32]
Account = Callable[[int], None]

SAMPLE = sized(4096, 4)  # rows looked at for an estimate
HUGE = 1 << 22  # bytes of the smallest array that NumPy asks huge pages for
NONE: Ids = np.empty(0, np.uint32)


def too_many_derivations(where: str) -> EngineError:
    """Return the error for a count that 64 bits cannot hold."""
    return EngineError(
        "E108",
        f"a fact has more than {2**63 - 1:,} derivations: {where}",
        help="split the rule's body, so that parts of it are facts of their own",
    )


class Directory:
    """Where kernels find the descriptor of each relation, by number."""

    def __init__(self) -> None:
        self.addresses = np.zeros(16, np.int64)
        self.growths = 0  # how often a relation has been given more room: sizes may have changed
        self.is_updating = False  # then growth must not take long, even if what follows is slower
        self.constants = 1  # about how many there are: a bound above those that were loaded

    def enter(self, number: int, descriptor: npt.NDArray[np.int64]) -> None:
        if number >= self.addresses.size:
            self.addresses = np.resize(self.addresses, 2 * self.addresses.size)
        self.addresses[number] = descriptor.ctypes.data


@dataclass(frozen=True, slots=True)
class Access:
    """One way to read a relation: an operation of the plan interpreter, key columns, an index."""

    operation: int
    keys: tuple[int, ...] = ()
    index: Index | None = None


class Relation:
    """The facts of one predicate; rows are numbered in order of arrival."""

    def __init__(
        self, predicate: Predicate, number: int, account: Account, directory: Directory
    ) -> None:
        self.predicate = predicate
        self.number = number
        self.indexes: list[Index] = []
        self._charge = account
        self._charged = 0  # bytes on the engine's account because of this relation
        self._directory = directory
        self.columns: list[Ids] = [np.empty(0, np.uint32) for _ in range(predicate.arity)]
        self.labels: npt.NDArray[np.uint16] = np.zeros(0, np.uint16)
        self.chain: Ids = NONE  # the next row of the same key, if membership is by a key
        self.counts: list[npt.NDArray[Any]] = [np.zeros(0, np.int32), np.zeros(0, np.int32)]
        self.segments = MembershipTable(self._account)
        self.lanes = MergeBuffers(self._account)
        self._deltas: list[Ids] = [NONE, NONE]
        self._listed = [0, 0]  # facts of a delta that are read from elsewhere
        self.changes = 0  # how often facts may have entered or left a fact set
        self.view: View | None = None  # where facts are read from, if not from rows
        self.descriptor = np.zeros(0, np.int64)
        self.describe()

    @property
    def arity(self) -> int:
        return self.predicate.arity

    @property
    def rows(self) -> int:
        return int(self.descriptor[memory.ROWS])

    @property
    def facts(self) -> int:
        """How many facts there are; of rows, those included that are in no set."""
        return self.rows if self.view is None else self.view.facts

    @property
    def is_empty(self) -> bool:
        """Whether there are no facts, and in an update, none that were there before."""
        return not self.facts and (self.view is None or not self.view.size(LOST))

    @property
    def capacity(self) -> int:
        return self.labels.size

    @property
    def constants(self) -> int:
        """About how many constants there are in all relations."""
        return self._directory.constants

    @property
    def is_updating(self) -> bool:
        """Whether growth must not take long."""
        return self._directory.is_updating

    @property
    def is_wide(self) -> bool:
        """Whether counts have 64 bits."""
        return self.counts[0].itemsize > 4  # noqa: PLR2004  # bytes

    @property
    def nbytes(self) -> int:
        """Return the bytes of all arrays that hold the relation."""
        arrays: list[npt.NDArray[Any]] = [*self.columns, *self.counts, self.labels, self.chain]
        indexes = sum(index.nbytes for index in self.indexes)
        return sum(array.nbytes for array in arrays) + self.segments.nbytes + indexes

    def describe(self) -> None:
        """Write the addresses and sizes of all arrays into the descriptor, for kernels."""
        width = memory.INDEX_KEY_COLUMNS + self.arity
        size = max(memory.COLUMNS + 2, memory.COLUMNS + self.arity + len(self.indexes) * width)
        if self.descriptor.size < size:
            larger = np.zeros(size + width, np.int64)
            larger[: self.descriptor.size] = self.descriptor
            self.descriptor = larger
            self._directory.enter(self.number, larger)
        d = self.descriptor
        d[memory.ARITY] = self.arity
        d[memory.CAPACITY] = self.capacity
        d[memory.LABELS] = self.labels.ctypes.data
        d[memory.COUNT_NONRECURSIVE] = self.counts[0].ctypes.data
        d[memory.COUNT_RECURSIVE] = self.counts[1].ctypes.data
        d[memory.WIDE] = self.is_wide
        d[memory.CHAIN] = self.chain.ctypes.data
        d[memory.CLOSURE] = 0
        if self.view is not None:
            self.view.describe(d)
        self.segments.describe(d)
        self.lanes.describe(d)
        for c, column in enumerate(self.columns):
            d[memory.COLUMNS + c] = column.ctypes.data
        for index in self.indexes:
            index.describe(d)

    @property
    def delta_rows(self) -> Ids:
        """The rows of the positive delta of the running `apply`."""
        return self._deltas[False]

    def delta(self, *, negated: bool) -> Ids:
        """Return the rows of a delta of the running `apply`."""
        return self._deltas[negated]

    def delta_size(self, *, negated: bool) -> int:
        """Return how many facts a delta of the running `apply` has."""
        return self._deltas[negated].size + self._listed[negated]

    def _account(self, more: int) -> None:
        self._charge(more)
        self._charged += more

    def release(self) -> None:
        """Take the relation off the engine's account; its arrays live while somebody reads them."""
        self._account(-self._charged)

    def reserve(self, extra: int) -> None:
        """Make room for more rows."""
        need = self.rows + extra
        if need > memory.NULL:
            raise EngineError(
                "E106",
                f"{self.predicate.name} has more than {memory.NULL:,} facts",
                help="divide its facts among several predicates",
            )
        if need > self.capacity:
            more = self.capacity // (8 if self._directory.is_updating else 1)
            self._resize(max(need, self.capacity + more))

    def expect(self, extra: int, key: int | None = None) -> None:
        """Make room for rows that are mostly new, and for some more: room costs no memory yet.

        `key` is the column, of two, that is almost a key of them, if there is one.
        """
        need = self.rows + extra
        if need > self.capacity:
            self._resize(need + need // 8)
        self.segments.expect(self, extra, key)

    def chain_rows(self, *, wanted: bool) -> None:
        """Have a place in each row for the next of the same key, or no longer."""
        self._account((4 * self.capacity if wanted else 0) - self.chain.nbytes)
        self.chain = zeros(self.capacity, np.uint32) if wanted else NONE
        self.describe()

    def unblock(self, more: int, lane: int = 0) -> None:
        """Let a merge of `more` facts go on that stopped, by what it had no room for."""
        reason = self.lanes.stopped_by(lane)
        if reason == memory.OVERFLOW:
            self.promote_counts()
        elif reason <= memory.LONG_CHAIN:
            self.segments.hash_segment(self, memory.LONG_CHAIN - reason)
        elif reason == memory.NO_ROOM:
            self.reserve(more + modes.TAKEN * self.lanes.table.shape[0])
            self.lanes.reserve(lane, more, self.capacity)
        else:
            self.segments.grow(self, reason)

    def _resize(self, capacity: int) -> None:
        self._directory.growths += 1
        is_chained = self.chain.size > 0
        per_row = 4 * self.arity + 2 + 2 * self.counts[0].itemsize + 4 * is_chained
        self._account(per_row * (capacity - self.capacity))
        try:
            if self._directory.is_updating or 4 * capacity >= HUGE:
                self.columns = [self._moved(column, capacity) for column in self.columns]
                self.counts = [self._moved(count, capacity) for count in self.counts]
                self.labels = self._moved(self.labels, capacity)
                self.chain = self._moved(self.chain, capacity) if is_chained else NONE
            else:
                self._move_together(capacity, per_row)
        finally:
            self.describe()  # where memory ends halfway, some arrays have moved already

    def _move_together(self, capacity: int, per_row: int) -> None:
        """Move all arrays into one: each alone would be too small for huge pages."""
        capacity += -capacity % 4  # counts of 64 bits begin at multiples of 8
        whole = zeros(capacity * per_row, np.uint8)
        end = 0
        moved = []
        chained = [self.chain] if self.chain.size else []
        for array in (*self.counts, *self.columns, *chained, self.labels):
            begin, end = end, end + capacity * array.itemsize
            moved.append(whole[begin:end].view(array.dtype))
            moved[-1][: self.rows] = array[: self.rows]
        columns = moved[2 : 2 + self.arity]
        self.counts, self.columns, self.labels = moved[:2], columns, moved[-1]
        self.chain = moved[-2] if chained else NONE

    def _moved(self, array: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
        """Return the array with more room, all zero: no mark, no derivation.

        A fresh array has huge pages, one that `resize` extends has not; but it is not copied.
        """
        if self._directory.is_updating and capacity > self.capacity and array.base is None:
            array.resize(capacity, refcheck=False)
            return array
        moved = np.zeros(capacity, array.dtype)
        moved[: self.rows] = array[: self.rows]
        return moved

    def promote_counts(self) -> None:
        """Turn both counts into 64-bit integers, because one is about to overflow."""
        if self.is_wide:
            raise too_many_derivations(self.predicate.name)
        self._account(8 * self.capacity)
        self.counts = [count.astype(np.int64) for count in self.counts]
        self.describe()

    def trim(self) -> None:
        """Give back the room for growth."""
        n = self.rows
        self.lanes.trim()
        self._resize(n)
        for index in self.indexes:
            index.trim(self)
        self.segments.trim(self)
        self.describe()

    def keep_first(self, rows: int) -> None:
        """Forget all rows but the first ones, and give their room back."""
        self.descriptor[memory.ROWS] = rows
        self.lanes.trim()
        self._resize(rows)
        for index in self.indexes:
            index.restart()
        self.segments.divide(self, self.segments.by, rows)
        self.changes += 1
        self.describe()

    def index(self, columns: tuple[int, ...]) -> Index:
        """Return the index on these key columns, made on first use."""
        for index in self.indexes:
            if index.columns == columns:
                return index
        index = Index(columns, len(self.indexes), self.arity, self._account)
        self.indexes.append(index)
        self.describe()
        return index

    def access(self, bound: tuple[int, ...]) -> Access:
        """Return how facts are found whose `bound` columns are known."""
        if len(bound) == self.arity:
            return Access(plan.MEMBER)
        if not bound:
            return Access(plan.SCAN_ALL)
        if self.view is not None:
            if not self.view.can_read_by(bound[0]):
                return Access(plan.SCAN_ALL)
            self.describe()
        return Access(plan.PROBE, bound, self.index(bound))

    def distinct(self, column: int) -> float:
        """Return about how many constants stand in a column, from a sample.

        The GEE estimate: a constant seen once stands for sqrt(rows / sample) others.
        """
        step = max(1, self.rows // SAMPLE)
        sample = self.columns[column][: self.rows : step]
        _, seen = np.unique(sample, return_counts=True)
        once = int((seen == 1).sum())
        if once == seen.size:
            return float(self.rows)
        return float(once * np.sqrt(self.rows / sample.size) + (seen.size - once))

    def set_delta(self, delta: Ids, *, negated: bool = False, listed: int = 0) -> None:
        """Let scans of the delta read these rows; others read so many facts of the view."""
        self._deltas[negated] = delta
        self._listed[negated] = listed
        at = memory.NEGATED_DELTA if negated else memory.DELTA
        self.descriptor[at] = delta.ctypes.data
        self.descriptor[at + 1] = delta.size

    def take_touched(self) -> Ids:
        """Return the rows touched since the last call, and forget them."""
        return self.lanes.take(self.labels)[0]

    def find(self, columns: Sequence[Ids] | npt.NDArray[np.uint32], size: int) -> Ids:
        """Return the row of each fact, NULL where it is not stored."""
        block = np.ascontiguousarray(columns, np.uint32).reshape(self.arity, size)
        found = np.empty(size, np.uint32)
        find.find_all(self.descriptor, block, size, found)
        return found
