"""Expressions over columns of ids.

Integers, doubles, booleans and the equality of names are computed on whole columns; what is left is
evaluated on terms, once per distinct combination of the expression's variables. Both give what
`lang.builtins` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from stratalog.engine.values import expression_columns as columnwise
from stratalog.engine.values.expression_columns import (
    DOUBLE,
    FAILED,
    SLOW,
    TRUTH,
    WHOLE,
    Column,
    Ids,
    Integers,
    Mask,
)
from stratalog.engine.values.expression_numbers import Numbers
from stratalog.facts.terms import Array, Terms
from stratalog.kernels.sizes import sized
from stratalog.lang import effort
from stratalog.lang.builtins import functions as builtins
from stratalog.lang.builtins.values import FALSE, TRUE, number_of
from stratalog.lang.syntax import Call, Expression, Variable
from stratalog.lang.terms import DOUBLE as DOUBLE_KIND
from stratalog.lang.terms import INTEGER, XSD, Term
from stratalog.lang.values.numbers import double_text

ERROR = np.uint32(0xFFFFFFFF)
_CHUNK = sized(1 << 16, 3)  # so many rows are terms of Python at a time
_CHECKED = sized(1 << 9, 2)  # rows after which limits are looked at; long texts do so themselves

_VALUE = Variable("$")

Columns = Mapping[Variable, Ids]

_UNARY: dict[str, Callable[[Column], Column]] = {
    "NEG": columnwise.negate,
    "!": lambda column: columnwise.invert(columnwise.truth(column)),
}
_BINARY: dict[str, Callable[[Column, Column], Column]] = {
    "+": columnwise.add,
    "-": columnwise.subtract,
    "*": columnwise.multiply,
    "/": columnwise.divide,
    "MOD": columnwise.modulo,
    "=": columnwise.equal,
    "!=": columnwise.unequal,
    "<": columnwise.less,
    "<=": columnwise.less_or_equal,
    ">": lambda left, right: columnwise.less(right, left),
    ">=": lambda left, right: columnwise.less_or_equal(right, left),
}
_CONNECTIVES: dict[str, Callable[[Column, Column], Column]] = {
    "&&": columnwise.both,
    "||": columnwise.either,
}
# Their values fit into a column without ids, so that only they, not what is around them, are slow.
_SMALL = frozenset(
    {
        *("SAMETERM", "ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "BOUND", "REGEX"),
        *("STRLEN", "STRSTARTS", "STRENDS", "CONTAINS", "LANGMATCHES"),
        *("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "ABS", "ROUND", "CEIL", "FLOOR"),
        *("POW", "SQRT", "EXP", "LOG"),
        *(f"<{XSD}{name}>" for name in ("integer", "double", "boolean")),
    }
)


class Evaluator:
    """Evaluates expressions over columns of ids of one dictionary."""

    def __init__(self, terms: Terms, check: effort.Check = effort.unchecked) -> None:
        """`check` raises where a limit is reached; it is called again and again."""
        self._terms = terms
        self.check = check
        self._numbers = Numbers(terms)

    def evaluate(self, expression: Expression, columns: Columns, size: int) -> Ids:
        """Return the ids of the expression's values in `size` rows, ERROR where it has none."""
        if isinstance(expression, Variable) and expression in columns:
            return columns[expression]
        if isinstance(expression, Term):
            return np.full(size, self._terms.encode([expression])[0])
        if isinstance(expression, Call) and expression.name == builtins.VALUE_KEY:
            return self._keys(self.evaluate(expression.args[0], columns, size))
        return self._ids(expression, columns, size) if size else np.zeros(0, np.uint32)

    def holds(self, expression: Expression, columns: Columns, size: int) -> Mask:
        """Return in which of `size` rows the expression is true; errors are not."""
        column = columnwise.truth(self._column(expression, columns))
        states = np.broadcast_to(column.states, (size,))
        result: Mask = (states == TRUTH) & (column.numbers != 0)
        slow = np.flatnonzero(states == SLOW)
        if slow.size:
            distinct, inverse = _distinct(expression, columns, slow)
            with effort.checked_by(self.check):
                bindings = self._checked_bindings(distinct)
                truths = [builtins.holds(expression, binding) for binding in bindings]
            result[slow] = np.array(truths, np.bool_)[inverse]
        return result

    def numbers(self, ids: Ids) -> Column:
        """Return what the ids hold; none may be ERROR."""
        return self._numbers.column(ids)

    def forget(self, size: int) -> None:
        """Forget the ids from `size` on; to be called when the dictionary takes them back."""
        self._numbers.forget(size)

    def _column(self, expression: Expression, columns: Columns) -> Column:
        if isinstance(expression, Term):
            return self._numbers.column(self._terms.encode([expression]))
        if isinstance(expression, Variable):
            if expression in columns:
                return self._numbers.column(columns[expression])
            return _constant(FAILED)
        name, args = expression.name, expression.args
        if name == "IN":
            return self._among(args, columns)
        if name in _CONNECTIVES:
            parts = [columnwise.truth(self._column(arg, columns)) for arg in args]
            return reduce(_CONNECTIVES[name], parts)
        unary, binary = _UNARY.get(name), _BINARY.get(name)
        if unary is not None and len(args) == 1:
            return unary(self._column(args[0], columns))
        if binary is not None:
            return binary(*(self._column(arg, columns) for arg in args))
        return self._small(expression, columns) if name in _SMALL else _constant(SLOW)

    def _among(self, args: Sequence[Expression], columns: Columns) -> Column:
        value = self._column(args[0], columns)
        equal = [columnwise.equal(value, self._column(arg, columns)) for arg in args[1:]]
        start = np.where(value.states > FAILED, TRUTH, value.states)
        nowhere = Column(start, np.zeros(1, np.int64))
        return reduce(columnwise.either, equal, nowhere)

    def _small(self, expression: Call, columns: Columns) -> Column:
        distinct, inverse = _distinct(expression, columns, None)
        with effort.checked_by(self.check):
            bindings = self._checked_bindings(distinct)
            found = [_number(_value(expression, binding)) for binding in bindings]
        states = np.array([state for state, _ in found], np.uint8)
        numbers = np.array([number for _, number in found], np.int64)
        return Column(states[inverse], numbers[inverse])

    def _ids(self, expression: Expression, columns: Columns, size: int) -> Ids:
        column = self._column(expression, columns)
        states = np.broadcast_to(column.states, (size,))
        numbers = np.broadcast_to(column.numbers, (size,))
        result = np.full(size, ERROR)
        for state, encode in (
            (WHOLE, self.encode_integers),
            (DOUBLE, self.encode_doubles),
            (TRUTH, self._encode_truths),
        ):
            chosen = states == state
            if chosen.all():
                return encode(numbers)
            if chosen.any():
                result[chosen] = encode(numbers[chosen])
        slow = np.flatnonzero(states == SLOW)
        if slow.size:
            distinct, inverse = _distinct(expression, columns, slow)
            result[slow] = self._slow_ids(expression, distinct)[inverse]
        return result

    def _keys(self, ids: Ids) -> Ids:
        """Return the ids of the keys of values, ERROR where there is none."""
        known = ids != ERROR
        distinct, inverse = np.unique(ids[known], return_inverse=True)
        keys = np.full(ids.size, ERROR)
        keys[known] = self._distinct_keys(distinct)[inverse]
        return keys

    def _distinct_keys(self, ids: Ids) -> Ids:
        """Return the keys of different ids: most values are their own."""
        column, keys = self._numbers.column(ids), ids.copy()
        whole, is_small = columnwise.whole(column)
        if is_small.any():
            keys[is_small] = self.encode_integers(whole[is_small])
        keys[columnwise.is_nan(column)] = ERROR
        slow = column.states == SLOW
        if slow.any():
            call = Call(builtins.VALUE_KEY, (_VALUE,))
            keys[slow] = self._slow_ids(call, {_VALUE: ids[slow]})
        return keys

    def _slow_ids(self, expression: Expression, distinct: Columns) -> Ids:
        results = []
        for bindings in self._bindings(distinct):
            with effort.checked_by(self.check):
                values = [_value(expression, each) for each in self._checked(bindings)]
            ids = np.full(len(values), ERROR)
            kept = [place for place, value in enumerate(values) if value is not None]
            ids[kept] = self._terms.encode([value for value in values if value is not None])
            results.append(ids)
        return np.concatenate(results)

    def _checked_bindings(self, distinct: Columns) -> Iterator[dict[Variable, Term]]:
        for bindings in self._bindings(distinct):
            yield from self._checked(bindings)

    def _checked(self, bindings: list[dict[Variable, Term]]) -> Iterator[dict[Variable, Term]]:
        """Yield the bindings, and look at limits between some."""
        for start in range(0, len(bindings), _CHECKED):
            self.check()
            yield from bindings[start : start + _CHECKED]

    def _bindings(self, distinct: Columns) -> Iterator[list[dict[Variable, Term]]]:
        if not distinct:
            yield [{}]
            return
        size = len(next(iter(distinct.values())))
        for start in range(0, size, _CHUNK):
            part = slice(start, start + _CHUNK)
            decoded = [self._terms.decode(ids[part]) for ids in distinct.values()]
            rows = zip(*decoded, strict=True)
            yield [dict(zip(distinct, row, strict=True)) for row in rows]

    def encode_integers(self, numbers: Integers) -> Ids:
        """Return the ids of integers."""
        import pyarrow as pa

        values, inverse = unique_integers(numbers)
        return self._intern(INTEGER, pa.array(values).cast(pa.large_string()))[inverse]

    def encode_doubles(self, bits: Integers) -> Ids:
        """Return the ids of doubles, given by their bits."""
        import pyarrow as pa

        values, inverse = np.unique(bits, return_inverse=True)
        texts = [double_text(value) for value in values.view(np.float64).tolist()]
        return self._intern(DOUBLE_KIND, pa.array(texts, pa.large_string()))[inverse]

    def _encode_truths(self, numbers: Integers) -> Ids:
        ids: Ids = self._terms.encode([FALSE, TRUE])
        return ids[numbers]

    def _intern(self, kind: str, texts: Array) -> Ids:
        ids: Ids = self._terms.intern(kind, texts)
        return ids


