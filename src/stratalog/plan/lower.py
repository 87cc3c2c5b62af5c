"""A checked program to planned rules: what goes beyond the papers' rules becomes hidden predicates.

- Several heads, and several alternatives of a body: one rule each.
- `_` in a body: a hidden projection `$any1(other arguments)`.
- `NOT` with existential variables or several literals: NOT of a hidden projection `$not1(shared
variables)`.
- `AGGREGATE`: a hidden predicate `$aggregate1(group, results)` with one fact per non-empty group.
- A variable in predicate position: see `plan/triples.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from stratalog.lang.spellings import bound_by, is_anonymous, plain_rules
from stratalog.lang.syntax import (
    Aggregate,
    Atom,
    Bind,
    Call,
    Expression,
    Filter,
    Head,
    Literal,
    Negation,
    Predicate,
    Reduction,
    Rule,
    Variable,
)
from stratalog.plan.rules import Grouping, PlannedRule

Body = tuple[list[Atom], list[Atom], list[Filter | Bind]]


def lower_rules(
    rules: Iterable[Rule], prefix: str = "$", *, are_answers: bool = False
) -> list[PlannedRule]:
    """Return the planned rules of `rules`, hidden ones before the rules that need them.

    What answers a query is listed once, however many instances give it: its rules need no
    projections of their own.
    """
    lowering = _Lowering(prefix, are_answers=are_answers)
    for rule in rules:
        for plain in plain_rules(rule):
            lowering.add(plain, rule, has_spellings=plain is not rule)
    return lowering.planned


class _Lowering:
    def __init__(self, prefix: str, *, are_answers: bool) -> None:
        self.planned: list[PlannedRule] = []
        self._prefix = prefix
        self._are_answers = are_answers
        self._hidden: dict[object, Predicate] = {}
        self._renamed = 0

    def add(self, plain: Rule, origin: Rule, *, has_spellings: bool) -> None:
        heads = [_atom_head(head) for head in plain.heads]
        is_projected = has_spellings and not self._are_answers  # no other rule has a `_`
        body = self._body(plain.body, origin, is_projected=is_projected)
        for head in heads:
            self._emit(head, body, None, origin)

    def _emit(self, head: Atom, body: Body, grouping: Grouping | None, origin: Rule) -> None:
        atoms, negated, builtins = body
        self.planned.append(
            PlannedRule(
                len(self.planned),
                head,
                tuple(atoms),
                tuple(negated),
                tuple(builtins),
                grouping,
                origin,
            )
        )

    def _body(
        self, literals: Sequence[Literal], origin: Rule, *, is_projected: bool = True
    ) -> Body:
        """Return the literals as atoms, closed negated atoms and built-ins."""
        body: Body = ([], [], [])
        for literal in literals:
            match literal:
                case Atom():
                    body[0].append(self._projection(literal, origin) if is_projected else literal)
                case Filter() | Bind():
                    body[2].append(literal)
                case Aggregate():
                    body[0].append(self._aggregate(literal, origin))
                case Negation():
                    body[1].append(self._negation(literal, literals, origin))
        return body

    def _projection(self, atom: Atom, origin: Rule) -> Atom:
        """Return the atom of the hidden projection to what is not `_`; other atoms as they are."""
        variables = tuple(dict.fromkeys(variables_of(atom)))
        kept = tuple(v for v in variables if not is_anonymous(v))
        if kept == variables:
            return atom
        key = renamed(("any", atom, kept), {})
        return self._hide("any", key, kept, [atom], None, origin)

    def _negation(self, negation: Negation, around: Sequence[Literal], origin: Rule) -> Atom:
        inner = self._rename_apart(negation)
        bound = bound_by(around)
        shared = tuple(v for v in _in_order(inner) if v in bound)
        if len(inner) == 1 and isinstance(inner[0], Atom) and _is_closed(inner[0], bound):
            return self._projection(inner[0], origin)
        context = _context(set(shared) - bound_by(inner), around)
        inner = (*context, *inner)
        key = renamed(("not", inner, shared), {})
        return self._hide("within" if context else "not", key, shared, inner, None, origin)

    def _rename_apart(self, negation: Negation) -> tuple[Literal, ...]:
        if not negation.local:
            return negation.body
        self._renamed += 1
        fresh = {v: Variable(f"${v.name}{self._renamed}") for v in negation.local}
        return tuple(substitute(literal, fresh) for literal in negation.body)

    def _aggregate(self, aggregate: Aggregate, origin: Rule) -> Atom:
        results = tuple(reduction.variable for reduction in aggregate.reductions)
        arguments = aggregate.group + results
        key = renamed(aggregate, {})
        grouping = Grouping(aggregate.group, aggregate.reductions)
        return self._hide("aggregate", key, arguments, aggregate.body, grouping, origin)

    def _hide(  # a hidden rule has all these parts
        self,
        kind: str,
        key: object,
        arguments: tuple[Variable, ...],
        literals: Sequence[Literal],
        grouping: Grouping | None,
        origin: Rule,
    ) -> Atom:
        """Return the atom of a hidden predicate defined by `literals`, shared by equal uses."""
        hidden = self._hidden.get(key)
        if hidden is None:
            name = f"{self._prefix}{kind}{len(self._hidden) + 1}"
            hidden = self._hidden[key] = Predicate(name, len(arguments))
            # Only what an AGGREGATE ranges over must not be enumerated: others are projections.
            body = self._body(literals, origin, is_projected=grouping is not None)
            self._emit(Atom(hidden, arguments), body, grouping, origin)
        return Atom(hidden, arguments)


def _context(missing: set[Variable], around: Sequence[Literal]) -> list[Literal]:
    """Return literals around a NOT that bind variables which only built-ins inside it look at.

    In `p(?x), NOT (q(?y), FILTER(?x < ?y))` the projection to ?x needs p(?x): what is inside does
    not bind ?x.
    """
    context: list[Literal] = []
    while missing:
        variable = min(missing)
        binders: list[Literal] = [
            x for x in around if isinstance(x, Atom | Aggregate) and variable in variables_of(x)
        ]
        binders += [x for x in around if isinstance(x, Bind) and x.variable == variable]
        context.append(binders[0])
        if isinstance(binders[0], Bind):
            missing = missing | set(expression_variables(binders[0].expression))
        missing = missing - bound_by(context)
    return context


def _is_closed(atom: Atom, bound: Collection[Variable]) -> bool:
    """Return whether an atom's variables are bound, but for those that are written `_`."""
    return all(v in bound or is_anonymous(v) for v in variables_of(atom))


