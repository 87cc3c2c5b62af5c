"""The facts that live in Spark: loaded, derived, compacted; which cells a fact set stands for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stratalog.engine.shared.set_tables import SetTables
from stratalog.engine.spark.cuts import Written
from stratalog.engine.spark.overlay import Mask, States
from stratalog.engine.spark.segments import (
    Contribution,
    Key,
    Member,
    Segment,
    Table,
    columns,
    width_of,
)
from stratalog.engine.spark.spool import Spool
from stratalog.engine.values.expressions import distinct_rows
from stratalog.facts.labels import E
from stratalog.facts.sets import FactSet
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stratalog.engine.spark.session import Work

Ids = npt.NDArray[np.uint32]
Tally = dict[tuple[int, int | None, int | None], tuple[int, int]]
"""Rows and derivations by predicate and, of known facts, segment and word."""

GROWTH = 3  # facts after reasoning per explicit fact, about
KEPT = 4  # a segment with this part of all facts is not written again for some of them
MOST_SEGMENTS = sized(10, 3)  # of a table: each is read by every statement


class Facts:
    """Tables of facts, by width; predicates by number."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.tables: dict[int, Table] = {}
        self.sets = SetTables()
        self.predicates: list[Predicate] = []
        self._numbers: dict[Predicate, int] = {}
        self._dropped: set[Predicate] = set()
        self._waiting: dict[int, list[Sequence[Ids]]] = defaultdict(list)  # explicit, by predicate
        self._saved: dict[int, list[pa.Table]] = defaultdict(list)  # with marks and counts
        self._spool = Spool(work)

    def number(self, predicate: Predicate) -> int:
        """Return the number of a predicate, given when it is first met."""
        number = self._numbers.get(predicate)
        if number is None:
            number = self._numbers[predicate] = len(self.predicates)
            self.predicates.append(predicate)
        self._dropped.discard(predicate)
        return number

    def is_known(self, predicate: Predicate) -> bool:
        """Return whether a predicate has a number."""
        return predicate in self._numbers

    def known(self) -> list[Predicate]:
        """Return all predicates that were met, and not dropped since."""
        return [p for p in self.predicates if p not in self._dropped]

    def drop(self, predicates: Iterable[Predicate]) -> None:
        """Forget all facts of predicates."""
        gone = {self.number(p) for p in predicates}
        self._dropped.update(self.predicates[number] for number in gone)
        for table in self.tables.values():
            for segment in table.segments:
                for key in [key for key in segment.labels if key.predicate in gone]:
                    del segment.labels[key]
            table.drop([s for s in table.segments if not s.labels])
            table.let_go()

    def close(self) -> None:
        """Forget all facts."""
        for table in self.tables.values():
            table.drop([*table.segments, *table.contributions])
            table.let_go()
        self.tables = {}
        self.let_go()

    def table(self, width: int) -> Table:
        """Return the table of a width."""
        return self.tables.setdefault(width, Table(width))

    def table_of(self, number: int) -> Table:
        """Return the table that a predicate's facts are in."""
        return self.table(width_of(self.predicates[number].arity))

    # -- which cells

    def member(self, described: FactSet, among: Iterable[int] | None = None) -> Member:
        """Return what tells whether facts of a predicate and a label word are in a set."""
        chosen = None if among is None else frozenset(among)

        def is_member(number: int, label: int) -> bool:
            if chosen is not None and number not in chosen:
                return False
            return bool(self.sets.table(described, self.predicates[number])[label])

        return is_member

    def size(self, number: int, described: FactSet) -> int:
        """Return how many facts of a predicate are in a set of labels."""
        is_member = self.sets.table(described, self.predicates[number])
        return sum(
            segment.rows[key]
            for segment in self.table_of(number).segments
            for key in segment.cells_of(number)
            if is_member[segment.labels[key]]
        )

    def rows(self, number: int) -> int:
        """Return how many facts of a predicate there are."""
        segments = self.table_of(number).segments
        return sum(s.rows[key] for s in segments for key in s.cells_of(number))

    def present(self) -> set[Predicate]:
        """Return the predicates that have facts."""
        segments = (s for table in self.tables.values() for s in table.segments)
        return {self.predicates[key.predicate] for s in segments for key in s.labels}

    def stored(self) -> int:
        """Return how many facts there are, with or without a mark."""
        segments = (s for table in self.tables.values() for s in table.segments)
        return sum(s.count(s.labels) for s in segments)

    # -- in

    def load(self, predicate: Predicate, given: Sequence[Ids], size: int) -> None:
        """Take explicit facts, which wait until somebody asks for any."""
        number = self.number(predicate)
        if size:
            self._waiting[number].append(given)

    def restore(self, states: States) -> None:
        """Take facts with marks and counts, which wait until somebody asks for any."""
        if states.words.size:
            self.number(states.predicate)
            self._saved[width_of(states.predicate.arity)].append(self._stated_rows(states))
        self.number(states.predicate)

    def _stated_rows(self, states: States) -> pa.Table:
        width, size = width_of(states.predicate.arity), states.words.size
        table = arrow_rows(self.number(states.predicate), states.columns, size, width)
        table = table.append_column("w", pa.array(states.words.astype(np.int32)))
        for name, count in (("nr", states.nonrecursive), ("r", states.recursive)):
            table = table.append_column(name, pa.array(np.asarray(count).astype(np.int64)))
        return table

    @property
    def is_waiting(self) -> bool:
        """Whether facts were given that Spark does not have yet."""
        return bool(self._waiting or self._saved)

    def take_in(self) -> None:
        """Give Spark the facts that wait: one segment per table, and one of those with counts."""
        waiting = self._take_waiting()
        saved, self._saved = self._saved, defaultdict(list)
        tables = [t for parts in (*waiting.values(), *saved.values()) for t in parts]
        if not self.tables:
            self.work.expect(GROWTH * sum(table.num_rows for table in tables))
        for width, parts in waiting.items():
            self._load(width, parts)
        for width, parts in saved.items():
            self._load_states(width, parts)
        self.let_go()

    def _take_waiting(self) -> dict[int, list[pa.Table]]:
        """Return the explicit facts that wait, by width, each once."""
        waiting, self._waiting = self._waiting, defaultdict(list)
        found = defaultdict(list)
        for number, given in waiting.items():
            width = width_of(self.predicates[number].arity)
            facts = _distinct(given)
            size = facts[0].size if facts else 1
            found[width].append(arrow_rows(number, facts, size, width))
        return found

    def _load(self, width: int, tables: list[pa.Table]) -> None:
        rows = sum(table.num_rows for table in tables)
        with self.work.described(f"loading {rows:,} facts"):
            self._handed_over(width, tables, rows, 1, 1 << E.bit)

    def _handed_over(
        self, width: int, tables: list[pa.Table], rows: int, nr: int, label: int
    ) -> Segment:
        """Return a new segment of rows of the driver, all with one count and one label word."""
        frame = self._spool.frame(tables, tables[0].schema, rows)
        key = columns(width)
        hint = f"/*+ REPARTITION({self.work.partitions}, {key}) */"
        divided = f"SELECT * FROM (SELECT {hint} {key} FROM {{rows}}) SORT BY p"  # noqa: S608
        frame = self.work.spark.sql(divided, rows=frame)
        kept, tally = self.write(frame, "NULL", "NULL", "1L")
        body = f"SELECT {key}, 0 AS w, {nr}L AS nr, 0L AS r FROM {kept.view}"  # noqa: S608
        found = {Key(number): count for (number, _, _), (count, _) in tally.items()}
        return self.table(width).add(kept, body, found, label)

    def add_new(self, predicate: Predicate, given: Sequence[Ids], size: int) -> Segment:
        """Return a new segment of facts that nobody knows, without marks and counts."""
        width = width_of(predicate.arity)
        rows = arrow_rows(self.number(predicate), given, size, width)
        with self.work.described(f"taking in {size:,} facts of {predicate.name}"):
            made = self._handed_over(width, [rows], size, 0, 0)
        self.let_go()
        return made

    def _load_states(self, width: int, tables: list[pa.Table], others: str = "") -> None:
        """Write facts with marks and counts, and those that another statement gives."""
        rows = sum(table.num_rows for table in tables)
        frame = self._spool.frame(tables, tables[0].schema, rows)
        key = columns(width)
        hint = f"/*+ REPARTITION({self.work.partitions}, {key}) */"
        given = f"SELECT {hint} {key}, w, nr, r FROM {{rows}}"  # noqa: S608
        with self.work.described(f"loading {rows:,} facts"):
            text = f"{given} UNION ALL {others}" if others else given
            text = f"SELECT * FROM ({text}) SORT BY p"  # noqa: S608
            self._add_stated(self.table(width), self.work.spark.sql(text, rows=frame))

    def _add_stated(self, table: Table, frame: DataFrame) -> Segment:
        """Return a new segment of rows that have label words and counts."""
        kept, tally = self.write(frame, "NULL", "w", "0L")
        found = {Key(p, w or 0): rows for (p, _, w), (rows, _) in tally.items()}
        body = f"SELECT {columns(table.width)}, w, nr, r FROM {kept.view}"  # noqa: S608
        made = table.add(kept, body, found)
        made.labels.update({cell: cell.word for cell in found})
        return made

    def replace(self, states: Iterable[tuple[States, Mask]]) -> None:
        """Make segments of facts as the overlay has them; what segments say of them goes."""
        given: dict[int, list[pa.Table]] = defaultdict(list)
        gone: dict[int, list[pa.Table]] = defaultdict(list)
        for state, is_there in states:
            width = width_of(state.predicate.arity)
            table = self._stated_rows(state)
            kept = (state.words != 0) | (state.nonrecursive != 0) | (state.recursive != 0)
            given[width].append(table.filter(pa.array(kept)))
            gone[width].append(table.filter(pa.array(is_there)))
        with self.named(gone) as names:
            for width, parts in given.items():
                self._replace_rows(self.table(width), parts, names[width])

    def _replace_rows(self, table: Table, given: list[pa.Table], gone: str) -> None:
        before = list(table.segments)
        key = columns(table.width)
        others = ""
        if before:
            stored = " UNION ALL ".join(_stated(table.width, s, s.labels) for s in before)
            on = " AND ".join(f"a.{name} = x.{name}" for name in key.split(", "))
            others = (
                f"SELECT /*+ SHUFFLE_HASH(x) */ a.* FROM ({stored}) a"  # noqa: S608
                f" LEFT ANTI JOIN {gone} x ON {on}"
            )
        self._load_states(table.width, given, others)
        table.drop(before)

    def write(
        self, frame: DataFrame, segment: str = "s", word: str = "w", n: str = "n"
    ) -> tuple[Written, Tally]:
        """Write rows down and return them, with rows and derivations by cell: one action."""
        kept = Written(self.work, frame)
        text = (
            f"SELECT p, s, w, count(*) AS rows, sum(n) AS n FROM (SELECT p,"  # noqa: S608
            f" CAST({segment} AS INT) AS s, CAST({word} AS INT) AS w, {n} AS n FROM {kept.view})"
            " GROUP BY p, s, w"
        )
        try:
            found = kept.summarised(text).to_pylist()
            kept.check(sum(row["rows"] for row in found))
        except BaseException:
            kept.free()
            raise
        return kept, {(row["p"], row["s"], row["w"]): (row["rows"], row["n"]) for row in found}

    def local(self, table: pa.Table) -> DataFrame:
        """Return rows of the driver as a DataFrame."""
        return self._spool.frame([table], table.schema, table.num_rows)

    @contextmanager
    def named(self, tables: Mapping[int, list[pa.Table]]) -> Iterator[dict[int, str]]:
        """Give names to rows of the driver, by width, for a while."""
        names = {width: f"stratalog_given_{width}" for width in tables}
        try:
            for width, parts in tables.items():
                self.local(pa.concat_tables(parts)).createOrReplaceTempView(names[width])
            yield names
        finally:
            for name in names.values():
                self.work.spark.catalog.dropTempView(name)
            self.let_go()

    def let_go(self) -> None:
        """Remove what was handed over, once Spark has read it."""
        self._spool.clear()

    # -- compaction

    def compact_counts(self) -> None:
        """Write facts again whose counts are sums, with the contributions to them."""
        for table in self.tables.values():
            if table.contributions:
                self._compact(table)

    def merge(self, apart: Iterable[Segment]) -> None:
        """Make fewer segments of tables with many; those that are in use stay apart."""
        kept = {id(segment) for segment in apart}
        for table in self.tables.values():
            if len(table.segments) > MOST_SEGMENTS:
                self._merge_segments(table, kept)
            if len(table.contributions) > MOST_SEGMENTS:
                self._merge_contributions(table)

    def _compact(self, table: Table) -> None:
        predicates = frozenset().union(*(c.predicates for c in table.contributions))
        cells = {s: _written_again(s, predicates, table) for s in table.segments}
        parts = [_stated(table.width, s, some) for s, some in cells.items() if some]
        key = columns(table.width)
        parts += [
            f"SELECT {key}, 0 AS w, nr, r FROM ({c.body}) {c.written.view}"  # noqa: S608
            for c in table.contributions
        ]
        text = (
            f"SELECT {key}, max(w) AS w, sum(nr) AS nr, sum(r) AS r"  # noqa: S608
            f" FROM ({' UNION ALL '.join(parts)}) GROUP BY {key} SORT BY p"
        )
        with self.work.described("adding up derivations"):
            self._replace(table, cells, text, table.contributions)

    def _merge_segments(self, table: Table, apart: set[int]) -> None:
        free = [s for s in table.segments if id(s) not in apart]
        segments = free[_first_of_tail([s.written.rows for s in free]) :]
        if len(segments) <= 1:  # nearly all are in use: nothing would become fewer
            return
        with self.work.described("merging facts of several rounds"):
            self._write_again(table, segments)

    def divide(self, apart: frozenset[int]) -> None:
        """Divide facts as statements do that look for them: some were written as they came.

        Those of some predicates stay as they are: nobody looks for them.
        """
        for table in self.tables.values():
            undivided = [s for s in table.segments if not s.is_divided and not s.is_apart(apart)]
            if undivided:
                with self.work.described("dividing facts anew"):
                    self._write_again(table, undivided)

    def _write_again(self, table: Table, segments: Sequence[Segment]) -> None:
        """Write one segment in place of several."""
        parts = " UNION ALL ".join(_stated(table.width, s, s.labels) for s in segments)
        hint = ""
        if not all(segment.is_divided for segment in segments):
            hint = f"/*+ REPARTITION({self.work.partitions}, {columns(table.width)}) */ "
        text = f"SELECT * FROM (SELECT {hint}* FROM ({parts})) SORT BY p"  # noqa: S608
        self._replace(table, {s: list(s.labels) for s in segments}, text)

    def _replace(
        self,
        table: Table,
        cells: Mapping[Segment, Sequence[Key]],
        text: str,
        gone: Iterable[Contribution] = (),
    ) -> None:
        """Write a segment that takes the place of cells, and check that it has their facts."""
        made = self._add_stated(table, self.work.sql(text))
        made.written.check(sum(segment.count(keys) for segment, keys in cells.items()))
        whole = [segment for segment, keys in cells.items() if len(keys) == len(segment.labels)]
        for segment in cells.keys() - set(whole):
            segment.leave(cells[segment])
        table.drop([*whole, *gone])
        table.segments.sort(key=lambda segment: -segment.written.rows)  # the last ones are small

    def _merge_contributions(self, table: Table) -> None:
        begin = _first_of_tail([c.written.rows for c in table.contributions])
        merged = table.contributions[begin:]
        key = columns(table.width)
        parts = " UNION ALL ".join(c.body for c in merged)
        text = f"SELECT {key}, sum(nr) AS nr, sum(r) AS r FROM ({parts}) GROUP BY {key}"  # noqa: S608
        with self.work.described("adding up derivations of several rounds"):
            kept, _ = self.write(self.work.sql(text), "NULL", "NULL", "0L")
        body = f"SELECT {key}, nr, r FROM {kept.view}"  # noqa: S608
        table.drop(merged)
        predicates = frozenset().union(*(c.predicates for c in merged))
        table.contributions.append(Contribution(kept, body, predicates))
        table.contributions.sort(key=lambda each: -each.written.rows)


