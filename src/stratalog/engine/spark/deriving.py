"""What rules derive, entered: into new segments when it is much, into the overlay in updates.

Candidates are added up by fact and joined to what is known of them in the same action.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from stratalog.engine.spark.batch import NOTHING, Part, SparkBatch
from stratalog.engine.spark.facts import Facts, Tally, integers
from stratalog.engine.spark.overlay import ABSENT, Overlay, States
from stratalog.engine.spark.segments import Contribution, Key, Table, columns, width_of
from stratalog.facts.counts import Count
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stratalog.engine.columnar.relation import Ids
    from stratalog.engine.spark.cuts import Written
    from stratalog.engine.spark.overlay import Integers
    from stratalog.engine.spark.reading import Reader

    Head = tuple[Predicate, Ids, Integers]
    """Rows of a predicate in the overlay, and how many instances derive each."""

SUM_OF_COUNTS = "sum(n) AS n"
BY_HASH, BY_SORTING = "SHUFFLE_HASH", "MERGE"  # hints: how candidates and known facts meet
TOO_MANY = "not enough memory to build hash map"  # what Spark says of candidates of one task


class Change(NamedTuple):
    """What an instance does to a count of its head."""

    of: Count | None
    lower: bool = False


class Derived(NamedTuple):
    """A batch, and how many instances derived the facts of each predicate."""

    batch: SparkBatch
    derivations: dict[int, int]


class Deriving:
    """Enters what rules derive."""

    def __init__(self, facts: Facts, overlay: Overlay) -> None:
        self._facts = facts
        self._overlay = overlay
        self._lookup = BY_HASH

    # -- in segments

    def in_segments(
        self, heads: Mapping[int, DataFrame], numbers: set[int], reader: Reader, change: Change
    ) -> Derived:
        """Write what is derived: new facts become cells without a mark, all count."""
        parts: list[SparkBatch] = []
        derivations: dict[int, int] = defaultdict(int)
        for width, text in self.candidates(heads, reader).items():
            table = self._facts.table(width)
            known = table.select(lambda p, _: p in numbers, ", {number} AS s, w")
            found = self._enter(table, self._compared(width, text, known), change)
            parts.append(found.batch)
            for number, n in found.derivations.items():
                derivations[number] += n
        cells = {s: keys for part in parts for s, keys in part.cells.items()}
        return Derived(SparkBatch(cells, tuple(p for b in parts for p in b.parts)), derivations)

    def candidates(self, heads: Mapping[int, DataFrame], reader: Reader) -> dict[int, str]:
        """Return statements for the distinct heads with their derivations, by width."""
        parts: dict[int, list[str]] = defaultdict(list)
        for arity, frame in heads.items():
            width = width_of(arity)
            view = reader.named(frame)
            padded = "".join(f", 0L AS c{i}" for i in range(arity, width))
            given = "".join(f", c{i}" for i in range(arity))
            parts[width].append(f"SELECT p{given}{padded}, n FROM {view}")  # noqa: S608
        most = self._facts.work.partitions
        return {
            width: f"SELECT {columns(width)}, {SUM_OF_COUNTS} FROM (SELECT /*+ COALESCE({most}) */"  # noqa: S608
            f" * FROM ({' UNION ALL '.join(texts)})) GROUP BY {columns(width)}"
            for width, texts in parts.items()
        }

    def _compared(self, width: int, text: str, known: list[str]) -> tuple[Written, Tally]:
        """Write candidates with the segments that know them.

        A task looks facts up among its candidates; if it cannot hold these, both are sorted.
        """
        try:
            return self._written(width, text, known)
        except Exception as error:
            if self._lookup == BY_SORTING or TOO_MANY not in str(error):
                raise
        self._lookup = BY_SORTING
        return self._written(width, text, known)

    def _written(self, width: int, text: str, known: list[str]) -> tuple[Written, Tally]:
        joined = _joined(width, text, known, ("s", "w"), self._lookup)
        return self._facts.write(self._facts.work.sql(joined))

    def _enter(self, table: Table, compared: tuple[Written, Tally], change: Change) -> Derived:
        kept, tally = compared
        if not kept.rows:
            kept.free()
            return Derived(NOTHING, {})
        new = {Key(p): rows for (p, s, _), (rows, _) in tally.items() if s is None}
        key = columns(table.width)
        batch = NOTHING
        counts = _counts(change)
        if new:
            body = f"SELECT {key}, 0 AS w, {counts} FROM {kept.view} WHERE s IS NULL"  # noqa: S608
            batch = SparkBatch({table.add(kept, body, new): frozenset(new)})
        known = frozenset(p for p, s, _ in tally if s is not None)
        if known and change.of is not None:
            body = f"SELECT {key}, {counts} FROM {kept.view} WHERE s IS NOT NULL"  # noqa: S608
            table.contributions.append(Contribution(kept, body, known))
        by_number = {segment.number: segment for segment in table.segments}
        old = tuple(
            Part(table, by_number[s], Key(p, w or 0), rows, kept.view)
            for (p, s, w), (rows, _) in tally.items()
            if s is not None
        )
        if not new and change.of is None:
            table.held.append(kept)  # a batch may be asked for its rows
        derivations: dict[int, int] = defaultdict(int)
        for (p, _, _), (_, n) in tally.items():
            derivations[p] += n
        return Derived(SparkBatch(batch.cells, old), derivations)

    # -- in the overlay

    def in_overlay(
        self, heads: Mapping[int, DataFrame], numbers: set[int], reader: Reader, change: Change
    ) -> Derived:
        """Fetch what is derived, with what segments say of it, and count it in the overlay."""
        texts = {
            width: self.with_states(width, text, numbers, "n")
            for width, text in self.candidates(heads, reader).items()
        }
        found = self.entered(self.fetched(texts, "n"), ("n",))
        rows = ((each.predicate, self._overlay.enter(each), n) for each, (n,) in found)
        return self.counted(rows, change)

    def counted(self, heads: Iterable[Head], change: Change) -> Derived:
        """Count the instances of heads in the overlay, which come once per predicate."""
        changes: dict[int, tuple[Ids, Integers]] = {}
        derivations: dict[int, int] = {}
        sign = -1 if change.lower else 1
        for predicate, rows, n in heads:
            changes[self._overlay.relation(predicate).number] = rows, sign * n
            derivations[self._facts.number(predicate)] = int(n.sum())
        if change.of is not None:
            self._overlay.add_to_counts(changes, change.of)
        found = self._overlay.united((number, rows) for number, (rows, _) in changes.items())
        return Derived(SparkBatch(local=found), derivations)

    def together(self, parts: Sequence[Derived]) -> Derived:
        """Return as one what several ways have entered into the overlay."""
        if len(parts) == 1:
            return parts[0]
        rows = (item for part in parts for item in part.batch.local.rows.items())
        derivations: Counter[int] = Counter()
        for part in parts:
            derivations.update(part.derivations)
        return Derived(SparkBatch(local=self._overlay.united(rows)), derivations)

    def with_states(
        self,
        width: int,
        text: str,
        numbers: Iterable[int],
        *others: str,
        apart: frozenset[int] = frozenset(),
    ) -> str:
        """Return a statement for facts together with what segments say of them.

        None of the facts is in a segment that is not divided and has only the predicates `apart`.
        """
        wanted = set(numbers)
        table = self._facts.table(width)
        segments = [s for s in table.segments if not s.is_apart(apart)]
        known = table.select(
            lambda p, _: p in wanted, ", {label} AS label, nr, r", segments=segments
        )
        return _joined(width, text, known, ("label", "nr", "r"), BY_HASH, others)

    def fetched(self, texts: Mapping[int, str], *others: str) -> pa.Table | None:
        """Return the rows of statements for several widths, fetched in one action."""
        if not texts:
            return None
        widest = max(texts)
        parts = []
        for width, text in texts.items():
            padded = "".join(f", 0L AS c{i}" for i in range(width, widest))
            names = ", ".join(["label", "nr", "r", *others])
            parts.append(f"SELECT {columns(width)}{padded}, {names} FROM ({text})")  # noqa: S608
        return self._facts.work.fetched(self._facts.work.sql(" UNION ALL ".join(parts)))

    def entered(
        self, found: pa.Table | None, others: tuple[str, ...] = ()
    ) -> Iterator[tuple[States, list[Integers]]]:
        """Yield fetched facts by predicate, with the columns of these names."""
        if found is None or not found.num_rows:
            return
        numbers = integers(found, "p")
        order = np.argsort(numbers, kind="stable")
        sizes = np.unique(numbers, return_counts=True)
        width = sum(name.startswith("c") for name in found.column_names)
        constants = [integers(found, f"c{i}").astype(np.uint32)[order] for i in range(width)]
        states = [integers(found, name)[order] for name in ("label", "nr", "r")]
        more = [integers(found, name)[order] for name in others]
        end = 0
        for number, size in zip(*(each.tolist() for each in sizes), strict=True):
            begin, end = end, end + size
            predicate = self._facts.predicates[number]
            given = [column[begin:end] for column in constants[: predicate.arity]]
            label, nr, r = (each[begin:end] for each in states)
            absent = label == ABSENT
            counts = (np.where(absent, 0, each) for each in (nr, r))
            yield States(predicate, given, label, *counts), [each[begin:end] for each in more]


def _counts(change: Change) -> str:
    """Return the expressions for what instances do to both counts."""
    n = "-n" if change.lower else "n"
    nr, r = (n if count is change.of else "0L" for count in Count)
    return f"{nr} AS nr, {r} AS r"


def _joined(
    width: int,
    text: str,
    known: list[str],
    states: tuple[str, ...],
    lookup: str,
    others: tuple[str, ...] = ("n",),
) -> str:
    """Return the statement for candidates with what segments say of them, nothing if new.

    Candidates are the smaller side, and both are divided by fact: what is known stays in its place.
    """
    key = columns(width).split(", ")
    kept = ", ".join(f"h.{name}" for name in (*key, *others))
    if not known:
        absent = ", ".join(f"CAST(NULL AS INT) AS {name}" for name in states)
        return f"SELECT {kept}, {absent} FROM ({text}) h"  # noqa: S608
    on = " AND ".join(f"k.{name} = h.{name}" for name in key)
    told = ", ".join(f"k.{name}" for name in states)
    return (
        f"SELECT /*+ {lookup}(h) */ {kept}, {told}"  # noqa: S608
        f" FROM ({' UNION ALL '.join(known)}) k RIGHT JOIN ({text}) h ON {on}"
    )