def _atom_head(head: Head) -> Atom:
    if not isinstance(head, Atom):
        raise TypeError("equality in a head is refused by lang/check.py")
    return head


def renamed(  # noqa: C901, PLR0911  # a case per kind of node
    part: object, names: dict[Variable, Variable]
) -> object:
    """Return a key that is equal for parts alike up to the names of their variables."""
    match part:
        case Variable():
            return names.setdefault(part, Variable(f"${len(names)}"))
        case Predicate():
            return part
        case Reduction():
            return ("reduction", *(renamed(field, names) for field in part))
        case tuple() | list():
            return (type(part).__name__, *(renamed(item, names) for item in part))
        case Atom():
            return ("atom", part.predicate, renamed(part.args, names))
        case Call():
            return ("call", part.name, renamed(part.args, names))
        case Filter():
            return ("filter", renamed(part.expression, names))
        case Bind():
            return ("bind", renamed(part.expression, names), renamed(part.variable, names))
        case Negation():
            return ("negation", renamed(part.body, names), renamed(part.local, names))
        case Aggregate():
            return (
                "aggregate",
                *(renamed(p, names) for p in (part.body, part.group, part.reductions)),
            )
    return part


def expression_variables(expression: Expression) -> Iterator[Variable]:
    match expression:
        case Variable():
            yield expression
        case Call():
            for argument in expression.args:
                yield from expression_variables(argument)


def variables_of(literal: Literal) -> Iterator[Variable]:
    """Yield the variables of a literal that its surroundings can see, in the order of the text."""
    match literal:
        case Atom():
            yield from (a for a in literal.args if isinstance(a, Variable))
        case Filter():
            yield from expression_variables(literal.expression)
        case Bind():
            yield from expression_variables(literal.expression)
            yield literal.variable
        case Aggregate():
            yield from literal.group
            yield from (reduction.variable for reduction in literal.reductions)
        case Negation():
            yield from (v for v in _in_order(literal.body) if v not in literal.local)


def _in_order(literals: Sequence[Literal]) -> list[Variable]:
    return list(dict.fromkeys(v for literal in literals for v in variables_of(literal)))


def substitute(literal: Literal, names: dict[Variable, Variable]) -> Literal:
    """Return the literal with variables renamed."""

    def rename(part: Expression) -> Expression:
        match part:
            case Variable():
                return names.get(part, part)
            case Call():
                return Call(part.name, tuple(rename(a) for a in part.args), part.place)
        return part

    def variable(v: Variable) -> Variable:
        return names.get(v, v)

    match literal:
        case Atom():
            args = tuple(variable(a) if isinstance(a, Variable) else a for a in literal.args)
            return Atom(literal.predicate, args, literal.place)
        case Filter():
            return Filter(rename(literal.expression), literal.place)
        case Bind():
            return Bind(rename(literal.expression), variable(literal.variable), literal.place)
        case Negation():
            inner = {v: w for v, w in names.items() if v not in literal.local}
            body = tuple(substitute(item, inner) for item in literal.body)
            return Negation(body, literal.local, literal.place)
        case Aggregate():
            return Aggregate(
                tuple(substitute(item, names) for item in literal.body),
                tuple(variable(v) for v in literal.group),
                tuple(
                    Reduction(
                        r.function,
                        r.distinct,
                        None if r.expression is None else rename(r.expression),
                        variable(r.variable),
                    )
                    for r in literal.reductions
                ),
                literal.place,
            )
    raise TypeError("what is planned has been said in plain literals")
