"""Small tables of constants that are known already: found together, in a few calls.

An update often has few rows of many predicates, and what a call into Arrow and the dictionary
costs would be paid for each column. Here one call takes all columns of a type.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stratalog.lang.names import predicate_name
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.convert import encode_column
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.native import is_text
from stratalog.pipeline.tables import OWN_TYPE, Source, Vocabulary, block_of, choose_columns

Ids = npt.NDArray[np.uint32]

MOST = 1 << 16  # rows: reading more takes so long that calls do not matter


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
    """Add the facts of Arrow tables of texts; return False, and add none, if they are not such.

    They are not if a value is null, bad or new: new constants are numbered row by row.
    """
    tables = _tables(facts, vocabulary)
    if tables is None:
        return False
    known = dictionary.checkpoint()
    ids = _encoded(tables, dictionary)
    if ids is None or dictionary.checkpoint() > known:
        dictionary.truncate(known)
        return False
    for table, columns in zip(tables, ids, strict=True):
        found.report.rows += table.size
        found.add(table.predicate, columns, table.size)
    return True


def _tables(facts: Mapping[object, object], vocabulary: Vocabulary) -> list[_Table] | None:
    tables: list[_Table] = []
    for key, table in facts.items():
        if not isinstance(key, str) or not isinstance(table, pa.Table) or table.num_rows > MOST:
            return None
        name = predicate_name(key, vocabulary.prefixes)
        source = Source(f'facts["{key}"]')
        chosen, columns = choose_columns(block_of(table), name, vocabulary, source)
        if not columns or not all(_has_texts(column) for column in columns):
            return None
        texts = [column.cast(pa.large_string()) for column in columns]
        types = [column.type for column in chosen]
        tables.append(_Table(Predicate(name, len(columns)), texts, types, table.num_rows))
    return tables


def _has_texts(column: pa.ChunkedArray) -> bool:
    values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return is_text(values) and not column.null_count


def _encoded(tables: Sequence[_Table], dictionary: Dictionary) -> list[list[Ids]] | None:
    """Return the numbers of each table's columns, or None if a value is none of its type."""
    by_type: dict[str, list[Any]] = defaultdict(list)
    for table in tables:
        for wanted, column in zip(table.types, table.columns, strict=True):
            by_type[wanted].append(column)
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
