"""Python's own data to facts: rows of tuples, pandas, Polars, Arrow, NumPy, and paths to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from stratalog.errors import DataError, StratalogError
from stratalog.lang.names import table_name
from stratalog.lang.syntax import Declaration
from stratalog.pipeline.convert import PythonColumn
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.files import ReadOptions, ReadReport
from stratalog.pipeline.lake_objects import Chosen, lake_batches
from stratalog.pipeline.needed import needed
from stratalog.pipeline.tables import Block, Source, Vocabulary, block_of, encode_block, fed_by

TABLES_HELP = (
    'write {"name": rows}: tuples, a pandas, Polars or Arrow table, a NumPy array, or a path'
)


def encode_facts(  # what the program says, where numbers come from, how to read
    facts: object,
    *,
    declarations: Sequence[Declaration] = (),
    arities: Mapping[str, set[int]] | None = None,
    prefixes: Sequence[tuple[str, str]] = (),
    dictionary: Dictionary,
    report: ReadReport | None = None,
    options: ReadOptions | None = None,
) -> EncodedFacts:
    """Return all facts given as Python objects or paths, encoded."""
    vocabulary = Vocabulary(declarations, arities or {}, prefixes)
    found = EncodedFacts(report)
    _add(facts, found, vocabulary, dictionary, options or ReadOptions())
    return found


def _add(
    facts: object,
    found: EncodedFacts,
    vocabulary: Vocabulary,
    dictionary: Dictionary,
    options: ReadOptions,
) -> None:
    if facts is None:
        return
    if isinstance(facts, Mapping):
        for key, rows in facts.items():
            _add_named(key, rows, found, vocabulary, dictionary, options)
    elif isinstance(facts, str | os.PathLike):
        _read_file(None, facts, found, vocabulary, dictionary, options)
    elif isinstance(facts, EncodedFacts):
        found.extend(facts)
    elif isinstance(facts, list | tuple):
        for each in facts:
            _add(each, found, vocabulary, dictionary, options)
    else:
        raise DataError("D307", f"{_kind(facts)} does not tell its predicate", help=TABLES_HELP)


def _add_named(
    key: object,
    rows: object,
    found: EncodedFacts,
    vocabulary: Vocabulary,
    dictionary: Dictionary,
    options: ReadOptions,
) -> None:
    if not isinstance(key, str):
        raise DataError("D307", f"{key!r} is not the name of a predicate", help=TABLES_HELP)
    name = table_name(key, vocabulary.prefixes)
    if isinstance(rows, str | os.PathLike):
        _read_file(name, rows, found, vocabulary, dictionary, options)
        return
    source = Source(f'facts["{key}"]', skip=options.skip)
    done = 0
    chosen = partial(needed, predicate=name, vocabulary=vocabulary)
    for block in _read_from_user(_blocks(rows, key, chosen), key):
        if not block.columns and not block.size:
            continue  # an empty table of unknown width
        here = Source(source.path, first_row=done, skip=options.skip)
        columns, size = encode_block(block, name, vocabulary, dictionary, found.report, here)
        found.add(fed_by(name, len(columns)), columns, size)
        done += block.size
        options.between()


def _read_file(
    name: str | None,
    path: str | os.PathLike[str],
    found: EncodedFacts,
    vocabulary: Vocabulary,
    dictionary: Dictionary,
    options: ReadOptions,
) -> None:
    from stratalog.pipeline.local import read_items  # formats of files, which tables do not need

    read_items([(name, path)], found, vocabulary, dictionary, options)


def _read_from_user(blocks: Iterator[Block], key: str) -> Iterator[Block]:
    """Yield the blocks; what the user's own generators and tables raise is a D309."""
    while True:
        try:
            block = next(blocks, None)
        except (StratalogError, MemoryError):
            raise
        except Exception as error:
            raise rows_failed(key, error) from error
        if block is None:
            return
        yield block


def rows_failed(key: object, error: Exception) -> DataError:
    """Return the error for what the user's own code raises while it makes rows."""
    return DataError(
        "D309",
        f'the rows of facts["{key}"] cannot be read: {type(error).__name__}: {error}',
        help="look at what makes the rows; nothing has been added",
    )


def _blocks(rows: object, key: str, chosen: Chosen) -> Iterator[Block]:
    """Yield the rows as blocks of columns; of what is read from files, those that are needed."""
    module = type(rows).__module__.partition(".")[0]
    if module == "pyspark":
        raise DataError(
            "D308",
            f'facts["{key}"] is a Spark DataFrame, which this version does not read yet',
            help="pass frame.toArrow(), or write it as Parquet and pass the path",
        )
    if module == "pandas":
        yield _pandas_block(rows, key)
    elif isinstance(rows, np.ndarray):
        yield _numpy_block(rows, key)
    elif (read := lake_batches(rows, chosen)) is not None:
        yield from map(block_of, read)
    else:
        batches = _arrow_batches(rows)
        if batches is not None:
            yield from (each if isinstance(each, Block) else block_of(each) for each in batches)
        elif isinstance(rows, Iterable) and not isinstance(rows, Mapping | bytes | bytearray):
            yield from _tuple_blocks(list(rows), key)
        else:
            raise DataError("D307", f'facts["{key}"] is {_kind(rows)}', help=TABLES_HELP)


