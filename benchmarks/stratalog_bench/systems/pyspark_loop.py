"""PySpark driven by the straightforward seminaïve loop, as one writes it by hand.

In each round each rule is one query: its joins, without duplicates, without what is known by an
anti-join; what is left is persisted and counted, and united with the known facts. The version of
atom i reads earlier recursive atoms from the old facts, atom i from the new ones and later ones
from all. Joins are in the order of the other loops, chosen by size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from stratalog.lang.syntax import Argument, Atom, Predicate, Variable
from stratalog.pipeline import handover
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog_bench.systems.base import System, refuse_beyond_positive
from stratalog_bench.systems.sql import columns_of
from stratalog_bench.workloads.inputs import Input

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Relation(NamedTuple):
    """Facts in Spark, and how many they are."""

    frame: DataFrame
    rows: int


class PySparkLoop(System):
    """DataFrames of one session, one for the facts of each predicate."""

    def __init__(self, given: Input, spark: SparkSession) -> None:
        super().__init__(given)
        refuse_beyond_positive(self.plan)
        self.spark = spark
        self.all: dict[Predicate, Relation] = {}
        self.old: dict[Predicate, Relation] = {}
        self.new: dict[Predicate, Relation] = {}
        self.rounds = 0

    def load(self) -> None:
        for predicate in self.predicates():
            self.all[predicate] = self._nothing(predicate)
        for predicate, relation in self.given.predicates().items():
            columns = self.given.columns(relation, as_values=True)
            named = zip(columns_of(predicate), columns.astype("int64"), strict=True)
            table = pa.table(dict(named))
            self.all[predicate] = _kept(handover.to_spark(self.spark, table).distinct())

    def reason(self) -> None:
        for stratum in self.plan.strata:
            self._nonrecursive(stratum)
            if stratum.recursive:
                self._recursive(stratum)

    def count(self, predicate: Predicate) -> int:
        return self.all[predicate].rows

    def _nothing(self, predicate: Predicate) -> Relation:
        types = ", ".join(f"{name} BIGINT" for name in columns_of(predicate))
        return Relation(self.spark.createDataFrame([], types), 0)

    def _nonrecursive(self, stratum: Stratum) -> None:
        for rule in stratum.nonrecursive:
            sources = [self.all[atom.predicate] for atom in rule.body]
            self._add(rule.head.predicate, self._derived(rule, sources, 0, []))

    def _recursive(self, stratum: Stratum) -> None:
        heads = sorted({rule.head.predicate for rule in stratum.recursive})
        self.new = {head: self.all[head] for head in heads}
        self.old = {head: self._nothing(head) for head in heads}
        while any(self.new[head].rows for head in heads):
            self.rounds += 1
            found: dict[Predicate, list[Relation]] = {head: [] for head in heads}
            for rule in stratum.recursive:
                self._apply(rule, found[rule.head.predicate])
            for head in heads:
                self.old[head] = self.all[head]
                self.new[head] = reduce(_united, found[head], self._nothing(head))
                self._add(head, self.new[head])
        self.old, self.new = {}, {}

    def _apply(self, rule: PlannedRule, found: list[Relation]) -> None:
        """Add what a rule derives from new facts to what others of its head have found."""
        for start, atom in enumerate(rule.body):
            if atom.predicate in self.new:
                derived = self._derived(rule, self._sources(rule, start), start, found)
                if derived.rows:
                    found.append(derived)

    def _add(self, head: Predicate, found: Relation) -> None:
        self.all[head] = _united(self.all[head], found)

    def _sources(self, rule: PlannedRule, start: int) -> list[Relation]:
        found = []
        for place, atom in enumerate(rule.body):
            is_old = place < start and atom.predicate in self.old
            before = self.old if is_old else self.all
            found.append((self.new if place == start else before)[atom.predicate])
        return found

    def _derived(
        self,
        rule: PlannedRule,
        sources: Sequence[Relation],
        start: int,
        others: Sequence[Relation],
    ) -> Relation:
        """Return what a rule derives that is neither known nor found by other rules."""
        head = rule.head.predicate
        if not all(source.rows for source in sources):
            return self._nothing(head)
        known = reduce(_united, others, self.all[head])
        found = self._query(rule, sources, start).distinct()
        if known.rows:
            found = found.join(known.frame, columns_of(head), "left_anti")
        return _kept(found)

    def _query(self, rule: PlannedRule, sources: Sequence[Relation], start: int) -> DataFrame:
        """Return the heads of all instances whose body atoms are in these relations."""
        used = dict.fromkeys(a for atom in rule.body for a in atom.args if isinstance(a, Variable))
        names = {variable: f"v{number}" for number, variable in enumerate(used)}
        first, *rest = _ordered(rule.body, sources, start)
        joined = self._matches(rule.body[first], sources[first].frame, names)
        for place in rest:
            more = self._matches(rule.body[place], sources[place].frame, names)
            shared = sorted({*joined.columns} & {*more.columns})
            joined = joined.join(more, shared) if shared else joined.crossJoin(more)
        columns = zip(columns_of(rule.head.predicate), rule.head.args, strict=True)
        return joined.selectExpr(
            *(f"{self._spelled(arg, names)} AS {column}" for column, arg in columns)
        )

    def _spelled(self, arg: Argument, names: Mapping[Variable, str]) -> str:
        return names[arg] if isinstance(arg, Variable) else f"{self.given.number_of(arg)}L"

    def _matches(self, atom: Atom, frame: DataFrame, names: Mapping[Variable, str]) -> DataFrame:
        """Return the facts that match an atom, their columns named like its variables."""
        places: dict[Variable, str] = {}
        for column, arg in zip(columns_of(atom.predicate), atom.args, strict=True):
            if not isinstance(arg, Variable):
                frame = frame.where(f"{column} = {self._spelled(arg, names)}")
            elif arg in places:
                frame = frame.where(f"{column} = {places[arg]}")
            else:
                places[arg] = column
        return frame.selectExpr(*(f"{old} AS {names[new]}" for new, old in places.items()))


def _kept(frame: DataFrame) -> Relation:
    """Return the rows of a query, computed once and counted."""
    kept = frame.persist()
    return Relation(kept, kept.count())


def _united(known: Relation, found: Relation) -> Relation:
    """Return facts of both, which have none in common."""
    if not (known.rows and found.rows):
        return known if known.rows else found
    return Relation(known.frame.union(found.frame), known.rows + found.rows)


def _ordered(body: Sequence[Atom], sources: Sequence[Relation], start: int) -> list[int]:
    """Return the atoms in the order in which they are joined."""
    order = [start]
    while len(order) < len(body):
        bound = {arg for place in order for arg in body[place].args if isinstance(arg, Variable)}

        def cost(place: int, bound: set[Variable] = bound) -> tuple[int, int]:
            shared = sum(arg in bound for arg in body[place].args if isinstance(arg, Variable))
            return -shared, sources[place].rows

        order.append(min((p for p in range(len(body)) if p not in order), key=cost))
    return order
