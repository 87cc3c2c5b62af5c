"""Equality filters as join keys: `p(?x), q(?y), ?y = ?x + 1` is evaluated without trying all pairs.

FILTER's `=` compares values, and joins compare constants. So a hidden predicate holds, for what an
atom gives one side of the filter, the key of its value: two values are equal if and only if their
keys are one constant. `p(?x), q(?y), ?y = ?x + 1` becomes

    p(?x), q(?y), $value1(?y, ?k), $value2(?x, ?k)
    $value1(?y, ?k) :- q(?y), BIND($KEY(?y) AS ?k)
    $value2(?x, ?k) :- p(?x), BIND($KEY(?x + 1) AS ?k)

This is done where nothing else joins the atoms of the two sides, so that all pairs would be tried.
An instance of the rule has one key: counts are those of the rule with its filter. A side is
computed by BIND in the rule itself if it needs several atoms, or if its atom is recursive, which
would take a round more. A filter both of whose sides need several atoms stays a filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from stratalog.lang.builtins.functions import VALUE_KEY
from stratalog.lang.syntax import Atom, Bind, Call, Expression, Filter, Predicate, Variable
from stratalog.plan.lower import expression_variables, renamed, variables_of
from stratalog.plan.rules import PlannedRule
from stratalog.plan.stratify import strongly_connected


def with_value_keys(
    rules: Sequence[PlannedRule], prefix: str = "$", *, are_answers: bool = False
) -> list[PlannedRule]:
    """Return the rules, those of hidden predicates before the rules that need them.

    What answers a query is evaluated once: one held side is enough.
    """
    if not any(_may_join(builtin) for rule in rules for builtin in rule.builtins):
        return list(rules)
    holding = _Holding(prefix, _together(rules), are_answers=are_answers)
    for rule in rules:
        holding.add(rule)
    return holding.rules


def _together(rules: Sequence[PlannedRule]) -> dict[Predicate, int]:
    """Return for each predicate the number of its recursive component."""
    graph: dict[Predicate, list[Predicate]] = {}
    for rule in rules:
        read = (atom.predicate for atom in (*rule.body, *rule.negated))
        graph.setdefault(rule.head.predicate, []).extend(read)
    return {p: n for n, component in enumerate(strongly_connected(graph)) for p in component}


@dataclass(frozen=True, slots=True)
class _Side:
    """A side of an equality, and what gives its variables their values."""

    value: Expression  # the key of what stands on this side, or what an atom's expression is
    binds: tuple[Bind, ...]  # whose variables it needs, directly or not
    variables: tuple[Variable, ...]  # of atoms, that it needs
    atoms: tuple[Atom, ...]  # those that have all of these


class _Holding:
    """Puts the rules together, and the predicates that hold keys."""

    def __init__(self, prefix: str, together: dict[Predicate, int], *, are_answers: bool) -> None:
        self.rules: list[PlannedRule] = []
        self._prefix = prefix
        self._together = together
        self._are_answers = are_answers
        self._held: dict[object, Predicate] = {}

    def add(self, rule: PlannedRule) -> None:
        """Add a rule, with keys for those of its built-ins that join what nothing else joins."""
        if not any(map(_may_join, rule.builtins)):
            self._emit(rule)
            return
        parts = _Parts(rule)
        builtins: list[Filter | Bind] = []
        atoms = list(rule.body)
        for builtin in _conjuncts(rule.builtins):
            sides = parts.apart(builtin)
            held = self._which(rule, sides)
            parts.join(builtin)
            if not held:
                builtins.append(builtin)
                continue
            key = Variable(f"$=k{len(atoms)}")
            if isinstance(builtin, Bind):
                key = builtin.variable
            for side in sides:
                if side in held:
                    atoms.append(self._hold(side, key, rule))
                elif isinstance(builtin, Filter):
                    builtins.append(Bind(side.value, key))
        if len(atoms) > len(rule.body):
            rule = replace(rule, body=tuple(atoms), builtins=tuple(builtins))
        self._emit(rule)

    def _emit(self, rule: PlannedRule) -> None:
        number = len(self.rules)
        self.rules.append(rule if rule.index == number else replace(rule, index=number))

    def _which(self, rule: PlannedRule, sides: Sequence[_Side]) -> list[_Side]:
        """Return the sides whose keys are to be held."""
        possible = [side for side in sides if side.atoms]
        fixed = [side for side in possible if not self._is_recursive(rule, side)]
        if len(sides) == 1:  # the other side is a key already
            return [] if self._are_answers else fixed
        return (fixed or possible)[-1:] if self._are_answers else fixed or possible

    def _is_recursive(self, rule: PlannedRule, side: _Side) -> bool:
        here = self._together[rule.head.predicate]
        return all(self._together[atom.predicate] == here for atom in side.atoms)

    def _hold(self, side: _Side, key: Variable, rule: PlannedRule) -> Atom:
        """Return the atom that gives the key of a side; equal sides share a predicate."""
        atom = min(side.atoms, key=lambda each: each.predicate.arity)
        content = renamed((atom, side.binds, side.value, side.variables), {})
        held = self._held.get(content)
        args = (*side.variables, key)
        if held is None:
            held = Predicate(f"{self._prefix}value{len(self._held) + 1}", len(args))
            self._held[content] = held
            binds = (*side.binds, Bind(side.value, key))
            head = Atom(held, args)
            self._emit(PlannedRule(0, head, (atom,), (), binds, origin=rule.origin))
        return Atom(held, args)


def _may_join(builtin: Filter | Bind) -> bool:
    expression = builtin.expression
    is_equality = isinstance(expression, Call) and expression.name in {"=", "&&"}
    return isinstance(builtin, Bind) or is_equality


def _conjuncts(builtins: Iterable[Filter | Bind]) -> Iterator[Filter | Bind]:
    """Yield the built-ins; of a FILTER by && each operand, because all of them must be true."""
    for builtin in builtins:
        match builtin:
            case Filter(Call("&&", operands), place):
                yield from _conjuncts(Filter(operand, place) for operand in operands)
            case _:
                yield builtin


class _Parts:
    """Which variables of a body its atoms and BINDs join with each other."""

    def __init__(self, rule: PlannedRule) -> None:
        self._atoms = rule.body
        self._leader: dict[Variable, Variable] = {}
        for atom in rule.body:
            self._join(variables_of(atom))
        self._known = frozenset(self._leader)
        binds = [builtin for builtin in rule.builtins if isinstance(builtin, Bind)]
        self._binds = {b.variable: b for b in binds if b.variable not in self._known}
        for bind in self._binds.values():
            self._join(variables_of(bind))

    def apart(self, builtin: Filter | Bind) -> tuple[_Side, ...]:
        """Return the sides of what is to join variables that nothing else joins, or nothing.

        A BIND has one side to hold: the other is a variable of an atom, whose column is the key.
        """
        match builtin:
            case Filter(Call("=", (left, right))):
                keys = (Call(VALUE_KEY, (left,)), Call(VALUE_KEY, (right,)))
                sides = self._side(keys[0], left), self._side(keys[1], right)
                first, second = (self._leaders(side.variables) for side in sides)
                return sides if first and second and not first & second else ()
            case Bind(expression, variable) if variable in self._known:
                side = self._side(expression, expression)
                leaders = self._leaders(side.variables)
                return (side,) if leaders and self._find(variable) not in leaders else ()
        return ()

    def _leaders(self, variables: Iterable[Variable]) -> set[Variable]:
        return {self._find(variable) for variable in variables}

    def join(self, builtin: Filter | Bind) -> None:
        """Take note that a BIND, or an equality, joins its variables."""
        match builtin:
            case Bind() | Filter(Call("=")):
                self._join(variables_of(builtin))

    def _side(self, value: Expression, expression: Expression) -> _Side:
        found: list[Bind] = []
        needed = list(expression_variables(expression))
        for variable in needed:  # which grows
            bind = self._binds.get(variable)
            if bind is not None and bind not in found:
                found.append(bind)
                needed += expression_variables(bind.expression)
        variables = tuple(dict.fromkeys(v for v in needed if v not in self._binds))
        atoms = (atom for atom in self._atoms if set(variables) <= set(variables_of(atom)))
        return _Side(value, tuple(reversed(found)), variables, tuple(atoms))

    def _join(self, variables: Iterable[Variable]) -> None:
        leaders = [self._find(variable) for variable in variables]
        self._leader.update(dict.fromkeys(leaders, leaders[0]) if leaders else {})

    def _find(self, variable: Variable) -> Variable:
        leader = self._leader.setdefault(variable, variable)
        while leader != variable:
            variable, leader = leader, self._leader[leader]
        return leader
