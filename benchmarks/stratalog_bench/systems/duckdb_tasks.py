"""DuckDB's part in the measurements of storing and joining."""

# ruff: noqa: S608  # the names of tables and columns are our own

from __future__ import annotations

from typing import Any

from stratalog.lang.syntax import Predicate
from stratalog_bench.systems.duckdb_base import DuckDB
from stratalog_bench.systems.sql import select


class DuckDBInsert(DuckDB):
    """SELECT DISTINCT into a table."""

    def reason(self) -> None:
        for name in self.names.values():
            self.database.execute(f"CREATE TABLE {name}_set AS SELECT DISTINCT * FROM {name}")

    def count(self, predicate: Predicate) -> int:
        return self.rows(f"{self.names[predicate]}_set")


class DuckDBJoin(DuckDB):
    """A join whose results are grouped and counted."""

    def reason(self) -> None:
        (rule,) = self.plan.rules
        query = select(rule, [self.names[atom.predicate] for atom in rule.body], self.given)
        self.database.execute(
            f"INSERT INTO {self.names[rule.head.predicate]} SELECT c0, c1, count(*) "
            f"FROM ({query}) GROUP BY c0, c1"
        )

    def load(self) -> None:
        super().load()
        (rule,) = self.plan.rules
        head = self.names[rule.head.predicate]
        self.database.execute(f"ALTER TABLE {head} ADD COLUMN derivations BIGINT")

    def figures(self) -> dict[str, Any]:
        (rule,) = self.plan.rules
        total = self.database.execute(
            f"SELECT sum(derivations) FROM {self.names[rule.head.predicate]}"
        ).fetchone()
        return {"derivations": int(total[0])}
