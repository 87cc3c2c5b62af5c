"""Spellings of other systems, said in plain literals: `_`, expressions in atoms, `=` and `;`.

A plain rule has atoms, NOT, FILTER, BIND and AGGREGATE only. In what is made of another spelling,
variables have names that no program can write: anonymous ones begin with `$$`, and those to which
the expressions of atoms are bound begin with `$=`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count, product
from math import prod

from stratalog.lang.scope import variables, visible
from stratalog.lang.syntax import (
    Aggregate,
    Anonymous,
    Argument,
    Atom,
    Bind,
    Call,
    Choice,
    Equation,
    Expression,
    Filter,
    Head,
    Literal,
    Negation,
    Pattern,
    Rule,
    Variable,
)

MOST_ALTERNATIVES = 1_000
"""Of a rule, or of a NOT, once those of its parts are combined."""

_SPELLINGS = frozenset((Pattern, Equation, Choice))
_NOT_PLAIN = _SPELLINGS | {Negation, Aggregate}  # they may contain some

_ANONYMOUS, _EXPRESSION = "$$", "$="

Body = tuple[Literal, ...]


def is_anonymous(variable: Variable) -> bool:
    """Return whether a variable of a plain rule is written `_`."""
    return variable.name.startswith(_ANONYMOUS)


def plain_rules(rule: Rule) -> tuple[Rule, ...]:
    """Return a plain rule for each alternative of the rule; they keep its place and text."""
    if not _has_spellings((*rule.heads, *rule.body)):
        return (rule,)
    return tuple(_plain_rule(rule, body) for body in alternatives(rule.body))


def _has_spellings(parts: Sequence[Head | Literal]) -> bool:
    kinds = set(map(type, parts))
    if kinds.isdisjoint(_NOT_PLAIN):
        return False
    return not kinds.isdisjoint(_SPELLINGS) or any(
        isinstance(part, Negation | Aggregate) and _has_spellings(part.body) for part in parts
    )


# Alternatives


def alternatives(body: Sequence[Literal]) -> Iterator[Body]:
    """Yield the bodies that a body is the union of; none has alternatives, NOT included."""
    for chosen in product(*map(_options, body)):
        yield tuple(chain.from_iterable(chosen))


def _options(literal: Literal) -> Sequence[Body]:
    if isinstance(literal, Choice):
        return [body for each in literal.alternatives for body in alternatives(each)]
    if not isinstance(literal, Negation | Aggregate):
        return [(literal,)]
    bodies = list(alternatives(literal.body))
    if isinstance(literal, Aggregate):  # whose own atoms have no alternatives
        return [(replace(literal, body=body),) for body in bodies]
    if len(bodies) == 1:
        return [(replace(literal, body=bodies[0]),)]
    return [tuple(replace(literal, body=body, local=_local(literal, body)) for body in bodies)]


def _local(negation: Negation, body: Body) -> tuple[Variable, ...]:
    """Return the variables after EXISTS that an alternative has."""
    inside = set(chain.from_iterable(map(visible, body)))
    return tuple(variable for variable in negation.local if variable in inside)


def count_alternatives(body: Sequence[Literal]) -> int:
    """Return how many alternatives a body has, or the NOT inside it that has more."""
    return max((prod(map(_count_options, body)), *map(_count_inside, body)))


def _count_options(literal: Literal) -> int:
    if isinstance(literal, Choice):
        return sum(prod(map(_count_options, body)) for body in literal.alternatives)
    return 1


def _count_inside(literal: Literal) -> int:
    if isinstance(literal, Choice):
        return max(map(count_alternatives, literal.alternatives))
    return count_alternatives(literal.body) if isinstance(literal, Negation | Aggregate) else 1


# One alternative


def _plain_rule(rule: Rule, body: Body) -> Rule:
    writing = _Writing()
    made: list[Bind] = []
    heads = tuple(
        writing.atom(head, made) if isinstance(head, Pattern) else head for head in rule.heads
    )
    return replace(rule, heads=heads, body=(*writing.body(body, frozenset()), *made))


class _Writing:
    """Writes one rule in plain literals; its variables are numbered in the order of the text."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def body(self, body: Sequence[Literal], outer: frozenset[Variable]) -> Body:
        """Return a body without alternatives; `outer` are the variables bound around it."""
        found: list[Literal | Equation] = []
        for literal in body:
            if isinstance(literal, Pattern):
                made: list[Bind] = []
                found += (self.atom(literal, made), *made)
            elif isinstance(literal, Aggregate):
                found.append(replace(literal, body=self.body(literal.body, frozenset())))
            else:
                found.append(literal)
        decided = _decided(found, outer)
        inner = outer | bound_by(decided)
        return tuple(
            replace(literal, body=self.body(literal.body, inner - frozenset(literal.local)))
            if isinstance(literal, Negation)
            else literal
            for literal in decided
        )

    def atom(self, pattern: Pattern, made: list[Bind]) -> Atom:
        """Return the atom of a pattern; `made` gets a BIND for each expression."""
        args = tuple([self._argument(arg, pattern, made) for arg in pattern.args])
        return Atom(pattern.predicate, args, pattern.place)

    def _argument(
        self, arg: Expression | Anonymous, pattern: Pattern, made: list[Bind]
    ) -> Argument:
        if isinstance(arg, Anonymous):
            return Variable(f"{_ANONYMOUS}{next(self._numbers)}")
        if not isinstance(arg, Call):
            return arg
        variable = Variable(f"{_EXPRESSION}{next(self._numbers)}")
        made.append(Bind(arg, variable, arg.place or pattern.place))
        return variable


