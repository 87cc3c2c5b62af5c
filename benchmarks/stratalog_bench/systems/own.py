"""Stratalog's columnar engine, with both derivation counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from numba.core import event

from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.facts.counts import Count
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.rules import Stratum
from stratalog.reason import seminaive
from stratalog_bench.systems.base import COMPILED, Laps, System, Told
from stratalog_bench.workloads.inputs import TERMS, Columns, Input


def make_engine(dictionary: Dictionary, threads: int = 1) -> ColumnarEngine:
    """Return an empty engine."""
    return ColumnarEngine(dictionary, threads=threads)


def run(
    engine: ColumnarEngine, strata: Iterable[Stratum], counts: Collection[Count] = tuple(Count)
) -> int:
    """Materialise and return the number of rounds."""
    return seminaive.materialise(engine, strata, counts=counts)


def dictionary_of(given: Input) -> Dictionary:
    """Return the dictionary of the input; an empty one where rules never look at constants."""
    if not given.has_terms:
        return Dictionary()
    import pyarrow.parquet as pq

    kinds = Dictionary().kinds
    return Dictionary.from_table(kinds, pq.read_table(f"{given.folder}/{TERMS}"))


class Stratalog(System):
    """The engine as the command `materialise` uses it, from encoded columns on."""

    threads = 1
    kept: Collection[Count] = tuple(Count)

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        self.columns: dict[Predicate, Columns] = {
            predicate: given.columns(relation, as_values=False)
            for predicate, relation in given.predicates().items()
        }
        self.engine = make_engine(dictionary_of(given), self.threads)
        self.rounds = 0
        self.compiled = 0

    def measure(self, told: Told) -> Laps:
        with event.install_recorder("numba:compile") as compiled:
            laps = super().measure(told)
        self.compiled = len(compiled.buffer)
        return laps

    def load(self) -> None:
        for predicate, columns in self.columns.items():
            self.engine.load(predicate, list(columns), columns.shape[1])

    def reason(self) -> None:
        self.rounds = run(self.engine, self.plan.strata, self.kept)

    def count(self, predicate: Predicate) -> int:
        return self.engine.size(predicate)

    def figures(self) -> dict[str, Any]:
        costs = self.engine.profile().values()
        return {
            "derivations": sum(cost.derivations for cost in costs),
            "rounds": self.rounds,
            COMPILED: self.compiled,
            "bytes_per_fact": round(self.engine.nbytes() / max(1, self.engine.facts_stored()), 1),
        }
