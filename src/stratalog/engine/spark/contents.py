"""Facts in and out of the Spark engine: what segments and the overlay hold together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.closure.closure import TooLargeError
from stratalog.engine.spark.batch import SparkBatch
from stratalog.engine.spark.deriving import Deriving
from stratalog.engine.spark.facts import Facts, ids
from stratalog.engine.spark.fetching import STATES, Fetching
from stratalog.engine.spark.near import Encoded, Paths
from stratalog.engine.spark.overlay import ABSENT, UNTOLD, Integers, Overlay, States
from stratalog.engine.spark.reading import Meaning, Reader, deltas
from stratalog.engine.spark.rules.rules import Rules
from stratalog.engine.spark.rules.sources import Source
from stratalog.engine.spark.segments import width_of
from stratalog.engine.spark.session import Work
from stratalog.facts.labels import I
from stratalog.facts.sets import FactSet
from stratalog.facts.terms import Terms
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate
from stratalog.plan.delta import Role, Version
from stratalog.plan.rules import PlannedRule
from stratalog.runtime.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stratalog.engine.columnar.relation import Ids

TOGETHER = sized(2_000_000, 4)  # facts of several predicates that are fetched in one action


class Contents:
    """Facts in segments, and those in the driver that go before them."""

    def __init__(self, spark: SparkSession, terms: Terms, limits: Limits | None = None) -> None:
        self.terms = terms
        self.limits = limits or Limits()
        self.session = Work(spark, self.limits)
        self.facts = Facts(self.session)
        self.rules = Rules(self.session.spark, terms, self.facts.number, self.limits)
        self.paths = Paths(terms, self.rules.constant)
        self._fetched: dict[Predicate, States] = {}
        self.begin_overlay()

    def begin_overlay(self) -> None:
        """Begin with an overlay that holds nothing."""
        self.overlay = Overlay(self.terms)
        self.deriving = Deriving(self.facts, self.overlay)
        self.fetching = Fetching(self.facts, self.overlay, self.deriving, self.paths, self)

    def told(self, facts: Encoded) -> Integers:
        """Return the label word that segments have for facts, UNTOLD where only they know."""
        return np.full(facts[2], UNTOLD, np.int64)

    def told_of(self) -> frozenset[int]:
        """Return the numbers of predicates of which segments are not asked for what is told."""
        return frozenset()

    # -- in

    def load(self, predicate: Predicate, columns: Sequence[Ids], size: int) -> None:
        """Store explicit facts: marked E, with one derivation."""
        self.facts.load(predicate, columns, size)

    def take_in(self) -> None:
        """Give Spark what was loaded."""
        if self.facts.is_waiting:
            self.facts.take_in()
            self.fetching.ahead.clear()
            self.session.tune(self.facts.stored())

    def find(self, given: Iterable[Encoded], *, store: bool = False) -> SparkBatch:
        """Return those of the facts that are stored, or all, then new ones without a mark."""
        self.take_in()
        return SparkBatch(local=self.fetching.find(given, store=store))

    # -- out

    def read(self, predicate: Predicate, described: FactSet) -> tuple[list[Ids], int]:
        """Return the columns of a predicate's facts in a set, and how many there are."""
        self.take_in()
        arity = predicate.arity
        if not self.size(predicate, described):
            return [np.empty(0, np.uint32) for _ in range(arity)], 0
        source = Source(Role.FULL, arity, frozenset([self.facts.number(predicate)]))
        with (
            self.session.described(f"reading {predicate.name}"),
            Reader(self.facts, self.overlay, {Role.FULL: Meaning(described)}).closed() as reader,
        ):
            found = self.session.fetched(reader.sources(source))
        return [ids(found, f"c{i}") for i in range(arity)], found.num_rows

    def columns_in(
        self, predicate: Predicate, described: FactSet, most: int, *, supported: bool
    ) -> list[Ids]:
        """Return the columns of facts in a set, of supported ones only if a count is above zero.

        Raises TooLargeError if there are more than so many.
        """
        stored = self._stored_in(predicate, described, most, supported=supported)
        if stored[0].size > most:
            raise TooLargeError(f"{predicate.name} has more than {most:,} facts to look at")
        overlay = self.overlay
        is_untouched = overlay.unknown(predicate, stored, stored[0].size)
        relation = overlay.relation(predicate)
        rows = overlay.rows_of(relation, described)
        if supported:
            rows = rows[(relation.counts[0][rows] > 0) | (relation.counts[1][rows] > 0)]
        touched = overlay.columns_of(predicate, rows)
        return [
            np.concatenate([column[is_untouched], more])
            for column, more in zip(stored, touched, strict=True)
        ]

    def _stored_in(
        self, predicate: Predicate, described: FactSet, most: int, *, supported: bool
    ) -> list[Ids]:
        """Return what segments have of a set, or a little more than so many."""
        self.facts.compact_counts()
        number = self.facts.number(predicate)
        is_member = self.facts.member(described, [number])
        parts = self.facts.table_of(number).select(is_member, ", nr, r")
        if not parts:
            return [np.empty(0, np.uint32) for _ in range(predicate.arity)]
        names = ", ".join(f"c{i}" for i in range(predicate.arity))
        where = "nr > 0 OR r > 0" if supported else "true"
        text = f"SELECT {names} FROM ({' UNION ALL '.join(parts)}) WHERE {where}"  # noqa: S608
        with self.session.described(f"gathering edges of {predicate.name}"):
            found = self.session.fetched(self.session.sql(f"{text} LIMIT {most + 1}"))
        return [ids(found, f"c{i}") for i in range(predicate.arity)]

    def size(self, predicate: Predicate, described: FactSet = I) -> int:
        """Return how many facts of the predicate are in a set of labels."""
        self.take_in()
        if not self.facts.is_known(predicate):
            return 0
        differences = self.overlay.differences(predicate, described, None, 1)
        stored = self.facts.size(self.facts.number(predicate), described)
        return stored + differences.added.size - differences.removed.size

    def rows(self, predicate: Predicate) -> int:
        """Return how many facts are stored, with or without a mark."""
        self.take_in()
        if not self.facts.is_known(predicate):
            return 0
        relation = self.overlay.relations.get(predicate)
        more = 0 if relation is None else int((self.overlay.base(relation) == ABSENT).sum())
        return self.facts.rows(self.facts.number(predicate)) + more

    def contains(
        self, predicate: Predicate, columns: Sequence[Ids], size: int
    ) -> npt.NDArray[np.bool_]:
        """Return for each fact whether it is in the materialisation."""
        if not self.facts.is_known(predicate):
            return np.zeros(size, np.bool_)
        self.find([(predicate, columns, size)])
        return self.overlay.contains(predicate, columns, size)

    def stored(self, predicate: Predicate) -> States:
        """Return all facts of a predicate in the materialisation, with marks and counts."""
        self.take_in()
        self.facts.compact_counts()
        if predicate not in self._fetched:
            self._fetched = self._fetch_from(predicate)
        base = self._fetched.pop(predicate)
        is_base = self.overlay.unknown(predicate, base.columns, base.words.size)
        constants, *others = list(base.columns), base.words, base.nonrecursive, base.recursive
        return self.overlay.appended(
            States(predicate, [c[is_base] for c in constants], *(o[is_base] for o in others))
        )

    def _fetch_from(self, predicate: Predicate) -> dict[Predicate, States]:
        """Return the stored facts of a predicate and of those that are likely asked for next."""
        first = self.facts.number(predicate)
        numbers, rows = [first], self.facts.size(first, I)
        for number in range(first + 1, len(self.facts.predicates)):
            rows += self.facts.size(number, I)
            if rows > TOGETHER:
                break
            numbers.append(number)
        is_member = self.facts.member(I, numbers)
        texts = {
            table.width: " UNION ALL ".join(parts)
            for table in self.facts.tables.values()
            if (parts := table.select(is_member, STATES))
        }
        with self.session.described(f"reading {len(numbers)} predicates"):
            found = self.deriving.fetched(texts)
        states = {each.predicate: each for each, _ in self.deriving.entered(found)}
        return {
            p: states.get(p, _no_states(p)) for p in (self.facts.predicates[n] for n in numbers)
        }

    def answers(self, rule: PlannedRule) -> tuple[list[Ids], int]:
        """Return the columns of the distinct heads of a rule that stores nothing."""
        self.take_in()
        arity = rule.head.predicate.arity
        nothing = [np.empty(0, np.uint32) for _ in range(arity)], 0
        if not self.present().issuperset(atom.predicate for atom in rule.body):
            return nothing
        with (
            self.session.described("answering a query"),
            Reader(self.facts, self.overlay, deltas(I, I, None, None)).closed() as reader,
        ):
            heads = self.rules.heads([Version(rule)], reader.sources, reader.sizes)
            if arity not in heads:
                return nothing
            names = ", ".join(["p", *(f"c{i}" for i in range(arity))])
            text = f"SELECT DISTINCT {names} FROM {reader.named(heads[arity])}"  # noqa: S608
            room = self.limits.room(self.facts_stored())
            if room is not None:
                text += f" LIMIT {room + 1}"
            found = self.session.fetched(self.session.sql(text))
            self.limits.check_stored(self.facts_stored() + found.num_rows, "a query")
        return [ids(found, f"c{i}") for i in range(arity)], found.num_rows

    def present(self) -> set[Predicate]:
        """Return the predicates that have facts."""
        return self.facts.present() | {r.predicate for r in self.overlay.by_number if r.rows}

    def facts_stored(self) -> int:
        """Return how many facts there are, with or without a mark."""
        return self.facts.stored() + self.overlay.unstored()

    def nbytes(self, predicates: Iterable[Predicate] | None = None) -> int:
        """Return about the bytes of these relations, all by default."""
        chosen = self.facts.known() if predicates is None else predicates
        return sum(self.rows(p) * (8 * width_of(p.arity) + 24) for p in chosen)

    def drop(self, predicates: Sequence[Predicate]) -> None:
        """Forget relations that were made for one query, and ids that are taken back."""
        self._fetched = {}
        self.facts.drop(predicates)
        self.overlay.drop(predicates)
        self.rules.forget(len(self.terms))

    def close(self) -> None:
        """Free all that Spark keeps for this engine."""
        self.facts.close()
        self.begin_overlay()


def _no_states(predicate: Predicate) -> States:
    nothing = np.zeros(0, np.int64)
    constants = [np.empty(0, np.uint32) for _ in range(predicate.arity)]
    return States(predicate, constants, nothing, nothing, nothing)
