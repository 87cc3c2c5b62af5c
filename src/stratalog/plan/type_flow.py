"""How the types of columns flow through rules, and where they show that nothing can match.

The types of a derived column are those that the rules' variables may have: of a variable, the types
that all its places have in common. The rules are followed until nothing is added. Two places of one
variable that have types, and none in common, never hold the same constant.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stratalog.lang.column_types import (
    ANY,
    NONE,
    Types,
    type_of_kind,
    types_of_result,
    types_of_value,
)
from stratalog.lang.syntax import Atom, Bind, Predicate, Variable
from stratalog.lang.terms import Term
from stratalog.plan.rules import PlannedRule

Columns = list[Types]  # of one predicate; changed while types flow


class Position(NamedTuple):
    """A column of an atom of a rule's body, or the value of a BIND, and the types that it has."""

    atom: Atom | Bind
    column: int
    types: Types
    is_negated: bool = False


class Conflict(NamedTuple):
    """Two places that never hold the same constant; the first may be a constant in the rule."""

    rule: PlannedRule
    first: Position | Term
    second: Position


class _Read(NamedTuple):
    """An atom whose variables are numbered, and the types of its predicate's columns."""

    columns: Columns
    places: tuple[tuple[int, int], ...]  # column, number of the variable


class _Rule(NamedTuple):
    """A rule whose variables are numbered."""

    planned: PlannedRule
    head: Columns
    given: tuple[int | Types, ...]  # per argument of the head: a variable's number
    constants: tuple[Types, ...]  # per argument of the head: a constant's type, or NONE
    reads: tuple[_Read, ...]
    numbers: Mapping[Variable, int]
    binds: tuple[Bind, ...]


