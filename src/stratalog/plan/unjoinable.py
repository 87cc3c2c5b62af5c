"""What to say about places of a rule that never hold the same constant, because of their types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from stratalog.errors import StratalogWarning
from stratalog.lang.check import _spot
from stratalog.lang.column_types import (
    BOOLEANS,
    DATES,
    DATETIMES,
    DECIMALS,
    DOUBLES,
    INTEGERS,
    IRIS,
    NUMBERS,
    STRINGS,
    TEXTS,
    Types,
    type_of_kind,
    words_of,
)
from stratalog.lang.diagnostics import caution
from stratalog.lang.names import show_name
from stratalog.lang.printer import show
from stratalog.lang.syntax import TRIPLE, Atom, Bind, Predicate, Program, Rule, Variable
from stratalog.lang.terms import Term
from stratalog.plan.rules import PlannedRule
from stratalog.plan.type_flow import Conflict, Position, TypeFlow

JOIN, CONSTANT = "W305", "W306"
MOST = 3  # warnings of each kind before the others are only counted

# Types that people take for one another: pairs of sets, the first written like the second.
_ALIKE = (
    (NUMBERS, NUMBERS),
    (STRINGS, NUMBERS | BOOLEANS | DATES | DATETIMES | TEXTS),
    (DATES, DATETIMES),
)
_CASTS = {
    INTEGERS: "integer",
    DECIMALS: "decimal",
    DOUBLES: "double",
    BOOLEANS: "boolean",
    DATES: "date",
    DATETIMES: "dateTime",
}


class Place(NamedTuple):
    """A column that people know, and the atom that reads it."""

    predicate: Predicate
    column: int
    types: Types
    atom: Atom


Remark = Callable[[Predicate, int], str]
"""Says what else is known of a column, in words that follow its types; mostly nothing."""


class Unjoinable:
    """Tells of conflicts in a program, or in a part of its rules.

    `rdf` are the predicates whose given facts are from RDF.
    """

    def __init__(
        self,
        program: Program,
        flow: TypeFlow,
        rdf: Iterable[Predicate],
        among: Collection[Rule] | None = None,
    ) -> None:
        self._among = among
        self._program = program
        self._flow = flow
        self._makers: dict[Predicate, list[PlannedRule]] = {}
        for rule in flow.planned():
            self._makers.setdefault(rule.head.predicate, []).append(rule)
        self._is_rdf: dict[Predicate, bool] = dict.fromkeys(rdf, True)

    def doubtful(self) -> list[Conflict]:
        """Return the conflicts that are most likely mistakes.

        Data in RDF often has IRIs here and strings there, and rules that are made for all data
        join them. Types that are taken for one another are told there too.
        """
        return [conflict for conflict in self._flow.conflicts() if self._is_doubtful(conflict)]

    def _is_doubtful(self, conflict: Conflict) -> bool:
        first, second = conflict.first, conflict.second
        if not self._is_told(conflict) or _reads_triples(first) or _reads_triples(second):
            return False
        types = type_of_kind(first.kind) if isinstance(first, Term) else first.types
        if _are_alike(types, second.types):
            return True
        return not (self._of_rdf(first) and self._of_rdf(second))

    def _is_told(self, conflict: Conflict) -> bool:
        rule = conflict.rule.origin
        return rule is not None and (self._among is None or rule in self._among)

    def _of_rdf(self, position: Position | Term) -> bool:
        """Return whether all constants of a place are those of RDF, as far as one can see."""
        if isinstance(position, Term):
            return True
        return isinstance(position.atom, Atom) and self._holds_rdf(position.atom.predicate)

    def _holds_rdf(self, predicate: Predicate) -> bool:
        if predicate.name.startswith("<"):
            return True
        known = self._is_rdf.get(predicate)
        if known is None:
            rules = self._makers.get(predicate, [])
            self._is_rdf[predicate] = bool(rules)  # what it says of itself adds nothing
            known = bool(rules) and all(self._holds_rdf(a.predicate) for r in rules for a in r.body)
            self._is_rdf[predicate] = known
        return known

    def warnings(self, remark: Remark) -> list[StratalogWarning]:
        """Return a warning for each pair of columns, and each constant, that never match."""
        found: dict[object, StratalogWarning] = {}
        for conflict in map(self._turned, self.doubtful()):
            second = self._place(conflict.second)
            key = (self._key(conflict.first), self._key(conflict.second))
            if second is not None and key not in found:
                found[key] = self._warning(conflict, second, remark)
        return [*_shortened(found.values(), JOIN), *_shortened(found.values(), CONSTANT)]

    def _turned(self, conflict: Conflict) -> Conflict:
        """Return the conflict with a column that people know as its second place, if it has one."""
        first, second = conflict.first, conflict.second
        if isinstance(first, Term) or second.is_negated or self._place(second) is not None:
            return conflict
        return Conflict(conflict.rule, second, first)

    def _key(self, position: Position | Term) -> object:
        if isinstance(position, Term):
            return position
        place = self._place(position)
        return position.atom if place is None else (place.predicate, place.column)

    def _place(self, position: Position) -> Place | None:
        """Return the column that people know: of what they wrote inside a NOT, say."""
        atom = position.atom
        if not isinstance(atom, Atom):
            return None
        predicate, column = atom.predicate, position.column
        if not predicate.name.startswith("$"):
            return Place(predicate, column, position.types, atom)
        for rule in self._makers.get(predicate, []):
            arg = rule.head.args[column]
            for inner in rule.body:
                if arg in inner.args and isinstance(arg, Variable):
                    place = inner.args.index(arg)
                    types = self._flow.columns[inner.predicate][place]
                    return self._place(Position(inner, place, types))
        return None

    def _warning(self, conflict: Conflict, second: Place, remark: Remark) -> StratalogWarning:
        rule = conflict.rule.origin
        assert rule is not None  # noqa: S101  # others are not doubtful
        held = self._held(second, remark)
        if isinstance(conflict.first, Term):
            code = CONSTANT
            written = show(conflict.first, self._program.prefixes)
            told = f"{written} never matches: {held}"
            advice = _advice_on_constant(second.types)
        else:
            code = JOIN
            told = f"{self._first(conflict.first, remark)}, but {held}"
            told = f"{_subject(conflict)}: {told}"
            advice = _advice(conflict.first.types, second.types)
        word = show_name(second.predicate.name, self._program.prefixes)
        return caution(code, told, *_spot(rule, second.atom.place, word), advice)

    def _first(self, position: Position, remark: Remark) -> str:
        place = self._place(position)
        if place is not None:
            return self._held(place, remark)
        return f"{self._value(position)} gives {words_of(position.types)}"

    def _value(self, position: Position) -> str:
        """Return what gives a value that stands in no column: a BIND, or an aggregate."""
        if isinstance(position.atom, Bind):
            return show(position.atom.expression, self._program.prefixes)
        (maker, *_) = self._makers[position.atom.predicate]
        result = maker.head.args[position.column]
        reductions = () if maker.grouping is None else maker.grouping.reductions
        return next((r.function for r in reductions if r.variable == result), "the other side")

    def _held(self, place: Place, remark: Remark) -> str:
        """Return which types a column holds, in words."""
        predicate, column, types, _ = place
        declared = {each.predicate: each for each in self._program.declarations}.get(predicate)
        name = str(column + 1) if declared is None else declared.columns[column].name
        shown = show_name(predicate.name, self._program.prefixes)
        told = f"column {name} of {shown} holds {words_of(types)}"
        return told + remark(predicate, column)


def _shortened(found: Iterable[StratalogWarning], code: str) -> Iterator[StratalogWarning]:
    """Yield the warnings of a code, the last one for all that follow it."""
    chosen = [warning for warning in found if warning.code == code]
    yield from chosen[: MOST - 1]
    rest = chosen[MOST - 1 :]
    if rest:
        more = f"; and {len(rest) - 1} more of this kind" if len(rest) > 1 else ""
        yield rest[0].retold(rest[0].message + more)


def _reads_triples(position: Position | Term) -> bool:
    if isinstance(position, Term):
        return False
    return isinstance(position.atom, Atom) and position.atom.predicate == TRIPLE


def _are_alike(left: Types, right: Types) -> bool:
    """Return whether people take some type of one side for one of the other."""
    return any((left & a and right & b) or (left & b and right & a) for a, b in _ALIKE)


def has_alike(types: Types) -> bool:
    """Return whether people take some of these types for one another."""
    both = ((types & a, types & b) for a, b in _ALIKE)
    return any(left and right and (left | right).bit_count() > 1 for left, right in both)


def _subject(conflict: Conflict) -> str:
    if conflict.second.is_negated:
        return "NOT excludes nothing"
    assert isinstance(conflict.first, Position)  # noqa: S101  # the caller has looked
    name = _variable(conflict.first, conflict.second)
    return "two columns never match" if name is None else f"?{name} never matches"


def _variable(first: Position, second: Position) -> str | None:
    """Return the variable of two places, unless it is one that we have made."""
    for position in (first, second):
        if isinstance(position.atom, Atom):
            arg = position.atom.args[position.column]
            if isinstance(arg, Variable) and not arg.name.startswith(("$", "_")):
                return arg.name
    return None


def _advice(left: Types, right: Types) -> str:
    both = left | right
    if left & NUMBERS and right & NUMBERS:
        compare = "compare two variables by value, FILTER(?a = ?b)"
        return (
            f"give both columns one type of numbers, with @declare or at their source, or {compare}"
        )
    for one, other in ((left, right), (right, left)):
        for bit, name in _CASTS.items():
            if one & STRINGS and other & bit:
                compare = f"compare two variables, FILTER(?a = xsd:{name}(?b))"
                return (
                    f"declare the strings as {name}, with @declare or at their source, or {compare}"
                )
    if both & DATES and both & DATETIMES:
        return "give both columns one type, or compare two variables, FILTER(?a = xsd:date(?b))"
    if both & STRINGS and both & IRIS:
        compare = "compare two variables, FILTER(?a = IRI(?b))"
        return f"declare the strings as iri, with @declare or at their source, or {compare}"
    if both & STRINGS and both & TEXTS:
        return "compare two variables without the language, FILTER(?a = STR(?b))"
    return "correct the rule, or give both columns one type"


_WRITTEN = {
    STRINGS: '"text"',
    INTEGERS: "42",
    DECIMALS: "4.2",
    DOUBLES: "42e0",
    BOOLEANS: "true",
    DATES: '"2026-01-31"^^xsd:date',
    DATETIMES: '"2026-01-31T12:00:00"^^xsd:dateTime',
    IRIS: "<http://example.org/a>",
    TEXTS: '"text"@en',
}


def _advice_on_constant(types: Types) -> str:
    shown = [f"{words_of(bit)} are written {text}" for bit, text in _WRITTEN.items() if types & bit]
    return "; ".join([*shown, "correct the constant, or the types of the column"])
