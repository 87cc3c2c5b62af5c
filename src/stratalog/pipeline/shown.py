"""A table's value as it stands in a message."""

from __future__ import annotations

from typing import Any

from stratalog.lang.terms import STRING, Term
from stratalog.lang.values.numbers import least_digits
from stratalog.lang.values.terms import spell
from stratalog.pipeline.convert import PythonColumn, Real
from stratalog.pipeline.native import plain_array

MOST_SHOWN = 60  # characters: what fits on a line


def _value(column: Any, row: int) -> object:  # noqa: ANN401
    if isinstance(column, PythonColumn):
        return column.values[row]
    try:
        return column[row].as_py()
    except UnicodeDecodeError:
        return (
            plain_array(column.slice(row, 1))[0].as_buffer().to_pybytes().decode(errors="replace")
        )
    except (OverflowError, ValueError):  # a moment that Python cannot hold
        return f"{column.type} {column[row].value}"


def shown(column: Any, row: int) -> str:  # noqa: ANN401
    """Return a column's value for a message."""
    value = _value(column, row)
    if isinstance(value, Real):
        text = value.text
    elif isinstance(value, str):
        text = spell(Term(STRING, value))
    elif isinstance(value, int) and least_digits(value) > MOST_SHOWN:
        text = f"an integer of about {least_digits(value):,} digits"
    else:
        text = str(value)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."
