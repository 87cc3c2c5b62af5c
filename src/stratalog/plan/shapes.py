"""Shapes of rules that can be evaluated in bulk: paths, and recursion group by group."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from stratalog.lang.syntax import Atom, Predicate, Variable
from stratalog.plan.lower import variables_of
from stratalog.plan.rules import PlannedRule


class Hop(NamedTuple):
    """One atom of a path, followed from its first to its second argument, or backwards."""

    atom: int
    forward: bool


def path_of(rule: PlannedRule) -> tuple[Hop, ...] | None:
    """Return the body as a path from the head's first to its second variable, if it is one.

    All atoms are binary with two variables, a variable inside the path stands in exactly two
    atoms, and nothing else is in the rule: `S(x, y) :- P(a, x), S(a, b), P(b, y)` is the path x -
    a - b - y.
    """
    if not is_plain(rule) or not all(_is_edge(atom) for atom in (rule.head, *rule.body)):
        return None
    first, last = rule.head.args
    uses: Counter[object] = Counter(v for atom in rule.body for v in variables_of(atom))
    inside = [v for v in uses if v not in (first, last)]
    if uses[first] != 1 or uses[last] != 1 or any(uses[v] != 2 for v in inside):  # noqa: PLR2004
        return None
    return _walk(rule.body, first, last)


def is_plain(rule: PlannedRule) -> bool:
    """Return whether a rule has positive atoms only."""
    return not (rule.negated or rule.builtins or rule.grouping)


def _is_edge(atom: Atom) -> bool:
    variables = [a for a in atom.args if isinstance(a, Variable)]
    return len(atom.args) == 2 and len(set(variables)) == 2  # noqa: PLR2004  # binary


def _walk(body: Sequence[Atom], first: object, last: object) -> tuple[Hop, ...] | None:
    """Return the hops from the first to the last variable, each of which stands in two atoms."""
    atoms_of: defaultdict[object, list[int]] = defaultdict(list)
    for i, atom in enumerate(body):
        for variable in atom.args:
            atoms_of[variable].append(i)
    hops: list[Hop] = []
    at = first
    while atoms_of[at]:
        found = atoms_of[at].pop(0)
        begin, end = body[found].args
        hops.append(Hop(found, begin == at))
        at = end if begin == at else begin
        atoms_of[at].remove(found)
    return tuple(hops) if at == last and len(hops) == len(body) else None


class Passing(NamedTuple):
    """A rule `T(x, z) :- T(x, y), edge(y, z)` that passes x, in column `group`, through."""

    group: int
    edge: Hop  # from y to z


def passing(rules: Sequence[PlannedRule]) -> tuple[Passing, ...] | None:
    """Return how all rules pass a variable through in the same column of one relation, or None."""
    found = [_passing(rule) for rule in rules]
    passes = tuple(p for p in found if p is not None)
    heads = {rule.head.predicate for rule in rules}
    if (
        not passes
        or len(passes) < len(found)
        or len(heads) > 1
        or len({p.group for p in passes}) > 1
    ):
        return None
    return passes


def _passing(rule: PlannedRule) -> Passing | None:
    target: Predicate = rule.head.predicate
    recursive = [i for i, atom in enumerate(rule.body) if atom.predicate == target]
    if len(rule.body) != 2 or len(recursive) != 1 or path_of(rule) is None:  # noqa: PLR2004
        return None
    inner, edge = rule.body[recursive[0]], rule.body[1 - recursive[0]]
    for group in (0, 1):
        if rule.head.args[group] == inner.args[group]:
            forward = edge.args == (inner.args[1 - group], rule.head.args[1 - group])
            return Passing(group, Hop(1 - recursive[0], forward))
    return None
