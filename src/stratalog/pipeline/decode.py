"""Encoded columns to Arrow tables with native types, and to rows of Python values.

The types: integer is int64, decimal256(76, 0) if a value needs it, text beyond; decimal is
decimal128(38, s) with the scale s that the values need, decimal256(76, s), or text; dateTime is a
timestamp in microseconds (nanoseconds if a value needs them), in UTC if all have a zone, without
zone if none has, and otherwise spelled as terms; so are dates with a zone. `iri` is the bare IRI,
`term` the N-Triples spelling. Where Arrow's type does not tell ours, the field's metadata does, so
that such a table given back as facts means the same facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Column, Declaration
from stratalog.lang.terms import Term
from stratalog.lang.values.canonical import canonical_text
from stratalog.lang.values.terms import python_value, spell
from stratalog.pipeline.dictionary import STRING_INDEX, Dictionary
from stratalog.pipeline.facts import Ids
from stratalog.pipeline.native import KIND_OF_TYPE, TYPE_OF_KIND, kind_of
from stratalog.pipeline.spelling import spell_ids
from stratalog.pipeline.tables import TYPE_KEY
from stratalog.pipeline.unread import READERS

LONGEST_STRING_ARRAY = (1 << 31) - 1  # bytes of one Arrow string array
ROWS_AT_ONCE = sized(1 << 16, 3)
MANY = sized(8, 1)  # constants per id: above, it is better not to look at all constants


def decode_table(
    columns: Sequence[Ids],
    size: int,
    dictionary: Dictionary,
    declaration: Declaration | None = None,
    *,
    rdf: bool = False,
) -> pa.Table:
    """Return the facts as a table; columns are named as declared, or c0, c1, ...

    Without a declaration a column whose constants are of one native kind has that type, any other
    is spelled as terms; `rdf` says that all are.
    """
    if not columns:
        return empty_rows(size)
    fields, arrays = [], []
    for place, ids in enumerate(columns):
        declared = None if declaration is None else declaration.columns[place]
        kind, array = _decode(ids, dictionary, declared, declaration, rdf=rdf)
        name = f"c{place}" if declared is None else declared.name
        told = kind_of(array.type) == KIND_OF_TYPE.get(kind)
        metadata = None if told else {TYPE_KEY: kind.encode()}
        fields.append(pa.field(name, array.type, metadata=metadata))
        arrays.append(array)
    return pa.table(arrays, schema=pa.schema(fields))


def empty_rows(size: int) -> pa.Table:
    """Return a table without columns that has `size` rows."""
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * size, pa.struct([])))
    return pa.Table.from_batches([batch])


def _decode(
    ids: Ids,
    dictionary: Dictionary,
    column: Column | None,
    declaration: Declaration | None,
    *,
    rdf: bool,
) -> tuple[str, Any]:
    """Return a column's type and values."""
    if column is not None and column.type != "term":
        return _declared(ids, dictionary, column, declaration)
    if column is None and not rdf:
        distinct = distinct_ids(ids, len(dictionary))
        kinds = np.unique(dictionary.kind_ids[distinct])
        kind = dictionary.kinds[int(kinds[0])] if kinds.size == 1 else None
        if not kinds.size:
            return "string", pa.array([], pa.string())
        found = None if kind is None else _native(ids, distinct, dictionary, TYPE_OF_KIND.get(kind))
        if found is not None:
            return found
    return "term", text_column(spell_ids(ids, dictionary))


def _declared(
    ids: Ids, dictionary: Dictionary, column: Column, declaration: Declaration | None
) -> tuple[str, Any]:
    wanted = dictionary.kind_index(KIND_OF_TYPE[column.type])
    distinct = distinct_ids(ids, len(dictionary))
    if (dictionary.kind_ids[distinct] != wanted).any():
        wrong = np.flatnonzero(dictionary.kind_ids[ids] != wanted)
        raise _violated(int(ids[wrong[0]]), dictionary, column, declaration)
    if column.type == "iri":
        return "iri", text_column(dictionary.texts(ids))
    found = _native(ids, distinct, dictionary, column.type)
    if found is not None:
        return found
    for constant, term in zip(distinct.tolist(), dictionary.decode(distinct), strict=True):
        if canonical_text(term.text, term.kind) is None:
            raise _violated(constant, dictionary, column, declaration)
    return "term", text_column(spell_ids(ids, dictionary))


