"""Exact sums and averages of integers and doubles per group, rounded once.

Integers are summed as upper and lower halves. Doubles are summed in one of two exact ways:

- as a pair (sum, error): two additions without error per number. It is exact as long as the error
  itself is, and says when it is not. Small, so for many groups.
- as limbs: one integer over the whole range of doubles, 32 bits of it in each 64-bit word, so that
  carries may wait. Always exact. For few groups, and for those that a pair cannot hold.
"""

from __future__ import annotations

import numpy as np

from stratalog.kernels.jit import kernel
from stratalog.kernels.numbers.groups import MET_DOUBLE, MET_WHOLE, met
from stratalog.kernels.wrapping import difference

MET_INFINITY = np.uint8(16)
MET_MINUS_INFINITY = np.uint8(32)
MET_NAN = np.uint8(64)
INEXACT = np.uint8(128)  # the pair of the group is not its sum

LIMBS = 68  # 2098 bits of doubles, and more for the carries of 2**32 of them
SETTLE_AFTER = 1 << 30  # additions of less than 2**32 that a limb takes before carries must move

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_HALF = np.uint64(32)
_WORD = np.uint64(64)
_LOWER = np.uint64(0xFFFFFFFF)
_LOWER_SIGNED = np.int64(0xFFFFFFFF)
_FRACTION_BITS = np.uint64(52)
_FRACTION = np.uint64((1 << 52) - 1)
_HIDDEN = np.uint64(1 << 52)
_EXPONENT = np.uint64(0x7FF)
_SIGN = np.uint64(1 << 63)
_INFINITY = np.uint64(0x7FF0000000000000)
_NAN = np.uint64(0x7FF8000000000000)
_LIMB_BITS = np.uint64(5)
_IN_LIMB = np.uint64(31)
_SPARE_BITS = 74  # a mantissa moved up by so many bits leaves one free in 128
_SPARE_IN_WORD = np.uint64(10)
_TINY = -1074  # the least double is 2 to this power


@kernel
def _is_special(bits):
    return (bits >> _FRACTION_BITS) & _EXPONENT == _EXPONENT


@kernel
def _met_special(bits):
    if bits & _FRACTION != _ZERO:
        return MET_NAN
    return MET_INFINITY if bits & _SIGN == _ZERO else MET_MINUS_INFINITY


@kernel
def _sum_of_specials(seen):
    """Return the bits of the sum of infinities and NaN that a group has met."""
    both = MET_INFINITY | MET_MINUS_INFINITY
    if seen & MET_NAN != 0 or seen & both == both:
        return _NAN
    return _INFINITY if seen & MET_INFINITY != 0 else _INFINITY | _SIGN


@kernel
def _mantissa(bits):
    """Return a finite double's mantissa, and the exponent of its last bit."""
    exponent = np.int64((bits >> _FRACTION_BITS) & _EXPONENT)
    if exponent == 0:
        return bits & _FRACTION, np.int64(_TINY)
    return (bits & _FRACTION) | _HIDDEN, exponent - 1 + _TINY


# -- rounding


@kernel
def _bit_length(word):
    length = _ZERO
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(step) != _ZERO:
            word >>= np.uint64(step)
            length += np.uint64(step)
    return length + word


