"""Canonical texts of many numbers at once, written and read."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.wrapping import difference

LONGEST_DOUBLE = 25  # bytes
LONGEST_AVERAGE = 96
DIVISORS = 1 << 60  # of averages are below this

_MINUS, _DOT, _DIGIT, _E, _SMALL_E, _SMALL_I, _SMALL_N = (ord(letter) for letter in "-.0Eein")
_SIGNIFICANT = 28  # digits of a quotient that does not end
_SAFE_DIGITS = 18  # any number of so many digits fits 64 bits
_STEP = np.uint64(10**9)
_STEP_DIGITS = 9
_STEP_BELOW = np.uint64(1 << 34)  # products with the step fit 64 bits
_TEN = np.uint64(10)


@kernel
def write_doubles(data, offsets, out, out_offsets):
    """Write the canonical texts of doubles, given their shortest texts in any form.

    Text i is data[offsets[i]:offsets[i + 1]], such as -1.5, 100 or 1e-07, inf, -inf or nan.
    """
    digits = np.empty(32, np.uint8)
    at = 0
    out_offsets[0] = 0
    for i in range(offsets.size - 1):
        begin, end = offsets[i], offsets[i + 1]
        if data[begin] == _MINUS:
            out[at] = _MINUS
            at += 1
            begin += 1
        if data[begin] == _SMALL_N:
            at = _write_three(78, 97, 78, out, at)  # NaN
        elif data[begin] == _SMALL_I:
            at = _write_three(73, 78, 70, out, at)  # INF
        else:
            at = _write_scientific(data, begin, end, digits, out, at)
        out_offsets[i + 1] = at


@kernel
def _write_three(first, second, third, out, at):
    out[at] = first
    out[at + 1] = second
    out[at + 2] = third
    return at + 3


@kernel
def _write_scientific(data, begin, end, digits, out, at):
    """Write one digit, a dot, the other digits and an exponent; return where they end."""
    count = 0  # significant digits so far, with trailing zeros
    last = 0  # and without
    exponent = -1  # of the first one
    after_dot = False
    i = begin
    while i < end and data[i] != _SMALL_E:
        if data[i] == _DOT:
            after_dot = True
        elif count > 0 or data[i] != _DIGIT:
            digits[count] = data[i]
            count += 1
            if data[i] != _DIGIT:
                last = count
            if not after_dot:
                exponent += 1
        elif after_dot:
            exponent -= 1
        i += 1
    if count == 0:
        digits[0] = _DIGIT
        exponent = 0
    else:
        exponent += _power(data, i + 1, end)
    at = _write_three(digits[0], _DOT, digits[1] if last > 1 else _DIGIT, out, at)
    for k in range(2, last):
        out[at] = digits[k]
        at += 1
    out[at] = _E
    at += 1
    if exponent < 0:
        out[at] = _MINUS
        at += 1
    return _write_whole(np.uint64(abs(exponent)), out, at)


@kernel
def _power(data, begin, end):
    """Return the number written in data[begin:end], which may have a sign; 0 if there is none."""
    value = 0
    sign = 1
    for i in range(begin, end):
        if data[i] == _MINUS:
            sign = -1
        elif data[i] >= _DIGIT:
            value = 10 * value + np.int64(data[i]) - _DIGIT
    return sign * value


@kernel
def _write_whole(number, out, at):
    """Write the digits of a number; return where they end."""
    end = at + 1
    rest = number // _TEN
    while rest > 0:
        rest //= _TEN
        end += 1
    for k in range(end - 1, at - 1, -1):
        out[k] = np.uint8(_DIGIT + np.int64(number % _TEN))
        number //= _TEN
    return end


@kernel
def write_averages(totals, counts, out, out_offsets):
    """Write the canonical decimals of totals[i] / counts[i]; counts are below DIVISORS.

    A quotient that ends is exact; others are rounded to 28 significant digits.
    """
    at = 0
    out_offsets[0] = 0
    for i in range(totals.size):
        total, count = totals[i], np.uint64(counts[i])
        size = np.uint64(total) if total >= 0 else difference(np.uint64(0), np.uint64(total))
        if total < 0:
            out[at] = _MINUS
            at += 1
        at = _write_quotient(size, count, out, at)
        out_offsets[i + 1] = at


@kernel
def _ends(rest, count):
    """Return whether rest / count has a finite decimal expansion."""
    while count % np.uint64(2) == 0:
        count //= np.uint64(2)
    while count % np.uint64(5) == 0:
        count //= np.uint64(5)
    return rest % count == 0


@kernel
def _write_quotient(size, count, out, begin):
    whole = size // count
    rest = size % count
    point = _write_whole(whole, out, begin)
    out[point] = _DOT
    at = point + 1
    if rest == 0:
        out[at] = _DIGIT
        return at + 1
    wanted = 0  # digits after the dot, or 0 for all of them
    if not _ends(rest, count):
        wanted = _SIGNIFICANT - (point - begin) if whole > 0 else _SIGNIFICANT
        shifted = rest * _TEN
        while whole == 0 and shifted < count:  # zeros after the dot are not significant
            shifted *= _TEN
            wanted += 1
    step, step_digits = (_STEP, _STEP_DIGITS) if count < _STEP_BELOW else (_TEN, 1)
    end = at
    while rest > 0 and (wanted == 0 or end - at <= wanted):
        part = rest * step
        digits = part // count
        rest = part % count
        for k in range(end + step_digits - 1, end - 1, -1):
            out[k] = np.uint8(_DIGIT + np.int64(digits % _TEN))
            digits //= _TEN
        end += step_digits
    if wanted > 0:
        end = at + wanted
        if out[end] >= _DIGIT + 5:  # never a tie, since the quotient does not end
            # Nines never reach back to the dot: count * whole is below 10**19.
            last = end - 1
            while out[last] == _DIGIT + 9:
                out[last] = _DIGIT
                last -= 1
            out[last] += np.uint8(1)
    while out[end - 1] == _DIGIT and end > at + 1:
        end -= 1
    return end


@kernel
def read_scaled(data, offsets, numbers, scales):
    """Read decimals: text i is numbers[i] / 10**scales[i].

    The scale is -1 where a text has more than 18 digits, or is no decimal in canonical spelling.
    """
    for i in range(offsets.size - 1):
        at, end = offsets[i], offsets[i + 1]
        negative = at < end and data[at] == _MINUS
        if negative:
            at += 1
        value = np.int64(0)
        digits = 0
        after_dot = -1
        while at < end and digits <= _SAFE_DIGITS:
            digit = np.int64(data[at]) - _DIGIT
            if data[at] == _DOT and after_dot < 0:
                after_dot = 0
            elif 0 <= digit <= 9:
                if digits < _SAFE_DIGITS:
                    value = 10 * value + digit
                digits += 1
                after_dot += after_dot >= 0
            else:
                break
            at += 1
        numbers[i] = -value if negative else value
        scales[i] = max(after_dot, 0) if at == end and 0 < digits <= _SAFE_DIGITS else -1
