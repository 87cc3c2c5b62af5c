"""Statements over views: the joins of all versions of some rules, shape by shape."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from stratalog.engine.spark.rules.joins import Given, Joined, Tables
from stratalog.engine.spark.rules.orders import BROADCAST, Extents, join_steps, outside_steps
from stratalog.engine.spark.rules.shapes import Read, Row, Shape, Wanted, shape_of
from stratalog.engine.spark.rules.sources import Reading, Source
from stratalog.engine.spark.rules.tables import Tabled
from stratalog.engine.spark.rules.units import BINDINGS
from stratalog.engine.spark.rules.views import Views
from stratalog.lang.syntax import Predicate, Variable
from stratalog.plan.delta import Role

BINDINGS_NUMBER = -1

Shaped = dict[Shape, list[Row]]


class Statements:
    """Writes the joins of one call: every source is asked for, and named, once."""

    def __init__(
        self, tabled: Tabled, number: Callable[[Predicate], int], views: Views, reading: Reading
    ) -> None:
        self._tabled = tabled
        self._number = number
        self._views = views
        self._reading = reading
        self._named: dict[Source, str] = {}
        self._wide: dict[tuple[Role, int], Source] = {}
        self._sizes: dict[Source, int] = {}

    def number(self, predicate: Predicate) -> int:
        """Return the number of a predicate; bindings, which are no facts, share one."""
        return BINDINGS_NUMBER if predicate.name == BINDINGS else self._number(predicate)

    def joins(
        self, versions: Iterable[Wanted], *, keep: bool = False
    ) -> list[tuple[Shape, Joined]]:
        """Return a join for each shape of the versions that can have instances.

        Shapes may be kept for the next call if all versions are those of rules as they are, and
        their heads are asked for.
        """
        shaped: Shaped = {}
        for version in versions:
            shape, row = self._tabled.shape(version, self.number, keep=keep)
            if self._can_match(shape, row):
                shaped.setdefault(shape, []).append(row)
        self._widen(shaped)
        return [(shape, self._join(shape, rows)) for shape, rows in shaped.items()]

    def join_from(self, given: Given, wanted: Wanted, variables: Sequence[Variable]) -> Joined:
        """Return bindings of the variables without those that a negated atom forbids."""
        shape, row = shape_of(wanted, self.number, self._tabled.constant, variables)
        absent = _sources(shape.absent, [row.absent])
        extents = Extents(given.rows, (), tuple(map(self._size, absent)), ())
        tables = Tables(row, (), tuple(map(self._view, absent)))
        return Joined(shape, tables, outside_steps(shape, extents), given)

    def rows_read(self) -> int:
        """Return about how many facts all sources have that were asked for by now."""
        return sum(map(self._size, self._named))

    def _can_match(self, shape: Shape, row: Row) -> bool:
        """Return whether every atom has facts to match."""
        return all(map(self._size, _sources(shape.reads, [row.reads])))

    def _widen(self, shaped: Shaped) -> None:
        """Let shapes share what they read in one role and arity, if that is small.

        Then it is read, named and sent to all once, not once for each set of predicates.
        """
        predicates: defaultdict[tuple[Role, int], set[int]] = defaultdict(set)
        for shape, rows in shaped.items():
            for source in _all_sources(shape, rows):
                predicates[source.role, source.arity] |= source.predicates
        self._wide = {key: Source(*key, frozenset(of)) for key, of in predicates.items()}

    def _join(self, shape: Shape, rows: list[Row]) -> Joined:
        reads = _sources(shape.reads, [row.reads for row in rows])
        absent = _sources(shape.absent, [row.absent for row in rows])
        extents = Extents(
            len(rows),
            tuple(map(self._size, reads)),
            tuple(map(self._size, absent)),
            _repeats(shape, rows),
        )
        table = self._views.add(self._tabled.table(rows)) if len(rows) > 1 else rows[0]
        tables = Tables(table, tuple(map(self._view, reads)), tuple(map(self._view, absent)))
        return Joined(shape, tables, join_steps(shape, extents))

    def _size(self, source: Source) -> int:
        if source not in self._sizes:
            self._sizes[source] = self._reading.sizes(source)
        return self._sizes[source]

    def _view(self, source: Source) -> str:
        wide = self._wide.get((source.role, source.arity), source)
        is_shared = source.predicates <= wide.predicates and self._size(wide) <= BROADCAST
        chosen = wide if is_shared else source
        if chosen not in self._named:
            self._named[chosen] = self._views.add(self._reading.sources(chosen))
        return self._named[chosen]


def _all_sources(shape: Shape, rows: Sequence[Row]) -> list[Source]:
    return [
        *_sources(shape.reads, [row.reads for row in rows]),
        *_sources(shape.absent, [row.absent for row in rows]),
    ]


def _sources(reads: Sequence[Read], predicates: Sequence[Sequence[int]]) -> list[Source]:
    """Return what each atom of a shape reads."""
    return [
        Source(read.role, len(read.args), frozenset(row[place] for row in predicates))
        for place, read in enumerate(reads)
    ]


def _repeats(shape: Shape, rows: Sequence[Row]) -> tuple[int, ...]:
    """Return how many rows a fact can match at most, per atom."""
    found = []
    for place, read in enumerate(shape.reads):
        constants = [-code - 1 for code in read.args if code < 0]
        keys = Counter((row.reads[place], *(row.constants[c] for c in constants)) for row in rows)
        found.append(max(keys.values()))
    return tuple(found)
