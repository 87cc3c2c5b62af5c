"""Pairs of constants as words, in whose order they are sorted: sets of pairs in the driver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stratalog.closure.nodes import Ids

Words = npt.NDArray[np.uint64]
Pairs = tuple[Ids, Ids]
Mask = npt.NDArray[np.bool_]

NO_WORDS: Words = np.empty(0, np.uint64)
NO_PAIRS: Pairs = np.empty(0, np.uint32), np.empty(0, np.uint32)
BITS = np.uint64(32)


def pack(pairs: Sequence[Ids]) -> Words:
    """Return pairs as words."""
    first, second = pairs
    words: Words = np.asarray(first).astype(np.uint64) << BITS | np.asarray(second)
    return words


def unpacked(words: Words) -> Pairs:
    """Return the pairs of words."""
    return (words >> BITS).astype(np.uint32), words.astype(np.uint32)


def swap(words: Words) -> Words:
    """Return pairs with both constants exchanged, in the order given."""
    return words >> BITS | words << BITS


def is_among(known: Words, words: Words) -> Mask:
    """Return which words are among known ones, which are sorted."""
    if not known.size:
        return np.zeros(words.size, np.bool_)
    places = np.minimum(np.searchsorted(known, words), known.size - 1)
    found: Mask = known[places] == words
    return found


def firsts_among(known: Words, constants: Ids) -> Mask:
    """Return which constants are the first of some known pair."""
    if not known.size:
        return np.zeros(constants.size, np.bool_)
    least = constants.astype(np.uint64) << BITS
    places = np.minimum(np.searchsorted(known, least), known.size - 1)
    found: Mask = known[places] >> BITS == constants
    return found


def replace(known: Words, gone: Words, come: Words) -> Words:
    """Return known words without some of them and with others; all are sorted."""
    left = np.delete(known, np.searchsorted(known, gone)) if gone.size else known
    return np.insert(left, np.searchsorted(left, come), come) if come.size else left
