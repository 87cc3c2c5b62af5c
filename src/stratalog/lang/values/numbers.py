"""Numbers and their canonical spellings: integers, decimals, doubles and floats of XSD."""

from __future__ import annotations

import math
import re
import struct
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction

from stratalog.errors import DataError
from stratalog.lang.terms import DECIMAL, INTEGER, XSD, Term

FLOAT = XSD + "float"

INTEGER_RANGES: dict[str, tuple[int | None, int | None]] = {
    INTEGER: (None, None),
    XSD + "long": (-(2**63), 2**63 - 1),
    XSD + "int": (-(2**31), 2**31 - 1),
    XSD + "short": (-(2**15), 2**15 - 1),
    XSD + "byte": (-(2**7), 2**7 - 1),
    XSD + "nonNegativeInteger": (0, None),
    XSD + "positiveInteger": (1, None),
    XSD + "nonPositiveInteger": (None, 0),
    XSD + "negativeInteger": (None, -1),
    XSD + "unsignedLong": (0, 2**64 - 1),
    XSD + "unsignedInt": (0, 2**32 - 1),
    XSD + "unsignedShort": (0, 2**16 - 1),
    XSD + "unsignedByte": (0, 2**8 - 1),
}

NUMBER_KINDS = frozenset({*INTEGER_RANGES, DECIMAL})  # doubles are short

LONG_HELP = "write it as a string, leave it out, or raise max_digits="

# Sums and products in this context are exact, whatever the caller's own decimal context is.
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])

_SHORT = 600  # Python may be told to refuse to turn longer digit strings into int, and back
_DIGITS_PER_BIT = 0.30102
_MOST_RANGED = 20  # digits of the integers whose datatype has two bounds
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_FLOAT_MAX = float((2**24 - 1) * 2**104)
_FLOAT_LIMIT = (2**25 - 1) * 2**103  # from here on the nearest float is infinite
_FLOAT_INFINITY = 0x7F800000


def parse_integer(text: str, kind: str = INTEGER) -> int | None:
    """Return the integer that `text` spells in the datatype `kind`, or None if it is ill-typed."""
    spelled = canonical_integer(text, kind)
    if spelled is None:
        return None
    return int(spelled) if len(spelled) < _SHORT else int(Decimal(spelled))


def canonical_integer(text: str, kind: str = INTEGER) -> str | None:
    """Return the canonical spelling of an integer, or None; the digits of long ones stay text."""
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    spelled = "-" + digits if text[0] == "-" and digits != "0" else digits
    low, high = INTEGER_RANGES[kind]
    if low is None and high is None:
        return spelled
    if len(digits) > _MOST_RANGED:
        return spelled if (high if spelled[0] != "-" else low) is None else None
    value = int(spelled)
    is_below, is_above = low is not None and value < low, high is not None and value > high
    return None if is_below or is_above else spelled


def integer_text(value: int) -> str:
    """Return the canonical spelling of an integer of any length."""
    if value.bit_length() < 3 * _SHORT:
        return str(value)
    return format(Decimal(value), "f")


def least_digits(value: Decimal | int) -> int:
    """Return a lower bound of the digits that a finite number is written with, at no cost."""
    if isinstance(value, int):
        return int((value.bit_length() - 1) * _DIGITS_PER_BIT)
    return abs(value.adjusted())


def digits_in(text: str) -> int:
    """Return how many digits the canonical spelling of an integer or decimal has."""
    return len(text) - text.startswith("-") - ("." in text)


def is_long(term: Term, most: int) -> bool:
    """Return whether the term is a number of more than `most` digits."""
    if len(term.text) <= most or term.kind not in NUMBER_KINDS:
        return False
    return digits_in(term.text) > most


def too_long(text: str, most: int) -> DataError:
    """Return the error for a number of too many digits."""
    return DataError(
        "D302",
        f"a number of {digits_in(text):,} digits, {text[:20]}...; max_digits={most:,} is the most",
        help=LONG_HELP,
    )


def parse_decimal(text: str) -> Decimal | None:
    """Return the decimal that `text` spells, or None if it is ill-typed."""
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def decimal_text(value: Decimal) -> str:
    """Return the canonical spelling of a finite decimal, with a digit on both sides of the dot."""
    whole, _, fraction = format(value, "f").partition(".")
    fraction = fraction.rstrip("0") or "0"
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    digits = digits.lstrip("0") or "0"
    if digits == "0" and fraction == "0":
        return "0.0"
    return f"{sign}{digits}.{fraction}"


def parse_double(text: str) -> float | None:
    """Return the double that `text` spells, or None if it is ill-typed."""
    return float(text.replace("INF", "inf")) if _DOUBLE.fullmatch(text) else None


def double_text(value: float) -> str:
    """Return the canonical spelling of a double: the shortest digits that give it back."""
    return _scientific(value, repr(value))


def parse_float(text: str) -> float | None:
    """Return the 32-bit float that `text` spells, or None if it is ill-typed."""
    value = parse_double(text)
    if value is None or not math.isfinite(value) or value == 0:
        return value
    return nearest_float(Fraction(Decimal(text)))


def float_text(value: float) -> str:
    """Return the canonical spelling of a 32-bit float held as a Python float."""
    for digits in range(9):
        text = f"{value:.{digits}e}"
        if not math.isfinite(value) or to_float(float(text)) == value:
            break
    return _scientific(value, text)


def to_float(value: float) -> float:
    """Return the 32-bit float nearest to a double."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def to_double(value: Decimal | Fraction | float) -> float:
    """Return the double nearest to an exact value; beyond the largest one it is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def nearest_float(value: Fraction) -> float:
    """Return the 32-bit float nearest to an exact value, rounded once."""
    if abs(value) >= _FLOAT_LIMIT:
        return math.inf if value > 0 else -math.inf
    double = to_double(value)
    first = to_float(double)
    if value == double:
        return first
    # Rounding to a double first may have met a tie between two floats that the value itself is not.
    if math.isinf(first):
        return math.copysign(_FLOAT_MAX, first)
    bits = struct.unpack("<I", struct.pack("<f", abs(first)))[0]
    near = [
        math.copysign(struct.unpack("<f", struct.pack("<I", other))[0], double)
        for other in (bits, bits + 1, max(bits, 1) - 1)
        if other < _FLOAT_INFINITY
    ]
    return min(near, key=lambda each: abs(Fraction(each) - value))


def _scientific(value: float, text: str) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return sign + "INF"
    mantissa, _, power = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = len(whole) + int(power or 0)
    significant = digits.lstrip("0")
    if not significant:
        return sign + "0.0E0"
    exponent = point - (len(digits) - len(significant)) - 1
    significant = significant.rstrip("0")
    return f"{sign}{significant[0]}.{significant[1:] or '0'}E{exponent}"
