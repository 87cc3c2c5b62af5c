"""The types of a column: the set of kinds that its constants have, as the bits of a number.

Some kinds share a bit, which makes nothing certain that is not: all languages, all datatypes of
numbers but integer, decimal and double, and all other datatypes.
"""

from __future__ import annotations

from collections.abc import Mapping

from stratalog.lang.syntax import Call, Expression, Reduction, Variable
from stratalog.lang.terms import (
    BNODE_KIND,
    BOOLEAN,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    LANG,
    STRING,
    Term,
)
from stratalog.lang.values.numbers import FLOAT, INTEGER_RANGES

Types = int

_SINGLE = (IRI_KIND, BNODE_KIND, STRING, INTEGER, DECIMAL, DOUBLE, BOOLEAN, DATE, DATETIME)
IRIS, BNODES, STRINGS, INTEGERS, DECIMALS, DOUBLES, BOOLEANS, DATES, DATETIMES = (
    1 << place for place in range(len(_SINGLE))
)
TEXTS, OTHER_NUMBERS, OTHERS = (1 << place for place in range(len(_SINGLE), len(_SINGLE) + 3))
NONE: Types = 0
ANY: Types = 2 * OTHERS - 1
NUMBERS = INTEGERS | DECIMALS | DOUBLES | OTHER_NUMBERS

_BIT = {kind: 1 << place for place, kind in enumerate(_SINGLE)}
_OTHER_NUMBERS = frozenset({FLOAT, *INTEGER_RANGES} - {INTEGER})

_WORDS = {
    IRIS: "IRIs",
    BNODES: "blank nodes",
    STRINGS: "strings",
    INTEGERS: "integers",
    DECIMALS: "decimals",
    DOUBLES: "doubles",
    BOOLEANS: "booleans",
    DATES: "dates",
    DATETIMES: "dateTimes",
    TEXTS: "texts with a language",
    OTHER_NUMBERS: "numbers of other datatypes",
    OTHERS: "literals of other datatypes",
}


def type_of_kind(kind: str) -> Types:
    """Return the bit of a constant's kind."""
    found = _BIT.get(kind)
    if found is not None:
        return found
    if kind.startswith(LANG):
        return TEXTS
    return OTHER_NUMBERS if kind in _OTHER_NUMBERS else OTHERS


def words_of(types: Types) -> str:
    """Return the types as people say them: `integers and strings`."""
    found = [word for bit, word in _WORDS.items() if types & bit]
    return " and ".join([", ".join(found[:-1]), found[-1]] if found[1:] else found)


# What functions give. All is monotone: more types in, no fewer out.

_BOOLEAN = (
    "= != < <= > >= && || ! IN BOUND SAMETERM ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC "
    "STRSTARTS STRENDS CONTAINS LANGMATCHES REGEX"
)
_INTEGER = "STRLEN YEAR MONTH DAY HOURS MINUTES"
_STRING = "STR LANG ENCODE_FOR_URI MD5 SHA1 SHA256 SHA384 SHA512 TZ"
_FIXED = {
    **dict.fromkeys(_BOOLEAN.split(), BOOLEANS),
    **dict.fromkeys(_INTEGER.split(), INTEGERS),
    **dict.fromkeys(_STRING.split(), STRINGS),
    **dict.fromkeys(("DATATYPE", "IRI", "URI"), IRIS),
    "SECONDS": DECIMALS,
    "STRLANG": TEXTS,
    **{
        f"<{kind}>": type_of_kind(kind)
        for kind in (INTEGER, DECIMAL, DOUBLE, FLOAT, BOOLEAN, STRING, DATE, DATETIME)
    },
}
_SAME_NUMBER = frozenset(("NEG", "ABS", "ROUND", "CEIL", "FLOOR"))
_OF_TEXT = frozenset(("UCASE", "LCASE", "SUBSTR", "STRBEFORE", "STRAFTER", "REPLACE", "CONCAT"))


def types_of_value(expression: Expression, types: Mapping[Variable, Types]) -> Types:
    """Return the types that an expression's value may have; variables without types have any."""
    if isinstance(expression, Term):
        return type_of_kind(expression.kind)
    if isinstance(expression, Variable):
        return types.get(expression, ANY)
    if expression.name in _FIXED:
        return _FIXED[expression.name]
    return _types_of_call(expression, [types_of_value(arg, types) for arg in expression.args])


def _types_of_call(call: Call, args: list[Types]) -> Types:
    if call.name in {"+", "-", "*"} and len(args) == 2:  # noqa: PLR2004  # both operands
        return _promoted(*args)
    if call.name == "/":
        return _quotient(*args)
    if call.name in _SAME_NUMBER:
        return _promoted(args[0], args[0])
    if call.name in _OF_TEXT:
        return STRINGS | TEXTS if any(each & TEXTS for each in args) else STRINGS
    if call.name in {"IF", "COALESCE"}:
        return _union(args[1:] if call.name == "IF" else args)
    return ANY


def _union(several: list[Types]) -> Types:
    found = NONE
    for each in several:
        found |= each
    return found


def _promoted(left: Types, right: Types) -> Types:
    """Return the types of a sum: of two numbers' types the larger."""
    left, right = left & NUMBERS, right & NUMBERS
    if not (left and right):
        return NONE
    if (left | right) & OTHER_NUMBERS:
        return NUMBERS
    found = left & right
    exact = INTEGERS | DECIMALS
    if (left & DECIMALS and right & exact) or (right & DECIMALS and left & exact):
        found |= DECIMALS
    return found | ((left | right) & DOUBLES)


def _quotient(left: Types, right: Types) -> Types:
    found = _promoted(left, right)
    return (found & ~INTEGERS) | DECIMALS if found & INTEGERS else found


def types_of_result(reduction: Reduction, types: Mapping[Variable, Types]) -> Types:
    """Return the types that the result of an aggregate may have."""
    if reduction.function == "COUNT" or reduction.expression is None:
        return INTEGERS
    value = types_of_value(reduction.expression, types)
    if reduction.function in {"MIN", "MAX"}:
        return value
    return _quotient(value, value) if reduction.function == "AVG" else _promoted(value, value)
