"""One column of a table to numbers of constants, by the column's declared type or by its own.

Arrow computes the canonical texts where it can; what is left is done once per distinct value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError
from stratalog.kernels.sizes import sized
from stratalog.lang.effort import max_digits
from stratalog.lang.terms import (
    BOOLEAN,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    STRING,
    Term,
)
from stratalog.lang.values.canonical import canonical_text
from stratalog.lang.values.numbers import least_digits, parse_double
from stratalog.lang.values.terms import literal, term_of, unspell
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import Ids
from stratalog.pipeline.garbled import garbled_rows
from stratalog.pipeline.native import (
    KIND_OF_TYPE,
    Mask,
    double_texts,
    kind_of,
    native_texts,
    plain_array,
)

BLANKS = " \t\r\n"  # may surround a number, a boolean or a date, as in XML Schema
NOT_IN_IRIS = r'[\x00-\x20<>"{}|^`\\]'
SURE_INTEGER = r"^(0|-?[1-9][0-9]*)$"  # spelled canonically
SURE_DOUBLE = r"^-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
SURE_IRI_TERM = r'^<[^\x00-\x20<>"{}|^`\\]*>$'
WORTH_ARROW = sized(8, 2)  # rows from which Arrow is quicker than looking at each
WORTH_ENCODING = sized(256, 3)  # rows from which looking at distinct values alone is quicker
WORD = 64  # bits, whose digits never are too many
NULL_TYPES = frozenset({"NoneType", "NaTType", "NAType"})
ARROW_OF = {str: pa.large_string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
TOO_LONG = Term(INTEGER, "")  # in place of an integer whose digits alone could take minutes
SCALARS = frozenset({INTEGER, DECIMAL, DOUBLE, BOOLEAN, DATE, DATETIME})


@dataclass(frozen=True, slots=True)
class PythonColumn:
    """Values of Python; `spelled` if strings in a `term` column are N-Triples, as in tables."""

    values: Sequence[object]
    spelled: bool = False

    def __len__(self) -> int:
        return len(self.values)


class Real(NamedTuple):
    """A number as it was written in JSON: a double, unless the column is declared otherwise."""

    text: str


class Long(NamedTuple):
    """Which rows hold numbers of more than `most` digits."""

    rows: Mask
    most: int


class Encoded(NamedTuple):
    """A column's numbers, and where it is null or holds a value that its type does not have."""

    ids: Ids  # 0 where null or bad
    nulls: Mask | None
    bad: Mask | None
    garbled: Mask | None = None  # those of the bad ones that are not valid UTF-8
    long: Long | None = None  # those of the bad ones that are numbers of too many digits


class Unreadable(Exception):  # noqa: N818  # users see D305, with the column's name
    """The column holds something that is no constant."""


def encode_column(
    column: Any,  # noqa: ANN401  # Arrow has no types
    target: str | None,
    dictionary: Dictionary,
    *,
    empty_is_null: bool = False,
) -> Encoded:
    """Return the numbers of a column's constants.

    `target` is a declared type, or None to keep the column's own; `empty_is_null` is for text
    files, where a typed column has no other way to be null.
    """
    if isinstance(column, PythonColumn):
        return _encode_python(column, target, dictionary)
    values = plain_array(column)
    if target not in (None, "string") and empty_is_null:
        values = pc.if_else(pc.equal(pc.utf8_trim_whitespace(values), ""), None, values)
    if pa.types.is_null(values.type):
        return Encoded(np.zeros(len(values), np.uint32), np.ones(len(values), np.bool_), None)
    if kind_of(values.type) is None:
        raise Unreadable(str(values.type))
    nulls = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    filled = values if nulls is None else values.drop_null()
    garbled = None if empty_is_null else garbled_rows(filled)  # text files are looked at as bytes
    if garbled is None:
        encoded = _encode_filled(filled, target, dictionary)
    else:
        encoded = _encode_sound(filled, garbled, target, dictionary)
    if nulls is None:
        return encoded
    ids, _, *masks = encoded
    spread = (None if mask is None else _spread(mask, nulls) for mask in masks)
    return Encoded(_spread(ids, nulls), nulls, *spread)


def _encode_sound(
    values: Any,  # noqa: ANN401
    garbled: Mask,
    target: str | None,
    dictionary: Dictionary,
) -> Encoded:
    """Return the numbers of the texts that are valid UTF-8; the others are bad."""
    ids, _, bad, *_ = _encode_filled(values.filter(pa.array(~garbled)), target, dictionary)
    wrong = garbled.copy() if bad is None else garbled | _spread(bad, garbled)
    return Encoded(_spread(ids, garbled), None, wrong, garbled)


def _spread(values: Any, missing: Mask) -> Any:  # noqa: ANN401  # any type of array
    """Return the values of the rows that are not missing in their places."""
    whole = np.zeros(missing.size, values.dtype)
    whole[~missing] = values
    return whole


