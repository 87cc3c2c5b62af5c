"""A checked program to a plan: lowered rules in strata."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from stratalog.errors import DataError, ProgramError
from stratalog.lang.atoms import mentioned, plain_program
from stratalog.lang.syntax import TRIPLE, Predicate, Program
from stratalog.plan.lower import lower_rules
from stratalog.plan.modules import with_modules
from stratalog.plan.rules import Plan, PlannedRule
from stratalog.plan.stratify import stratify
from stratalog.plan.triples import (
    copying_rules,
    is_triple_shaped,
    reads_triples,
    store_as_triples,
    writes_triples,
)
from stratalog.plan.value_keys import with_value_keys


def plan_program(
    program: Program,
    data: Collection[Predicate] = (),
    *,
    modules: str = "off",
    has_keys: bool = True,
) -> Plan:
    """Return the plan of a checked program; `data` are the predicates of facts given outside it.

    With `modules`, "paper" or "auto", rules that special algorithms evaluate are apart from others.
    Without `has_keys` equality filters are never join keys, as in older stores.
    """
    rules = lower_rules(program.rules)
    if has_keys:
        rules = with_value_keys(rules)
    known = {*data, *(fact.predicate for fact in program.facts), *_predicates(rules)}
    _refuse_two_arities(known)
    as_triples = writes_triples(rules)
    if as_triples:
        _refuse_negated_triples(rules)
        rules = [store_as_triples(rule) for rule in rules]
        known = {p for p in known if not is_triple_shaped(p)} | {TRIPLE}
    elif reads_triples(rules):
        rules += copying_rules(known, len(rules))
    numbered = tuple(replace(rule, index=i) for i, rule in enumerate(rules))
    hidden = frozenset(p for p in {*known, *_predicates(numbered)} if p.name.startswith("$"))
    strata = stratify(numbered, known - {TRIPLE} if not as_triples else known)
    if modules != "off":
        strata = tuple(with_modules(stratum, is_exact=modules == "auto") for stratum in strata)
    return Plan(numbered, strata, hidden, as_triples, modules, has_keys)


def _refuse_two_arities(predicates: Collection[Predicate]) -> None:
    """Refuse facts of a bare name with another number of arguments than the program's.

    Clashes inside a program are found, with their place, by lang/check.py.
    """
    arity_of: dict[str, int] = {}
    for name, arity in sorted(predicates):
        if name[0] not in "<$" and arity_of.setdefault(name, arity) != arity:
            raise DataError(
                "D301",
                f"{name} has facts or rules with {arity_of[name]} and with {arity} arguments",
                help="a bare name has one arity: correct one of them, or choose another name",
            )


def predicates_of(program: Program) -> set[Predicate]:
    """Return all predicates that users see in a program."""
    return mentioned(plain_program(program)) | {fact.predicate for fact in program.facts}


def _predicates(rules: Sequence[PlannedRule]) -> set[Predicate]:
    return {a.predicate for rule in rules for a in (rule.head, *rule.body, *rule.negated)}


def _refuse_negated_triples(rules: Sequence[PlannedRule]) -> None:
    for rule in rules:
        for atom in rule.negated:
            if atom.predicate == TRIPLE or is_triple_shaped(atom.predicate):
                place = rule.origin.place if rule.origin else None
                raise ProgramError(
                    "S302",
                    "NOT over an IRI-named predicate, and a head with a variable predicate",
                    path=place.path if place else None,
                    line=place.line if place else None,
                    source=rule.origin.text if rule.origin else None,
                    help="such a head may write any IRI predicate, so none is complete before NOT;"
                    " name the head's predicate, or use a bare predicate under NOT",
                )
