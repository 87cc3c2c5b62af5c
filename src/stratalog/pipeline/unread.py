"""Canonical texts to native Arrow values: one reader per declared type.

A reader returns None if a text is no value of the type, or none that Arrow can hold exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stratalog.lang.values.dates import DAY, Moment, parse_date, parse_datetime
from stratalog.lang.values.numbers import parse_double

INTEGER = r"^(0|-?[1-9][0-9]*)$"
DECIMAL = r"^-?[0-9]+\.[0-9]+$"
FINITE_DOUBLE = r"^-?[0-9]\.[0-9]+E-?[0-9]+$"  # canonical, so it does not overflow
MOST_DIGITS, MORE_DIGITS = 38, 76  # of decimal128 and decimal256
SIMPLE_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"


def _integers(texts: Any) -> Any:  # noqa: ANN401  # Arrow has no types
    if not _all_match(texts, INTEGER):
        return None
    try:
        return pc.cast(texts, pa.int64())
    except pa.ArrowInvalid:
        return _wide_decimals(texts, _most_digits(texts), 0)


def _decimals(texts: Any) -> Any:  # noqa: ANN401
    if not _all_match(texts, DECIMAL):
        return None
    plain = pc.replace_substring_regex(texts, r"\.0$", "")
    whole = pc.replace_substring_regex(plain, r"\..*$", "")
    lengths = pc.subtract(pc.binary_length(plain), pc.binary_length(whole))
    scale = max(0, (pc.max(lengths).as_py() or 0) - 1)
    digits = _most_digits(whole)
    if digits + scale <= MOST_DIGITS:
        return pc.cast(plain, pa.decimal128(MOST_DIGITS, scale))
    return _wide_decimals(texts, digits, scale)


def _wide_decimals(texts: Any, digits: int, scale: int) -> Any:  # noqa: ANN401
    """Return decimals of up to 76 digits, or the texts themselves, which are exact too."""
    if digits + scale > MORE_DIGITS:
        return pc.cast(texts, pa.string())
    wide = pa.decimal256(MORE_DIGITS, scale)
    return pa.array([Decimal(text) for text in texts.to_pylist()], wide)


def _most_digits(whole: Any) -> int:  # noqa: ANN401
    return int(pc.max(pc.binary_length(pc.replace_substring(whole, "-", ""))).as_py() or 0)


def _doubles(texts: Any) -> Any:  # noqa: ANN401
    if _all_match(texts, FINITE_DOUBLE):
        return pc.cast(texts, pa.float64())
    values = [parse_double(text) for text in texts.to_pylist()]
    return None if None in values else pa.array(values, pa.float64(), from_pandas=False)


def _booleans(texts: Any) -> Any:  # noqa: ANN401
    return pc.equal(texts, "true") if _all_match(texts, "^(true|false)$") else None


def _dates(texts: Any) -> Any:  # noqa: ANN401
    found = [parse_date(text) for text in texts.to_pylist()]
    if any(moment is None or moment.zone is not None for moment in found):
        return None
    try:
        days = pa.array([moment.day for moment in found if moment is not None], pa.int32())
    except (OverflowError, pa.ArrowInvalid):
        return None
    return days.cast(pa.date32())


def _datetimes(texts: Any) -> Any:  # noqa: ANN401
    for pattern, zone in ((SIMPLE_MOMENT + "$", None), (SIMPLE_MOMENT + "Z$", "UTC")):
        if _all_match(texts, pattern):
            try:
                return pc.cast(texts, pa.timestamp("us", zone))
            except pa.ArrowInvalid:
                break
    return _exact_datetimes([parse_datetime(text) for text in texts.to_pylist()])


def _exact_datetimes(found: list[Moment | None]) -> Any:  # noqa: ANN401
    moments = [moment for moment in found if moment is not None]
    zones = {moment.zone for moment in moments}
    digits = max((len(moment.fraction) for moment in moments), default=0)
    if len(moments) < len(found) or len(zones) != 1 or digits > 9:  # noqa: PLR2004  # nanoseconds
        return None
    places = 6 if digits <= 6 else 9  # noqa: PLR2004
    ticks = [
        (each.day * DAY + each.second) * 10**places + int(each.fraction.ljust(places, "0"))
        for each in moments
    ]
    unit = pa.timestamp("us" if places == 6 else "ns", None if None in zones else "UTC")  # noqa: PLR2004
    try:
        return pa.array(ticks, pa.int64()).cast(unit)
    except (OverflowError, pa.ArrowInvalid):
        return None


def _all_match(texts: Any, pattern: str) -> bool:  # noqa: ANN401
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


READERS: Mapping[str, Callable[[Any], Any]] = {
    "integer": _integers,
    "decimal": _decimals,
    "double": _doubles,
    "boolean": _booleans,
    "date": _dates,
    "dateTime": _datetimes,
}