def _encode_filled(values: Any, target: str | None, dictionary: Dictionary) -> Encoded:  # noqa: ANN401
    source = kind_of(values.type)
    assert source is not None  # noqa: S101  # the caller has looked
    if source == STRING and target in (None, "string"):
        return Encoded(dictionary.intern(STRING, values), None, None)
    if len(values) < WORTH_ENCODING:
        return _encode_distinct(values, source, target, dictionary)
    coded = values.dictionary_encode()
    rows = coded.indices.to_numpy(zero_copy_only=False)
    ids, _, bad, *_ = _encode_distinct(coded.dictionary, source, target, dictionary)
    return Encoded(ids[rows], None, None if bad is None else bad[rows])


def _encode_distinct(
    values: Any,  # noqa: ANN401
    source: str,
    target: str | None,
    dictionary: Dictionary,
) -> Encoded:
    """Return the numbers of values, which had better be distinct if they are many."""
    texts, bad = native_texts(values)
    wanted = source if target in (None, "term") else KIND_OF_TYPE[str(target)]
    if bad is not None:
        texts = pc.if_else(pa.array(bad), "", texts)
    if source != STRING and wanted in (source, STRING):
        ids = dictionary.intern(wanted, texts)
    else:
        ids, wrong = _encode_texts(texts, source, target, dictionary)
        bad = wrong if bad is None else bad | wrong
    return Encoded(ids, None, bad if bad is not None and bad.any() else None)


def _encode_texts(
    texts: Any,  # noqa: ANN401
    source: str,
    target: str | None,
    dictionary: Dictionary,
) -> tuple[Ids, Mask]:
    """Return the numbers of distinct texts that have to be read as another type."""
    if target == "double" and source in (STRING, INTEGER, DECIMAL):
        quick = _read_doubles(texts, dictionary)
        if quick is not None:
            return quick, np.zeros(len(texts), np.bool_)
    bad = np.zeros(len(texts), np.bool_)
    sure = _sure(texts, source, target)
    if sure is not None and sure.all():
        return _intern_sure(texts, target, dictionary), bad
    ids = np.zeros(len(texts), np.uint32)
    if sure is not None and sure.any():
        ids[sure] = _intern_sure(texts.filter(pa.array(sure)), target, dictionary)
    rest = np.arange(len(texts)) if sure is None else np.flatnonzero(~sure)
    left = texts if sure is None else texts.take(rest)
    found = [convert_term(Term(source, text), target) for text in left.to_pylist()]
    _fill(ids, bad, rest, found, dictionary)
    return ids, bad


def _intern_sure(texts: Any, target: str | None, dictionary: Dictionary) -> Ids:  # noqa: ANN401
    """Return the numbers of texts that `_sure` has approved of."""
    if target == "term":
        texts = pc.utf8_slice_codeunits(texts, 1, -1)
    return dictionary.intern(INTEGER if target == "integer" else IRI_KIND, texts)


def _read_doubles(texts: Any, dictionary: Dictionary) -> Ids | None:  # noqa: ANN401
    """Return the numbers of texts that all spell finite doubles, or None."""
    if not pc.all(pc.match_substring_regex(texts, SURE_DOUBLE)).as_py():
        return None
    try:
        values = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        return None
    if not pc.all(pc.is_finite(values)).as_py():
        return None
    return dictionary.intern(DOUBLE, double_texts(values))


def _fill(
    ids: Ids,
    bad: Mask,
    places: npt.NDArray[np.int64],
    found: list[Term | None],
    dictionary: Dictionary,
) -> None:
    missing = np.fromiter((term is None for term in found), np.bool_, len(found))
    bad[places[missing]] = True
    ids[places[~missing]] = dictionary.encode([term for term in found if term is not None])


def _sure(texts: Any, source: str, target: str | None) -> Mask | None:  # noqa: ANN401
    """Return which texts are canonical as they stand, which Arrow can tell for these types."""
    if source != STRING or target not in ("integer", "iri", "term") or len(texts) < WORTH_ARROW:
        return None
    if target == "iri":
        matched = pc.invert(pc.match_substring_regex(texts, NOT_IN_IRIS))
        matched = pc.and_(matched, pc.not_equal(texts, ""))
    else:
        pattern = SURE_INTEGER if target == "integer" else SURE_IRI_TERM
        matched = pc.match_substring_regex(texts, pattern)
    sure: Mask = matched.to_numpy(zero_copy_only=False)
    return sure


def convert_term(term: Term, target: str | None, *, spelled: bool = True) -> Term | None:
    """Return the constant as the declared type has it, or None if the type has no such value."""
    if target is None or (target == "term" and not (spelled and term.kind == STRING)):
        return term
    if target == "term":
        return _unspelled(term.text)
    wanted = KIND_OF_TYPE[target]
    if wanted == IRI_KIND:
        return _as_iri(term)
    if wanted == STRING:
        return Term(STRING, term.text) if term.kind in SCALARS or term.kind == STRING else None
    text = _text_for(term, wanted)
    canonical = None if text is None else canonical_text(text, wanted)
    return None if canonical is None else Term(wanted, canonical)