# Equations


def _decided(body: Sequence[Literal], outer: frozenset[Variable]) -> list[Literal]:
    """Return the body with each equation as the BIND or the FILTER that it is."""
    waiting = {place: part for place, part in enumerate(body) if isinstance(part, Equation)}
    if not waiting:
        return list(body)
    decided = dict(enumerate(body))
    taken = set(outer | bound_by(body))
    while waiting:
        known = _known(decided.values(), outer)
        place = next((n for n, e in waiting.items() if _bind_of(e, taken, known)), min(waiting))
        equation = waiting.pop(place)
        # An equation neither of whose sides is known is a BIND too: the check says what is missing.
        bind = _bind_of(equation, taken, known) or _bind_of(equation, taken, None)
        if bind is not None and bind.variable not in known:
            taken.add(bind.variable)
        decided[place] = bind or _filter_of(equation)
    return [decided[place] for place in range(len(body))]


def _bind_of(equation: Equation, taken: set[Variable], known: set[Variable] | None) -> Bind | None:
    """Return the BIND of the side that has no value so far by the other, which has one."""
    for side, other in ((equation.left, equation.right), (equation.right, equation.left)):
        if not isinstance(side, Variable) or side in taken:
            continue
        if known is None or known.issuperset(variables(other)):
            return Bind(other, side, equation.place)
    return None


def _filter_of(equation: Equation) -> Filter:
    call = Call("=", (equation.left, equation.right), equation.place)
    return Filter(call, equation.place)


def bound_by(body: Iterable[Literal]) -> frozenset[Variable]:
    """Return the variables that the atoms, AGGREGATEs and BINDs of a body give a value."""
    found: set[Variable] = set()
    for literal in body:
        if isinstance(literal, Atom | Aggregate):
            found.update(visible(literal))
        elif isinstance(literal, Bind):
            found.add(literal.variable)
    return frozenset(found)


def _known(body: Iterable[Literal], outer: frozenset[Variable]) -> set[Variable]:
    """Return the variables whose values are known once all BINDs have run that can run."""
    literals = list(body)
    known = set(outer).union(
        *(visible(part) for part in literals if isinstance(part, Atom | Aggregate))
    )
    binds = [part for part in literals if isinstance(part, Bind)]
    changed = True
    while changed:
        ready = {b.variable for b in binds if known.issuperset(variables(b.expression))}
        changed = not ready <= known
        known |= ready
    return known
