"""A knowledge base to a snapshot and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from stratalog.errors import StoreError
from stratalog.facts.labels import STORED
from stratalog.lang.parse import parse_program
from stratalog.lang.printer import show
from stratalog.lang.syntax import Aggregate, Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.snapshot import Snapshot
from stratalog.pipeline.store import Store
from stratalog.plan.program import plan_program
from stratalog.plan.rules import Plan, PlannedRule

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase


def snapshot(kb: KnowledgeBase) -> Snapshot:
    """Return all that a store keeps of a knowledge base."""
    return Snapshot(
        kinds=kb._dictionary.kinds,  # noqa: SLF001  # this module and base.py are one
        dictionary=kb._dictionary.to_table(),  # noqa: SLF001
        relations={p: _relation_table(kb, p) for p in kb._host.predicates()},  # noqa: SLF001
        program=show(kb._program),  # noqa: SLF001
        options=kb._options.saved(),  # noqa: SLF001
        plan=plan_key(kb._plan),  # noqa: SLF001
        statistics={**kb.stats, "origins": _origins(kb), "profile": kb.profile()},
        labels={label.name: label.bit for label in STORED},
    )


def _origins(kb: KnowledgeBase) -> list[list[Any]]:
    return [[*predicate, origin] for predicate, origin in sorted(kb._origins.items())]  # noqa: SLF001


def _relation_table(kb: KnowledgeBase, predicate: Predicate) -> pa.Table:
    columns, labels, counts = kb._host.stored(predicate)  # noqa: SLF001
    stored = sum(1 << label.bit for label in STORED)
    arrays = [pa.array(column.astype(np.int64)) for column in columns]
    arrays.append(pa.array((labels & stored).astype(np.int32)))
    arrays += [pa.array(count) for count in counts]
    names = [f"c{i}" for i in range(len(columns))] + ["label", "nonrecursive", "recursive"]
    return pa.table(arrays, names=names)


def plan_key(plan: Plan) -> list[str]:
    """Return the planned rules as text: counts are valid only for the plan that made them."""
    return [_rule_key(rule) for rule in plan.rules]


def _rule_key(rule: PlannedRule) -> str:
    parts = [show(atom) for atom in rule.body]
    parts += [f"NOT {show(atom)}" for atom in rule.negated]
    parts += [show(builtin) for builtin in rule.builtins]
    grouped = ""
    if rule.grouping is not None:
        grouped = show(Aggregate((), rule.grouping.group, rule.grouping.reductions))
    return f"{show(rule.head)} :- {', '.join(parts)} {grouped}".strip()


def open_store(directory: str | os.PathLike[str], version: int | None = None) -> KnowledgeBase:
    """Return the knowledge base that a version of a store holds, the current one by default."""
    from stratalog.knowledge.base import KnowledgeBase
    from stratalog.knowledge.build import make_host
    from stratalog.knowledge.options import Options

    store = Store.open(directory)
    saved = store.read(version)
    dictionary = Dictionary.from_table(saved.kinds, saved.dictionary)
    program = parse_program(saved.program)
    plan = plan_program(program, [p for p in saved.relations if not p.name.startswith("$")])
    if plan_key(plan) != saved.plan:
        raise StoreError(
            "T111",
            "the store was planned by another version of Stratalog: its counts are not valid here",
            path=str(directory),
            help="materialise its program and facts again into a new store",
        )
    options = Options(**saved.options)  # type: ignore[arg-type]  # checked when they were given
    host = make_host(options, dictionary)
    for predicate in saved.relations:
        table = saved.relations[predicate]
        columns = [_numbers(table, f"c{i}").astype(np.uint32) for i in range(predicate.arity)]
        labels = _numbers(table, "label").astype(np.uint16)
        counts = [_numbers(table, name) for name in ("nonrecursive", "recursive")]
        host.restore(predicate, columns, labels, counts)
    statistics: Any = saved.statistics
    origins = {Predicate(name, arity): origin for name, arity, origin in statistics.pop("origins")}
    kb = KnowledgeBase(program, plan, host, dictionary, options, origins)
    kb._saved_profile = statistics.pop("profile", [])  # noqa: SLF001
    kb._run = statistics  # noqa: SLF001
    kb._store, kb._version = store, saved.version  # noqa: SLF001
    return kb


def _numbers(table: pa.Table, name: str) -> np.ndarray[tuple[int], np.dtype[Any]]:
    numbers: np.ndarray[tuple[int], np.dtype[Any]] = table.column(name).to_numpy()
    return numbers