def _unspelled(text: str) -> Term | None:
    try:
        return unspell(text)
    except DataError:
        return None


def _as_iri(term: Term) -> Term | None:
    if term.kind == IRI_KIND:
        return term
    wrong = not term.text or re.search(NOT_IN_IRIS, term.text)
    return None if term.kind != STRING or wrong else Term(IRI_KIND, term.text)


def _text_for(term: Term, wanted: str) -> str | None:
    """Return how the constant is spelled in the type `wanted`, or None if it cannot be."""
    kind, text = term
    if kind in (wanted, STRING):
        return text if kind == wanted else text.strip(BLANKS)
    if wanted == DATE and kind == DATETIME:
        return text.removesuffix("T00:00:00") if text.endswith("T00:00:00") else None
    if kind not in (INTEGER, DECIMAL, DOUBLE) or wanted not in (INTEGER, DECIMAL, DOUBLE):
        return None
    if kind == DOUBLE:
        value = parse_double(text)
        if value is None or value - value != 0:  # infinite, or not a number
            return None
        text = format(Decimal(repr(value)), "f")
    if wanted == INTEGER:
        whole, _, fraction = text.partition(".")
        return None if fraction.strip("0") else whole
    return text


def _encode_python(column: PythonColumn, target: str | None, dictionary: Dictionary) -> Encoded:
    types = set(map(type, column.values))
    filled = {each for each in types if each.__name__ not in NULL_TYPES}
    if not filled:
        size = len(column)
        return Encoded(np.zeros(size, np.uint32), np.ones(size, np.bool_), None)
    only = next(iter(filled))
    if len(filled) == 1 and only in ARROW_OF and types <= {only, type(None)}:
        array = _arrow(column.values, ARROW_OF[only])
        if array is not None:
            plain = only is str and target == "term" and not column.spelled
            return encode_column(array, "string" if plain else target, dictionary)
    return _encode_mixed(column, target, dictionary)


def _arrow(values: Sequence[object], arrow_type: Any) -> Any:  # noqa: ANN401
    try:
        return pa.array(values, arrow_type, from_pandas=False)
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
        return None


def _encode_mixed(column: PythonColumn, target: str | None, dictionary: Dictionary) -> Encoded:
    """Encode values of several types, each distinct one once."""
    keys = [_key(value) for value in column.values]
    try:
        first = dict(zip(keys, column.values, strict=True))
    except TypeError:  # lists and other values that cannot be keys
        wrong = next(value for value in column.values if not _is_hashable(value))
        if isinstance(wrong, Decimal):
            _term(wrong, target)  # tells what is wrong with it
        raise Unreadable(type(wrong).__name__) from None
    places = {key: place for place, key in enumerate(first)}
    rows = np.fromiter(map(places.__getitem__, keys), np.int64, len(keys))
    terms = [_short_term(value, target) for value in first.values()]
    nulls = np.fromiter((term is None for term in terms), np.bool_, len(terms))
    long = np.fromiter((term is TOO_LONG for term in terms), np.bool_, len(terms))
    ids, bad = np.zeros(len(terms), np.uint32), long.copy()
    filled = [term for term in terms if term is not None and term is not TOO_LONG]
    found = [convert_term(term, target, spelled=column.spelled) for term in filled]
    _fill(ids, bad, np.flatnonzero(~nulls & ~long), found, dictionary)
    masks = [mask[rows] if mask.any() else None for mask in (nulls, bad)]
    too_long = Long(long[rows], max_digits()) if long.any() else None
    return Encoded(ids[rows], masks[0], masks[1], long=too_long)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _key(value: object) -> tuple[type, object]:
    """Return what tells values apart: 0.0 and -0.0 are equal in Python, NaN is unlike itself."""
    number = isinstance(value, float) or type(value).__module__ == "numpy"
    return type(value), repr(value) if number else value


def _term(value: object, target: str | None) -> Term | None:
    """Return the constant, or None for the nulls of Python and pandas."""
    if isinstance(value, Real):
        return _real_term(value.text, target)
    return None if type(value).__name__ in NULL_TYPES else term_of(value)


def _short_term(value: object, target: str | None) -> Term | None:
    """Return the constant, or TOO_LONG for an integer of too many digits to be written out."""
    if type(value) is int and value.bit_length() > WORD and least_digits(value) > max_digits():
        return TOO_LONG
    return _term(value, target)


def _real_term(text: str, target: str | None) -> Term:
    if text.removeprefix("-").isdecimal():
        return literal(text, INTEGER)
    if target not in ("decimal", "integer"):
        return literal(text, DOUBLE)
    try:
        return term_of(Decimal(text))
    except InvalidOperation:  # an exponent that no decimal has
        return literal(text, DOUBLE)
