"""clingo, which grounds a program: without negation and choices, its atoms are the facts.

Loading is reading a file of facts; solving is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import clingo

from stratalog.lang.syntax import Atom, Predicate, Variable
from stratalog_bench.systems.base import System, names_of, refuse_beyond_positive
from stratalog_bench.workloads.inputs import Input, StoredRelation


class Clingo(System):
    """A program in the language of answer sets."""

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        refuse_beyond_positive(self.plan)
        self.names = names_of(self.plan, given)
        self.control: Any = clingo.Control(["--warn=none"])
        self.control.add("base", [], "\n".join(self._rules()))
        self.files = [str(_path(given, relation)) for relation in given.relations if relation.rows]

    def _rules(self) -> list[str]:
        rules = []
        for rule in self.plan.rules:
            variables: dict[Variable, str] = {}
            head, *body = (self._atom(atom, variables) for atom in (rule.head, *rule.body))
            rules.append(f"{head} :- {', '.join(body)}.")
        return rules

    def _atom(self, atom: Atom, variables: dict[Variable, str]) -> str:
        arguments = (
            variables.setdefault(arg, f"V{len(variables)}")
            if isinstance(arg, Variable)
            else str(self.given.number_of(arg))
            for arg in atom.args
        )
        return f"{self.names[atom.predicate]}({','.join(arguments)})"

    @classmethod
    def write_files(cls, given: Input) -> None:
        for predicate, name in names_of(given.plan(), given).items():
            relation = given.predicates().get(predicate)
            if relation is not None and relation.rows:
                _path(given, relation).write_bytes(_facts(given, relation, name))

    def load(self) -> None:
        for file in self.files:
            self.control.load(file)

    def reason(self) -> None:
        self.control.ground([("base", [])])

    def count(self, predicate: Predicate) -> int:
        atoms = self.control.symbolic_atoms
        return sum(1 for _ in atoms.by_signature(self.names[predicate], predicate.arity))


def _path(given: Input, relation: StoredRelation) -> Path:
    return Path(given.folder) / f"{relation.ids}.lp"


def _facts(given: Input, relation: StoredRelation, name: str) -> Any:  # noqa: ANN401  # a buffer
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = given.columns(relation, as_values=False)
    parts = [pa.array(column).cast(pa.large_string()) for column in columns]
    arguments = pc.binary_join_element_wise(*parts, pa.scalar(",", pa.large_string()))
    begin, end = (pa.scalar(text, pa.large_string()) for text in (f"{name}(", ").\n"))
    nothing = pa.scalar("", pa.large_string())
    lines = pc.binary_join_element_wise(begin, arguments, end, nothing)
    return lines.buffers()[2]
