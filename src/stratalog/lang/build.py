"""What the parser calls for each construct: builds the abstract syntax, without a tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from lark import Token, Transformer

from stratalog.lang import effort, names
from stratalog.lang.diagnostics import line_at, mistake, one_line
from stratalog.lang.expressions import COMPARISONS, Operation, fold, nesting
from stratalog.lang.syntax import (
    TRIPLE,
    Aggregate,
    Argument,
    Atom,
    Bind,
    Call,
    Column,
    Declaration,
    Equality,
    Expression,
    Filter,
    Head,
    Literal,
    Negation,
    Place,
    Predicate,
    Program,
    Reduction,
    Rule,
    Variable,
)
from stratalog.lang.terms import (
    BNODE_KIND,
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    RDF_TYPE,
    Term,
)
from stratalog.lang.values import literal
from stratalog.lang.values_numbers import LONG_HELP, digits_in, is_long

_TYPE_NAME = f"<{RDF_TYPE.text}>"
_NUMBERS = {"INTEGER": INTEGER, "DECIMAL": DECIMAL, "DOUBLE": DOUBLE, "BOOLEAN": BOOLEAN}
_DEEPEST = 100  # up to here no later pass meets Python's recursion limit


class Builder(Transformer[Token, Any]):
    """Builds one program at a time: `begin`, then a parse, which calls the grammar's names."""

    def begin(
        self, text: str, path: str | None, prefixes: Iterable[tuple[str, str]], base: str | None
    ) -> None:
        """Forget the last program and expect `text`."""
        self._text, self._path, self._base = text, path, base
        self._prefixes = names.all_prefixes(prefixes)
        self._declared: dict[str, str] = {}
        self._rules: list[Rule] = []
        self._facts: list[Atom] = []
        self._declarations: list[Declaration] = []
        self._names: dict[str, str] = {}
        self._shared: dict[str, Argument] = {}
        self._line_starts: list[int] = []

    def fail(self, code: str, message: str, token: Token, help: str) -> NoReturn:  # noqa: A002
        """Raise the error at `token`."""
        line, column, source = line_at(self._text, token.start_pos or 0)
        raise mistake(code, message, Place(self._path, line, column), source, help)

    # Statements

    def program(self, _: Sequence[None]) -> Program:
        return Program(
            tuple(self._rules),
            tuple(self._facts),
            tuple(self._declarations),
            tuple(self._declared.items()),
            self._base,
        )

    def query(self, children: Sequence[Any]) -> tuple[Literal, ...]:
        body: tuple[Literal, ...] = children[-2]  # after prefixes, before the dot
        self._check_depth(body, self._text)
        return body

    def single(self, children: Sequence[Any]) -> Atom:
        atom: Atom = children[0]
        return atom

    def prefix(self, children: Sequence[Token]) -> None:
        name = str(children[0])[:-1]
        self._declared.pop(name, None)
        self._declared[name] = self._prefixes[name] = self._iri(children[1])
        self._forget_spellings()

    def base(self, children: Sequence[Token]) -> None:
        self._base = self._iri(children[0])
        self._forget_spellings()

    def _forget_spellings(self) -> None:
        self._names.clear()
        self._shared.clear()

    def declare(self, children: Sequence[Any]) -> None:
        columns = tuple(children[2:-1])
        predicate = Predicate(self._spelled(children[1]), len(columns))
        self._declarations.append(Declaration(predicate, columns, self._place(children[1])))

    def column(self, children: Sequence[Token | None]) -> Column:
        name, kind, nullable, _, source = children
        path = None if source is None else self._string(source)
        return Column(str(name), str(kind), nullable is not None, path)

    def facts(self, children: Sequence[Any]) -> None:
        for head in children[0]:
            if isinstance(head, Atom) and all(isinstance(arg, Term) for arg in head.args):
                self._facts.append(head)
            else:
                text = self._source_from(head.place, children[1])
                self._rules.append(Rule((head,), (), head.place, text))

    def rule(self, children: Sequence[Any]) -> None:
        heads, body, dot = children
        text = self._source_from(heads[0].place, dot)
        self._check_depth(body, text)
        self._rules.append(Rule(heads, body, heads[0].place, text))

    def _source_from(self, place: Place, dot: Token) -> str:
        starts = self._line_starts
        if not starts:
            starts.append(0)
            starts.extend(at + 1 for at, char in enumerate(self._text) if char == "\n")
        return one_line(self._text[starts[place.line - 1] + place.column - 1 : dot.end_pos])

    def _check_depth(self, body: Sequence[Literal], text: str) -> None:
        if nesting(body) > _DEEPEST:
            raise mistake(
                "S116",
                f"the rule is nested more than {_DEEPEST} levels deep",
                body[0].place,
                text[:200],
                "split it into several rules, or write a long chain of = and || as IN (...)",
            )

    def heads(self, children: Sequence[Head]) -> tuple[Head, ...]:
        return tuple(children)

    def body(self, children: Sequence[Literal]) -> tuple[Literal, ...]:
        return tuple(children)

    # Atoms

    def atom(self, children: Sequence[Any]) -> Atom:
        token = children[0]
        name = self._spelled(token)
        args = tuple([self._argument(child) for child in children[1:]])
        if name == _TYPE_NAME and len(args) == 2:  # noqa: PLR2004  # subject and class
            return self._type_atom(args[0], args[1], self._place(token))
        return Atom(Predicate(name, len(args)), args, self._place(token))

    def triple(self, children: Sequence[Any]) -> Atom:
        if len(children) != 4:  # noqa: PLR2004  # the bracket and three terms
            self.fail(
                "S114",
                f"a triple atom has three parts, not {len(children) - 1}",
                children[0],
                "write [subject, predicate, object], or name(...) for a relation of another width",
            )
        token, place = children[2], self._place(children[0])
        is_a = isinstance(token, Token) and token.type == "A"
        predicate = RDF_TYPE if is_a else self._argument(token)
        subject, thing = self._argument(children[1]), self._argument(children[3])
        if isinstance(predicate, Variable):
            return Atom(TRIPLE, (subject, predicate, thing), place)
        if predicate == RDF_TYPE:
            return self._type_atom(subject, thing, place)
        if predicate.kind != IRI_KIND:
            self.fail(
                "S112",
                "a literal or a blank node cannot be a predicate",
                token if isinstance(token, Token) else children[0],
                "the second part of [s, p, o] is an IRI, a prefixed name, a variable or the word a",
            )
        return Atom(Predicate(f"<{predicate.text}>", 2), (subject, thing), place)

    def _type_atom(self, subject: Argument, kind: Argument, place: Place) -> Atom:
        if isinstance(kind, Variable):
            return Atom(TRIPLE, (subject, RDF_TYPE, kind), place)
        if kind.kind == IRI_KIND:
            return Atom(Predicate(f"<{kind.text}>", 1), (subject,), place)
        return Atom(Predicate(_TYPE_NAME, 2), (subject, kind), place)

    def equality(self, children: Sequence[Any]) -> Equality:
        left, sign, right = children
        place = self._place(left if isinstance(left, Token) else sign)
        return Equality(self._argument(left), self._argument(right), place)

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
        inside = body if isinstance(body, tuple) else (body,)
        return Negation(inside, tuple(local or ()), self._place(word))

    def variables(self, children: Sequence[Token]) -> list[Variable]:
        return [Variable(token[1:]) for token in children]

    def filter(self, children: Sequence[Any]) -> Filter:
        return Filter(self._value(children[1]), self._place(children[0]))

    def bind(self, children: Sequence[Any]) -> Bind:
        word, expression, variable = children
        return Bind(self._value(expression), Variable(variable[1:]), self._place(word))

    def aggregate(self, children: Sequence[Any]) -> Aggregate:
        word, body, group, *reductions = children
        return Aggregate(body, tuple(group or ()), tuple(reductions), self._place(word))

    def reduction(self, children: Sequence[Any]) -> Reduction:
        _, function, distinct, counted, variable = children
        is_star = isinstance(counted, Token) and counted.type == "STAR"
        expression = None if is_star else self._value(counted)
        return Reduction(function.upper(), distinct is not None, expression, Variable(variable[1:]))

    def comparison(self, children: Sequence[Any]) -> Filter:
        expression = self.operators(children)
        first = children[0]
        if expression.name not in COMPARISONS:
            self.fail(
                "S117",
                f"{expression.name} is no comparison",
                children[1],
                "write FILTER(...) around a condition that is not a single comparison",
            )
        place = self._place(first) if isinstance(first, Token) else expression.place
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
            return operand
        return Call("NEG" if sign == "-" else "!", (operand,), self._place(sign))

    def call(self, children: Sequence[Any]) -> Call:
        token = children[0]
        name = token.upper() if token.type == "BARE" else self._spelled(token)
        args = tuple([self._value(child) for child in children[1:]])
        return Call(name, args, self._place(token))

    def _value(self, child: Expression | Token) -> Expression:
        return child if isinstance(child, Call) else self._argument(child)

    # Words

    def bare_word(self, children: Sequence[Token]) -> NoReturn:
        word = children[0]
        self.fail(
            "S110",
            f"the bare word {word} is neither a constant nor a variable",
            word,
            f'write "{word}", <{word}> or ?{word}: a string, an IRI or a variable',
        )

    def tagged(self, children: Sequence[Token]) -> Term:
        return literal(self._string(children[0]), lang=str(children[1])[1:])

    def typed(self, children: Sequence[Token]) -> Term:
        text, datatype = children
        kind = self._iri(datatype)
        if not names.is_absolute(kind):
            self.fail(
                "S120",
                f"the datatype <{kind}> is not an absolute IRI",
                datatype,
                "write a datatype such as xsd:date, or declare a base with @base",
            )
        return self._number_in_bounds(literal(self._string(text), datatype=kind), text)

    def _argument(self, child: Argument | Token) -> Argument:
        if not isinstance(child, Token):
            return child
        shared = self._shared.get(child)
        if shared is not None:
            return shared
        match child.type:
            case "VARIABLE":
                argument: Argument = Variable(child[1:])
            case "IRIREF" | "PNAME":
                argument = Term(IRI_KIND, self._iri(child))
            case "BLANK":
                return Term(BNODE_KIND, child[2:])
            case "STRING":
                return literal(self._string(child))
            case number:
                return self._number_in_bounds(literal(str(child), datatype=_NUMBERS[number]), child)
        self._shared[str(child)] = argument
        return argument

    def _number_in_bounds(self, term: Term, token: Token) -> Term:
        """Return the constant, unless it is a number of too many digits."""
        most = effort.max_digits()
        if is_long(term, most):
            self.fail(
                "D302",
                f"a number of {digits_in(term.text):,} digits; max_digits={most:,} is the most",
                token,
                LONG_HELP,
            )
        return term

    def _spelled(self, token: Token) -> str:
        name = self._names.get(token)
        if name is None:
            if token.type != "BARE":
                name = f"<{self._iri(token)}>"
            elif token.upper() in names.KEYWORDS:
                self.fail(
                    "S113",
                    f"{token} is a word of the rule language",
                    token,
                    "choose another name for the predicate",
                )
            else:
                name = str(token)
            self._names[str(token)] = name
        return name

    def _iri(self, token: Token) -> str:
        if token.type == "IRIREF":
            return names.resolve(self._base, self._unescaped(token, token[1:-1]))
        prefix, _, local = token.partition(":")
        if prefix not in self._prefixes:
            self.fail(
                "S111", f"the prefix {prefix}: is not declared", token, names.prefix_help(prefix)
            )
        return self._prefixes[prefix] + names.unescape_local(local)

    def _string(self, token: Token) -> str:
        quotes = 3 if token[:3] in {'"""', "'''"} else 1
        return self._unescaped(token, token[quotes:-quotes])

    def _unescaped(self, token: Token, text: str) -> str:
        try:
            return names.unescape(str(text))
        except ValueError as problem:
            known = r"\t \b \n \r \f \" \' \\ \uXXXX \UXXXXXXXX"
            advice = rf"write \\ for a backslash; the escapes are {known}"
            self.fail("S108", f"{problem} is not an escape", token, advice)

    def _place(self, token: Token) -> Place:
        return Place(self._path, token.line or 1, token.column or 1)
