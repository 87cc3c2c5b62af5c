"""Spellings of other systems in random rules: `_`, expressions in atoms, `=` and `;`.

Each function draws a rule that another spelling is part of; most of them mean something else than
the rule that was given. Every variable that something needs stays bound, and values do not climb
without end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import event
from hypothesis import strategies as st

from stratalog.lang.syntax import (
    TRIPLE,
    Aggregate,
    Anonymous,
    Atom,
    Call,
    Choice,
    Equation,
    Expression,
    Filter,
    Literal,
    Negation,
    Pattern,
    Rule,
    Variable,
)
from tests.safety import bound_in, names_in
from tests.signatures import Draw, Signature, integer, is_rdf

ARITHMETIC = ("+", "-")


def respelled(draw: Draw, signature: Signature, rule: Rule) -> Rule:
    """Return the rule with one or two spellings drawn, if they fit."""
    for name in draw(st.lists(st.sampled_from(OFTEN), min_size=1, max_size=2)):
        found = SPELLINGS[name](draw, signature, rule)
        if found != rule:
            event(f"spelling: {name}")
        rule = found
    return rule


# ---- Parts -------------------------------------------------------------------------------------


def with_literal(rule: Rule, place: int, literal: Literal) -> Rule:
    body = list(rule.body)
    body[place] = literal
    return Rule(rule.heads, tuple(body))


def places_of_atoms(rule: Rule) -> list[int]:
    return [n for n, x in enumerate(rule.body) if isinstance(x, Atom | Pattern) and x.args]


def is_needed(rule: Rule, variable: Variable) -> bool:
    """Return whether something else than an atom looks at the variable, or one head does."""
    others = [x for x in rule.body if not isinstance(x, Atom | Pattern)]
    return any(variable in names_in(part) for part in (*rule.heads, *others))


# ---- Spellings ---------------------------------------------------------------------------------


def anything(draw: Draw, signature: Signature, rule: Rule) -> Rule:
    """Write `_` for an argument, or for several; of an atom inside NOT or AGGREGATE, too."""
    del signature
    if not rule.body:
        return rule
    around = [n for n, x in enumerate(rule.body) if isinstance(x, Negation | Aggregate)]
    place = draw(st.sampled_from([*range(len(rule.body)), *around * 3]))
    literal = rule.body[place]
    if isinstance(literal, Negation):
        inside = Rule((), literal.body)
        body = anything(draw, _NOTHING, inside).body if _is_plain(literal) else literal.body
        return with_literal(rule, place, Negation(body, literal.local))
    if isinstance(literal, Aggregate):
        used = [v for r in literal.reductions for v in names_in(r.expression)]
        around = Rule((Atom(_HEAD, (*literal.group, *used)),), literal.body)
        body = anything(draw, _NOTHING, around).body
        return with_literal(rule, place, Aggregate(body, literal.group, literal.reductions))
    if not isinstance(literal, Atom | Pattern):
        return rule
    elsewhere = bound_in(rule.body[:place] + rule.body[place + 1 :])
    args = list(literal.args)
    for column in draw(st.permutations(range(len(args)))):
        arg = args[column]
        is_free = not isinstance(arg, Variable) or not _is_used(rule, arg)
        is_free = is_free or arg in elsewhere or args.count(arg) > 1
        if is_free and (Anonymous.ANY not in args or draw(st.booleans())):
            args[column] = Anonymous.ANY
    if Anonymous.ANY not in args:
        return rule
    return with_literal(rule, place, Pattern(literal.predicate, tuple(args)))


def _is_plain(negation: Negation) -> bool:
    """Return whether a NOT has atoms only: built-ins in it may need their variables."""
    return all(isinstance(literal, Atom) for literal in negation.body)


def _feeds(rule: Rule, arg: object) -> bool:
    """Return whether an expression of an atom needs the variable."""
    calls = [
        a
        for x in (*rule.heads, *rule.body)
        if isinstance(x, Pattern)
        for a in x.args
        if isinstance(a, Call)
    ]
    return any(arg in names_in(call) for call in calls)


def expression_in_body(draw: Draw, signature: Signature, rule: Rule) -> Rule:
    """Write an expression over variables of the rest for an argument."""
    if not signature.language.builtins or not places_of_atoms(rule):
        return rule
    place = draw(st.sampled_from(places_of_atoms(rule)))
    literal = rule.body[place]
    assert isinstance(literal, Atom | Pattern)
    rest = bound_in(rule.body[:place] + rule.body[place + 1 :])
    column = draw(st.integers(0, len(literal.args) - 1))
    args = list(literal.args)
    arg = args[column]
    is_bound = not isinstance(arg, Variable) or arg in rest or not _is_used(rule, arg)
    if not rest or not is_bound:
        return rule
    args[column] = _expression(draw, rest)
    return with_literal(rule, place, Pattern(literal.predicate, tuple(args)))


def _is_used(rule: Rule, variable: Variable) -> bool:
    return is_needed(rule, variable) or _feeds(rule, variable)


def _expression(draw: Draw, names: Sequence[Variable]) -> Call:
    right: Expression = draw(st.sampled_from([integer(1), integer(2), *names]))
    return Call(draw(st.sampled_from(ARITHMETIC)), (draw(st.sampled_from(names)), right))


def expression_in_head(draw: Draw, signature: Signature, rule: Rule) -> Rule:
    """Write an expression into a head, and keep what it is made of in a finite range."""
    heads = [n for n, x in enumerate(rule.heads) if isinstance(x, Atom) and x.args]
    names = bound_in(rule.body)
    writes = signature.triples == "write" and any(
        isinstance(x, Atom) and is_rdf(x.predicate) for x in rule.heads
    )
    if not signature.language.builtins or not heads or not names or writes:
        return rule
    place = draw(st.sampled_from(heads))
    head = rule.heads[place]
    assert isinstance(head, Atom)
    name = draw(st.sampled_from(names))
    args: list[Expression] = list(head.args)
    args[draw(st.integers(0, len(args) - 1))] = Call("+", (name, integer(1)))
    fence = Filter(Call("&&", (Call("<", (name, integer(4))), Call(">", (name, integer(-3))))))
    written = (*rule.heads[:place], Pattern(head.predicate, tuple(args)), *rule.heads[place + 1 :])
    return Rule(written, (*rule.body, fence))


def equation(draw: Draw, signature: Signature, rule: Rule) -> Rule:
    """Add `=`: between what is bound, or to a new variable that an atom or a NOT may look at."""
    names = bound_in(rule.body)
    if not signature.language.builtins or not names:
        return rule
    right: Expression = draw(st.sampled_from([*names, *signature.constants]))
    if draw(st.booleans()):
        right = _expression(draw, names)
    left: Expression = draw(st.sampled_from([*names, Variable("new")]))
    if left == Variable("new") and left in names_in(Choice((rule.body,))):
        return rule
    added: tuple[Literal, ...] = (Equation(left, right),)
    if draw(st.booleans()):
        added = (Equation(right, left),)
    if draw(st.integers(0, 3)) == 3:  # `=` twice for one variable
        added += (Equation(left, draw(st.sampled_from(names))),)
    place = draw(st.integers(0, len(rule.body)))
    return Rule(rule.heads, (*rule.body[:place], *added, *rule.body[place:]))


def joined_by_value(draw: Draw, signature: Signature, rule: Rule) -> Rule:
    """Let two atoms of a rule share no variable, but values: by a filter, in one of two ways."""
    places = [n for n in places_of_atoms(rule) if isinstance(rule.body[n], Atom)]
    if not signature.language.builtins or len(places) < 2:
        return rule
    place = draw(st.sampled_from(places))
    atom = rule.body[place]
    assert isinstance(atom, Atom)
    shared = [v for v in bound_in((atom,)) if v in bound_in(_without(rule.body, place))]
    if not shared:
        return rule
    own = {v: Variable(f"{v.name}9") for v in shared}
    args = tuple(own.get(a, a) if isinstance(a, Variable) else a for a in atom.args)
    made = with_literal(rule, place, Atom(atom.predicate, args))
    tests: list[Literal] = [_equal(draw, old, new) for old, new in own.items()]
    return Rule(made.heads, (*made.body, *tests))


def _equal(draw: Draw, old: Variable, new: Variable) -> Literal:
    right: Expression = new
    if draw(st.booleans()):
        right = Call("+", (new, integer(draw(st.integers(0, 1)))))
    sides = (old, right) if draw(st.booleans()) else (right, old)
    return Equation(*sides) if draw(st.booleans()) else Filter(Call("=", sides))


def _without(body: Sequence[Literal], place: int) -> tuple[Literal, ...]:
    return (*body[:place], *body[place + 1 :])


def choice(draw: Draw, signature: Signature, rule: Rule) -> Rule:
    """Write alternatives for an atom, or for the whole body; some stand inside NOT."""
    places = [n for n, x in enumerate(rule.body) if isinstance(x, Atom)]
    nots = [n for n, x in enumerate(rule.body) if isinstance(x, Negation) and not x.local]
    if nots and draw(st.booleans()):
        place = draw(st.sampled_from(nots))
        negation = rule.body[place]
        assert isinstance(negation, Negation)
        parts = [x for x in negation.body if isinstance(x, Atom)][:1]
        alternatives = (negation.body, (_other(draw, parts[0]),)) if parts else (negation.body,)
        return with_literal(rule, place, Negation((Choice(alternatives),)))
    if not places:
        return rule
    place = draw(st.sampled_from(places))
    atom = rule.body[place]
    assert isinstance(atom, Atom)
    first: tuple[Literal, ...] = (atom,)
    second: tuple[Literal, ...] = (_other(draw, atom),)
    names = bound_in((atom,))
    if names and signature.language.builtins and draw(st.booleans()):
        test = Call(draw(st.sampled_from(("<", ">=", "="))), (names[0], integer(1)))
        second += (Filter(test),)
    if draw(st.integers(0, 3)) == 3:  # alternatives in alternatives
        second = (Choice((second, first)),)
    made = with_literal(rule, place, Choice((first, second)))
    if draw(st.integers(0, 3)) == 3:
        return Rule(rule.heads, (Choice((rule.body, made.body)),))
    return made


def _other(draw: Draw, atom: Atom) -> Atom:
    """Return the atom with its arguments in another order, where that changes no predicate."""
    if atom.predicate == TRIPLE:
        return atom
    return Atom(atom.predicate, tuple(draw(st.permutations(atom.args))))


_HEAD = TRIPLE  # any: only its arguments are looked at
_NOTHING = Signature({}, (), "none")

SPELLINGS: dict[str, Callable[[Draw, Signature, Rule], Rule]] = {
    "anything": anything,
    "expression in a body": expression_in_body,
    "expression in a head": expression_in_head,
    "equation": equation,
    "joined by value": joined_by_value,
    "alternatives": choice,
}
OFTEN = [*SPELLINGS, "anything", "anything", "alternatives"]  # which have more places
