"""Stratalog's part in measurements other than materialising."""

from __future__ import annotations

from typing import Any

from stratalog.facts.labels import E
from stratalog.lang.syntax import Predicate
from stratalog_bench.systems.own import Stratalog


class StratalogInsert(Stratalog):
    """Loading is what is measured: rows become facts, each once."""

    def load(self) -> None:
        """Leave the rows where they are: taking them in is what is measured."""

    def reason(self) -> None:
        super().load()

    def count(self, predicate: Predicate) -> int:
        return self.engine.size(predicate, E)


class StratalogJoin(Stratalog):
    """A rule of two atoms, both columns of whose head are indexed afterwards."""

    def reason(self) -> None:
        super().reason()
        for rule in self.plan.rules:
            index_both(self, rule.head.predicate)


class StratalogTwoThreads(Stratalog):
    """Materialisation by two threads."""

    threads = 2


class StratalogGrowth(Stratalog):
    """Materialisation, and the memory of binary facts with an index on each column."""

    def figures(self) -> dict[str, Any]:
        figures = super().figures()
        binary = [predicate for predicate in self.engine.relations if predicate.arity == 2]  # noqa: PLR2004
        for predicate in binary:
            index_both(self, predicate)
        self.engine.trim()
        rows = sum(self.engine.relation(predicate).rows for predicate in binary)
        return figures | {"bytes_per_binary_fact": self.engine.nbytes(binary) / max(1, rows)}


def index_both(system: Stratalog, predicate: Predicate) -> None:
    """Bring an index on each column up to date, whether the program needs it or not."""
    relation = system.engine.relation(predicate)
    for column in range(predicate.arity):
        relation.index((column,)).catch_up(relation)
