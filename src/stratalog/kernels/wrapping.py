"""Arithmetic modulo 2**64, where that is meant: everywhere else too large a number is a mistake."""

from __future__ import annotations

import numpy as np

from stratalog.kernels.forms import primitive

_ALL = 0xFFFFFFFFFFFFFFFF
_SIGN = 1 << 63


@primitive
def product(left, right):
    """Return the lower half of the product of two words."""
    return np.uint64(int(left) * int(right) & _ALL)


@primitive
def total(left, right):
    """Return the sum of two signed numbers; one that is too large is negative."""
    return np.int64((int(left) + int(right) + _SIGN & _ALL) - _SIGN)


@primitive
def difference(left, right):
    """Return the difference of two words, modulo 2**64."""
    return np.uint64(int(left) - int(right) & _ALL)
