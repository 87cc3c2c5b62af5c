"""Polars driven by the same seminaïve loop: joins, unique, anti-joins, on one thread.

The version of atom i reads earlier recursive atoms from the old facts, atom i from the new ones
and later ones from all. Polars joins in the order that it is given: the new facts first, then
atoms that share most variables with those before them, the smaller relation first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import polars as pl

from stratalog.lang.syntax import Atom, Predicate, Variable
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog_bench.systems.base import System, refuse_beyond_positive
from stratalog_bench.systems.sql import columns_of
from stratalog_bench.workloads.inputs import Input

Engine = Literal["streaming", "in-memory"]


class PolarsLoop(System):
    """Data frames, and lazy queries over them."""

    engine: ClassVar[Engine] = "streaming"  # it holds no whole intermediate result

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        refuse_beyond_positive(self.plan)
        self.arrays = {
            predicate: given.columns(relation, as_values=True)
            for predicate, relation in given.predicates().items()
        }
        self.all: dict[Predicate, pl.DataFrame] = {}
        self.old: dict[Predicate, pl.DataFrame] = {}
        self.new: dict[Predicate, pl.DataFrame] = {}

    def load(self) -> None:
        for predicate in self.predicates():
            names = columns_of(predicate)
            if predicate in self.arrays:
                columns = dict(zip(names, self.arrays[predicate], strict=True))
                self.all[predicate] = pl.DataFrame(columns)
            else:
                self.all[predicate] = pl.DataFrame(schema=dict.fromkeys(names, pl.UInt32))

    def reason(self) -> None:
        for stratum in self.plan.strata:
            self._nonrecursive(stratum)
            if stratum.recursive:
                self._recursive(stratum)

    def count(self, predicate: Predicate) -> int:
        return self.all[predicate].height

    def _nonrecursive(self, stratum: Stratum) -> None:
        for head in sorted({rule.head.predicate for rule in stratum.nonrecursive}):
            rules = [rule for rule in stratum.nonrecursive if rule.head.predicate == head]
            queries = [
                self.query(rule, [self.all[atom.predicate] for atom in rule.body], 0)
                for rule in rules
            ]
            self.all[head] = pl.concat([self.all[head], self._unknown(head, queries)])

    def _recursive(self, stratum: Stratum) -> None:
        heads = sorted({rule.head.predicate for rule in stratum.recursive})
        self.new = {head: self.all[head] for head in heads}
        self.old = {head: self.all[head].clear() for head in heads}
        while any(self.new[head].height for head in heads):
            found = {head: self._round(head, stratum.recursive) for head in heads}
            for head in heads:
                self.old[head], self.new[head] = self.all[head], found[head]
                self.all[head] = pl.concat([self.all[head], found[head]])
        self.old, self.new = {}, {}

    def _round(self, head: Predicate, rules: Sequence[PlannedRule]) -> pl.DataFrame:
        queries = [
            self.query(rule, self._sources(rule, start), start)
            for rule in rules
            if rule.head.predicate == head
            for start, atom in enumerate(rule.body)
            if atom.predicate in self.new and self.new[atom.predicate].height
        ]
        return self._unknown(head, queries) if queries else self.all[head].clear()

    def _sources(self, rule: PlannedRule, start: int) -> list[pl.DataFrame]:
        found = []
        for place, atom in enumerate(rule.body):
            is_old = place < start and atom.predicate in self.old
            before = self.old if is_old else self.all
            found.append((self.new if place == start else before)[atom.predicate])
        return found

    def _unknown(self, head: Predicate, queries: list[pl.LazyFrame]) -> pl.DataFrame:
        found = pl.concat(queries).unique()
        if self.all[head].height:
            names = columns_of(head)
            found = found.join(self.all[head].lazy(), on=names, how="anti")
        return found.collect(engine=self.engine)

    def query(self, rule: PlannedRule, sources: Sequence[pl.DataFrame], start: int) -> pl.LazyFrame:
        """Return the heads of all instances whose body atoms are in these frames."""
        first, *rest = _ordered(rule.body, sources, start)
        joined, bound = self._matches(rule.body[first], sources[first])
        for place in rest:
            more, variables = self._matches(rule.body[place], sources[place])
            shared = sorted(bound & variables)
            bound |= variables
            if shared:
                joined = joined.join(more, on=shared, how="inner")
            else:
                joined = joined.join(more, how="cross")
        return joined.select(
            (
                pl.col(_name(arg))
                if isinstance(arg, Variable)
                else pl.lit(self.given.number_of(arg), pl.UInt32)
            ).alias(f"c{place}")
            for place, arg in enumerate(rule.head.args)
        )

    def _matches(self, atom: Atom, source: pl.DataFrame) -> tuple[pl.LazyFrame, set[str]]:
        """Return the facts that match an atom, their columns named like its variables."""
        names: dict[str, str] = {}
        frame = source.lazy()
        for place, arg in enumerate(atom.args):
            column = pl.col(f"c{place}")
            if not isinstance(arg, Variable):
                frame = frame.filter(column == self.given.number_of(arg))
            elif _name(arg) in names:
                frame = frame.filter(column == pl.col(names[_name(arg)]))
            else:
                names[_name(arg)] = f"c{place}"
        return frame.select(pl.col(old).alias(new) for new, old in names.items()), set(names)


def _name(variable: Variable) -> str:
    return f"v_{variable.name}"


class PolarsMemoryLoop(PolarsLoop):
    """The same by Polars's usual engine."""

    engine: ClassVar[Engine] = "in-memory"


def _ordered(body: Sequence[Atom], sources: Sequence[pl.DataFrame], start: int) -> list[int]:
    """Return the atoms in the order in which they are joined."""
    order = [start]
    while len(order) < len(body):
        bound = {arg for place in order for arg in body[place].args if isinstance(arg, Variable)}

        def cost(place: int, bound: set[Variable] = bound) -> tuple[int, int]:
            shared = sum(arg in bound for arg in body[place].args if isinstance(arg, Variable))
            return -shared, sources[place].height

        order.append(min((p for p in range(len(body)) if p not in order), key=cost))
    return order
