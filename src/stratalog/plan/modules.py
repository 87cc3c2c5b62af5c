"""The rule modules of a stratum: recursive rules that a special algorithm evaluates (000).

A relation is *transitive* by `r(?x, ?z) :- r(?x, ?y), r(?y, ?z)`, and *symmetric* by
`r(?x, ?y) :- r(?y, ?x)`. Both together say that it relates all members of a component to each
other. Rules are told by their shape; names of variables and the order of atoms do not matter.
"""

from __future__ import annotations

from dataclasses import replace

from stratalog.lang.syntax import Atom, Predicate, Variable
from stratalog.plan.find_closure import PAIR, closing_of
from stratalog.plan.module_rules import chains_of
from stratalog.plan.rules import Module, ModuleKind, PlannedRule, Stratum
from stratalog.plan.shapes import is_plain


def with_modules(stratum: Stratum, *, is_exact: bool) -> Stratum:
    """Return the stratum with the modules that its recursive rules make."""
    whole = _whole(stratum) if is_exact else None
    if whole is not None:
        return replace(stratum, modules=(whole,))
    found = [_module(stratum, predicate) for predicate in sorted(stratum.predicates)]
    modules = [module for module in found if module is not None]
    if not modules:
        return stratum
    is_alone = len(modules) == 1 and len(modules[0].rules) == len(stratum.recursive)
    chosen = (replace(module, is_exact=is_exact, is_alone=is_alone) for module in modules)
    return replace(stratum, modules=tuple(chosen))


def _whole(stratum: Stratum) -> Module | None:
    """Return the module of all recursive rules, if these say that their relations are a closure."""
    closing = closing_of(stratum)
    if closing is None:
        return None
    closing = replace(closing, rule=stratum.recursive[0].index)
    known = _module(stratum, closing.sides[0].predicate)
    if known is None or len(known.rules) < len(stratum.recursive):
        rules = stratum.recursive
        predicate = closing.sides[0].predicate
        own = next(rule for rule in rules if rule.head.predicate == predicate)
        known = Module(ModuleKind.CLOSURE, predicate, rules, chains_of(own))
    closing = replace(closing, is_plain=known.kind is not ModuleKind.CLOSURE)
    return replace(known, closing=closing, is_exact=True, is_alone=True)


def _module(stratum: Stratum, predicate: Predicate) -> Module | None:
    rules = [rule for rule in stratum.recursive if rule.head.predicate == predicate]
    transitive = [rule for rule in rules if is_transitive(rule)]
    if not transitive:
        return None
    symmetric = [rule for rule in rules if is_symmetric(rule)]
    kind = ModuleKind.SYMMETRIC if symmetric else ModuleKind.TRANSITIVE
    return Module(kind, predicate, (*transitive, *symmetric), chains_of(transitive[0]))


def is_transitive(rule: PlannedRule) -> bool:
    """Return whether a rule says that its relation is transitive, and nothing else."""
    if not (is_plain(rule) and len(rule.body) == PAIR and _is_own_pair(rule)):
        return False
    x, z = rule.head.args
    return any(
        first.args[0] == x and last.args[1] == z and first.args[1] == last.args[0] not in {x, z}
        for first, last in (rule.body, rule.body[::-1])
    )


def is_symmetric(rule: PlannedRule) -> bool:
    """Return whether a rule says that its relation is symmetric, and nothing else."""
    if not (is_plain(rule) and len(rule.body) == 1 and _is_own_pair(rule)):
        return False
    return rule.body[0].args == rule.head.args[::-1]


def _is_own_pair(rule: PlannedRule) -> bool:
    """Return whether all atoms are pairs of two variables of the head's relation."""
    return all(
        atom.predicate == rule.head.predicate and _is_pair(atom) for atom in (rule.head, *rule.body)
    )


def _is_pair(atom: Atom) -> bool:
    variables = {arg for arg in atom.args if isinstance(arg, Variable)}
    return atom.predicate.arity == PAIR and len(variables) == PAIR