@kernel
def _divided(upper, lower, divisor):
    """Return the quotient of a 128-bit number, and whether there is a remainder."""
    rest = _ZERO
    quotient_upper = _ZERO
    quotient_lower = _ZERO
    for shift in (_HALF, _ZERO):
        part = (rest << _HALF) | ((upper >> shift) & _LOWER)
        quotient_upper = (quotient_upper << _HALF) | (part // divisor)
        rest = part % divisor
    for shift in (_HALF, _ZERO):
        part = (rest << _HALF) | ((lower >> shift) & _LOWER)
        quotient_lower = (quotient_lower << _HALF) | (part // divisor)
        rest = part % divisor
    return quotient_upper, quotient_lower, rest != _ZERO


@kernel
def _rounded(upper, lower, more, exponent, divisor):
    """Return the bits of the double nearest to a number divided by `divisor`, ties to even.

    The number is upper:lower, a little more if `more`, times 2 to the power of `exponent`, which is
    from -1170 on. Either the quotient has more than 53 bits, or the result is subnormal: there is
    always a bit to drop.
    """
    if divisor > _ONE:
        upper, lower, rest = _divided(upper, lower, divisor)
        more = more or rest
    length = _bit_length(lower)
    if upper != _ZERO:
        length = _WORD + _bit_length(upper)
    last = max(exponent + np.int64(length) - 53, np.int64(_TINY))
    at = np.uint64(last - exponent) - _ONE  # of the first bit that is dropped
    # Twice in two steps, since a word cannot be moved by its whole width.
    if at >= _WORD:
        half = (upper >> (at - _WORD)) & _ONE
        below = (upper & ((_ONE << (at - _WORD)) - _ONE)) | lower
        kept = upper >> (at - _WORD) >> _ONE
    else:
        half = (lower >> at) & _ONE
        below = lower & ((_ONE << at) - _ONE)
        kept = (lower >> at >> _ONE) | (upper << (_WORD - _ONE - at))
    # A mantissa that grows a bit carries into the exponent, and so does a subnormal one.
    bits = (np.uint64(last - _TINY) << _FRACTION_BITS) + kept
    if half != _ZERO and (more or below != _ZERO or kept & _ONE != _ZERO):
        bits += _ONE
    return min(bits, _INFINITY)


# -- limbs


@kernel
def _add_to_limbs(limbs, g, bits):
    mantissa, exponent = _mantissa(bits)
    place = np.uint64(exponent - _TINY)
    limb = place >> _LIMB_BITS
    offset = place & _IN_LIMB
    rest = mantissa >> (_HALF - offset)
    lower = np.int64((mantissa << offset) & _LOWER)
    middle = np.int64(rest & _LOWER)
    upper = np.int64(rest >> _HALF)
    if bits & _SIGN == _ZERO:
        limbs[g, limb] += lower
        limbs[g, limb + _ONE] += middle
        limbs[g, limb + _ONE + _ONE] += upper
    else:
        limbs[g, limb] -= lower
        limbs[g, limb + _ONE] -= middle
        limbs[g, limb + _ONE + _ONE] -= upper


@kernel
def _add_whole_to_limbs(limbs, g, upper, lower):
    """Add upper * 2**32 + lower."""
    place = np.uint64(-_TINY)
    limb = place >> _LIMB_BITS
    offset = place & _IN_LIMB
    for i in range(2):
        piece = lower if i == 0 else upper
        for half in range(2):
            part = piece & _LOWER_SIGNED if half == 0 else piece >> np.int64(32)
            at = limb + np.uint64(i + half)
            size = np.uint64(abs(part)) << offset
            first = np.int64(size & _LOWER)
            second = np.int64(size >> _HALF)
            if part < 0:
                first, second = -first, -second
            limbs[g, at] += first
            limbs[g, at + _ONE] += second


@kernel
def _settle(limbs, g):
    """Move all carries up, so that each limb but the last is its 32 bits."""
    carry = np.int64(0)
    for i in range(LIMBS - 1):
        limb = limbs[g, i] + carry
        limbs[g, i] = limb & _LOWER_SIGNED
        carry = limb >> np.int64(32)
    limbs[g, LIMBS - 1] += carry


@kernel
def settle(limbs):
    """Move the carries of all groups up."""
    for g in range(limbs.shape[0]):
        _settle(limbs, g)


@kernel
def _take_limbs(limbs, g, divisor):
    """Return the bits of the sum divided by `divisor`, rounded; the limbs are zero afterwards."""
    _settle(limbs, g)
    sign = _ZERO
    if limbs[g, LIMBS - 1] < 0:
        sign = _SIGN
        for i in range(LIMBS):
            limbs[g, i] = -limbs[g, i]
        _settle(limbs, g)
    top = LIMBS - 1
    while top >= 0 and limbs[g, top] == 0:
        top -= 1
    if top < 0:
        return _ZERO
    upper = _ZERO
    lower = _ZERO
    for i in range(4):
        limb = np.uint64(limbs[g, top - i]) if top >= i else _ZERO
        if i < 2:
            upper = (upper << _HALF) | limb
        else:
            lower = (lower << _HALF) | limb
    more = False
    for i in range(top - 3):
        more = more or limbs[g, i] != 0
    limbs[g, :] = 0
    return sign | _rounded(upper, lower, more, np.int64(_TINY + 32 * (top - 3)), divisor)


# -- pairs


@kernel
def _add_to_pair(pairs, g, value):
    """Add a finite value; return whether the pair still is the exact sum."""
    before = float(pairs[g, 0])  # Python's and Numba's become infinite without an error
    total = before + float(value)
    part = total - before
    error = (before - (total - part)) + (float(value) - part)
    pairs[g, 0] = total
    if error == 0.0:
        return True
    before = float(pairs[g, 1])
    total = before + error
    part = total - before
    pairs[g, 1] = total
    # Not a number, and so not zero, if anything became infinite on the way.
    return (before - (total - part)) + (error - part) == 0.0


@kernel
def _average_of_pair(pair_bits, divisor):
    """Return the bits of the exact average of a pair without overlap: rounded once."""
    first, second = pair_bits[0], pair_bits[1]
    mantissa, exponent = _mantissa(first)
    if mantissa == _ZERO:
        return _ZERO
    upper = mantissa << _SPARE_IN_WORD
    lower = _ZERO
    exponent -= _SPARE_BITS
    more = False
    small, small_exponent = _mantissa(second)
    if small != _ZERO:
        shift = small_exponent - exponent
        small_upper = _ZERO
        if shift >= 64:
            small_upper = small << np.uint64(shift - 64)
            small_lower = _ZERO
        elif shift > 0:
            small_upper = small >> np.uint64(64 - shift)
            small_lower = small << np.uint64(shift)
        else:
            down = np.uint64(min(-shift, 63))  # a mantissa has fewer bits than that
            small_lower = small >> down
            more = small_lower << down != small
        if (first ^ second) & _SIGN == _ZERO:
            lower += small_lower
            upper += small_upper
        else:
            if more:
                small_lower += _ONE
            upper -= small_upper
            if small_lower != _ZERO:
                upper -= _ONE
            lower = difference(lower, small_lower)
    return (first & _SIGN) | _rounded(upper, lower, more, exponent, divisor)


# -- groups


@kernel
def add_to_pairs(states, numbers, doubles, group, whole, pairs, seen):
    """Add the rows to the sums of their groups; `doubles` are the numbers, read as doubles.

    `whole` has the upper and lower halves of the sums of integers, `pairs` the sums of doubles.
    """
    for i in range(np.uint64(group.size)):
        g = np.uint64(group[i])
        bit = met(states[i])
        if bit == MET_WHOLE:
            whole[g, 0] += numbers[i] >> np.int64(32)
            whole[g, 1] += numbers[i] & _LOWER_SIGNED
        elif bit == MET_DOUBLE:
            if _is_special(np.uint64(numbers[i])):
                bit |= _met_special(np.uint64(numbers[i]))
            elif seen[g] < INEXACT and not _add_to_pair(pairs, g, doubles[i]):
                bit |= INEXACT
        if seen[g] | bit != seen[g]:
            seen[g] |= bit


@kernel
def add_to_limbs(states, numbers, group, whole, limbs, seen):
    """Add the rows to the sums of their groups, as `add_to_pairs` does, but into limbs."""
    for i in range(np.uint64(group.size)):
        g = np.uint64(group[i])
        bit = met(states[i])
        if bit == MET_WHOLE:
            whole[g, 0] += numbers[i] >> np.int64(32)
            whole[g, 1] += numbers[i] & _LOWER_SIGNED
        elif bit == MET_DOUBLE:
            bits = np.uint64(numbers[i])
            if _is_special(bits):
                bit |= _met_special(bits)
            else:
                _add_to_limbs(limbs, g, bits)
        if seen[g] | bit != seen[g]:
            seen[g] |= bit


@kernel
def take_pairs(whole, pairs, seen, divisors, results):
    """Write the bits of the sums divided by `divisors` to `results`; mark what is not exact.

    Where a group has met integers, they are added first.
    """
    pair = np.empty(2, np.float64)
    pair_bits = pair.view(np.uint64)
    for g in range(np.uint64(seen.size)):
        if seen[g] & MET_DOUBLE == 0:
            continue
        if seen[g] & (MET_INFINITY | MET_MINUS_INFINITY | MET_NAN) != 0:
            results[g] = _sum_of_specials(seen[g])
            seen[g] &= ~INEXACT
            continue
        exact = seen[g] < INEXACT
        if exact and seen[g] & MET_WHOLE != 0:
            for i in range(2):
                unit = 1.0 if i == 1 else 4294967296.0
                piece = whole[g, i]
                first = np.float64(piece >> np.int64(32)) * (4294967296.0 * unit)
                exact = exact and _add_to_pair(pairs, g, first)
                second = np.float64(piece & _LOWER_SIGNED) * unit
                exact = exact and _add_to_pair(pairs, g, second)
        total = pairs[g, 0] + pairs[g, 1]
        pair[0] = total
        if divisors[g] > 1 and exact:
            part = total - pairs[g, 0]
            pair[1] = (pairs[g, 0] - (total - part)) + (pairs[g, 1] - part)
            exact = not _is_special(pair_bits[0]) and not _is_special(pair_bits[1])
        if not exact:
            seen[g] |= INEXACT
        elif divisors[g] > 1:
            results[g] = _average_of_pair(pair_bits, np.uint64(divisors[g]))
        else:
            results[g] = pair_bits[0]


@kernel
def take_limbs(whole, limbs, seen, divisors, results):
    """Write the bits of the sums divided by `divisors` to `results`, as `take_pairs` does."""
    for g in range(np.uint64(seen.size)):
        if seen[g] & MET_DOUBLE == 0:
            continue
        if seen[g] & (MET_INFINITY | MET_MINUS_INFINITY | MET_NAN) != 0:
            results[g] = _sum_of_specials(seen[g])
            continue
        _add_whole_to_limbs(limbs, g, whole[g, 0], whole[g, 1])
        results[g] = _take_limbs(limbs, g, np.uint64(divisors[g]))


@kernel
def sum_runs(numbers, starts, ends, groups, whole, divisors, results):
    """Write the bits of the sums of groups[k], divided, to results[groups[k]].

    The bits of its doubles, all finite, are numbers[starts[k]:ends[k]].
    """
    limbs = np.zeros((1, LIMBS), np.int64)
    for k in range(np.uint64(groups.size)):
        begin = np.uint64(starts[k])
        end = np.uint64(ends[k])
        g = np.uint64(groups[k])
        _add_whole_to_limbs(limbs, 0, whole[g, 0], whole[g, 1])
        for i in range(begin, end):
            _add_to_limbs(limbs, 0, np.uint64(numbers[i]))
            if (i - begin) & np.uint64(SETTLE_AFTER - 1) == np.uint64(SETTLE_AFTER - 1):
                _settle(limbs, 0)
        results[g] = _take_limbs(limbs, 0, np.uint64(divisors[g]))
