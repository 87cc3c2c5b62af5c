"""DuckDB in this process: tables of integers, one thread."""

# ruff: noqa: S608  # the names of tables and columns are our own

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from stratalog.lang.syntax import Predicate
from stratalog_bench.systems.base import System, names_of
from stratalog_bench.systems.sql import columns_of, refuse_beyond_sql
from stratalog_bench.workloads.inputs import Columns, Input


def connect(folder: str) -> Any:  # noqa: ANN401  # DuckDB's connection
    """Return a database in memory that uses one thread."""
    database = duckdb.connect(config={"temp_directory": folder})
    database.execute("SET threads = 1")
    database.execute("SET preserve_insertion_order = false")  # facts have no order
    return database


def arrow_table(columns: Columns) -> pa.Table:
    """Return columns named c0, c1, ... without a copy."""
    return pa.table({f"c{place}": column for place, column in enumerate(columns)})


class DuckDB(System):
    """Tables, and the explicit facts in them."""

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        refuse_beyond_sql(self.plan)
        self.names = names_of(self.plan, given)
        self.tables = {
            predicate: arrow_table(given.columns(relation, as_values=True))
            for predicate, relation in given.predicates().items()
        }
        self.type = "BIGINT" if given.computes else "UINTEGER"
        self.database = connect(given.folder)

    def load(self) -> None:
        for predicate, name in self.names.items():
            columns = ", ".join(f"{each} {self.type}" for each in columns_of(predicate))
            self.database.execute(f"CREATE TABLE {name} ({columns})")
            if predicate in self.tables:
                self.database.register("given", self.tables[predicate])
                self.database.execute(f"INSERT INTO {name} SELECT * FROM given")
                self.database.unregister("given")

    def rows(self, table: str) -> int:
        """Return the number of rows of a table."""
        found = self.database.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(found[0])

    def count(self, predicate: Predicate) -> int:
        return self.rows(self.names[predicate])