def unique_integers(numbers: Integers) -> tuple[Integers, Integers]:
    """Return the distinct numbers in order, and for each number its place among them."""
    low, high = int(numbers.min()), int(numbers.max())
    if high - low > 4 * numbers.size + 1024:
        values, inverse = np.unique(numbers, return_inverse=True)
        return values, inverse
    shifted = numbers - low  # a narrow range needs no sorting
    seen = np.zeros(high - low + 1, np.bool_)
    seen[shifted] = True
    places = np.cumsum(seen, dtype=np.int64) - 1
    return np.flatnonzero(seen) + low, places[shifted]


def distinct_rows(columns: Sequence[Ids]) -> tuple[Integers, Integers]:
    """Return the first place of each distinct row, and for each row the number of its first place.

    Rows are numbered in the order of their values.
    """
    first, inverse = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for position, column in enumerate(columns):
        keys = column.astype(np.uint64)
        if position:
            keys |= inverse.astype(np.uint64) << np.uint64(32)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse


def _distinct(
    expression: Expression, columns: Columns, rows: Integers | None
) -> tuple[Columns, Integers]:
    """Return the distinct bindings of the expression's variables, and which one each row has."""
    used = {
        variable: columns[variable] if rows is None else columns[variable][rows]
        for variable in _variables(expression)
        if variable in columns
    }
    if not used:
        return {}, np.zeros(1, np.int64)
    first, inverse = distinct_rows(list(used.values()))
    return {variable: column[first] for variable, column in used.items()}, inverse


def _variables(expression: Expression) -> Iterator[Variable]:
    if isinstance(expression, Variable):
        yield expression
    elif isinstance(expression, Call):
        for arg in expression.args:
            yield from _variables(arg)


def _value(expression: Expression, binding: Mapping[Variable, Term]) -> Term | None:
    try:
        return builtins.evaluate(expression, binding)
    except builtins.ExpressionError:
        return None


def _number(value: Term | None) -> tuple[np.uint8, int]:
    """Return the state and number of a value."""
    if value is None:
        return FAILED, 0
    if value in (FALSE, TRUE):
        return TRUTH, int(value == TRUE)
    found = number_of(value)
    if value.kind == INTEGER and found is not None and -(2**63) <= found.value < 2**63:
        return WHOLE, int(found.value)
    if value.kind == DOUBLE_KIND and found is not None:
        return DOUBLE, int(np.float64(found.value).view(np.int64))
    return SLOW, 0


def _constant(state: np.uint8) -> Column:
    return Column(np.full(1, state), np.zeros(1, np.int64))
