"""Evaluate a fact set by what the driver knows of cells, without a job."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.settle import settle as settle_rows
from stratalog.engine.shared.set_algebra import is_labels
from stratalog.engine.spark.batch import NO_ROWS, Cells, Part, SparkBatch
from stratalog.engine.spark.segments import Key, Member, Segment
from stratalog.facts.sets import Batch, FactSet, Meet, Minus, Over, Union
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from stratalog.engine.spark.facts import Facts
    from stratalog.engine.spark.overlay import Overlay


class NotWholeCellsError(Exception):
    """A set cuts through cells: its facts must be fetched."""


class Settling:
    """Evaluates sets over cells and rows of the overlay."""

    def __init__(self, facts: Facts, overlay: Overlay) -> None:
        self._facts = facts
        self._overlay = overlay

    def settle(self, described: FactSet) -> SparkBatch:
        """Return the facts that a set stands for, or raise if they are not whole cells."""
        match described:
            case SparkBatch():
                return described
            case Over(predicates):
                return self._scan(predicates, None)
            case Meet(Over(predicates), labels) | Meet(labels, Over(predicates)) if is_labels(
                labels
            ):
                return self._scan(predicates, labels)
            case Union(left, right):
                return self._union(self.settle(left), self.settle(right))
            case Meet(left, right):
                return self._kept(self.settle(left), right, wanted=True)
            case Minus(left, right):
                return self._kept(self.settle(left), right, wanted=False)
        raise NotWholeCellsError

    def _scan(self, predicates: Iterable[Predicate], labels: FactSet | None) -> SparkBatch:
        facts = self._facts
        numbers = {facts.number(p) for p in predicates if facts.is_known(p)}
        if labels is None:
            is_member: Member = lambda number, _: number in numbers  # noqa: E731
        else:
            is_member = facts.member(labels, numbers)
        cells = {
            segment: chosen
            for table in facts.tables.values()
            for segment in table.segments
            if (chosen := segment.chosen(is_member))
        }
        return SparkBatch(cells)

    def _union(self, left: SparkBatch, right: SparkBatch) -> SparkBatch:
        cells = dict(left.cells)
        for segment, keys in right.cells.items():
            cells[segment] = cells.get(segment, frozenset()) | keys
        parts = [p for p in (*left.parts, *right.parts) if p.key not in cells.get(p.segment, ())]
        if len({(part.segment, part.key) for part in parts}) < len(parts):
            raise NotWholeCellsError
        local = settle_rows(self._overlay, left.local | right.local)
        return SparkBatch(cells, tuple(parts), local)

    def _kept(self, batch: SparkBatch, described: FactSet, *, wanted: bool) -> SparkBatch:
        if is_labels(described):
            return self._by_label(batch, described, wanted=wanted)
        other = self.settle(described)
        if other.parts or any(p.key in other.cells.get(p.segment, ()) for p in batch.parts):
            raise NotWholeCellsError
        cells = {s: _compared(k, other.cells.get(s), wanted) for s, k in batch.cells.items()}
        local = batch.local & other.local if wanted else batch.local - other.local
        parts = () if wanted else batch.parts
        return SparkBatch(_filled(cells), parts, settle_rows(self._overlay, local))

    def _by_label(self, batch: SparkBatch, described: FactSet, *, wanted: bool) -> SparkBatch:
        is_member = self._facts.member(described)

        def is_kept(segment: Segment, key: Key) -> bool:
            return is_member(key.predicate, segment.labels[key]) == wanted

        cells = {s: frozenset(k for k in keys if is_kept(s, k)) for s, keys in batch.cells.items()}
        parts: tuple[Part, ...] = tuple(p for p in batch.parts if is_kept(p.segment, p.key))
        local = batch.local & described if wanted else batch.local - described
        rows = settle_rows(self._overlay, local) if batch.local else NO_ROWS
        return SparkBatch(_filled(cells), parts, rows)


def _compared(keys: frozenset[Key], others: frozenset[Key] | None, wanted: bool) -> frozenset[Key]:
    others = others or frozenset()
    return keys & others if wanted else keys - others


def _filled(cells: dict[Segment, frozenset[Key]]) -> Cells:
    return {segment: keys for segment, keys in cells.items() if keys}


def with_rows(described: FactSet, rows: Callable[[Batch], ColumnarBatch]) -> FactSet:
    """Return the set as the overlay reads it: batches are its rows."""
    match described:
        case Batch():
            return rows(described)
        case Union(left, right):
            return Union(with_rows(left, rows), with_rows(right, rows))
        case Meet(left, right):
            return Meet(with_rows(left, rows), with_rows(right, rows))
        case Minus(left, right):
            return Minus(with_rows(left, rows), with_rows(right, rows))
    return described


def scanned(described: FactSet) -> Iterable[tuple[Over, FactSet | None]]:
    """Yield the parts of a set that are all facts of some predicates, or those of some labels."""
    match described:
        case Over():
            yield described, None
        case Meet(Over() as over, labels) | Meet(labels, Over() as over) if is_labels(labels):
            yield over, labels
        case Union(left, right):
            yield from scanned(left)
            yield from scanned(right)
        case Meet(left, right) | Minus(left, right):
            yield from scanned(left)
            if not is_labels(right):
                yield from scanned(right)


def checked(batch: Batch) -> SparkBatch:
    """Return a batch of this engine."""
    if isinstance(batch, ColumnarBatch):
        return SparkBatch(local=batch)
    if not isinstance(batch, SparkBatch):
        raise TypeError(f"a {type(batch).__name__} of another engine")
    return batch
