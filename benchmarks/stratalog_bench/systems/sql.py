"""Planned rules as SQL: a SELECT per delta version."""

# ruff: noqa: S608  # the names of tables and columns are our own

from __future__ import annotations

from collections.abc import Sequence

from stratalog.lang.syntax import Argument, Bind, Call, Expression, Filter, Predicate, Variable
from stratalog.lang.terms import INTEGER
from stratalog.plan.rules import Plan, PlannedRule
from stratalog_bench.failures import Inexpressible
from stratalog_bench.systems.base import refuse_no_arguments
from stratalog_bench.workloads.inputs import Input

ARITHMETIC = {"+", "-", "*"}
COMPARISONS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def refuse_beyond_sql(plan: Plan) -> None:
    """Refuse what `select` has no words for; arithmetic on integers and comparisons it has."""
    refuse_no_arguments(plan)
    for rule in plan.rules:
        if rule.grouping:
            raise Inexpressible("aggregates")
        if rule.negated:
            raise Inexpressible("negation")


def select(rule: PlannedRule, sources: Sequence[str], given: Input) -> str:
    """Return the heads of all instances whose body atoms are in these tables, duplicates too."""
    where: list[str] = []
    bound: dict[Variable, str] = {}
    for place, atom in enumerate(rule.body):
        for column, argument in enumerate(atom.args):
            spelled = f"a{place}.c{column}"
            if isinstance(argument, Variable) and argument not in bound:
                bound[argument] = spelled
            else:
                where.append(f"{spelled} = {_argument(argument, bound, given)}")
    for builtin in rule.builtins:
        _add_builtin(builtin, bound, where, given)
    heads = [f"{_argument(a, bound, given)} AS c{i}" for i, a in enumerate(rule.head.args)]
    tables = [f"{source} a{place}" for place, source in enumerate(sources)]
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    return f"SELECT {', '.join(heads)} FROM {', '.join(tables)}{condition}"


def _argument(argument: Argument, bound: dict[Variable, str], given: Input) -> str:
    if isinstance(argument, Variable):
        return bound[argument]
    return str(given.number_of(argument))


def _add_builtin(
    builtin: Filter | Bind, bound: dict[Variable, str], where: list[str], given: Input
) -> None:
    if isinstance(builtin, Bind):
        bound[builtin.variable] = _arithmetic(builtin.expression, bound, given)
        return
    call = builtin.expression
    if not isinstance(call, Call) or call.name not in COMPARISONS:
        raise Inexpressible("built-ins other than comparisons and + - *")
    left, right = (_arithmetic(arg, bound, given) for arg in call.args)
    where.append(f"{left} {COMPARISONS[call.name]} {right}")


def _arithmetic(expression: Expression, bound: dict[Variable, str], given: Input) -> str:
    if isinstance(expression, Variable):
        return bound[expression]
    if not isinstance(expression, Call):
        if expression.kind != INTEGER:
            raise Inexpressible("built-ins on other constants than integers")
        return f"({expression.text})"
    if expression.name not in ARITHMETIC or len(expression.args) == 1:
        raise Inexpressible("built-ins other than comparisons and + - *")
    parts = [_arithmetic(arg, bound, given) for arg in expression.args]
    return f"({f' {expression.name} '.join(parts)})"


def columns_of(predicate: Predicate) -> list[str]:
    """Return the names of a table's columns."""
    return [f"c{place}" for place in range(predicate.arity)]
