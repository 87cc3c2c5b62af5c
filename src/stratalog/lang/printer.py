"""Abstract syntax -> program text that parses back to the same syntax."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from stratalog.lang import names
from stratalog.lang.expressions import ADD, BINDING, COMPARE, PRIMARY, UNARY
from stratalog.lang.syntax import (
    TRIPLE,
    Aggregate,
    Anonymous,
    Atom,
    Bind,
    Call,
    Choice,
    Column,
    Declaration,
    Equality,
    Equation,
    Expression,
    Filter,
    Head,
    Literal,
    Negation,
    Pattern,
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
    LANG,
    STRING,
    Term,
)

Node = Program | Declaration | Rule | Head | Literal | Expression

_PLAIN = {
    INTEGER: re.compile(r"[+-]?[0-9]+"),
    DECIMAL: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    DOUBLE: re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+"),
    BOOLEAN: re.compile(r"true|false"),
}
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}
_TO_ESCAPE = re.compile(r"[\"\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def show(node: Node, prefixes: Iterable[tuple[str, str]] = ()) -> str:
    """Return the text of a node; IRIs are shortened by `prefixes`, or by the program's own."""
    if isinstance(node, Program):
        return _Printer(names.all_prefixes([*prefixes, *node.prefixes])).program(node)
    return _Printer(names.all_prefixes(prefixes)).node(node)


class _Printer:
    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefixes = prefixes

    def node(self, node: Declaration | Rule | Head | Literal | Expression) -> str:
        match node:
            case Rule():
                return self.rule(node)
            case Declaration():
                return self.declaration(node)
            case Equality(left, right):
                return f"{self.expression(left)} = {self.expression(right)}"
            case Variable() | Term() | Call():
                return self.expression(node)
            case _:
                return self.literal(node)

    def program(self, program: Program) -> str:
        lines = [f"@prefix {name}: {names.show_iri(iri, {})} ." for name, iri in program.prefixes]
        lines += [self.declaration(declaration) for declaration in program.declarations]
        lines += [self.rule(rule) for rule in program.rules]
        lines += [f"{self.literal(fact)} ." for fact in program.facts]
        if program.base is not None:  # last: what stands above it is resolved already
            lines.append(f"@base {names.show_iri(program.base, {})} .")
        return "".join(line + "\n" for line in lines)

    def rule(self, rule: Rule) -> str:
        heads = ", ".join(self.node(head) for head in rule.heads)
        return f"{heads} :- {self.body(rule.body)} ." if rule.body else f"{heads} ."

    def body(self, body: Sequence[Literal]) -> str:
        if len(body) == 1 and isinstance(body[0], Choice):
            return self.choice(body[0])
        return self.conjunction(body)

    def conjunction(self, body: Sequence[Literal]) -> str:
        return ", ".join(self.literal(literal) for literal in body)

    def choice(self, choice: Choice) -> str:
        return " ; ".join(self.conjunction(body) for body in choice.alternatives)

    def declaration(self, declaration: Declaration) -> str:
        columns = ", ".join(_column(column) for column in declaration.columns)
        return f"@declare {self._name(declaration.predicate.name)}({columns}) ."

    def literal(self, literal: Literal) -> str:
        match literal:
            case Atom() | Pattern():
                return self.atom(literal)
            case Choice():
                return f"({self.choice(literal)})"
            case Equation(left, right):
                return f"{self._side(left)} = {self.expression(right, ADD)}"
            case Filter(expression):
                return f"FILTER({self.expression(expression)})"
            case Bind(expression, variable):
                return f"BIND({self.expression(expression)} AS ?{variable.name})"
            case Negation():
                return self.negation(literal)
            case Aggregate(body, group, reductions):
                parts = [self.body(body)]
                if group:
                    parts.append("ON " + " ".join(f"?{variable.name}" for variable in group))
                parts += [self.reduction(reduction) for reduction in reductions]
                return f"AGGREGATE({' '.join(parts)})"

    def _side(self, left: Expression) -> str:
        """Return the left side of an equation; a function's name would begin an atom."""
        text = self.expression(left)
        return f"({text})" if isinstance(left, Call) else text

    def atom(self, atom: Atom | Pattern) -> str:
        args = ", ".join(
            arg.value if isinstance(arg, Anonymous) else self.expression(arg) for arg in atom.args
        )
        if atom.predicate == TRIPLE:
            return f"[{args}]"
        return f"{self._name(atom.predicate.name)}({args})"

    def negation(self, negation: Negation) -> str:
        inside = self.body(negation.body)
        if (
            len(negation.body) != 1
            or not isinstance(negation.body[0], Atom | Pattern)
            or negation.local
        ):
            inside = f"({inside})"
        local = " ".join(f"?{variable.name}" for variable in negation.local)
        return f"NOT EXISTS {local} IN {inside}" if local else f"NOT {inside}"

    def reduction(self, reduction: Reduction) -> str:
        counted = "*" if reduction.expression is None else self.expression(reduction.expression)
        distinct = "DISTINCT " if reduction.distinct else ""
        return f"BIND {reduction.function}({distinct}{counted}) AS ?{reduction.variable.name}"

    def expression(self, expression: Expression, context: int = 0) -> str:
        """Return the expression, in parentheses if it binds less tightly than `context`."""
        match expression:
            case Variable(name):
                return "_" if name.startswith("$$") else f"?{name}"
            case Term():
                return self.term(expression)
            case Call(name, args):
                level, text = self._call(name, args)
                return f"({text})" if level < context else text

    def _call(self, name: str, args: Sequence[Expression]) -> tuple[int, str]:
        match name, args:
            case "!", (Call("IN", (left, *choices)),):
                return COMPARE, f"{self.expression(left, ADD)} NOT IN ({self._list(choices)})"
            case "IN", (left, *choices):
                return COMPARE, f"{self.expression(left, ADD)} IN ({self._list(choices)})"
            case "NEG" | "!", (operand,):
                sign = "-" if name == "NEG" else name
                text = self.expression(operand, UNARY)
                return UNARY, f"{sign}({text})" if text[0].isdigit() or text[
                    0
                ] in "+-." else sign + text
            case _, (left, right) if name in BINDING:
                level = BINDING[name]
                # Operators group to the left; comparisons do not group at all.
                left_level = level + 1 if level == COMPARE else level
                before = self.expression(left, left_level)
                return level, f"{before} {name} {self.expression(right, level + 1)}"
        return PRIMARY, f"{self._name(name)}({self._list(args)})"

    def _list(self, expressions: Iterable[Expression]) -> str:
        return ", ".join(self.expression(expression) for expression in expressions)

    def term(self, term: Term) -> str:
        kind, text = term
        if kind == IRI_KIND:
            return names.show_iri(text, self._prefixes)
        if kind == BNODE_KIND:
            return f"_:{text}"
        if kind in _PLAIN and _PLAIN[kind].fullmatch(text):
            return text
        quoted = f'"{_TO_ESCAPE.sub(_escaped, text)}"'
        if kind == STRING:
            return quoted
        if kind.startswith(LANG):
            return quoted + kind
        return f"{quoted}^^{names.show_iri(kind, self._prefixes)}"

    def _name(self, name: str) -> str:
        return names.show_iri(name[1:-1], self._prefixes) if name.startswith("<") else name


def _column(column: Column) -> str:
    text = f"{column.name} {column.type}{'?' if column.nullable else ''}"
    if column.source is None:
        return text
    return f'{text} = "{_TO_ESCAPE.sub(_escaped, column.source)}"'


def _escaped(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], f"\\u{ord(found[0]):04X}")
