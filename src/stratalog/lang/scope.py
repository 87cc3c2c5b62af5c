"""Which variables a body binds, and the mistakes that concern variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

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
    Literal,
    Negation,
    Pattern,
    Place,
    Rule,
    Variable,
)

Report = Callable[[str, str, Place | None, str, str], None]
"""Takes an error's code, message, place, the word that the caret points at, and the help."""

Bound = frozenset[Variable]


def variables(expression: Expression | None) -> Iterator[Variable]:
    """Yield the variables of an expression, each as often as it occurs."""
    if isinstance(expression, Variable):
        yield expression
    elif isinstance(expression, Call):
        for arg in expression.args:
            yield from variables(arg)


def atom_variables(args: Iterable[Argument]) -> Bound:
    """Return the variables among an atom's arguments."""
    return frozenset(arg for arg in args if isinstance(arg, Variable))


def visible(literal: Literal) -> Bound:
    """Return the variables of a literal that the rest of the rule can share with it."""
    match literal:
        case Atom(args=args):
            return atom_variables(args)
        case Pattern(args=args):
            named = (arg for arg in args if not isinstance(arg, Anonymous))
            return frozenset(v for arg in named for v in variables(arg))
        case Equation(left=left, right=right):
            return frozenset((*variables(left), *variables(right)))
        case Choice(alternatives=bodies):
            return frozenset().union(*(visible(part) for body in bodies for part in body))
        case Filter(expression=expression):
            return frozenset(variables(expression))
        case Bind(expression=expression, variable=variable):
            return frozenset(variables(expression)) | {variable}
        case Negation(body=body, local=local):
            return frozenset().union(*map(visible, body)) - frozenset(local)
        case Aggregate(group=group, reductions=reductions):
            return frozenset(group) | {reduction.variable for reduction in reductions}


def _is_of_expression(variable: Variable) -> bool:
    """Return whether a variable stands for an expression in an atom: nothing waits for it."""
    return variable.name.startswith("$")


def check_variables(rule: Rule, report: Report) -> None:
    """Report unsafe heads, unbound and doubly bound variables, and misused aggregates."""
    bound = _Scope(report, "S203").bind(rule.body, frozenset())
    for head in rule.heads:
        if not isinstance(head, Atom):
            continue
        for variable in dict.fromkeys(arg for arg in head.args if isinstance(arg, Variable)):
            name = variable.name
            if variable not in bound:
                report(
                    "S201",
                    f"variable ?{name} is in the head but in no positive body atom",
                    head.place,
                    f"?{name}",
                    f"add an atom that binds ?{name}, or remove ?{name} from the head",
                )
    in_heads = (visible(head) for head in rule.heads if isinstance(head, Atom))
    _check_aggregate_locals(rule.body, frozenset().union(*in_heads), report)