def _first_of_tail(sizes: Sequence[int]) -> int:
    """Return where the last ones begin that are merged: half of them, and not much smaller ones."""
    begin = len(sizes) // 2
    while begin and sizes[begin - 1] < 2 * sum(sizes[begin:]):
        begin -= 1
    return begin


def _written_again(segment: Segment, predicates: frozenset[int], table: Table) -> list[Key]:
    """Return the cells whose counts are sums, and all of a segment that would keep few others."""
    sums = [key for key in segment.labels if key.predicate in predicates]
    others = segment.count(segment.labels) - segment.count(sums)
    is_large = others * KEPT >= sum(s.count(s.labels) for s in table.segments)
    return sums if is_large else list(segment.labels)


def _stated(width: int, segment: Segment, cells: Iterable[Key]) -> str:
    """Return the statement for facts of a segment with their label words as they are now."""
    chosen = list(cells)
    label = segment.label(chosen)
    key = columns(width)
    where = segment.where(chosen)
    name = segment.written.view
    return f"SELECT {key}, {label} AS w, nr, r FROM ({segment.body}) {name} WHERE {where}"  # noqa: S608


def _distinct(given: Sequence[Sequence[Ids]]) -> list[Ids]:
    """Return facts once that were given in several parts: the driver is quicker than Spark."""
    facts = [np.concatenate(column) for column in zip(*given, strict=True)]
    match facts:
        case []:
            return []
        case [only]:
            return [np.unique(only)]
        case [first, second]:
            words = np.unique(first.astype(np.uint64) << np.uint64(32) | second)
            return [(words >> np.uint64(32)).astype(np.uint32), words.astype(np.uint32)]
        case _:
            chosen, _ = distinct_rows(facts)
            return [column[chosen] for column in facts]


def arrow_rows(number: int, given: Sequence[Ids], size: int, width: int) -> pa.Table:
    """Return facts as rows of a table."""
    arrays: dict[str, Any] = {"p": pa.array(np.full(size, number, np.int32))}
    for place in range(width):
        column = given[place] if place < len(given) else np.zeros(size, np.int64)
        arrays[f"c{place}"] = pa.array(np.asarray(column).astype(np.int64))
    return pa.table(arrays)


def ids(table: pa.Table, name: str) -> Ids:
    """Return a column of constants."""
    found: Ids = table.column(name).to_numpy().astype(np.uint32)
    return found


def integers(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """Return a column of integers, -1 where there is none."""
    column = table.column(name).fill_null(-1)
    found: npt.NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return found
