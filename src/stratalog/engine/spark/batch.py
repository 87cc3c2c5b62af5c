"""Evaluated facts of the Spark engine: whole cells of segments, parts of cells, driver's rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import RLock
from weakref import WeakSet

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.spark.segments import Key, Segment, Table
from stratalog.facts.sets import Batch

Cells = Mapping[Segment, frozenset[Key]]

NO_ROWS = ColumnarBatch({})


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Some facts of a cell, found again by an `apply`: rows of what it has written."""

    table: Table
    segment: Segment
    key: Key
    rows: int
    view: str


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class SparkBatch(Batch):
    """Distinct facts: those of whole cells, of parts of other cells, and rows of the overlay."""

    cells: Cells = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    local: ColumnarBatch = NO_ROWS

    def __post_init__(self) -> None:
        if self.cells or self.parts:
            with _listing:
                _alive.add(self)

    def __len__(self) -> int:
        whole = sum(segment.count(keys) for segment, keys in self.cells.items())
        return whole + sum(part.rows for part in self.parts) + len(self.local)

    def __bool__(self) -> bool:
        return bool(self.cells or self.parts or self.local)


_alive: WeakSet[SparkBatch] = WeakSet()
_listing = RLock()  # several knowledge bases may be used at once, each in a thread

NOTHING = SparkBatch()


def in_use() -> set[Segment]:
    """Return the segments whose cells somebody has: they are not to be replaced by others."""
    with _listing:
        batches = list(_alive)
    found = {segment for batch in batches for segment in batch.cells}
    return found | {part.segment for batch in batches for part in batch.parts}