class _Scope:
    """Checks one list of literals; `code` is the code of an unbound variable there."""

    def __init__(self, report: Report, code: str, *, in_aggregate: bool = False) -> None:
        self._report, self._code, self._in_aggregate = report, code, in_aggregate

    def bind(self, body: Sequence[Literal], outer: Bound) -> Bound:
        """Return what `outer` and the body bind; report what is wrong with the body."""
        bound = outer.union(*(visible(part) for part in body if isinstance(part, Atom)))
        for literal in body:
            if isinstance(literal, Aggregate):
                bound = self._aggregate(literal, bound)
        bound = self._binds([part for part in body if isinstance(part, Bind)], bound)
        for literal in body:
            if isinstance(literal, Filter):
                self.need(literal.expression, literal.place, bound, "FILTER")
            elif isinstance(literal, Negation):
                inside = _Scope(self._report, "S204", in_aggregate=self._in_aggregate)
                inside.bind(literal.body, bound - frozenset(literal.local))
        return bound

    def _binds(self, binds: list[Bind], bound: Bound) -> Bound:
        """Return what is bound once every BIND has been evaluated, in an order that works."""
        taken = set(bound)
        for bind in binds:
            if bind.variable in taken and not _is_of_expression(bind.variable):
                self._bound_twice(bind)
            taken.add(bind.variable)
        waiting = binds
        while waiting:
            ready = [bind for bind in waiting if bound.issuperset(variables(bind.expression))]
            if not ready:
                self._stuck(waiting, bound)
                return bound | {bind.variable for bind in waiting}
            waiting = [bind for bind in waiting if bind not in ready]
            bound |= {bind.variable for bind in ready}
        return bound

    def _bound_twice(self, bind: Bind) -> None:
        name = bind.variable.name
        self._report(
            self._code,
            f"BIND gives ?{name} a value, but ?{name} is bound already",
            bind.place,
            f"AS ?{name}",
            f"choose a new variable, or compare: FILTER(?{name} = ...)",
        )

    def _stuck(self, waiting: list[Bind], bound: Bound) -> None:
        awaited = {bind.variable for bind in waiting}
        for bind in waiting:
            if not (awaited | bound).issuperset(variables(bind.expression)):
                word = "an expression" if _is_of_expression(bind.variable) else "BIND"
                self.need(bind.expression, bind.place, bound | awaited, word)
                return
        bind = next(bind for bind in waiting if not _is_of_expression(bind.variable))
        self._report(
            self._code,
            f"the BIND of ?{bind.variable.name} depends on itself",
            bind.place,
            f"?{bind.variable.name}",
            "remove one BIND of the cycle, or bind its variable with an atom",
        )

    def need(
        self, expression: Expression | None, place: Place | None, bound: Bound, word: str
    ) -> None:
        for variable in variables(expression):
            if variable not in bound:
                name = variable.name
                self._report(
                    self._code,
                    f"variable ?{name} of {word} is bound by no positive atom",
                    place,
                    f"?{name}",
                    f"add an atom or a BIND that gives ?{name} a value",
                )
                return

    def _aggregate(self, aggregate: Aggregate, bound: Bound) -> Bound:
        """Return what is bound with the aggregate's groups and results."""
        if self._in_aggregate:
            self._report(
                "S205",
                "an AGGREGATE stands inside another",
                aggregate.place,
                "AGGREGATE",
                "derive the inner result with a rule of its own, and use its predicate here",
            )
            return bound | visible(aggregate)
        inside = _Scope(self._report, "S205", in_aggregate=True).bind(aggregate.body, frozenset())
        for variable in aggregate.group:
            if variable not in inside:
                self._report(
                    "S205",
                    f"group variable ?{variable.name} is not bound inside its AGGREGATE",
                    aggregate.place,
                    f"?{variable.name}",
                    f"use ?{variable.name} in an atom before ON, or remove it from ON",
                )
        taken = inside | bound | frozenset(aggregate.group)
        within = _Scope(self._report, "S205", in_aggregate=True)
        for reduction in aggregate.reductions:
            within.need(reduction.expression, aggregate.place, inside, reduction.function)
            if reduction.variable in taken:
                self._result_taken(reduction.variable, aggregate.place)
            taken |= {reduction.variable}
        # What is local to the aggregate but used outside is reported as such, not as unbound.
        return bound | visible(aggregate) | inside

    def _result_taken(self, variable: Variable, place: Place | None) -> None:
        self._report(
            "S205",
            f"the result ?{variable.name} of AGGREGATE is bound already",
            place,
            f"AS ?{variable.name}",
            f"choose a new variable, and compare with FILTER(?{variable.name} = ...) if meant",
        )


def _check_aggregate_locals(body: Sequence[Literal], around: Bound, report: Report) -> None:
    """Report variables that are local to an aggregate, but look as if the rest shared them."""
    if not _has_aggregate(body):
        return
    for literal in body:
        others = (visible(part) for part in body if part is not literal)
        outside = around.union(*others)
        if isinstance(literal, Negation):
            _check_aggregate_locals(literal.body, outside - frozenset(literal.local), report)
        if not isinstance(literal, Aggregate):
            continue
        inside: Bound = frozenset().union(*map(visible, literal.body))
        for variable in sorted((inside & outside) - visible(literal)):
            name = variable.name
            report(
                "S205",
                f"?{name} is used inside AGGREGATE and outside, but is not among its groups",
                literal.place,
                f"?{name}",
                f"add ?{name} to ON, or rename it inside the AGGREGATE",
            )


def _has_aggregate(body: Iterable[Literal]) -> bool:
    return any(
        isinstance(part, Aggregate) or (isinstance(part, Negation) and _has_aggregate(part.body))
        for part in body
    )
