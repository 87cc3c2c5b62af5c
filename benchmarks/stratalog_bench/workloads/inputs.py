"""What a benchmark begins with: rules, and facts as columns of numbers in files.

The parent writes a folder once; each worker, whatever its system, reads the same files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Atom, Call, Expression, Predicate, Program
from stratalog.lang.terms import INTEGER, IRI_KIND, STRING, Term
from stratalog.plan.program import plan_program
from stratalog.plan.rules import Plan, PlannedRule
from stratalog_bench.failures import BenchmarkError
from stratalog_bench.generate.catalogue import GENERATORS
from stratalog_bench.generate.columns import IRI_TYPE, EncodedColumns
from stratalog_bench.generate.workload import Workload
from stratalog_bench.workloads import raw_rows

if TYPE_CHECKING:
    import pyarrow as pa

Columns = npt.NDArray[Any]  # shape (arity, rows): uint32 ids, or int64 values

DESCRIPTION, TERMS = "input.json", "terms.parquet"


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """The explicit facts of a predicate: files in the folder, relative to it.

    `values` holds the integers that the ids stand for; it is `ids` again where they are equal.
    """

    name: str
    arity: int
    rows: int
    ids: str
    values: str


@dataclass(frozen=True, slots=True)
class Input:
    """Rules and facts; `constants` are the numbers of the rules' constants, [kind, text, id]."""

    folder: str
    rules: str
    relations: list[StoredRelation]
    constants: list[tuple[str, str, int]] = field(default_factory=list)
    has_terms: bool = False  # rules look at constants, so that Stratalog needs the dictionary
    computes: bool = False  # rules have built-ins: other systems get values instead of ids

    @property
    def explicit(self) -> int:
        """The number of explicit facts."""
        return sum(relation.rows for relation in self.relations)

    def predicates(self) -> dict[Predicate, StoredRelation]:
        """Return the explicit relations by predicate."""
        return {Predicate(each.name, each.arity): each for each in self.relations}

    def plan(self, *, modules: str = "off") -> Plan:
        """Return the planned rules."""
        return plan_program(parse_program(self.rules), self.predicates(), modules=modules)

    def columns(self, relation: StoredRelation, *, as_values: bool) -> Columns:
        """Return the columns of a relation: integers for a peer that computes, otherwise ids."""
        name = relation.values if as_values and self.computes else relation.ids
        found: Columns = np.load(Path(self.folder) / name)
        return found

    def number_of(self, term: Term) -> int:
        """Return the number that stands for a constant of the rules in the peers' columns."""
        if self.computes and term.kind == INTEGER:
            return int(term.text)
        return {(kind, text): number for kind, text, number in self.constants}[term]


def read_input(folder: str | Path) -> Input:
    """Return what `make_input` has written."""
    found = json.loads((Path(folder) / DESCRIPTION).read_text())
    relations = [StoredRelation(**each) for each in found.pop("relations")]
    constants = [(kind, text, number) for kind, text, number in found.pop("constants")]
    return Input(relations=relations, constants=constants, **found)


def make_input(
    generator: str, parameters: Mapping[str, int | str], folder: Path, rules: str | None = None
) -> Input:
    """Generate facts into a folder; `rules` replace the generator's own."""
    return write_input(_function(generator)(**parameters), folder, rules)


def write_input(made: Workload | EncodedColumns, folder: Path, rules: str | None = None) -> Input:
    """Write facts and rules into a folder, and return what was written."""
    text = made.rules if rules is None else rules
    program = parse_program(text)
    if isinstance(made, Workload):
        return _write_all(folder, text, program, made.facts, _IntegerTerms(made))
    named = {f"<{name}>": np.stack(list(r.columns), 1) for name, r in made.relations.items()}
    return _write_all(folder, text, program, named, _EncodedTerms(made))


def _function(generator: str) -> Callable[..., Workload | EncodedColumns]:
    own: dict[str, Callable[..., Workload]] = {"insert": raw_rows.insert, "join": raw_rows.join}
    if generator in own:
        return own[generator]
    return next(each for each in GENERATORS if each.name == generator).function()