def _violated(
    constant: int, dictionary: Dictionary, column: Column, declaration: Declaration | None
) -> DataError:
    name = "" if declaration is None else f" of {declaration.predicate.name}"
    place = None if declaration is None else declaration.place
    value = spell(dictionary.decode([constant])[0])
    return DataError(
        "D310",
        f"{value} in column {column.name}{name} is no {column.type}",
        path=place.path if place else None,
        line=place.line if place else None,
        help=f"a rule derives it: declare  {column.name} term , or change the rule",
    )


def _native(
    ids: Ids, distinct: Ids, dictionary: Dictionary, wanted: str | None
) -> tuple[str, Any] | None:
    """Return a column of native values, or None if one of them has no such value."""
    if wanted == "string":
        return "string", text_column(dictionary.texts(ids))
    if wanted is None or wanted == "iri":
        return None
    read: Callable[[Any], Any] = READERS[wanted]
    values = read(dictionary.texts(distinct))
    if values is None:
        return None
    if ids.size * MANY < len(dictionary):
        return wanted, values.take(pa.array(np.searchsorted(distinct, ids)))
    places = np.zeros(len(dictionary), np.int32)  # of values, by constant
    places[distinct] = np.arange(distinct.size, dtype=np.int32)
    by_constant = values.take(pa.array(places))
    return wanted, pc.take(by_constant, pa.array(ids), boundscheck=False)


def distinct_ids(ids: Ids, constants: int) -> Ids:
    """Return the different ids among some, ascending; there are so many constants in all."""
    if ids.size * MANY < constants:
        return np.unique(ids)
    is_there = np.zeros(constants, np.bool_)
    is_there[ids] = True
    return np.flatnonzero(is_there).astype(ids.dtype)


def text_column(texts: Any) -> Any:  # noqa: ANN401  # Arrow has no types
    """Return the texts as Arrow's usual string type, in several chunks if they are long."""
    size = texts.buffers()[2].size if len(texts) and texts.buffers()[2] else 0
    if size <= LONGEST_STRING_ARRAY:
        return pc.cast(texts, pa.string())
    half = len(texts) // 2
    parts = [
        text_column(pa.concat_arrays([texts[:half]])),
        text_column(pa.concat_arrays([texts[half:]])),
    ]
    return pa.chunked_array([c for part in parts for c in _chunks(part)])


def _chunks(column: Any) -> list[Any]:  # noqa: ANN401
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def rows(columns: Sequence[Ids], size: int, dictionary: Dictionary) -> Iterator[tuple[object, ...]]:
    """Yield the facts as tuples of Python values."""
    if not columns:
        yield from (() for _ in range(size))
        return
    known: dict[int, object] = {}
    for first in range(0, size, ROWS_AT_ONCE):
        part = [column[first : first + ROWS_AT_ONCE].tolist() for column in columns]
        new = [each for each in set().union(*part) if each not in known]
        known.update(zip(new, _values(new, dictionary), strict=True))
        yield from zip(*(map(known.__getitem__, ids) for ids in part), strict=True)


def _values(ids: list[int], dictionary: Dictionary) -> Iterator[object]:
    """Yield the values of constants; a string is its text."""
    numbers = np.array(ids, np.int64)
    kinds = dictionary.kinds
    texts = dictionary.texts(numbers).to_pylist()
    for kind, text in zip(dictionary.kind_ids[numbers].tolist(), texts, strict=True):
        yield text if kind == STRING_INDEX else python_value(Term(kinds[kind], text))
