"""DuckDB driven by a seminaïve loop: per round, a statement for each head predicate.

In a round the table of a recursive predicate holds all facts, in order of arrival, and `..._new`
those of the last round. The version of atom i reads earlier recursive atoms from the old facts,
atom i from the new ones and later ones from all, so that no rule instance is met twice. Of the ways
to leave out known facts, NOT EXISTS is quicker than EXCEPT, and than ANTI JOIN after DISTINCT.
"""

# ruff: noqa: S608  # the names of tables and columns are our own

from __future__ import annotations

from stratalog.lang.syntax import Predicate
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog_bench.systems.duckdb_base import DuckDB
from stratalog_bench.systems.sql import columns_of, select


class DuckDBLoop(DuckDB):
    """Seminaïve evaluation in SQL."""

    def reason(self) -> None:
        for stratum in self.plan.strata:
            self._nonrecursive(stratum)
            if stratum.recursive:
                self._recursive(stratum)

    def _nonrecursive(self, stratum: Stratum) -> None:
        for head in sorted({rule.head.predicate for rule in stratum.nonrecursive}):
            rules = [rule for rule in stratum.nonrecursive if rule.head.predicate == head]
            queries = [
                select(rule, [self.names[atom.predicate] for atom in rule.body], self.given)
                for rule in rules
            ]
            known = [self.names[head]] if self.rows(self.names[head]) else []
            fresh = _unknown(head, queries, known)
            self.database.execute(f"INSERT INTO {self.names[head]} {fresh}")

    def _recursive(self, stratum: Stratum) -> None:
        heads = sorted({rule.head.predicate for rule in stratum.recursive})
        old = dict.fromkeys(heads, 0)
        for name in (self.names[head] for head in heads):
            self.database.execute(f"CREATE TABLE {name}_new AS FROM {name}")
        while any(self.rows(f"{self.names[head]}_new") for head in heads):
            for head in heads:
                query = self._round(head, stratum.recursive, old)
                self.database.execute(f"CREATE TABLE {self.names[head]}_next AS {query}")
            for head in heads:
                old[head] = self.rows(self.names[head])
                self._advance(self.names[head])
        for head in heads:
            self.database.execute(f"DROP TABLE {self.names[head]}_new")

    def _advance(self, name: str) -> None:
        self.database.execute(f"INSERT INTO {name} FROM {name}_next")
        self.database.execute(f"DROP TABLE {name}_new")
        self.database.execute(f"ALTER TABLE {name}_next RENAME TO {name}_new")

    def _round(
        self, head: Predicate, rules: tuple[PlannedRule, ...], old: dict[Predicate, int]
    ) -> str:
        """Return a query for the new heads of all versions; `old` rows are those before the new."""
        queries = []
        for rule in rules:
            if rule.head.predicate == head:
                starts = [i for i, a in enumerate(rule.body) if a.predicate in old]
                queries += [select(rule, self._sources(rule, i, old), self.given) for i in starts]
        return _unknown(head, queries, [self.names[head]])

    def _sources(self, rule: PlannedRule, start: int, old: dict[Predicate, int]) -> list[str]:
        """Return what each atom is read from in the version whose atom `start` is new."""
        found = []
        for place, atom in enumerate(rule.body):
            name = self.names[atom.predicate]
            if place < start and atom.predicate in old:
                columns = ", ".join(columns_of(atom.predicate))
                name = f"(SELECT {columns} FROM {name} WHERE rowid < {old[atom.predicate]})"
            found.append(f"{name}_new" if place == start else name)
        return found


def _unknown(head: Predicate, queries: list[str], known: list[str]) -> str:
    """Return a query for the facts of all queries, each once, that are in none of the tables."""
    tests = [
        f"NOT EXISTS (SELECT 1 FROM {table} k WHERE "
        + " AND ".join(f"k.{column} = q.{column}" for column in columns_of(head))
        + ")"
        for table in known
    ]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    return f"SELECT DISTINCT * FROM ({' UNION ALL '.join(queries)}) q{where}"
