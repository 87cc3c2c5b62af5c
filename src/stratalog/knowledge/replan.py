"""A plan that changes while its materialisation lives: rules that stay keep their identity.

Engines know rules by object and account for them by index, and counts hold only for the rules that
made them. So a new plan is put together from the old one's rules and strata wherever they are the
same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace

from stratalog.lang.syntax import Predicate, Program
from stratalog.plan.program import plan_program
from stratalog.plan.rules import Plan, PlannedRule, Stratum
from stratalog.plan.triples import is_triple_shaped


def planned_predicates(plan: Plan) -> set[Predicate]:
    """Return the predicates of all strata: only these can have facts."""
    return {p for stratum in plan.strata for p in stratum.predicates}


def with_predicates(plan: Plan, program: Program, new: Iterable[Predicate]) -> Plan:
    """Return the plan for facts of more predicates, the same one if it knows them all."""
    known = planned_predicates(plan)
    fresh = {p for p in new if not (plan.stored_as_triples and is_triple_shaped(p))} - known
    if not fresh:
        return plan
    data = {p for p in known if not p.name.startswith("$")} | fresh
    return aligned(plan_program(program, data), plan)


def aligned(plan: Plan, old: Plan, used: Collection[int] = ()) -> Plan:
    """Return the plan with the old one's rules and strata where they are the same.

    Rules that are new get an index that none of the old ones has, and that is not in `used`.
    """
    rules_of: dict[object, list[PlannedRule]] = defaultdict(list)
    for rule in reversed(old.rules):
        rules_of[_content(rule)].append(rule)
    fresh = 1 + max([*(rule.index for rule in old.rules), *used], default=-1)
    same: dict[int, PlannedRule] = {}
    for rule in plan.rules:
        found = rules_of[_content(rule)]
        same[rule.index] = found.pop() if found else replace(rule, index=fresh + rule.index)
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
    return Stratum(
        stratum.predicates,
        tuple(same[rule.index] for rule in stratum.nonrecursive),
        tuple(same[rule.index] for rule in stratum.recursive),
    )


def _key(stratum: Stratum) -> object:
    """Return what makes two strata the same: predicates and rules, in any order."""
    return (
        stratum.predicates,
        frozenset(rule.index for rule in stratum.nonrecursive),
        frozenset(rule.index for rule in stratum.recursive),
    )
