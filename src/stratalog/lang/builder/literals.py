"""What the parser calls for bodies: literals, atoms and expressions.

What an item of a body is, is known once all that it stands in is: see `build_parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NoReturn, cast

from lark import Token

from stratalog.lang.builder.parts import Called, Compared, Group, Operand, Unbuilt
from stratalog.lang.builder.words import ANY, Words
from stratalog.lang.diagnostics import mistake, one_line, position_of
from stratalog.lang.expressions import COMPARISONS, Operation, fold
from stratalog.lang.other_languages import negated_atom, sign_after_atom
from stratalog.lang.syntax import (
    TRIPLE,
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
    Literal,
    Negation,
    Pattern,
    Place,
    Predicate,
    Reduction,
    Variable,
)
from stratalog.lang.terms import IRI_KIND, RDF_TYPE, Term

DEEPEST = 100
"""So many levels of a body may be nested: up to here no later pass meets Python's limit."""

_PLAIN = frozenset((Variable, Term))
_TYPE_NAME = f"<{RDF_TYPE.text}>"

Written = Expression | Anonymous
"""What may be an argument of an atom."""


class Literals(Words):
    """Builds the literals of one text."""

    def body(self, children: Sequence[Sequence[Unbuilt]]) -> Sequence[Sequence[Unbuilt]]:
        return children

    def conjunction(self, children: Sequence[Unbuilt]) -> Sequence[Unbuilt]:
        return children

    def called(self, children: Sequence[Any]) -> Called:
        return Called(children)

    def comparison(self, children: Sequence[Any]) -> Compared:
        return Compared(children)

    def group(self, children: Sequence[Any]) -> Group:
        group = Group(*children)
        if group.depth > DEEPEST:
            self._refuse_depth(self._place(group.start), one_line(self._text))
        return group

    def _literals(self, body: Sequence[Sequence[Unbuilt]]) -> tuple[Literal, ...]:
        """Return the literals of a body: one, if it has alternatives."""
        bodies = [
            tuple(chain.from_iterable(map(self._literals_of, conjunction))) for conjunction in body
        ]
        return bodies[0] if len(bodies) == 1 else (Choice(tuple(bodies), bodies[0][0].place),)

    def _literals_of(self, item: Unbuilt) -> tuple[Literal, ...]:
        match item:
            case Group():
                return self._literals(item.body)
            case Called():
                return (self.named(item.children),)
            case Compared():
                return (self._comparison(item.children),)
            case Token() | Term() | Variable() | Call():
                self._neither(item)
        return (item,)

    def _neither(self, item: Token | Term | Variable | Call) -> NoReturn:
        """Refuse what is alone in a body."""
        if isinstance(item, Token) and item.type in {"BARE", "PNAME", "IRIREF"}:
            self.without_parentheses([item])
        if isinstance(item, Call) and item.place is not None:
            self._refuse_negated_atom(item.place)
        advice = "write an atom p(?x), its negation NOT p(?x), or a comparison ?x < 3"
        place = item.place if isinstance(item, Call) else None
        place = place or self._place(item if isinstance(item, Token) else self._annotated)
        message = "neither an atom nor a comparison"
        raise mistake("S117", message, place, self._line_of(place), advice)

    def _refuse_negated_atom(self, place: Place) -> None:
        if found := negated_atom(self._text, position_of(self._text, place)):
            code, message, advice = found
            raise mistake(code, message, place, self._line_of(place), advice)

    def _refuse_depth(self, place: Place | None, text: str) -> NoReturn:
        raise mistake(
            "S116",
            f"the rule is nested more than {DEEPEST} levels deep",
            place,
            text[:200],
            "split it into several rules, or write a long chain of = and || as IN (...)",
        )

    # Atoms

    def named(self, children: Sequence[Any]) -> Atom | Pattern:
        token = children[0]
        name = self._spelled(token)
        args = tuple([self._written(child) for child in children[1:]])
        if name == _TYPE_NAME and len(args) == 2:  # noqa: PLR2004  # subject and class
            return self._type_atom(args[0], args[1], self._place(token))
        return _atom(Predicate(name, len(args)), args, self._place(token))

    def triple(self, children: Sequence[Any]) -> Atom | Pattern:
        if len(children) != 4:  # noqa: PLR2004  # the bracket and three terms
            self.fail(
                "S114",
                f"a triple atom has three parts, not {len(children) - 1}",
                children[0],
                "write [subject, predicate, object], or name(...) for a relation of another width",
            )
        token, place = children[2], self._place(children[0])
        is_a = isinstance(token, Token) and token.type == "A"
        predicate = RDF_TYPE if is_a else self._written(token)
        subject, thing = self._written(children[1]), self._written(children[3])
        if not isinstance(predicate, Term):
            return _atom(TRIPLE, (subject, predicate, thing), place)
        if predicate == RDF_TYPE:
            return self._type_atom(subject, thing, place)
        if predicate.kind != IRI_KIND:
            self.fail(
                "S112",
                "a literal or a blank node cannot be a predicate",
                token if isinstance(token, Token) else children[0],
                "the second part of [s, p, o] is an IRI, a prefixed name, a variable or the word a",
            )
        return _atom(Predicate(f"<{predicate.text}>", 2), (subject, thing), place)

    def _type_atom(self, subject: Written, kind: Written, place: Place) -> Atom | Pattern:
        if not isinstance(kind, Term):
            return _atom(TRIPLE, (subject, RDF_TYPE, kind), place)
        if kind.kind == IRI_KIND:
            return _atom(Predicate(f"<{kind.text}>", 1), (subject,), place)
        return _atom(Predicate(_TYPE_NAME, 2), (subject, kind), place)

    def without_parentheses(self, children: Sequence[Token]) -> NoReturn:
        word = children[0]
        self.fail(
            "S115",
            f"{word} is neither an atom nor a comparison",
            word,
            f"write {word}() for a predicate without arguments",
        )

    # Other literals

    def negation(self, children: Sequence[Any]) -> Negation:
        word, local, body = children
        inside = (body,) if isinstance(body, Atom | Pattern) else self._literals(body)
        return Negation(inside, tuple(local or ()), self._place(word))

    def variables(self, children: Sequence[Token]) -> list[Variable]:
        return [Variable(token[1:]) for token in children]

    def filter(self, children: Sequence[Any]) -> Filter:
        return Filter(self._value(children[1]), self._place(children[0]))

    def bind(self, children: Sequence[Any]) -> Bind:
        word, expression, variable = children
        return Bind(self._value(expression), Variable(variable[1:]), self._place(word))

    def aggregate(self, children: Sequence[Any]) -> Aggregate:
        word, unbuilt, group, *reductions = children
        body = self._literals(unbuilt)
        if any(isinstance(literal, Choice) for literal in body):
            self.fail(
                "S124",
                "alternatives inside AGGREGATE",
                word,
                "derive a predicate by a rule with these alternatives, and let AGGREGATE read it",
            )
        return Aggregate(body, tuple(group or ()), tuple(reductions), self._place(word))

    def reduction(self, children: Sequence[Any]) -> Reduction:
        _, function, distinct, counted, variable = children
        is_star = isinstance(counted, Token) and counted.type == "STAR"
        expression = None if is_star else self._value(counted)
        return Reduction(function.upper(), distinct is not None, expression, Variable(variable[1:]))

    def _comparison(self, children: Sequence[Any]) -> Filter | Equation:
        first, sign = children[:2]
        if isinstance(first, Called):
            code, message, advice = sign_after_atom(self._text, sign.start_pos or 0, str(sign))
            self.fail(code, message, sign, advice)
        expression = self.operators(children)
        if expression.name not in COMPARISONS:
            self.fail(
                "S117",
                f"{expression.name} is no comparison",
                sign,
                "write FILTER(...) around a condition that is not a single comparison",
            )
        place = self._place(first) if isinstance(first, Token) else expression.place
        if expression.name == "=":
            left, right = expression.args
            return Equation(left, right, place)
        return Filter(expression, place)

    # Expressions

    def operators(self, children: Sequence[Any]) -> Call:
        operations: list[Operation] = []
        rest = iter(children[1:])
        for sign in rest:
            is_negated = sign.type == "NOT"
            name = "NOT IN" if is_negated else sign.upper()
            token = next(rest) if is_negated else sign
            right = next(rest)
            operands = right if isinstance(right, list) else [self._value(right)]
            operations.append(Operation(name, token, operands, self._place(sign)))
        call = fold(self._value(children[0]), operations)
        if isinstance(call, Operation):
            self.fail(
                "S118",
                f"two comparisons in a row: {call.name} needs parentheses",
                call.token,
                "write ?a < ?b && ?b < ?c, or put one comparison in parentheses",
            )
        return call

    def choices(self, children: Sequence[Any]) -> list[Expression]:
        return [self._value(child) for child in children]

    def unary(self, children: Sequence[Any]) -> Expression:
        sign, operand = children[0], self._value(children[1])
        if sign == "+":
            self._annotated = sign
            return operand
        return Call("NEG" if sign == "-" else "!", (operand,), self._place(sign))

    def call(self, children: Sequence[Any]) -> Call:
        token = children[0]
        name = token.upper() if token.type == "BARE" else self._spelled(token)
        args = tuple([self._value(child) for child in children[1:]])
        return Call(name, args, self._place(token))

    def _value(self, child: Operand) -> Expression:
        match child:
            case Called():
                return self.call(child.children)
            case Compared():
                return self.operators(child.children)
            case Group():
                return self._value_in(child)
            case Token():
                return self._argument(child)
        return child

    def _value_in(self, group: Group) -> Expression:
        (*others, last), *alternatives = group.body
        if others or alternatives or isinstance(last, Literal):
            self.fail(
                "S117",
                "parentheses around atoms are not a value",
                group.start,
                "compare variables, constants and expressions; separate atoms by commas",
            )
        return self._value(last)

    def _written(self, child: Operand) -> Written:
        """Return an argument of an atom."""
        if not isinstance(child, Token):
            return self._value(child)
        return Anonymous.ANY if child.type == ANY else self._argument(child)


def _atom(predicate: Predicate, args: tuple[Written, ...], place: Place) -> Atom | Pattern:
    if _PLAIN.issuperset(map(type, args)):
        return Atom(predicate, cast("tuple[Argument, ...]", args), place)
    return Pattern(predicate, args, place)
