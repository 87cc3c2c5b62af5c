"""Built-in functions and operators with the semantics of SPARQL 1.1, evaluated on one binding.

Functions whose result is not determined by their arguments (RAND, NOW, UUID, STRUUID, BNODE) do not
exist here: a materialisation is a function of its input. Dates have no arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from stratalog.lang.builtins import arithmetic, dates, strings
from stratalog.lang.builtins.casts import CASTS
from stratalog.lang.builtins.compare import compare, equal, value_key
from stratalog.lang.builtins.values import (
    ExpressionError,
    boolean_term,
    effective_boolean,
)
from stratalog.lang.syntax import Expression, Variable
from stratalog.lang.terms import Term

__all__ = ["FUNCTIONS", "VALUE_KEY", "ExpressionError", "evaluate", "holds"]

VALUE_KEY = "$KEY"
"""A function of our own: it gives the same constant for all that FILTER's `=` holds between."""

Binding = Mapping[Variable, Term]
Function = Callable[..., Term]

_STRICT: dict[str, tuple[int, int | None, Function]] = {
    "SAMETERM": (2, 2, lambda left, right: boolean_term(left == right)),
    "ISIRI": (1, 1, strings.is_iri),
    "ISURI": (1, 1, strings.is_iri),
    "ISBLANK": (1, 1, strings.is_blank),
    "ISLITERAL": (1, 1, strings.is_literal),
    "ISNUMERIC": (1, 1, strings.is_numeric),
    "STR": (1, 1, strings.to_string),
    "LANG": (1, 1, strings.language),
    "DATATYPE": (1, 1, strings.datatype),
    "IRI": (1, 1, strings.to_iri),
    "URI": (1, 1, strings.to_iri),
    "STRDT": (2, 2, strings.with_datatype),
    "STRLANG": (2, 2, strings.with_language),
    "STRLEN": (1, 1, strings.length),
    "SUBSTR": (2, 3, strings.substring),
    "UCASE": (1, 1, strings.upper),
    "LCASE": (1, 1, strings.lower),
    "STRSTARTS": (2, 2, strings.starts_with),
    "STRENDS": (2, 2, strings.ends_with),
    "CONTAINS": (2, 2, strings.contains),
    "STRBEFORE": (2, 2, strings.before),
    "STRAFTER": (2, 2, strings.after),
    "ENCODE_FOR_URI": (1, 1, strings.encode_for_uri),
    "CONCAT": (0, None, strings.concatenate),
    "LANGMATCHES": (2, 2, strings.language_matches),
    "REGEX": (2, 3, strings.regex),
    "REPLACE": (3, 4, strings.replace),
    "MD5": (1, 1, strings.digest("md5")),
    "SHA1": (1, 1, strings.digest("sha1")),
    "SHA256": (1, 1, strings.digest("sha256")),
    "SHA384": (1, 1, strings.digest("sha384")),
    "SHA512": (1, 1, strings.digest("sha512")),
    "ABS": (1, 1, arithmetic.absolute),
    "ROUND": (1, 1, arithmetic.round_half_up),
    "CEIL": (1, 1, arithmetic.ceiling),
    "FLOOR": (1, 1, arithmetic.floor),
    "MOD": (2, 2, arithmetic.modulo),
    "POW": (2, 2, arithmetic.power),
    "SQRT": (1, 1, arithmetic.square_root),
    "EXP": (1, 1, arithmetic.exponential),
    "LOG": (1, 1, arithmetic.logarithm),
    "YEAR": (1, 1, dates.year),
    "MONTH": (1, 1, dates.month),
    "DAY": (1, 1, dates.day),
    "HOURS": (1, 1, dates.hours),
    "MINUTES": (1, 1, dates.minutes),
    "SECONDS": (1, 1, dates.seconds),
    "TIMEZONE": (1, 1, dates.timezone),
    "TZ": (1, 1, dates.zone_name),
    **{name: (1, 1, cast) for name, cast in CASTS.items()},
}
FUNCTIONS: Mapping[str, tuple[int, int | None]] = {
    "BOUND": (1, 1),
    "IF": (3, 3),
    "COALESCE": (1, None),
} | {name: (low, high) for name, (low, high, _) in _STRICT.items()}


def evaluate(expression: Expression, binding: Binding) -> Term:
    """Return the value of the expression; a type error of SPARQL raises ExpressionError."""
    if isinstance(expression, Term):
        return expression
    if isinstance(expression, Variable):
        if expression not in binding:
            raise ExpressionError(f"?{expression.name} is unbound")
        return binding[expression]
    name, args = expression.name, expression.args
    special = _SPECIAL.get(name)
    if special is not None:
        return special(args, binding)
    function = _OPERATIONS.get((name, len(args))) or _STRICT[name][2]
    return function(*[evaluate(arg, binding) for arg in args])


def holds(expression: Expression, binding: Binding) -> bool:
    """Return whether the expression's effective boolean value is true; an error is not."""
    try:
        return effective_boolean(evaluate(expression, binding))
    except ExpressionError:
        return False


def _truth(expression: Expression, binding: Binding) -> bool | None:
    try:
        return effective_boolean(evaluate(expression, binding))
    except ExpressionError:
        return None


def _decided(truths: list[bool | None], decisive: bool) -> Term:
    if decisive in truths:
        return boolean_term(decisive)
    if None in truths:
        raise ExpressionError("an operand is an error and no other decides")
    return boolean_term(not decisive)


def _and(args: tuple[Expression, ...], binding: Binding) -> Term:
    return _decided([_truth(arg, binding) for arg in args], decisive=False)


def _or(args: tuple[Expression, ...], binding: Binding) -> Term:
    return _decided([_truth(arg, binding) for arg in args], decisive=True)


def _not(args: tuple[Expression, ...], binding: Binding) -> Term:
    return boolean_term(not effective_boolean(evaluate(args[0], binding)))


def _in(args: tuple[Expression, ...], binding: Binding) -> Term:
    value = evaluate(args[0], binding)

    def same(other: Expression) -> bool | None:
        try:
            return equal(value, evaluate(other, binding))
        except ExpressionError:
            return None

    return _decided([same(arg) for arg in args[1:]], decisive=True)


def _if(args: tuple[Expression, ...], binding: Binding) -> Term:
    chosen = args[1] if effective_boolean(evaluate(args[0], binding)) else args[2]
    return evaluate(chosen, binding)


def _coalesce(args: tuple[Expression, ...], binding: Binding) -> Term:
    for arg in args:
        try:
            return evaluate(arg, binding)
        except ExpressionError:
            continue
    raise ExpressionError("all arguments of COALESCE are errors")


def _bound(args: tuple[Expression, ...], binding: Binding) -> Term:
    return boolean_term(not isinstance(args[0], Variable) or args[0] in binding)


_SPECIAL: dict[str, Callable[[tuple[Expression, ...], Binding], Term]] = {
    "&&": _and,
    "||": _or,
    "!": _not,
    "IN": _in,
    "IF": _if,
    "COALESCE": _coalesce,
    "BOUND": _bound,
}
_OPERATIONS: dict[tuple[str, int], Function] = {
    (VALUE_KEY, 1): value_key,
    ("NEG", 1): arithmetic.negate,
    ("+", 2): arithmetic.add,
    ("-", 2): arithmetic.subtract,
    ("*", 2): arithmetic.multiply,
    ("/", 2): arithmetic.divide,
    **{(name, 2): partial(compare, name) for name in ("=", "!=", "<", "<=", ">", ">=")},
}
