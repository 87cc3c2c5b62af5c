"""Rules evaluated from their heads, and groups of aggregates recomputed, for updates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.spark.batch import NO_ROWS, SparkBatch
from stratalog.engine.spark.deriving import Deriving
from stratalog.engine.spark.facts import Facts, arrow_rows
from stratalog.engine.spark.nearby import Nearby
from stratalog.engine.spark.overlay import Overlay
from stratalog.engine.spark.reading import Reader, deltas
from stratalog.engine.spark.rules.backward import from_head
from stratalog.engine.spark.segments import columns, width_of
from stratalog.facts.sets import FactSet, Over
from stratalog.plan.rules import PlannedRule

if TYPE_CHECKING:
    from stratalog.engine.columnar.relation import Ids
    from stratalog.engine.spark.rules.rules import Rules

DERIVED, BODY, UNFINISHED = 0, 1, 2  # what a row of `Rules.bodies` says of its fact


class Backward:
    """Evaluates rules backwards; what is found enters the overlay."""

    def __init__(
        self, facts: Facts, overlay: Overlay, deriving: Deriving, rules: Rules, nearby: Nearby
    ) -> None:
        self._nearby = nearby
        self._facts = facts
        self._overlay = overlay
        self._deriving = deriving
        self._rules = rules

    def bodies_of(
        self,
        rules: Sequence[PlannedRule],
        heads: ColumnarBatch,
        within: tuple[FactSet, FactSet],
        wanted: FactSet,
        limit: int | None,
    ) -> tuple[ColumnarBatch, ColumnarBatch, ColumnarBatch]:
        """Return the heads that are derived, facts of bodies, and heads that may have more."""
        met = self._deriving_any(rules, heads)
        starts = [from_head(rule) for rule in met]
        meanings = deltas(*within, SparkBatch(local=heads), None)
        near, far = self._nearby.divided(starts, meanings)
        derived, bodies = self._nearby.proved(near, meanings) if near else (NO_ROWS, NO_ROWS)
        others = {id(version) for version in far}
        joined = [rule for rule, start in zip(met, starts, strict=True) if id(start) in others]
        found = self._joined(joined, heads, within, wanted, limit)
        return self._both(derived, found[0]), self._both(bodies, found[1]), found[2]

    def _both(self, some: ColumnarBatch, others: ColumnarBatch) -> ColumnarBatch:
        return self._overlay.united((*some.rows.items(), *others.rows.items()))

    def _joined(
        self,
        met: Sequence[PlannedRule],
        heads: ColumnarBatch,
        within: tuple[FactSet, FactSet],
        wanted: FactSet,
        limit: int | None,
    ) -> tuple[ColumnarBatch, ColumnarBatch, ColumnarBatch]:
        """Return the same of rules whose instances Spark joins."""
        if not met:
            return NO_ROWS, NO_ROWS, NO_ROWS
        with Reader(self._facts, self._overlay, deltas(*within, None, None)).closed() as reader:
            frames = {
                arity: reader.frame(pa.concat_tables(tables))
                for arity, tables in self._tables(heads).items()
            }
            frame = self._rules.bodies(met, frames, reader.reading, len(heads), limit)
            if frame is None:
                return NO_ROWS, NO_ROWS, NO_ROWS
            is_asked = not (isinstance(wanted, Over) and not wanted.predicates)
            predicates = {rule.head.predicate for rule in met}
            if is_asked:
                predicates |= {atom.predicate for rule in met for atom in rule.body}
            where = "true" if is_asked else f"part <> {BODY}"
            view = reader.named(frame)
            numbers = {self._facts.number(p) for p in predicates}
            parts = [(f"(SELECT * FROM {view} WHERE {where})", "part", numbers)]  # noqa: S608
            found = self._fetched(parts)
        return found[DERIVED], found[BODY], found[UNFINISHED]

    def _deriving_any(
        self, rules: Sequence[PlannedRule], heads: ColumnarBatch
    ) -> list[PlannedRule]:
        wanted = {relation.predicate for relation, _ in self._overlay.parts(heads)}
        return [r for r in rules if r.grouping is None and r.head.predicate in wanted]

    def _tables(self, batch: ColumnarBatch) -> dict[int, list[pa.Table]]:
        """Return rows of the overlay as tables, by arity."""
        found: dict[int, list[pa.Table]] = defaultdict(list)
        for relation, rows in self._overlay.parts(batch):
            given = [column[rows] for column in relation.columns]
            number = self._facts.number(relation.predicate)
            found[relation.arity].append(arrow_rows(number, given, rows.size, relation.arity))
        return found

    def _fetched(self, parts: Iterable[tuple[str, str, set[int]]]) -> list[ColumnarBatch]:
        """Enter the facts of several statements; return those of parts 0, 1 and 2.

        Each statement comes with the expression for the part and the numbers of its predicates.
        """
        by_width: dict[int, list[str]] = defaultdict(list)
        numbers: set[int] = set()
        for text, part, of in parts:
            numbers |= of
            widths: dict[int, set[int]] = defaultdict(set)
            for number in of:
                widths[width_of(self._facts.predicates[number].arity)].add(number)
            for width, some in widths.items():
                by_width[width] += self._padded(text, part, width, some)
        texts = {}
        for width, rows in by_width.items():
            key = columns(width)
            grouped = (
                f"SELECT {key}, bit_or(part) AS part FROM ({' UNION ALL '.join(rows)})"  # noqa: S608
                f" GROUP BY {key}"
            )
            texts[width] = self._deriving.with_states(width, grouped, numbers, "part")
        return self._parts(self._deriving.fetched(texts, "part"))

    def _padded(self, text: str, part: str, width: int, numbers: set[int]) -> Iterable[str]:
        """Yield statements for rows of one width, by arity."""
        by_arity: dict[int, list[int]] = defaultdict(list)
        for number in sorted(numbers):
            by_arity[self._facts.predicates[number].arity].append(number)
        for arity, some in by_arity.items():
            given = "".join(f", c{i}" for i in range(arity))
            padded = "".join(f", 0L AS c{i}" for i in range(arity, width))
            among = ", ".join(map(str, some))
            yield (
                f"SELECT p{given}{padded}, CAST(shiftleft(1, {part}) AS INT) AS part"  # noqa: S608
                f" FROM {text} WHERE p IN ({among})"
            )

    def _parts(self, found: pa.Table | None) -> list[ColumnarBatch]:
        rows: list[list[tuple[int, Ids]]] = [[], [], []]
        for states, (masks,) in self._deriving.entered(found, ("part",)):
            number = self._overlay.relation(states.predicate).number
            at = self._overlay.enter(states)
            for part, some in enumerate(rows):
                some.append((number, at[(masks >> part & 1).astype(np.bool_)]))
        return [self._overlay.united(some) for some in rows]

    def regroup(
        self,
        rules: Sequence[PlannedRule],
        old: FactSet,
        new: FactSet,
        lost: ColumnarBatch,
        gained: ColumnarBatch,
    ) -> tuple[ColumnarBatch, ColumnarBatch]:
        """Return the facts of touched groups before, and from now on."""
        minus, plus = SparkBatch(local=lost), SparkBatch(local=gained)
        with (
            Reader(self._facts, self._overlay, deltas(old, old, minus, plus)).closed() as before,
            Reader(self._facts, self._overlay, deltas(new, new, plus, minus)).closed() as after,
        ):
            found = self._rules.groups(rules, before.reading, after.reading)
            numbers: dict[int, set[int]] = defaultdict(set)
            for rule in rules:
                predicate = rule.head.predicate
                numbers[predicate.arity].add(self._facts.number(predicate))
            parts = [
                (after.named(frame), str(part), numbers[arity])
                for arity, frames in found.items()
                for part, frame in enumerate(frames)
            ]
            then, now, _ = self._fetched(parts)
        return then, now
