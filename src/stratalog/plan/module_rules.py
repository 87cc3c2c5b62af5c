"""The rules by which modules follow their relations."""

from __future__ import annotations

from dataclasses import replace

from stratalog.lang.syntax import Atom, Variable
from stratalog.plan.rules import ModuleRules, PlannedRule

_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")

Pair = tuple[Variable, Variable]


def chains_of(transitive: PlannedRule) -> ModuleRules:
    """Return rules over a rule's relation that are accounted for as if they were this rule."""

    def rule(head: Pair, *body: Pair) -> PlannedRule:
        predicate = transitive.head.predicate
        atoms = tuple(Atom(predicate, args) for args in body)
        return replace(transitive, head=Atom(predicate, head), body=atoms)

    return ModuleRules(
        follow=rule((_X, _Z), (_X, _Y), (_Y, _Z)),
        source=rule((_X, _X), (_X, _Y)),
        target=rule((_Y, _Y), (_X, _Y)),
        row=rule((_X, _Y), (_X, _X), (_X, _Y)),
        ends=rule((_Y, _Y), (_X, _X), (_X, _Y)),
    )