def _arrow_batches(rows: Any) -> Iterable[Any] | None:  # noqa: ANN401  # any table
    """Return the record batches of anything that speaks Arrow, or None."""
    if isinstance(rows, pa.Table | pa.RecordBatch):
        return [rows]
    if type(rows).__module__.startswith("polars") and hasattr(rows, "collect"):
        rows = rows.collect()
    if hasattr(rows, "__arrow_c_stream__"):
        return _streamed(rows)
    if isinstance(rows, pa.Array):
        return [pa.table({"c0": rows})]
    return [pa.record_batch(rows)] if hasattr(rows, "__arrow_c_array__") else None


def _streamed(rows: Any) -> Iterable[Any]:  # noqa: ANN401
    try:
        reader: Iterable[Any] = pa.RecordBatchReader.from_stream(rows)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        return [_odd_stream(rows, error)]
    return reader


def _odd_stream(rows: Any, error: Exception) -> Any:  # noqa: ANN401
    """Return a series as a table, or a Polars frame with a type that Arrow has not as values."""
    with suppress(pa.ArrowException):
        return pa.table({"c0": pa.chunked_array(rows)})
    if hasattr(rows, "get_columns"):
        columns = [PythonColumn(each.to_list(), spelled=True) for each in rows.get_columns()]
        return Block(rows.columns, columns, len(rows))
    raise DataError(
        "D305", f"the table cannot be read as Arrow: {error}", help="convert its columns' types"
    ) from None


def _pandas_block(rows: Any, key: str) -> Block:  # noqa: ANN401
    frame = rows.to_frame() if hasattr(rows, "to_frame") and not hasattr(rows, "iloc") else rows
    if getattr(frame, "ndim", 0) == 1:
        frame = frame.to_frame()
    if not hasattr(frame, "columns"):
        raise DataError("D307", f'facts["{key}"] is {_kind(rows)}', help=TABLES_HELP)
    columns = [_pandas_column(frame.iloc[:, place]) for place in range(frame.shape[1])]
    return Block([str(name) for name in frame.columns], columns, len(frame))


def _pandas_column(series: Any) -> Any:  # noqa: ANN401
    """Return an Arrow column in which NaN, NaT and None are null, or values that Arrow has not."""
    if series.dtype == object:
        return PythonColumn(series.where(series.notna(), None).tolist(), spelled=True)
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return PythonColumn(series.tolist(), spelled=True)


def _numpy_block(rows: Any, key: str) -> Block:  # noqa: ANN401
    if rows.dtype.names is not None and rows.ndim == 1:
        names = list(rows.dtype.names)
        return Block(names, [_numpy_column(rows[name]) for name in names], len(rows))
    if rows.ndim != 2 or rows.dtype.names is not None:  # noqa: PLR2004  # rows and columns
        raise DataError(
            "D307",
            f'facts["{key}"] is an array of {rows.ndim} dimensions, not of rows and columns',
            help="reshape it: array.reshape(-1, 1) makes rows of one column",
        )
    columns = [_numpy_column(rows[:, place]) for place in range(rows.shape[1])]
    return Block(None, columns, len(rows))


def _numpy_column(values: Any) -> Any:  # noqa: ANN401
    if values.dtype == object:
        return PythonColumn(values.tolist())
    try:
        return pa.array(values, from_pandas=False)
    except (pa.ArrowException, ValueError):
        return PythonColumn(values.tolist())


def _tuple_blocks(rows: list[Any], key: str) -> Iterator[Block]:
    """Yield the rows by column; there is no block if there are no rows."""
    for row, kind in _first_of_each(rows, type):
        if not issubclass(kind, tuple | list):
            raise _no_row(rows[row], row, key)
    lengths = _first_of_each(rows, len)
    if len(lengths) > 1:
        row, length = lengths[1]
        raise DataError(
            "D307",
            f'facts["{key}"] has {lengths[0][1]} values in row 1, but {length} in row {row + 1}',
            help="give all rows of a predicate the same number of values",
        )
    if rows:
        width = lengths[0][1]
        columns = [PythonColumn(list(map(itemgetter(i), rows))) for i in range(width)]
        yield Block(None, columns, len(rows))


def _first_of_each(rows: list[Any], trait: Callable[[Any], Any]) -> list[tuple[int, Any]]:
    """Return the traits that occur among the rows, each with the first row that has it."""
    traits = list(map(trait, rows))
    return sorted((traits.index(each), each) for each in set(traits)) if traits else []


def _no_row(value: object, row: int, key: str) -> DataError:
    hint = "name the columns with @declare and pass a table, or write tuples"
    if not isinstance(value, Mapping):
        hint = f"write ({value!r},) for a row of one value"
    return DataError(
        "D307", f'row {row + 1} of facts["{key}"] is {_kind(value)}, not a tuple', help=hint
    )


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
