"""Polars's part in the measurements of storing and joining."""

from __future__ import annotations

from typing import Any, ClassVar

import polars as pl

from stratalog_bench.systems.polars_loop import Engine, PolarsLoop


class PolarsInsert(PolarsLoop):
    """`unique` of a frame."""

    def reason(self) -> None:
        for predicate, frame in self.all.items():
            self.all[predicate] = frame.lazy().unique().collect(engine=self.engine)


class PolarsJoin(PolarsLoop):
    """A join whose results are grouped and counted."""

    def reason(self) -> None:
        (rule,) = self.plan.rules
        query = self.query(rule, [self.all[atom.predicate] for atom in rule.body], 0)
        grouped = query.group_by("c0", "c1").agg(pl.len().alias("derivations"))
        self.all[rule.head.predicate] = grouped.collect(engine=self.engine)

    def figures(self) -> dict[str, Any]:
        (rule,) = self.plan.rules
        total = int(self.all[rule.head.predicate]["derivations"].sum())
        return {"derivations": total}


class PolarsMemoryInsert(PolarsInsert):
    """`DataFrame.unique`."""

    engine: ClassVar[Engine] = "in-memory"


class PolarsMemoryJoin(PolarsJoin):
    """The same by Polars's usual engine."""

    engine: ClassVar[Engine] = "in-memory"
