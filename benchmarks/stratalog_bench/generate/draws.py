"""Random numbers that are the same on every platform and with every version of NumPy.

Only the raw words of PCG64 and the hash of SeedSequence are promised to stay as they are, so that
bounded numbers, shuffles and samples are made from raw words here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_HALF = np.uint64(32)
_FRACTION = np.uint64(11)  # 53 bits are left, as many as a double holds


class Draws:
    """A stream of random numbers; streams of one seed with different keys are independent."""

    def __init__(self, seed: int, *key: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, *key]))

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """Return words of 64 random bits."""
        raw: Any = self._bits.random_raw(size)
        return np.asarray(raw, np.uint64)

    def below(self, bounds: int | Numbers, size: int) -> Numbers:
        """Return numbers from 0 to one less than the bound, one bound for all or one for each.

        Bounds are below 2**32; a number's chance differs from the others' by less than 2**-32.
        """
        scaled = (self.words(size) >> _HALF) * np.asarray(bounds).astype(np.uint64)
        return (scaled >> _HALF).astype(np.int64)

    def between(self, least: int | Numbers, most: int | Numbers, size: int) -> Numbers:
        """Return numbers between two others, both included."""
        low: Numbers = np.asarray(least, np.int64)
        return low + self.below(np.asarray(most, np.int64) - low + 1, size)

    def fractions(self, size: int) -> npt.NDArray[np.float64]:
        """Return numbers from 0 to 1, 1 excluded."""
        return (self.words(size) >> _FRACTION).astype(np.float64) * 2.0**-53

    def shuffled(self, size: int) -> Numbers:
        """Return the numbers below `size` in random order."""
        return np.argsort(self.words(size), kind="stable").astype(np.int64)

    def shuffled_within(self, groups: Numbers) -> Numbers:
        """Return the positions of `groups`, whose equal members are adjacent, each group shuffled.

        `groups` must be ascending.
        """
        return np.lexsort((self.words(len(groups)), groups)).astype(np.int64)

    def samples(self, bounds: Numbers, amounts: Numbers) -> tuple[Numbers, Numbers]:
        """Return `amounts[i]` different numbers below `bounds[i]` for each i, as pairs (i, number).

        No amount may exceed its bound, and the largest should be small: it is the number of passes.
        """
        most = int(amounts.max(initial=0))
        beyond = int(bounds.max(initial=0))
        chosen = np.full((len(bounds), most), beyond, np.int64)
        for place in range(most):
            wanted = amounts > place
            number = self.below(np.where(wanted, bounds - place, 1), len(bounds))
            for earlier in range(place):  # ascending: each one chosen before moves those above it
                number += number >= chosen[:, earlier]
            chosen[:, place] = np.where(wanted, number, beyond)
            chosen[:, : place + 1].sort(axis=1)
        rows, places = np.nonzero(np.arange(most) < amounts[:, None])
        return rows.astype(np.int64), chosen[rows, places]
