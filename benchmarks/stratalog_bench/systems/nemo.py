"""Nemo, by its Python package: facts as CSV of integers, its own split of its time.

Nemo reads files and reasons in one call; its report tells how much of that was loading.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import nmo_python  # type: ignore[import-untyped,import-not-found,unused-ignore]

from stratalog.lang.syntax import Atom, Predicate, Variable
from stratalog_bench.measure import Lap
from stratalog_bench.systems.base import Laps, System, Told, names_of, refuse_beyond_positive
from stratalog_bench.workloads.inputs import Input


class Nemo(System):
    """A program in Nemo's language."""

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        refuse_beyond_positive(self.plan)
        self.names = names_of(self.plan, given)
        self.engine: Any = nmo_python.NemoEngine(nmo_python.load_string(self._program()))

    @classmethod
    def write_files(cls, given: Input) -> None:
        import pyarrow as pa
        from pyarrow import csv

        for relation in given.relations:
            columns = given.columns(relation, as_values=False)
            table = pa.table({f"c{i}": column for i, column in enumerate(columns)})
            options = csv.WriteOptions(include_header=False)
            csv.write_csv(table, _csv_path(given, relation.ids), options)

    def _program(self) -> str:
        lines = []
        for predicate, relation in self.given.predicates().items():
            if relation.rows:
                types = ", ".join(["int"] * predicate.arity)
                path = _csv_path(self.given, relation.ids)
                source = f'csv{{resource="{path}", format=({types})}}'
                lines.append(f"@import {self.names[predicate]} :- {source} .")
        for rule in self.plan.rules:
            body = ", ".join(self._atom(atom) for atom in rule.body)
            lines.append(f"{self._atom(rule.head)} :- {body} .")
        lines += [f"@output {name} ." for name in self.names.values()]
        return "\n".join(lines)

    def _atom(self, atom: Atom) -> str:
        arguments = (
            f"?{arg.name.replace('$', 'v_')}"
            if isinstance(arg, Variable)
            else str(self.given.number_of(arg))
            for arg in atom.args
        )
        return f"{self.names[atom.predicate]}({', '.join(arguments)})"

    def load(self) -> None:
        """Nothing is loaded ahead: Nemo reads its files while it reasons."""

    def reason(self) -> None:
        self.engine.reason()

    def measure(self, told: Told) -> Laps:
        told("reason")
        cpu, wall = time.process_time(), time.perf_counter()
        self.reason()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        execution = self.engine.timing().subnode("Reasoning").subnode("Execution")
        loading = execution.subnode("Load Table")
        load = Lap(loading.process_time.total_seconds(), loading.system_time.total_seconds())
        return Laps(load, Lap(cpu - load.cpu, wall - load.wall))

    def count(self, predicate: Predicate) -> int:
        return sum(1 for _ in self.engine.result(self.names[predicate]))


def _csv_path(given: Input, ids: str) -> Path:
    return Path(given.folder) / f"{ids}.csv"
