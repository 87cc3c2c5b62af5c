"""Joins that never match, by the types of facts that were read and of declared columns."""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import StratalogWarning
from stratalog.facts.labels import E
from stratalog.knowledge.reader import parts
from stratalog.lang.column_types import ANY, DOUBLES, Types, type_of_kind
from stratalog.lang.names import split_arity, table_name
from stratalog.lang.syntax import TRIPLE, Declaration, Predicate, Program, Rule
from stratalog.lang.terms import Term
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import RDF, EncodedFacts, Ids
from stratalog.pipeline.measured_types import MeasuredTypes
from stratalog.pipeline.native import KIND_OF_TYPE
from stratalog.plan.lower import lower_rules
from stratalog.plan.rules import Plan, PlannedRule
from stratalog.plan.triples import is_triple_shaped
from stratalog.plan.type_flow import TypeFlow
from stratalog.plan.unjoinable import Remark, Unjoinable, has_alike

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase
    from stratalog.knowledge.programs import Edit

Given = Mapping[Predicate, Sequence[Types]]

CONSTANTS_PER_RULE = 10_000  # that are looked at as quickly as types are followed through a rule

FROM_PANDAS = (
    " (whole numbers: pandas makes integers doubles where a value is missing; "
    'astype("Int64") keeps them)'
)


@dataclass(frozen=True, slots=True)
class _Explicit:
    """Explicit facts that rules read, and how to come by their columns."""

    present: Collection[Predicate]
    columns: Callable[[Predicate], Sequence[Ids]]
    rdf: Collection[Predicate]  # those that were read from RDF
    dictionary: Dictionary


def never_joining(
    program: Program, plan: Plan, encoded: EncodedFacts, dictionary: Dictionary, facts: object
) -> list[StratalogWarning]:
    """Return a warning for each join of a plan that never matches, because of types."""
    read = {predicate for rule in plan.rules for predicate in _read_by(rule)}
    present = {p for p in read if p in encoded and encoded.size(p)}
    rdf = [p for p in present if encoded.origin(p) == RDF]
    explicit = _Explicit(present, encoded.columns, rdf, dictionary)

    def remark(predicate: Predicate, column: int) -> str:
        if predicate not in present or not _is_from_pandas(predicate, facts, program):
            return ""
        return FROM_PANDAS if _are_whole(encoded.columns(predicate)[column], dictionary) else ""

    return _warnings(program, plan.rules, _declared(program, plan), explicit, remark)


def new_rules_never_joining(
    kb: KnowledgeBase, edit: Edit, inserted: EncodedFacts
) -> list[StratalogWarning]:
    """Return the same for the rules that an update adds; not on Spark, nor of kept triples."""
    plan, host = kb._plan, kb._host
    if host.name == "spark" or plan.stored_as_triples:
        return []
    rules = lower_rules(edit.program.rules)
    new = {rule for rule in edit.program.rules if rule in edit.rules}
    read = (p for rule in rules if rule.origin in new for p in _read_by(rule))
    wanted = TypeFlow(rules, {}).upstream(read)
    known = set(host.predicates())
    present = {p for p in wanted if inserted.size(p) or (p in known and host.size(p, E))}

    def columns(predicate: Predicate) -> Sequence[Ids]:
        both = [inserted.columns(predicate)]
        if predicate in known:
            both.append(host.read(predicate, E)[0])
        return [np.concatenate(each) for each in zip(*both, strict=True)]

    rdf = [p for p in present if kb._origins.get(p) == RDF]
    explicit = _Explicit(present, columns, rdf, kb._dictionary)
    return _warnings(edit.program, rules, {}, explicit, _nothing_more, new)


def _warnings(  # the parts of one question
    program: Program,
    rules: Sequence[PlannedRule],
    declared: Given,
    explicit: _Explicit,
    remark: Remark,
    among: Collection[Rule] | None = None,
) -> list[StratalogWarning]:
    """Return the warnings about rules, all by default.

    A few rows show of nearly all columns that they may match, since more rows have no fewer types.
    Only where these have nothing in common all rows are looked at.
    """
    measured = MeasuredTypes(explicit.dictionary)
    is_quick = len(explicit.dictionary) <= CONSTANTS_PER_RULE * len(rules)
    if is_quick and not _may_be_doubtful(rules, declared, explicit, measured.in_use()):
        return []
    given = {**declared}
    for predicate in explicit.present:
        given[predicate] = measured.of_some(explicit.columns(predicate))
    flow = TypeFlow(rules, given)
    suspects = Unjoinable(program, flow, explicit.rdf, among).doubtful()
    if not suspects:
        return []
    doubtful = flow.upstream(p for suspect in suspects for p in _read_by(suspect.rule))
    for predicate in doubtful.intersection(explicit.present):
        given[predicate] = measured.of_all(explicit.columns(predicate))

    def told(predicate: Predicate, column: int) -> str:
        if predicate in declared and predicate not in explicit.present:
            return " by its declaration"
        is_double = predicate in given and given[predicate][column] == DOUBLES
        return remark(predicate, column) if is_double else ""

    return Unjoinable(program, TypeFlow(rules, given), explicit.rdf, among).warnings(told)


def _may_be_doubtful(
    rules: Sequence[PlannedRule], declared: Given, explicit: _Explicit, known: Types
) -> bool:
    """Return whether there are types enough for a doubtful join; `known` are those of constants."""
    if any(rule.grouping is not None or rule.builtins for rule in rules):
        return True
    atoms = (atom for rule in rules for atom in (rule.head, *rule.body, *rule.negated))
    kinds = {arg.kind for atom in atoms for arg in atom.args if isinstance(arg, Term)}
    for types in (
        *map(type_of_kind, kinds),
        *(t for columns in declared.values() for t in columns),
    ):
        known |= types
    if all(p.name.startswith("<") or p in explicit.rdf for p in (*explicit.present, *declared)):
        return has_alike(known)
    return known.bit_count() > 1


def _nothing_more(_predicate: Predicate, _column: int) -> str:
    return ""


def _read_by(rule: PlannedRule) -> Iterable[Predicate]:
    return (atom.predicate for atom in (*rule.body, *rule.negated))


def _declared(program: Program, plan: Plan) -> dict[Predicate, Sequence[Types]]:
    """Return the types of columns that are declared and that no rule fills, and of all triples."""
    derived = {rule.head.predicate for rule in plan.rules}
    found: dict[Predicate, Sequence[Types]] = {
        each.predicate: _declared_types(each)
        for each in program.declarations
        if each.predicate not in derived
        and not (plan.stored_as_triples and is_triple_shaped(each.predicate))
    }
    if plan.stored_as_triples:
        found[TRIPLE] = [ANY] * TRIPLE.arity
    return found


def _declared_types(declaration: Declaration) -> list[Types]:
    names = [column.type for column in declaration.columns]
    return [ANY if name == "term" else type_of_kind(KIND_OF_TYPE[name]) for name in names]


def _is_from_pandas(predicate: Predicate, facts: object, program: Program) -> bool:
    """Return whether a predicate was fed by pandas."""
    tables = [part for part in parts(facts, program.prefixes) if isinstance(part, Mapping)]
    return any(
        type(rows).__module__.partition(".")[0] == "pandas"
        and split_arity(table_name(key, program.prefixes))[0] == predicate.name
        for table in tables
        for key, rows in table.items()
    )


def _are_whole(ids: Ids, dictionary: Dictionary) -> bool:
    """Return whether all doubles of a column are whole numbers."""
    values = pc.cast(dictionary.texts(np.unique(ids)), pa.float64())
    return bool(pc.all(pc.equal(pc.floor(values), values)).as_py())
