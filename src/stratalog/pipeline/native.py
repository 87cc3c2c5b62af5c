"""Arrow's types and our kinds: canonical texts of native values, by Arrow where it can."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.lang.terms import (
    BOOLEAN,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    STRING,
)
from stratalog.lang.values.canonical import canonical_text
from stratalog.lang.values.numbers import double_text

Mask = npt.NDArray[np.bool_]

KIND_OF_TYPE = {
    "integer": INTEGER,
    "decimal": DECIMAL,
    "double": DOUBLE,
    "string": STRING,
    "boolean": BOOLEAN,
    "date": DATE,
    "dateTime": DATETIME,
    "iri": IRI_KIND,
}
SHORTEST_DOUBLE = r"^(?P<s>-?)(?P<w>[0-9]+)(?:\.(?P<f>[0-9]*))?(?:e\+?(?P<e>-?[0-9]+))?$"
TYPE_OF_KIND = {kind: name for name, kind in KIND_OF_TYPE.items()}


@cache
def kind_of(arrow_type: Any) -> str | None:  # noqa: ANN401  # Arrow has no types
    """Return the datatype of the constants in a column, or None if they are no constants."""
    is_a = pa.types
    checks = (
        (is_a.is_integer, INTEGER),
        (is_a.is_decimal, DECIMAL),
        (is_a.is_floating, DOUBLE),
        (is_text, STRING),
        (is_a.is_boolean, BOOLEAN),
        (is_a.is_date, DATE),
        (is_a.is_timestamp, DATETIME),
    )
    return next((kind for check, kind in checks if check(arrow_type)), None)


def is_text(arrow_type: Any) -> bool:  # noqa: ANN401
    """Tell whether a column holds text."""
    is_a = pa.types
    plain = is_a.is_string(arrow_type) or is_a.is_large_string(arrow_type)
    return bool(plain or is_a.is_string_view(arrow_type))


def plain_array(column: Any) -> Any:  # noqa: ANN401
    """Return the column as one ordinary array: no chunks, dictionaries, runs or views."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if isinstance(column.type, pa.BaseExtensionType) and is_text(column.type.storage_type):
        column = pa.chunked_array([chunk.storage for chunk in chunks], column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        wide = _wide(column.type.value_type)  # Arrow takes from no views
        parts = [pc.cast(chunk.dictionary, wide).take(chunk.indices) for chunk in chunks]
        column = pa.chunked_array(parts, wide)
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    wide = _wide(column.type)
    if wide != column.type:
        column = pc.cast(column, wide)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _wide(arrow_type: Any) -> Any:  # noqa: ANN401
    """Return the type with room for any length of text and any reader."""
    if is_text(arrow_type):
        return pa.large_string()
    return pa.float32() if pa.types.is_float16(arrow_type) else arrow_type


def joined(*parts: Any, separator: str = "") -> Any:  # noqa: ANN401
    """Return the parts, arrays of text or fixed texts, joined row by row."""
    wide = pa.large_string()
    scalars = [pa.scalar(part, wide) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*scalars, pa.scalar(separator, wide))


def native_texts(values: Any) -> tuple[Any, Mask | None]:  # noqa: ANN401
    """Return the canonical texts of a plain array without nulls, and which have none."""
    kind = kind_of(values.type)
    if kind == STRING:
        return values, None
    if kind in (INTEGER, BOOLEAN, DATE):
        return pc.cast(values, pa.large_string()), None
    if kind == DECIMAL:
        return _decimal_texts(values), None
    if kind == DATETIME:
        return _datetime_texts(values)
    return double_texts(pc.cast(values, pa.float64())), None


def double_texts(values: Any) -> Any:  # noqa: ANN401
    """Return the canonical texts of doubles: the shortest digits that give the value back."""
    # Arrow finds the shortest digits, as Python's repr does, but places the dot in its own way.
    shortest = pc.cast(values, pa.large_string())
    parts = pc.extract_regex(shortest, SHORTEST_DOUBLE)
    if parts.null_count:  # infinite, or not a number
        return pa.array([double_text(value) for value in values.to_pylist()], pa.large_string())
    sign, whole, fraction, power = (pc.struct_field(parts, [place]) for place in range(4))
    digits = joined(whole, fraction)
    significant = pc.utf8_ltrim(digits, "0")
    lead = pc.subtract(pc.binary_length(digits), pc.binary_length(significant))
    exponent = pc.cast(pc.if_else(pc.equal(power, ""), "0", power), pa.int64())
    exponent = pc.subtract(pc.add(exponent, pc.binary_length(whole)), pc.add(lead, 1))
    significant = pc.utf8_rtrim(significant, "0")
    zero = pc.equal(significant, "")
    first = pc.if_else(zero, "0", pc.utf8_slice_codeunits(significant, 0, 1))
    rest = pc.utf8_slice_codeunits(significant, 1)
    rest = pc.if_else(pc.equal(rest, ""), "0", rest)
    written = pc.cast(pc.if_else(zero, 0, exponent), pa.large_string())
    return joined(sign, first, ".", rest, "E", written)


def _decimal_texts(values: Any) -> Any:  # noqa: ANN401
    texts = pc.cast(values, pa.large_string())
    if values.type.scale == 0:
        return joined(texts, ".0")
    odd = pc.match_substring(texts, "E").to_numpy(zero_copy_only=False)
    if values.type.scale < 0 or odd.any():
        plain = [f"{value:f}" for value in values.to_pylist()]
        return pa.array([canonical_text(text, DECIMAL) for text in plain], pa.large_string())
    return pc.replace_substring_regex(texts, r"(\.[0-9]+?)0+$", r"\1")


def _datetime_texts(values: Any) -> tuple[Any, Mask | None]:  # noqa: ANN401
    if values.type.tz is not None:
        values = pc.cast(values, pa.timestamp(values.type.unit, "UTC"))
    texts = pc.cast(values, pa.large_string())
    if values.type.unit != "s":
        texts = pc.replace_substring_regex(texts, r"\.?0*(Z?)$", r"\1")
    texts = pc.replace_substring(texts, " ", "T", max_replacements=1)
    beyond = pc.starts_with(texts, "<").to_numpy(zero_copy_only=False)
    return texts, beyond if beyond.any() else None
