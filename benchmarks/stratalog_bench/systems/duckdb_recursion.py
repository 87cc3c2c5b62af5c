"""DuckDB's own recursion: one WITH RECURSIVE statement, for programs with one linear recursion."""

# ruff: noqa: S608  # the names of tables and columns are our own

from __future__ import annotations

from stratalog.plan.rules import Plan, Stratum
from stratalog_bench.failures import Inexpressible
from stratalog_bench.systems.duckdb_base import DuckDB
from stratalog_bench.systems.sql import select
from stratalog_bench.workloads.inputs import Input


class DuckDBRecursion(DuckDB):
    """The recursive predicate is a table made by one statement."""

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        self.stratum = _linear_stratum(self.plan)

    def reason(self) -> None:
        (rule,) = self.stratum.recursive
        name = self.names[rule.head.predicate]
        sources = [
            "t" if atom.predicate == rule.head.predicate else self.names[atom.predicate]
            for atom in rule.body
        ]
        first = [f"SELECT * FROM {name}"] if rule.head.predicate in self.tables else []
        first += [
            select(each, [self.names[atom.predicate] for atom in each.body], self.given)
            for each in self.stratum.nonrecursive
        ]
        self.database.execute(
            f"CREATE TABLE {name}_all AS WITH RECURSIVE t AS "
            f"({' UNION ALL '.join(first)} UNION {select(rule, sources, self.given)}) FROM t"
        )
        self.database.execute(f"DROP TABLE {name}")
        self.database.execute(f"ALTER TABLE {name}_all RENAME TO {name}")


def _linear_stratum(plan: Plan) -> Stratum:
    """Return the only stratum with rules, if it has one recursive rule with one recursive atom."""
    strata = [each for each in plan.strata if each.nonrecursive or each.recursive]
    if len(strata) != 1:
        raise Inexpressible("more than one recursive predicate" if strata else "no rules")
    (stratum,) = strata
    if not stratum.recursive:
        raise Inexpressible("no recursion")
    is_linear = len(stratum.recursive) == 1 and (
        sum(atom.predicate in stratum.predicates for atom in stratum.recursive[0].body) == 1
    )
    if not is_linear or len(stratum.predicates) != 1:
        raise Inexpressible("recursion that is not linear")
    return stratum