class TypeFlow:
    """The types of all columns of a planned program."""

    def __init__(
        self, rules: Sequence[PlannedRule], given: Mapping[Predicate, Sequence[Types]]
    ) -> None:
        """Take the types of the columns of explicit facts, by predicate."""
        self.columns: dict[Predicate, Columns] = {p: list(types) for p, types in given.items()}
        self._planned = rules
        self._rules: list[_Rule] = []  # those that may have instances: all their atoms have facts
        self._follow()

    def _numbered(self, rule: PlannedRule) -> _Rule:
        numbers: dict[Variable, int] = {}

        def number(variable: Variable) -> int:
            return numbers.setdefault(variable, len(numbers))

        reads = tuple(
            _Read(
                self._of(atom.predicate),
                tuple((c, number(a)) for c, a in enumerate(atom.args) if isinstance(a, Variable)),
            )
            for atom in rule.body
        )
        binds = tuple(each for each in rule.builtins if isinstance(each, Bind))
        for bind in binds:
            number(bind.variable)
        for reduction in () if rule.grouping is None else rule.grouping.reductions:
            number(reduction.variable)
        given = tuple(number(a) if isinstance(a, Variable) else -1 for a in rule.head.args)
        constants = tuple(
            type_of_kind(a.kind) if isinstance(a, Term) else NONE for a in rule.head.args
        )
        return _Rule(rule, self._of(rule.head.predicate), given, constants, reads, numbers, binds)

    def _of(self, predicate: Predicate) -> Columns:
        found = self.columns.get(predicate)
        if found is None:
            found = self.columns[predicate] = [NONE] * predicate.arity
        return found

    def _follow(self) -> None:
        """Add types to heads until nothing is new; a rule is looked at when what it reads grew."""
        readers = self._readers()
        present = set(self.columns)
        begun: dict[int, _Rule] = {}
        waiting = deque(range(len(self._planned)))
        is_waiting = [True] * len(self._planned)
        while waiting:
            place = waiting.popleft()
            is_waiting[place] = False
            planned = self._planned[place]
            if not all(atom.predicate in present for atom in planned.body):
                continue
            rule = begun.get(place) or begun.setdefault(place, self._numbered(planned))
            head = planned.head.predicate
            if self._add(rule) or head not in present:
                present.add(head)
                again = [each for each in readers[head] if not is_waiting[each]]
                waiting.extend(again)
                for each in again:
                    is_waiting[each] = True
        self._rules = [begun[place] for place in sorted(begun)]

    def _readers(self) -> dict[Predicate, list[int]]:
        """Return the places of the rules that read each predicate."""
        readers: dict[Predicate, list[int]] = defaultdict(list)
        for place, rule in enumerate(self._planned):
            for predicate in {atom.predicate for atom in rule.body}:
                readers[predicate].append(place)
        return readers

    def _add(self, rule: _Rule) -> bool:
        """Add to the head's columns what the rule derives; return whether that is new."""
        types = self._variables(rule)
        is_new = False
        for column, (number, constant) in enumerate(zip(rule.given, rule.constants, strict=True)):
            found = rule.head[column] | (types[number] if number >= 0 else constant)
            is_new |= found != rule.head[column]
            rule.head[column] = found
        return is_new

    def _variables(self, rule: _Rule) -> list[Types]:
        """Return the types of a rule's variables, by number."""
        types = [ANY] * len(rule.numbers)
        for columns, places in rule.reads:
            for column, number in places:
                types[number] &= columns[column]
        grouping = rule.planned.grouping
        if rule.binds or grouping is not None:
            named = {variable: types[number] for variable, number in rule.numbers.items()}
            for bind in rule.binds:
                named[bind.variable] &= types_of_value(bind.expression, named)
                types[rule.numbers[bind.variable]] = named[bind.variable]
            for reduction in () if grouping is None else grouping.reductions:
                types[rule.numbers[reduction.variable]] = types_of_result(reduction, named)
        return types

    def planned(self) -> Iterator[PlannedRule]:
        """Yield all rules."""
        return iter(self._planned)

    # Where nothing matches

    def conflicts(self) -> Iterator[Conflict]:
        """Yield the places that never hold the same constant, of each rule in turn."""
        for rule in self._rules:
            types = self._variables(rule)
            if not all(types) or rule.planned.negated or _has_constants(rule.planned):
                yield from self._conflicts(
                    rule.planned, dict(zip(rule.numbers, types, strict=True))
                )

    def _conflicts(
        self, rule: PlannedRule, types_of: Mapping[Variable, Types]
    ) -> Iterator[Conflict]:
        found: dict[Variable, list[Position]] = defaultdict(list)
        count = len(rule.body)
        for bind in rule.builtins:
            if isinstance(bind, Bind):
                value = types_of_value(bind.expression, types_of)
                found[bind.variable].append(Position(bind, 0, value))
        for place, atom in enumerate((*rule.body, *rule.negated)):
            for column, (arg, types) in enumerate(
                zip(atom.args, self._of(atom.predicate), strict=True)
            ):
                here = Position(atom, column, types, is_negated=place >= count)
                if isinstance(arg, Variable):
                    found[arg].append(here)
                elif types and not types & type_of_kind(arg.kind):
                    yield Conflict(rule, arg, here)
        for positions in found.values():
            pair = _apart(positions)
            if pair is not None:
                yield Conflict(rule, *pair)

    def upstream(self, predicates: Iterable[Predicate]) -> set[Predicate]:
        """Return the predicates, and all from which theirs are derived."""
        makers: dict[Predicate, list[PlannedRule]] = defaultdict(list)
        for rule in self._planned:
            makers[rule.head.predicate].append(rule)
        found: set[Predicate] = set()
        waiting = list(predicates)
        while waiting:
            predicate = waiting.pop()
            if predicate not in found:
                found.add(predicate)
                waiting += [a.predicate for rule in makers[predicate] for a in rule.body]
        return found


def _has_constants(rule: PlannedRule) -> bool:
    return any(isinstance(arg, Term) for atom in rule.body for arg in atom.args)


def _apart(positions: Sequence[Position]) -> tuple[Position, Position] | None:
    """Return two places of a variable, the first not negated, that have no type in common."""
    for number, second in enumerate(positions):
        for first in positions[:number]:
            if first.is_negated or not (first.types and second.types):
                continue
            if not first.types & second.types:
                return first, second
    return None
