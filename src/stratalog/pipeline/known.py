"""Small tables of constants that are known already: found together, in a few calls.

An update often has few rows of many predicates, and what a call into Arrow and the dictionary
costs would be paid for each column. Here one call takes all columns of a type.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stratalog.kernels.sizes import sized
from stratalog.lang.names import table_name
from stratalog.lang.syntax import Predicate
from stratalog.lang.terms import INTEGER, STRING, Term
from stratalog.pipeline.convert import convert_term, encode_column
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.native import kind_of
from stratalog.pipeline.tables import OWN_TYPE, Source, Vocabulary, block_of, choose_columns, fed_by

Ids = npt.NDArray[np.uint32]

FEW = sized(16, 1)  # rows: calls into Arrow take longer than the rows themselves
MOST = sized(1 << 16, 8)  # rows: reading more takes so long that calls do not matter


class _Table(NamedTuple):
    predicate: Predicate
    columns: Sequence[Any]
    types: Sequence[str]
    size: int


def encode_known(
    facts: Mapping[object, object],
    found: EncodedFacts,
    vocabulary: Vocabulary,
    dictionary: Dictionary,
) -> bool:
    """Add the facts of Arrow tables of texts, or of texts and integers if there are few rows.

    Return False, and add none, for other tables, and if a value is null, bad or new: new constants
    are numbered row by row.
    """
    rows = _rows(facts)
    if rows is None:
        return False
    read, kinds = (_found, (STRING, INTEGER)) if rows <= FEW else (_encoded, (STRING,))
    tables = _tables(facts, vocabulary, kinds)
    ids = None if tables is None else read(tables, dictionary)
    if tables is None or ids is None:
        return False
    for table, columns in zip(tables, ids, strict=True):
        found.report.rows += table.size
        found.add(table.predicate, columns, table.size)
    return True


def _rows(facts: Mapping[object, object]) -> int | None:
    """Return how many rows there are, or None if not all are in Arrow tables that are small."""
    rows = 0
    for key, table in facts.items():
        if not isinstance(key, str) or not isinstance(table, pa.Table) or table.num_rows > MOST:
            return None
        rows += table.num_rows
    return rows


def _tables(
    facts: Mapping[Any, Any], vocabulary: Vocabulary, kinds: Sequence[str]
) -> list[_Table] | None:
    """Return tables with the columns that their predicates take, if all are of these kinds."""
    tables: list[_Table] = []
    for key, table in facts.items():
        name = table_name(key, vocabulary.prefixes)
        source = Source(f'facts["{key}"]')
        chosen, columns = choose_columns(block_of(table), name, vocabulary, source)
        if not columns or not all(_kind(column) in kinds for column in columns):
            return None
        types = [column.type for column in chosen]
        tables.append(_Table(fed_by(name, len(columns)), columns, types, table.num_rows))
    return tables


def _kind(column: pa.ChunkedArray) -> str | None:
    """Return the datatype of a column's constants, or None if there are none, or nulls."""
    values = column.type
    kind = kind_of(values.value_type if pa.types.is_dictionary(values) else values)
    return None if column.null_count else kind


def _found(tables: Sequence[_Table], dictionary: Dictionary) -> list[list[Ids]] | None:
    """Return the same as `_encoded`: of few rows Python makes terms faster than Arrow."""
    terms: list[Term] = []
    for table in tables:
        for wanted, column in zip(table.types, table.columns, strict=True):
            target = None if wanted == OWN_TYPE else wanted
            values = _values(column)
            if values is None:
                return None
            for value in values:
                kind = STRING if isinstance(value, str) else INTEGER
                term = convert_term(Term(kind, str(value)), target)
                if term is None:
                    return None
                terms.append(term)
    numbers = dictionary.find(terms)
    if numbers.min(initial=0) < 0:
        return None
    ids, ends = numbers.astype(np.uint32), iter(accumulate(_sizes(tables)))
    return [[ids[(end := next(ends)) - t.size : end] for _ in t.columns] for t in tables]


def _values(column: pa.ChunkedArray) -> list[str | int] | None:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        return None


def _sizes(tables: Sequence[_Table]) -> Iterator[int]:
    """Yield the size of each column of each table."""
    return (table.size for table in tables for _ in table.columns)


def _encoded(tables: Sequence[_Table], dictionary: Dictionary) -> list[list[Ids]] | None:
    """Return the numbers of each table's columns, or None if a value is bad or new."""
    known = dictionary.checkpoint()
    with dictionary.taking_long_numbers():  # a new one has no place here; the reader of rows tells
        ids = _interned(tables, dictionary)
    if ids is None or dictionary.checkpoint() > known:
        dictionary.truncate(known)
        return None
    return ids


def _interned(tables: Sequence[_Table], dictionary: Dictionary) -> list[list[Ids]] | None:
    by_type: dict[str, list[Any]] = defaultdict(list)
    for table in tables:
        for wanted, column in zip(table.types, table.columns, strict=True):
            by_type[wanted].append(column.cast(pa.large_string()))
    parts = {}
    for wanted, columns in by_type.items():
        whole = pa.chunked_array(
            [c for column in columns for c in column.chunks], pa.large_string()
        )
        encoded = encode_column(whole, None if wanted == OWN_TYPE else wanted, dictionary)
        if encoded.nulls is not None or encoded.bad is not None:
            return None
        ends = np.cumsum([len(column) for column in columns])
        parts[wanted] = iter(np.split(encoded.ids, ends[:-1]))
    return [[next(parts[wanted]) for wanted in table.types] for table in tables]
