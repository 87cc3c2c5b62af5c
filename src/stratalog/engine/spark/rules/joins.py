"""The text of a shape's join: the shape's table, then one atom after the other.

A statement is nested: each step selects all columns so far and those that its atom binds. Variables
are called v0, v1, ..., the columns of the table rule, h (the head's predicate), p0, p1, ... and q0,
q1, ... (predicates of atoms and negated atoms) and k1, k2, ... (constants). A shape of a single
version has no table: its row is written into the text.
"""

# ruff: noqa: S608  # statements hold only names and numbers of our own

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stratalog.engine.spark.rules.orders import Step
from stratalog.engine.spark.rules.shapes import Codes, Read, Row, Shape
from stratalog.plan.delta import Role

NOTHING = "SELECT 1 AS one"


class Tables(NamedTuple):
    """The names of the views that a shape reads."""

    rows: str | Row  # the shape's own table, or its only row
    reads: tuple[str, ...]
    absent: tuple[str, ...]


class Given(NamedTuple):
    """A view of bindings to begin with: columns v0, v1, ... of known variables, and n."""

    table: str
    known: frozenset[int]
    rows: int  # about how many


class Joined:
    """A join that is written: its instances can be asked for in several forms."""

    def __init__(
        self, shape: Shape, tables: Tables, steps: Iterable[Step], given: Given | None = None
    ) -> None:
        self._shape = shape
        self._written = _written(tables.rows) if isinstance(tables.rows, Row) else {}
        self._known = set(given.known) if given else set()
        self._count = "l.n" if given else "1L"
        self._narrowing: str | None = None
        start = given.table if given else tables.rows if isinstance(tables.rows, str) else None
        text = None if start is None else f"SELECT * FROM {start}"
        for step in steps:
            if step.absent:
                text = self._outside(text or NOTHING, step, tables.absent[step.atom])
            else:
                text = self._joined(text, step, tables.reads[step.atom])
        self._text = text or NOTHING

    def heads(self, width: int = 0) -> str:
        """Return a query for p, c0, ..., n and rule; beyond the head's columns are nulls."""
        columns = self._filled(self._shape.output, width)
        named = [f"{self._column('h')} AS p", *columns, f"{self._count} AS n"]
        named.append(f"{self._column('rule')} AS rule")
        return f"SELECT {', '.join(named)} FROM ({self._text}) l"

    def bindings(self) -> str:
        """Return a query for all columns of the join."""
        return self._text

    def atoms(self, width: int, limit: int | None) -> str:
        """Return a query for part, p, c0, ...: the atoms of instances, those of a delta in part 0.

        With a limit only so many instances of each rule and fact in a delta give their atoms; the
        next one gives that fact in part 2.
        """
        starts = [i for i, read in enumerate(self._shape.reads) if read.role is Role.DELTA]
        parts = [
            self._struct(0 if i in starts else 1, i, width) for i in range(len(self._shape.reads))
        ]
        if limit is None:
            return f"SELECT inline(array({', '.join(parts)})) FROM ({self._text}) l"
        keys = {f"l.v{c}" for i in starts for c in self._shape.reads[i].args if c >= 0}
        keys.add(self._column("rule"))
        by = ", ".join(sorted(keys))
        text = (
            f"SELECT l.*, row_number() OVER (PARTITION BY {by} ORDER BY {by}) AS place"
            f" FROM ({self._text}) l"
        )
        beyond = ", ".join(self._struct(2, i, width) for i in starts)
        shown = f"IF(l.place > {limit}, array({beyond}), array({', '.join(parts)}))"
        return f"SELECT inline({shown}) FROM ({text}) l WHERE l.place <= {limit + 1}"

    def _joined(self, text: str | None, step: Step, table: str) -> str:
        new, conditions = self._matched(self._shape.reads[step.atom])
        conditions.insert(0, f"a.p = {self._column(f'p{step.atom}')}")
        columns = "".join(f", a.c{place} AS v{variable}" for variable, place in new.items())
        self._known.update(new)
        on = " AND ".join(conditions)
        if text is None:
            return f"{NOTHING}{columns} FROM {table} a WHERE {on}"
        return f"SELECT {step.hint} l.*{columns} FROM ({text}) l JOIN {table} a ON {on}"

    def _outside(self, text: str, step: Step, table: str) -> str:
        args = self._shape.absent[step.atom].args
        conditions = [f"a.p = {self._column(f'q{step.atom}')}"]
        conditions += [f"a.c{i} = {self._argument(code)}" for i, code in enumerate(args)]
        on = " AND ".join(conditions)
        if step.narrowed:
            # All that are narrowed are so by the same bindings: texts that grow by each other
            # would double with every negated atom.
            self._narrowing = self._narrowing or text
            met = f"FROM {table} a LEFT SEMI JOIN ({self._narrowing}) l ON {on}"
            table = f"(SELECT /*+ BROADCAST(l) */ a.* {met})"
        return f"SELECT {step.hint} l.* FROM ({text}) l LEFT ANTI JOIN {table} a ON {on}"

    def _matched(self, read: Read) -> tuple[dict[int, int], list[str]]:
        """Return the columns of the variables that an atom binds, and what it must fulfil."""
        new: dict[int, int] = {}
        conditions = []
        for place, code in enumerate(read.args):
            if code in new:
                conditions.append(f"a.c{place} = a.c{new[code]}")
            elif code < 0 or code in self._known:
                conditions.append(f"a.c{place} = {self._argument(code)}")
            else:
                new[code] = place
        return new, conditions

    def _struct(self, part: int, atom: int, width: int) -> str:
        args = self._shape.reads[atom].args
        columns = [f"{part} AS part", f"{self._column(f'p{atom}')} AS p"]
        return f"struct({', '.join(columns + self._filled(args, width))})"

    def _filled(self, args: Codes, width: int) -> list[str]:
        columns = [f"{self._argument(code)} AS c{i}" for i, code in enumerate(args)]
        return columns + [f"CAST(NULL AS BIGINT) AS c{i}" for i in range(len(args), width)]

    def _argument(self, code: int) -> str:
        return self._column(f"k{-code}") if code < 0 else f"l.v{code}"

    def _column(self, name: str) -> str:
        return self._written.get(name, f"l.{name}")


def columns_of(row: Row) -> dict[str, int]:
    """Return the numbers in a row of a shape's table, by column."""
    columns = {"rule": row.rule, "h": row.head}
    columns |= {f"p{i}": predicate for i, predicate in enumerate(row.reads)}
    return columns | {f"q{j}": predicate for j, predicate in enumerate(row.absent)}


def constants_of(row: Row) -> dict[str, int]:
    """Return the constants of a row, by column."""
    return {f"k{n}": constant for n, constant in enumerate(row.constants, 1)}


def _written(row: Row) -> Mapping[str, str]:
    """Return what stands in the text instead of the columns of a table of one row."""
    numbers = {name: str(value) for name, value in columns_of(row).items()}
    return numbers | {name: f"{value}L" for name, value in constants_of(row).items()}