def _write_all(
    folder: Path,
    rules: str,
    program: Program,
    facts: Mapping[str, npt.NDArray[Any]],
    terms: _IntegerTerms | _EncodedTerms,
) -> Input:
    """Write facts, an array per predicate with a row per fact."""
    folder.mkdir(parents=True, exist_ok=True)
    predicates = [Predicate(name, rows.shape[1]) for name, rows in facts.items()]
    plan = plan_program(program, predicates)
    _refuse_triples(plan)
    constants = sorted({term for rule in plan.rules for term in _constants(rule)})
    computes = any(rule.builtins or rule.grouping for rule in plan.rules)
    numbers: Sequence[int] = ()
    if constants or computes:
        import pyarrow.parquet as pq

        dictionary = terms.dictionary()
        numbers = [int(each) for each in dictionary.encode(constants)]
        pq.write_table(dictionary.to_table(), folder / TERMS)
    stored = [_write(folder, i, n, r, terms) for i, (n, r) in enumerate(facts.items())]
    known = [(term.kind, term.text, n) for term, n in zip(constants, numbers, strict=True)]
    written = Input(str(folder), rules, stored, known, bool(constants) or computes, computes)
    (folder / DESCRIPTION).write_text(json.dumps(asdict(written)))
    return written


def _write(
    folder: Path,
    number: int,
    name: str,
    rows: npt.NDArray[Any],
    terms: _IntegerTerms | _EncodedTerms,
) -> StoredRelation:
    values = np.ascontiguousarray(rows.T)
    ids = terms.ids(values)
    np.save(folder / f"{number}.npy", ids)
    other = f"{number}.npy"
    if not np.array_equal(ids, values):
        other = f"{number}.values.npy"
        np.save(folder / other, values)
    return StoredRelation(name, rows.shape[1], len(rows), f"{number}.npy", other)


class _IntegerTerms:
    """Integers as constants: 0, 1, 2, ... are their own ids, negative ones come after them."""

    def __init__(self, made: Workload) -> None:
        self.above = 1 + max((int(rows.max(initial=0)) for rows in made.facts.values()), default=0)
        self.least = min((int(rows.min(initial=0)) for rows in made.facts.values()), default=0)

    def ids(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
        return np.where(values < 0, self.above - 1 - values, values).astype(np.uint32)

    def dictionary(self) -> Any:  # noqa: ANN401  # imported below
        import pyarrow as pa

        from stratalog.pipeline.dictionary import Dictionary

        dictionary = Dictionary()
        integers = np.concatenate([np.arange(self.above), -1 - np.arange(-self.least)])
        dictionary.intern(INTEGER, pa.array(integers).cast(pa.large_string()))
        return dictionary


class _EncodedTerms:
    """Terms that the generator has numbered already."""

    def __init__(self, made: EncodedColumns) -> None:
        self._made = made

    def ids(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
        return values.astype(np.uint32, copy=False)

    def dictionary(self) -> Any:  # noqa: ANN401  # imported below
        from stratalog.pipeline.dictionary import Dictionary

        empty = Dictionary()
        kinds = empty.kind_index(IRI_KIND), empty.kind_index(STRING)
        return Dictionary.from_table(empty.kinds, self._table(*kinds))

    def _table(self, iri: int, string: int) -> pa.Table:
        import pyarrow as pa

        kinds = np.full(len(self._made.texts), iri, np.int32)
        for relation in self._made.relations.values():
            for ids, kind in zip(relation.columns, relation.types, strict=True):
                if kind != IRI_TYPE:
                    kinds[ids] = string
        return pa.table({"kind": kinds, "text": self._made.texts})


def _refuse_triples(plan: Plan) -> None:
    if plan.stored_as_triples:
        raise BenchmarkError(
            "B104",
            "a rule has a variable in the place of its head's predicate",
            help="benchmarks compare facts by predicate: name the predicate in the head",
        )


def _constants(rule: PlannedRule) -> list[Term]:
    atoms: tuple[Atom, ...] = (rule.head, *rule.body, *rule.negated)
    found = [arg for atom in atoms for arg in atom.args if isinstance(arg, Term)]
    for builtin in rule.builtins:
        found += _terms_of(builtin.expression)
    return found


def _terms_of(expression: Expression) -> list[Term]:
    if isinstance(expression, Call):
        return [term for arg in expression.args for term in _terms_of(arg)]
    return [expression] if isinstance(expression, Term) else []
