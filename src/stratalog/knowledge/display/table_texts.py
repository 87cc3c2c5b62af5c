"""The cells of Arrow tables as text, as terminals, pipes and notebooks show them."""

from __future__ import annotations

from typing import Any

from stratalog.knowledge.display.terminal import visible

_NUMBERS = ("int", "uint", "float", "double", "decimal")  # Arrow types


def cell_texts(column: Any, odd: str) -> Any:  # noqa: ANN401  # Arrow has no types
    """Return the canonical text of each value, with odd characters escaped."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from stratalog.lang.terms import STRING
    from stratalog.pipeline.native import kind_of, native_texts, plain_array

    values = plain_array(column)
    if kind_of(values.type) not in {None, STRING}:
        coded = values.dictionary_encode()
        values = native_texts(coded.dictionary)[0].take(coded.indices)
    values = pc.cast(values, pa.large_string()).fill_null("")
    found = pc.match_substring_regex(values, odd)
    if not pc.any(found, min_count=0).as_py():
        return values
    exact = [visible(text, odd) for text in values.filter(found).to_pylist()]
    return pc.replace_with_mask(values, found, pa.array(exact, pa.large_string()))


def is_number(column: Any) -> bool:  # noqa: ANN401
    """Return whether a column is shown aligned to the right."""
    return str(column.type).startswith(_NUMBERS)
