"""Strata whose recursive rules, all together, say that their relations are one closure.

Three shapes are told apart. A relation may be transitive, symmetric, reflexive on either side. The
same may be said of several relations that copy each other, as they are or turned: each is that one
closure, read in its direction, and if some chain of copies turns a relation into itself, it is
symmetric. And a relation may follow steps of an earlier one, from the left or from the right:
`path(?x, ?z) :- edge(?x, ?y), path(?y, ?z)`.

Atoms are read in the direction of the closure here: `(x, y)` of a turned relation is `(y, x)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec
from stratalog.lang.syntax import Argument, Atom, Predicate, Variable
from stratalog.plan.rules import PlannedRule, Stratum
from stratalog.plan.shapes import is_plain

PAIR = 2  # arguments of a relation that can be a closure


def closing_of(stratum: Stratum) -> ClosureSpec | None:
    """Return the closure that a stratum's relations are, None if its rules say something else."""
    rules = stratum.recursive
    if not rules or not all(is_plain(rule) and _has_pairs(rule) for rule in rules):
        return None
    return _linear(stratum) or _transitive(stratum)


def _has_pairs(rule: PlannedRule) -> bool:
    """Return whether all atoms have two variables, which may be the same, and nothing else."""
    return all(
        len(atom.args) == PAIR and all(isinstance(arg, Variable) for arg in atom.args)
        for atom in (rule.head, *rule.body)
    )


# ---- Transitive relations, under one name or several -------------------------------------------


def _transitive(stratum: Stratum) -> ClosureSpec | None:
    rules = stratum.recursive
    copies = [rule for rule in rules if len(rule.body) == 1 and not _is_loop(rule.head)]
    loops = [rule for rule in rules if len(rule.body) == 1 and _is_loop(rule.head)]
    joins = [rule for rule in rules if len(rule.body) == PAIR]
    if not joins or len(copies) + len(loops) + len(joins) < len(rules):
        return None
    if not (_all_copy(copies) and _are_equal(stratum.predicates, copies)):
        return None
    turned, is_symmetric = _directions(stratum.predicates, copies)
    if not all(_follows(rule, turned, is_symmetric=is_symmetric) for rule in joins):
        return None
    sources, targets = _loops(loops, turned)
    if len(sources) + len(targets) < len(loops):
        return None
    predicates = sorted(stratum.predicates)
    if is_symmetric:  # then there is no direction, and who is related at all is related to itself
        return ClosureSpec(tuple(map(ClosureSide, predicates)), is_symmetric=True)
    sides = tuple(ClosureSide(p, turned[p]) for p in predicates)
    return ClosureSpec(sides, has_sources=bool(sources), has_targets=bool(targets))


def _is_loop(atom: Atom) -> bool:
    return atom.args[0] == atom.args[1]


def _all_copy(copies: Sequence[PlannedRule]) -> bool:
    """Return whether rules with one atom have both variables of it in the head."""
    return all(
        not _is_loop(rule.body[0]) and set(rule.head.args) == set(rule.body[0].args)
        for rule in copies
    )


def _are_equal(predicates: frozenset[Predicate], copies: Sequence[PlannedRule]) -> bool:
    """Return whether copies lead from each relation to every other."""
    some = min(predicates)
    for forwards in (True, False):
        reached, before = {some}, set[Predicate]()
        while reached != before:
            before = set(reached)
            for rule in copies:
                source, target = rule.body[0].predicate, rule.head.predicate
                if not forwards:
                    source, target = target, source
                if source in reached:
                    reached.add(target)
        if reached != predicates:
            return False
    return True


def _directions(
    predicates: frozenset[Predicate], copies: Sequence[PlannedRule]
) -> tuple[dict[Predicate, bool], bool]:
    """Return which relations are turned, as seen from the first; and whether one is turned too."""
    turned = {min(predicates): False}
    while len(turned) < len(predicates):
        for rule in copies:
            head, body, differ = rule.head.predicate, rule.body[0].predicate, _differ(rule)
            if body in turned:
                turned.setdefault(head, turned[body] != differ)
            elif head in turned:
                turned.setdefault(body, turned[head] != differ)
    is_symmetric = any(
        turned[rule.head.predicate] != (turned[rule.body[0].predicate] != _differ(rule))
        for rule in copies
    )
    return turned, is_symmetric


def _differ(copy: PlannedRule) -> bool:
    """Return whether a rule turns what it copies."""
    return copy.head.args != copy.body[0].args


def _follows(rule: PlannedRule, turned: Mapping[Predicate, bool], *, is_symmetric: bool) -> bool:
    """Return whether a rule joins a pair with one that it leads to, and says nothing else."""
    if any(atom.predicate not in turned for atom in rule.body):
        return False
    head, first, second = (_directed(atom, turned) for atom in (rule.head, *rule.body))
    if is_symmetric:
        ends = {*head}
        between = ({*first} & {*second}) - ends
        whole = [{*pair} for pair in (head, first, second)]
        are_pairs = all(len(pair) == PAIR for pair in whole)
        return are_pairs and len(between) == 1 and {*first} ^ {*second} == ends
    return any(
        (one[0], other[1]) == head and one[1] == other[0] and len({*head, one[1]}) > PAIR
        for one, other in ((first, second), (second, first))
    )


def _directed(atom: Atom, turned: Mapping[Predicate, bool]) -> tuple[Argument, Argument]:
    first, second = atom.args
    return (second, first) if turned[atom.predicate] else (first, second)


def _loops(
    rules: Sequence[PlannedRule], turned: Mapping[Predicate, bool]
) -> tuple[list[PlannedRule], list[PlannedRule]]:
    """Return the rules that relate first constants to themselves, and second ones."""
    pairs = [(rule, _directed(rule.body[0], turned)) for rule in rules]
    sources = [r for r, pair in pairs if pair[0] == r.head.args[0] != pair[1]]
    targets = [r for r, pair in pairs if pair[1] == r.head.args[0] != pair[0]]
    return sources, targets


# ---- Relations that follow steps of another ----------------------------------------------------


def _linear(stratum: Stratum) -> ClosureSpec | None:
    if len(stratum.predicates) > 1:
        return None
    shapes = {_steps(rule) for rule in stratum.recursive}
    return shapes.pop() if len(shapes) == 1 else None


def _steps(rule: PlannedRule) -> ClosureSpec | None:
    """Return the closure under the steps of a rule, if it takes one step."""
    own = [atom for atom in rule.body if atom.predicate == rule.head.predicate]
    others = [atom for atom in rule.body if atom.predicate != rule.head.predicate]
    if len(own) != 1 or len(others) != 1:
        return None
    (x, z), (a, b), (c, d) = (atom.args for atom in (rule.head, own[0], others[0]))
    if x == z or a == b or c == d:
        return None
    steps, relation = others[0].predicate, rule.head.predicate
    if b == z and {c, d} == {x, a} and a != x:  # a step before: x to a
        return ClosureSpec((ClosureSide(relation),), steps=ClosureSide(steps, is_turned=c != x))
    if a == x and {c, d} == {b, z} and b != z:  # a step behind: b to z
        return ClosureSpec(
            (ClosureSide(relation, is_turned=True),), steps=ClosureSide(steps, is_turned=c != z)
        )
    return None
