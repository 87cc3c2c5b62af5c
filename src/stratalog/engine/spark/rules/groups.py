"""Groups of aggregates whose input changes: their facts so far, and from now on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from pyspark.sql import DataFrame

from stratalog.engine.spark.rules.backward import from_delta, reading_of
from stratalog.engine.spark.rules.calls import Number, Tools, calling
from stratalog.engine.spark.rules.slices import AT_ONCE, collected
from stratalog.engine.spark.rules.sources import Reading
from stratalog.lang.syntax import Atom, Predicate
from stratalog.plan.delta import Version, versions
from stratalog.plan.rules import PlannedRule
from stratalog.spark import from_arrow

KEYS = "$keys "
FIRST_KEYS = -2  # their numbers; predicates of facts have 0, 1, ...


class Groups(NamedTuple):
    """Facts of aggregates: p, c0, ..."""

    before: DataFrame
    after: DataFrame


def groups(
    tools: Tools, number: Number, rules: Sequence[PlannedRule], old: Reading, new: Reading
) -> dict[int, Groups]:
    """Return the facts of groups that an instance came to or went from, by arity."""
    grouped = [rule for rule in rules if rule.grouping is not None]
    numbered = _numbered(number)
    keys = _keys(tools, numbered, grouped, (old, new))
    if keys is None:
        return {}
    stored = [PlannedRule(r.index, r.head, (_key(r), r.head)) for r in grouped]
    with calling(tools, numbered, *from_delta(keys, old)) as call:
        before = call.heads([Version(rule, 0) for rule in stored])
    starting = [replace(r, body=(_key(r), *r.body)) for r in grouped]
    with calling(tools, numbered, *from_delta(keys, new)) as call:
        after = call.heads([Version(rule, 0) for rule in starting])
    return {arity: _both(arity, before, after) for arity in before.keys() | after.keys()}


def _keys(
    tools: Tools, number: Number, rules: Sequence[PlannedRule], changes: Sequence[Reading]
) -> Reading | None:
    """Return the keys of groups to look at, brought to the driver if they are few."""
    plain = [replace(rule, head=_key(rule), grouping=None) for rule in rules]
    found: dict[int, list[DataFrame]] = defaultdict(list)
    for reading in changes:
        with calling(tools, number, *reading) as call:
            frames = call.heads([version for rule in plain for version in versions(rule)])
            for arity, frame in frames.items():
                found[arity].append(frame.select(_columns(arity)))
    keys: dict[int, DataFrame] = {}
    rows = 0
    for arity, parts in found.items():
        distinct = reduce(DataFrame.union, parts).distinct()
        table = collected(distinct)
        rows += AT_ONCE if table is None else table.num_rows
        keys[arity] = distinct if table is None else from_arrow(tools.spark, table)
    return reading_of(keys, rows) if rows else None


def _key(rule: PlannedRule) -> Atom:
    """Return the atom whose facts are the keys of a rule's groups."""
    group = rule.grouping.group if rule.grouping else ()
    return Atom(Predicate(f"{KEYS}{rule.index}", len(group)), group)


def _numbered(number: Number) -> Number:
    """Return numbers that keys, which are no facts, have too."""

    def numbered(predicate: Predicate) -> int:
        if predicate.name.startswith(KEYS):
            return FIRST_KEYS - int(predicate.name.removeprefix(KEYS))
        return number(predicate)

    return numbered


def _both(arity: int, before: Mapping[int, DataFrame], after: Mapping[int, DataFrame]) -> Groups:
    there = before.get(arity, after.get(arity))
    assert there is not None  # noqa: S101  # an invariant: the arity is of one of them
    none = there.where("FALSE")
    columns = _columns(arity)
    return Groups(before.get(arity, none).select(columns), after.get(arity, none).select(columns))


def _columns(arity: int) -> list[str]:
    return ["p", *(f"c{i}" for i in range(arity))]
