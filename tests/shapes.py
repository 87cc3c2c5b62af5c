"""Shapes of rules that programs of strangers have, with facts that let them match.

Each function draws rules for one head, and a witness: facts under which the body holds at least
once. Some draw blocks too: many facts of one predicate, to be inserted or deleted at one time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hypothesis import event
from hypothesis import strategies as st

from stratalog.lang.syntax import (
    TRIPLE,
    Argument,
    Atom,
    Bind,
    Call,
    Filter,
    Literal,
    Predicate,
    Rule,
    Variable,
)
from stratalog.lang.terms import Term
from tests.signatures import NAMES, Draw, Signature, integer, is_rdf, rarely

Block = tuple[Atom, ...]

LENGTHS = (20, 20, 24, 30, 30, 40, 60)  # of long bodies
SHORT, WIDE = (3, 6, 9), (12, 24, 40, 40)  # blocks: what meets is worth starting from the shorter


@dataclass(frozen=True)
class Shape:
    """What a shape adds to a program."""

    rules: tuple[Rule, ...] = ()
    facts: tuple[Atom, ...] = ()
    blocks: tuple[Block, ...] = ()


def draw_shapes(draw: Draw, signature: Signature, heads: Sequence[Predicate], most: int) -> Shape:
    """Draw some shapes as one."""
    found = [
        SHAPES[name](draw, signature, draw(st.sampled_from(heads)))
        for name in draw(st.lists(st.sampled_from(OFTEN), min_size=1, max_size=most))
        if _seen(name)
    ]
    return Shape(
        tuple(rule for shape in found for rule in shape.rules),
        tuple(fact for shape in found for fact in shape.facts),
        tuple(block for shape in found for block in shape.blocks),
    )


def _seen(name: str) -> bool:
    """Count the shape where the run of a test shows statistics."""
    event(f"shape: {name}")
    return True


# ---- Parts -------------------------------------------------------------------------------------


def readable(signature: Signature, head: Predicate, least: int = 0) -> list[Predicate]:
    """Return what a rule for the head may read, of at least so many arguments."""
    below = signature.up_to(signature.levels[head])
    return [p for p in below if p.arity >= least and p != TRIPLE]


def head_over(draw: Draw, signature: Signature, head: Predicate, names: Sequence[Variable]) -> Atom:
    """Return an atom of the head over the names, and now and then a constant."""
    terms: list[Argument] = [*names] * 4 + [signature.constants[0]]
    return Atom(head, tuple(draw(st.sampled_from(terms)) for _ in range(head.arity)))


def variables_in(body: Iterable[Literal]) -> list[Variable]:
    atoms = [literal for literal in body if isinstance(literal, Atom)]
    return list(dict.fromkeys(a for atom in atoms for a in atom.args if isinstance(a, Variable)))


def witness(draw: Draw, signature: Signature, body: Sequence[Atom]) -> tuple[Atom, ...]:
    """Return the atoms under one substitution of their variables."""
    terms = signature.constants[:3]
    chosen = {name: draw(st.sampled_from(terms)) for name in variables_in(body)}
    return tuple(
        Atom(atom.predicate, tuple(_under(chosen, argument) for argument in atom.args))
        for atom in body
    )


def _under(chosen: dict[Variable, Term], argument: Argument) -> Argument:
    return chosen[argument] if isinstance(argument, Variable) else argument


def block_of(atom: Atom, name: Variable, width: int, first: int = 0) -> Block:
    """Return facts of the atom with so many integers for the variable."""
    numbers = map(integer, range(first, first + width))
    return tuple(
        Atom(atom.predicate, tuple(n if argument == name else argument for argument in atom.args))
        for n in numbers
    )


# ---- Shapes ------------------------------------------------------------------------------------


OWN = [Predicate(name, 2) for name in ("few", "many", "more")]  # that no other rule reads


def constants_that_meet(draw: Draw, signature: Signature, head: Predicate) -> Shape:
    """Two or three atoms whose other arguments are constants share their only variable.

    Few facts fit the first and many the others, some of which come all at once later.
    """
    x = NAMES[0]
    body, blocks = [], []
    predicates = draw(st.permutations(readable(signature, head, 2)))
    predicates.sort(key=lambda predicate: predicate.arity)
    if draw(st.booleans()):
        predicates = OWN
    for number in range(draw(st.sampled_from((2, 2, 2, 3))) if predicates else 0):
        predicate = predicates[number % len(predicates)]
        args: list[Argument] = [
            draw(st.sampled_from(signature.constants[:3])) for _ in range(predicate.arity)
        ]
        args[draw(st.integers(0, predicate.arity - 1))] = x
        body.append(Atom(predicate, tuple(args)))
        width = draw(st.sampled_from(WIDE if number else SHORT))
        blocks.append(block_of(body[-1], x, width))
    if not body:
        return Shape()
    rule = Rule((head_over(draw, signature, head, [x]),), tuple(draw(st.permutations(body))))
    later = [block for block in blocks[1:] if not rarely(draw)]
    at_first = tuple(fact for block in blocks if block not in later for fact in block)
    return Shape((rule,), at_first, tuple(later or blocks))


def heads_that_feed_each_other(draw: Draw, signature: Signature, head: Predicate) -> Shape:
    """Two rules with the same two heads; each reads one of them."""
    level = signature.levels[head]
    same = [p for p, n in signature.levels.items() if n == level and p != TRIPLE]
    other = draw(st.sampled_from(same))
    rules = []
    for read in (head, other):
        body = [Atom(read, _names(draw, read.arity))]
        if rarely(draw):
            predicate = draw(st.sampled_from(readable(signature, head)))
            body.append(Atom(predicate, _names(draw, predicate.arity)))
        names = variables_in(body)
        written = tuple(head_over(draw, signature, each, names) for each in (head, other))
        rules.append(Rule(written, tuple(body)))
    start = Atom(head, tuple(signature.constants[:1]) * head.arity)
    return Shape(tuple(rules), (start,))


def _names(draw: Draw, arity: int) -> tuple[Variable, ...]:
    return tuple(draw(st.sampled_from(NAMES[:3])) for _ in range(arity))


def numbers_that_climb(draw: Draw, signature: Signature, head: Predicate) -> Shape:
    """BIND in recursion, up to a bound; its FILTER may stand before what it reads."""
    if not head.arity or (signature.triples == "write" and is_rdf(head)):
        return Shape()
    x, m = NAMES[0], Variable("m")
    place = draw(st.integers(0, head.arity - 1))
    args: list[Argument] = [*NAMES[1:], *map(Variable, "abcde")][: head.arity]
    args[place] = x
    read = Atom(head, tuple(args))
    args[place] = m
    literals: list[Literal] = [
        read,
        Bind(Call("+", (x, integer(1))), m),
        Filter(Call("<", (m, integer(draw(st.integers(2, 12)))))),
    ]
    if rarely(draw):
        predicate = draw(st.sampled_from(readable(signature, head)))
        literals.append(Atom(predicate, _names(draw, predicate.arity)))
    rule = Rule((Atom(head, tuple(args)),), tuple(draw(st.permutations(literals))))
    start = tuple(integer(0) for _ in range(head.arity))
    return Shape((rule,), (Atom(head, start),))


def long_bodies(draw: Draw, signature: Signature, head: Predicate) -> Shape:
    """A body of some twenty to sixty atoms: ground, around one variable, or over four."""
    predicates = readable(signature, head)
    names = NAMES[: draw(st.sampled_from((0, 0, 1, 2, 4)))]
    terms: list[Argument] = [*names] * 3 + list(signature.constants[:3])
    drawn = st.sampled_from(terms)
    size = draw(st.sampled_from(LENGTHS))
    body = []
    for _ in range(size):
        predicate = draw(st.sampled_from(predicates))
        body.append(Atom(predicate, tuple(draw(drawn) for _ in range(predicate.arity))))
    rule = Rule((head_over(draw, signature, head, variables_in(body)),), tuple(body))
    return Shape((rule,), witness(draw, signature, body))


def bodies_in_parts(draw: Draw, signature: Signature, head: Predicate) -> Shape:
    """Two or three parts without a shared variable; the head may look at some of them only."""
    body: list[Atom] = []
    predicates = readable(signature, head)
    for number in range(draw(st.sampled_from((2, 2, 3)))):
        names = (Variable(f"x{number}"), Variable(f"y{number}"))
        for _ in range(draw(st.sampled_from((1, 1, 2)))):
            predicate = draw(st.sampled_from(predicates))
            args = tuple(draw(st.sampled_from(names)) for _ in range(predicate.arity))
            body.append(Atom(predicate, args))
    seen = variables_in(body) if draw(st.booleans()) else variables_in(body)[:1]
    rule = Rule((head_over(draw, signature, head, seen),), tuple(draw(st.permutations(body))))
    return Shape((rule,), witness(draw, signature, body))


def classes_that_are_properties(draw: Draw, signature: Signature, head: Predicate) -> Shape:
    """One IRI read as a class and as a property."""
    known = readable(signature, head)
    both = [p for p in known if is_rdf(p) and Predicate(p.name, 3 - p.arity) in known]
    if not both:
        return Shape()
    name = draw(st.sampled_from(both)).name
    x, y = NAMES[:2]
    body = [Atom(Predicate(name, 1), (x,)), Atom(Predicate(name, 2), (x, y))]
    rule = Rule((head_over(draw, signature, head, [x, y]),), tuple(draw(st.permutations(body))))
    return Shape((rule,), witness(draw, signature, body))


Made = Callable[[Draw, Signature, Predicate], Shape]
SHAPES: dict[str, Made] = {
    "constants that meet": constants_that_meet,
    "heads that feed each other": heads_that_feed_each_other,
    "BIND in recursion": numbers_that_climb,
    "body in parts": bodies_in_parts,
    "class and property": classes_that_are_properties,
    "long body": long_bodies,
}
OFTEN = [*SHAPES][:-1] * 3 + [*SHAPES][:1] * 4 + ["long body"]  # which is dear to plan and judge


# ---- Rules said otherwise ----------------------------------------------------------------------


def said_otherwise(draw: Draw, rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules, some of them with a head twice or literals in any order, or twice."""
    found: list[Rule] = []
    for rule in rules:
        way = draw(st.sampled_from(("as it is",) * 7 + tuple(OTHERWISE)))
        if way in OTHERWISE:
            event(f"shape: {way}")
        found += OTHERWISE[way](draw, rule) if way in OTHERWISE else [rule]
    return found


def _head_twice(draw: Draw, rule: Rule) -> list[Rule]:
    return [Rule((*rule.heads, draw(st.sampled_from(rule.heads))), rule.body)]


def _in_any_order(draw: Draw, rule: Rule) -> list[Rule]:
    return [Rule(rule.heads, tuple(draw(st.permutations(rule.body))))]


def _rule_twice(draw: Draw, rule: Rule) -> list[Rule]:
    del draw
    return [rule, rule]


OTHERWISE: dict[str, Callable[[Draw, Rule], list[Rule]]] = {
    "the same head twice": _head_twice,
    "literals in any order": _in_any_order,
    "the same rule twice": _rule_twice,
}
