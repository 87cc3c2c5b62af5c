"""Which pairs are the edges of a closure: facts, of one relation or several, with a count.

The same pair may be a fact of several relations, read in their directions: it is an edge as long
as one of them has it. A constant is related to itself as long as some edge begins, or ends, there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from stratalog.closure.edges import Columns
from stratalog.engine.columnar.relation import NONE, Ids, Relation
from stratalog.kernels import memory

Flags = npt.NDArray[np.bool_]


class EdgeRows:
    """The rows of relations that are edges."""

    def __init__(
        self, relations: Sequence[Relation], sides: Sequence[bool], *, sources: bool, targets: bool
    ) -> None:
        self._relations = relations
        self._sides = sides  # whether both columns of a relation are exchanged
        self._flags: list[Flags] = [np.zeros(0, np.bool_) for _ in relations]
        self._degrees = [np.zeros(0, np.int64) if wanted else None for wanted in (sources, targets)]
        self._before: list[tuple[int, Ids, Flags]] = []
        self._moved: tuple[Columns, Columns] | None = None

    def start(self, rows: Mapping[int, Ids]) -> None:
        """Make rows, by number of their relation, edges, before there are any."""
        for place, relation in enumerate(self._relations):
            self._have_room(place)
            self._flags[place][rows.get(relation.number, NONE)] = True

    def spell(self) -> Columns:
        """Return all edges, and count them anew by their constants."""
        self._degrees = [None if d is None else np.zeros(0, np.int64) for d in self._degrees]
        parts = [
            turned(_columns(relation, np.flatnonzero(flags).astype(np.uint32)), is_turned=side)
            for relation, flags, side in zip(self._relations, self._flags, self._sides, strict=True)
        ]
        edges = parts[0] if len(parts) == 1 else _distinct(parts)
        return self._with_loops((NONE, NONE), edges)[1]

    def follow(self, rows: Mapping[int, Ids]) -> tuple[Columns, Columns]:
        """Let rows be edges if they have a count; return the edges that go and that come."""
        self._before = []
        if len(self._relations) == 1:
            mine = rows.get(self._relations[0].number, NONE)
            was, now = self._flip(0, mine)
            lost, gained = (
                turned(_columns(self._relations[0], chosen), is_turned=self._sides[0])
                for chosen in (mine[was & ~now], mine[now & ~was])
            )
        else:
            lost, gained = self._follow_all(rows)
        return self._with_loops(lost, gained)

    def _follow_all(self, rows: Mapping[int, Ids]) -> tuple[Columns, Columns]:
        pairs = _distinct(
            [
                turned(_columns(relation, rows.get(relation.number, NONE)), is_turned=side)
                for relation, side in zip(self._relations, self._sides, strict=True)
            ]
        )
        was, now = np.zeros((2, pairs[0].size), np.bool_)
        for place, (relation, side) in enumerate(zip(self._relations, self._sides, strict=True)):
            found = relation.find(list(turned(pairs, is_turned=side)), pairs[0].size)
            stored = found != np.uint32(memory.NULL)
            before, after = self._flip(place, found[stored])
            was[stored] |= before
            now[stored] |= after
        gone, new = was & ~now, now & ~was
        return (pairs[0][gone], pairs[1][gone]), (pairs[0][new], pairs[1][new])

    def _flip(self, place: int, rows: Ids) -> tuple[Flags, Flags]:
        """Let rows of one relation be edges if they have a count; return what they were and are."""
        self._have_room(place)
        flags = self._flags[place]
        was, now = flags[rows], self._relations[place].counts[0][rows] > 0
        flags[rows] = now
        self._before.append((place, rows, was))
        return was, now

    def _have_room(self, place: int) -> None:
        flags, rows = self._flags[place], self._relations[place].rows
        if flags.size < rows:
            self._flags[place] = np.zeros(rows + rows // 2, np.bool_)
            self._flags[place][: flags.size] = flags

    def take_back(self) -> None:
        """Make the rows edges that were before the last call of `follow`."""
        for place, rows, was in self._before:
            self._flags[place][rows] = was
        if self._moved is not None:
            lost, gained = self._moved
            self._count(gained, lost)
        self._before, self._moved = [], None

    # -- constants that are related to themselves

    def _with_loops(self, lost: Columns, gained: Columns) -> tuple[Columns, Columns]:
        """Return edges that go and come with those from constants to themselves."""
        self._moved = None
        if all(degrees is None for degrees in self._degrees):
            return lost, gained
        self._moved = lost, gained
        ends = np.unique(np.concatenate([*lost, *gained]))
        was = self._count((NONE, NONE), (NONE, NONE), ends)
        now = self._count(lost, gained, ends)
        return (
            _joined(_without_loops(lost), ends[was & ~now]),
            _joined(_without_loops(gained), ends[now & ~was]),
        )

    def _count(self, lost: Columns, gained: Columns, ends: Ids = NONE) -> Flags:
        """Count edges by their constants; return which of some have any."""
        has_any = np.zeros(ends.size, np.bool_)
        most = max((int(part.max()) + 1 for part in (*lost, *gained, ends) if part.size), default=0)
        for column, known in enumerate(self._degrees):
            if known is None:
                continue
            degrees = known
            if known.size < most:
                degrees = np.concatenate([known, np.zeros(most, np.int64)])
                self._degrees[column] = degrees
            np.subtract.at(degrees, lost[column], 1)
            np.add.at(degrees, gained[column], 1)
            has_any |= degrees[ends] > 0
        return has_any


def turned(edges: Columns, *, is_turned: bool) -> Columns:
    """Return edges with both columns exchanged, if that is asked for."""
    return (edges[1], edges[0]) if is_turned else edges


def _columns(relation: Relation, rows: Ids) -> Columns:
    first, second = relation.columns
    return first[rows], second[rows]


def _distinct(parts: Sequence[Columns]) -> Columns:
    packed = [part[0].astype(np.uint64) << np.uint64(32) | part[1] for part in parts]
    found = np.unique(np.concatenate(packed))
    return (found >> np.uint64(32)).astype(np.uint32), found.astype(np.uint32)


def _without_loops(edges: Columns) -> Columns:
    between = edges[0] != edges[1]
    return edges[0][between], edges[1][between]


def _joined(edges: Columns, loops: Ids) -> Columns:
    return np.concatenate([edges[0], loops]), np.concatenate([edges[1], loops])
