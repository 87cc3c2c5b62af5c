"""A plan that changes while its materialisation lives: rules that stay keep their identity.

Engines know rules by object and account for them by index, and counts hold only for the rules that
made them. So a new plan is put together from the old one's rules and strata wherever they are the
same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from stratalog.lang.syntax import Bind, Call, Expression, Filter, Predicate, Program
from stratalog.lang.terms import Term
from stratalog.plan.modules import with_modules
from stratalog.plan.program import plan_program
from stratalog.plan.rules import Plan, PlannedRule, Stratum
from stratalog.plan.triples import is_triple_shaped

_FRESH = count(1 << 30)  # indexes that no rule of any plan has had: engines keep plans by index


def with_predicates(plan: Plan, program: Program, new: Iterable[Predicate]) -> Plan:
    """Return the plan for facts of more predicates, the same one if it knows them all."""
    known = plan.predicates
    fresh = {p for p in new if not (plan.stored_as_triples and is_triple_shaped(p))} - known
    if not fresh:
        return plan
    data = {p for p in known if not p.name.startswith("$")} | fresh
    return aligned(plan_program(program, data, modules=plan.modules, has_keys=plan.has_keys), plan)


def rule_constants(plan: Plan) -> set[Term]:
    """Return the constants in a plan's rules."""
    atoms = [a for rule in plan.rules for a in (rule.head, *rule.body, *rule.negated)]
    found = {term for atom in atoms for term in atom.args if isinstance(term, Term)}
    for rule in plan.rules:
        for builtin in rule.builtins:
            found.update(_constants(builtin))
    return found


def _constants(part: Filter | Bind | Expression) -> Iterator[Term]:
    match part:
        case Filter() | Bind():
            yield from _constants(part.expression)
        case Term():
            yield part
        case Call():
            for argument in part.args:
                yield from _constants(argument)


def aligned(plan: Plan, old: Plan) -> Plan:
    """Return the plan with the old one's rules and strata where they are the same."""
    rules_of: dict[object, list[PlannedRule]] = defaultdict(list)
    for rule in reversed(old.rules):
        rules_of[_content(rule)].append(rule)
    same: dict[int, PlannedRule] = {}
    for rule in plan.rules:
        found = rules_of[_content(rule)]
        same[rule.index] = found.pop() if found else replace(rule, index=next(_FRESH))
    strata_of = {_key(stratum): stratum for stratum in old.strata}
    strata = [_stratum(stratum, same) for stratum in plan.strata]
    return replace(
        plan,
        rules=tuple(same[rule.index] for rule in plan.rules),
        strata=tuple(strata_of.get(_key(stratum), stratum) for stratum in strata),
    )


def _content(rule: PlannedRule) -> object:
    return rule.head, rule.body, rule.negated, rule.builtins, rule.grouping


def _stratum(stratum: Stratum, same: dict[int, PlannedRule]) -> Stratum:
    found = Stratum(
        stratum.predicates,
        tuple(same[rule.index] for rule in stratum.nonrecursive),
        tuple(same[rule.index] for rule in stratum.recursive),
    )
    if not stratum.modules:
        return found
    return with_modules(found, is_exact=stratum.modules[0].is_exact)


def _key(stratum: Stratum) -> object:
    """Return what makes two strata the same: predicates and rules, in any order."""
    return (
        stratum.predicates,
        frozenset(rule.index for rule in stratum.nonrecursive),
        frozenset(rule.index for rule in stratum.recursive),
    )
