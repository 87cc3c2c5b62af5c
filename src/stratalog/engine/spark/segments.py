"""Facts in Spark: segments of rows that never change, and what each of their cells is marked with.

All relations of up to two arguments share a table of rows (p, c0, c1), and those of each greater
arity have one. A *cell* of a segment are the facts of one predicate, and of one label word at the
time when they were written. The label word of a cell is kept here, in the driver: to mark whole
cells costs no job. Every fact is in one cell only. A new fact is written with its derivations; to
those of known facts each `apply` adds *contributions*, and nothing that is known is written again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stratalog.engine.spark.cuts import Written

NARROWEST = 2
WORDS = 1 << 12  # label words


class Key(NamedTuple):
    """A cell of a segment: a predicate, and the label word when it was written."""

    predicate: int
    word: int = 0


Member = Callable[[int, int], bool]
"""Tells of a predicate and a label word whether such facts are meant."""


def width_of(arity: int) -> int:
    """Return how many columns of constants the rows of an arity have."""
    return max(NARROWEST, arity)


def columns(width: int) -> str:
    """Return the key columns of a table, as they are written in statements."""
    return ", ".join(["p", *(f"c{i}" for i in range(width))])


@dataclass(eq=False, slots=True)
class Segment:
    """Facts written together; `body` selects p, c0, ..., w, nr and r."""

    number: int
    written: Written
    body: str
    rows: Mapping[Key, int]
    labels: dict[Key, int] = field(default_factory=dict)
    is_divided: bool = True  # among partitions by all columns, or as rows came
    of_predicate: dict[int, list[Key]] = field(init=False)

    def __post_init__(self) -> None:
        self.of_predicate = defaultdict(list)
        for key in self.rows:
            self.of_predicate[key.predicate].append(key)

    def is_apart(self, predicates: frozenset[int]) -> bool:
        """Return whether rows are not divided, and of these predicates only."""
        return not self.is_divided and self.of_predicate.keys() <= predicates

    def cells_of(self, predicate: int) -> list[Key]:
        """Return the cells of a predicate."""
        return [key for key in self.of_predicate.get(predicate, ()) if key in self.labels]

    def chosen(self, is_member: Member) -> frozenset[Key]:
        """Return the cells whose facts are meant."""
        return frozenset(k for k, label in self.labels.items() if is_member(k.predicate, label))

    def where(self, cells: Iterable[Key]) -> str:
        """Return the condition for rows of these cells."""
        wanted = set(cells)
        if wanted == self.rows.keys():
            return "true"
        if not wanted:
            return "false"
        predicates = {key.predicate for key in wanted}
        if {key for key in self.rows if key.predicate in predicates} == wanted:
            return f"p IN ({_listed(predicates)})"
        words = {key.word for key in wanted}
        if {key for key in self.rows if key.word in words} == wanted:
            return f"w IN ({_listed(words)})"
        codes = (key.predicate * WORDS + key.word for key in wanted)
        return f"p * {WORDS} + w IN ({_listed(codes)})"

    def label(self, cells: Iterable[Key]) -> str:
        """Return the expression for the label word of a row of these cells."""
        by_label: dict[int, list[Key]] = defaultdict(list)
        for key in cells:
            by_label[self.labels[key]].append(key)
        if len(by_label) == 1:
            return str(next(iter(by_label)))
        cases = (f"WHEN {self.where(keys)} THEN {label}" for label, keys in by_label.items())
        return f"CASE {' '.join(cases)} END"

    def change(self, cells: Iterable[Key], bits: int, *, is_set: bool) -> None:
        """Give cells a mark, or take it off."""
        for key in cells:
            word = self.labels[key]
            self.labels[key] = word | bits if is_set else word & ~bits

    def leave(self, cells: Iterable[Key]) -> None:
        """Let go of cells whose facts are elsewhere from now on."""
        for key in cells:
            del self.labels[key]

    def count(self, cells: Iterable[Key]) -> int:
        """Return how many facts these cells have."""
        return sum(self.rows[key] for key in cells)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(set(numbers))))


@dataclass(frozen=True, eq=False, slots=True)
class Contribution:
    """Derivations to add to counts of facts; `body` selects p, c0, ..., nr and r."""

    written: Written
    body: str
    predicates: frozenset[int]


@dataclass(eq=False, slots=True)
class Table:
    """All facts of some width."""

    width: int
    segments: list[Segment] = field(default_factory=list)
    contributions: list[Contribution] = field(default_factory=list)
    held: list[Written] = field(default_factory=list)  # of batches alone
    made: int = 0

    def add(
        self,
        written: Written,
        body: str,
        rows: Mapping[Key, int],
        label: int = 0,
        *,
        is_divided: bool = True,
    ) -> Segment:
        """Return a new segment, all of whose facts have one label word."""
        labels = dict.fromkeys(rows, label)
        segment = Segment(self.made, written, body, rows, labels, is_divided)
        self.made += 1
        self.segments.append(segment)
        return segment

    def select(
        self, is_member: Member, what: str = "", *, segments: Sequence[Segment] | None = None
    ) -> list[str]:
        """Return statements for the key columns of the facts that are meant, and for `what`.

        In `what`, `{label}` stands for a fact's label word and `{number}` for its segment.
        """
        return [
            f"SELECT {columns(self.width)}{self._filled(what, segment, cells)}"  # noqa: S608
            f" FROM ({segment.body}) {segment.written.view} WHERE {segment.where(cells)}"
            for segment in (self.segments if segments is None else segments)
            if (cells := segment.chosen(is_member))
        ]

    def _filled(self, what: str, segment: Segment, cells: Iterable[Key]) -> str:
        if "{label}" in what:
            what = what.replace("{label}", segment.label(cells))
        return what.replace("{number}", str(segment.number))

    def let_go(self) -> None:
        """Free what only batches of earlier calls have used."""
        while self.held:
            self.held.pop().free()

    def drop(self, parts: Iterable[Segment | Contribution]) -> None:
        """Let go of segments and contributions, and of what they alone have written."""
        gone = {id(part) for part in parts}
        before: list[Segment | Contribution] = [*self.segments, *self.contributions]
        self.segments = [s for s in self.segments if id(s) not in gone]
        self.contributions = [c for c in self.contributions if id(c) not in gone]
        used = {id(each.written) for each in self.segments}
        used |= {id(each.written) for each in self.contributions}
        unused = {id(p.written): p.written for p in before if id(p.written) not in used}
        for each in unused.values():
            each.free()
