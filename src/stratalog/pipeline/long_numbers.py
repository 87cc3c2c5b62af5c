"""Numbers of too many digits in tables: bad rows, which are told like others."""

from __future__ import annotations

import numpy as np

from stratalog.errors import DataError
from stratalog.lang.values.numbers import LONG_HELP
from stratalog.pipeline.convert import Encoded, Long
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.native import Mask


def told_long(columns: list[Encoded], dictionary: Dictionary, known: int) -> list[Encoded]:
    """Return the columns with those rows bad that hold too long numbers among the new terms.

    New are those from `known` on, whichever column they come from.
    """
    most = dictionary.max_digits
    if most is None or len(dictionary) == known:
        return columns
    ids = dictionary.long_numbers(known)
    if not ids.size:
        return columns
    return [_told(each, np.isin(each.ids, ids) & _has_value(each), most) for each in columns]


def _has_value(column: Encoded) -> Mask:
    """Return which rows have a number of their own: the others have 0."""
    found: Mask = np.ones(len(column.ids), np.bool_)
    for mask in (column.nulls, column.bad):
        if mask is not None:
            found &= ~mask
    return found


def _told(column: Encoded, rows: Mask, most: int) -> Encoded:
    if not rows.any():
        return column
    bad = rows if column.bad is None else rows | column.bad
    long = rows if column.long is None else rows | column.long.rows
    return column._replace(bad=bad, long=Long(long, most))


def long_error(what: str, most: int, path: str | None, line: int | None) -> DataError:
    """Return the error for a value of a table; `what` tells it and its place."""
    message = f"{what} is a number of too many digits; max_digits={most:,} is the most"
    return DataError("D302", message, path=path, line=line, help=LONG_HELP)
