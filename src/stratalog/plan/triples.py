"""Variables in predicate position, through the virtual relation of all triples.

A body that reads `[?x, ?p, ?y]` reads TRIPLE, filled from every IRI-named unary and binary
relation by hidden copying rules. Once a head writes `[?x, ?p, ?y]`, any IRI may become a predicate
while rules run: then TRIPLE is where all IRI-named unary and binary facts live, and their atoms
are read as triples. They share a stratum.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stratalog.lang.syntax import TRIPLE, Argument, Atom, Call, Filter, Predicate, Variable
from stratalog.lang.terms import IRI_KIND, RDF_TYPE, Term
from stratalog.plan.rules import PlannedRule

X, Y = Variable("x"), Variable("y")


def is_triple_shaped(predicate: Predicate) -> bool:
    """Return whether facts of the predicate are triples: IRI-named, unary or binary."""
    return predicate.name.startswith("<") and predicate.arity in {1, 2}


def as_triple(atom: Atom) -> Atom:
    """Return `C(x)` as `[x, a, C]` and `P(x, y)` as `[x, P, y]`; other atoms as they are."""
    if not is_triple_shaped(atom.predicate):
        return atom
    name = Term(IRI_KIND, atom.predicate.name[1:-1])
    args: tuple[Argument, ...] = (atom.args[0], RDF_TYPE, name)
    if len(atom.args) > 1:
        args = (atom.args[0], name, atom.args[1])
    return Atom(TRIPLE, args, atom.place)


def writes_triples(rules: Iterable[PlannedRule]) -> bool:
    return any(rule.head.predicate == TRIPLE for rule in rules)


def reads_triples(rules: Iterable[PlannedRule]) -> bool:
    return any(a.predicate == TRIPLE for rule in rules for a in (*rule.body, *rule.negated))


def store_as_triples(rule: PlannedRule) -> PlannedRule:
    """Return the rule over TRIPLE; a head whose predicate is no IRI derives nothing."""
    head = as_triple(rule.head)
    builtins = rule.builtins
    if head.predicate == TRIPLE and isinstance(head.args[1], Variable):
        builtins = (*builtins, Filter(Call("ISIRI", (head.args[1],))))
    return replace(
        rule,
        head=head,
        body=tuple(as_triple(a) for a in rule.body),
        negated=tuple(as_triple(a) for a in rule.negated),
        builtins=builtins,
    )


def copying_rules(predicates: Iterable[Predicate], first: int) -> list[PlannedRule]:
    """Return the rules that fill TRIPLE from each IRI-named unary and binary relation."""
    atoms = [Atom(p, (X, Y)[: p.arity]) for p in sorted(predicates) if is_triple_shaped(p)]
    return [PlannedRule(first + i, as_triple(atom), (atom,)) for i, atom in enumerate(atoms)]
