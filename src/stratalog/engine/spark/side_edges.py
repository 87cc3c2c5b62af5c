"""Facts of several relations that are the edges of one closure, as sets of words in the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stratalog.closure.packed_pairs import (
    NO_WORDS,
    Mask,
    Words,
    firsts_among,
    is_among,
    pack,
    replace,
    swap,
    unpacked,
)
from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec


def directed(words: Words, side: ClosureSide | None) -> Words:
    """Return pairs of a relation in the direction of the closure, or the other way round."""
    return swap(words) if side is not None and side.is_turned else words


class SideEdges(NamedTuple):
    """External facts of each side in the direction of the closure; nothing here ever changes."""

    closing: ClosureSpec
    facts: tuple[Words, ...]  # of each side, sorted
    by_target: tuple[Words, ...]  # the same turned, if loops depend on that

    @classmethod
    def of(cls, closing: ClosureSpec, facts: Sequence[Words]) -> SideEdges:
        """Return what facts of each side are, which are sorted."""
        by_target = [np.sort(swap(words)) for words in facts] if closing.has_targets else ()
        return cls(closing, tuple(facts), tuple(by_target))

    def edges(self) -> Words:
        """Return the facts of all sides, with loops if the closure is reflexive."""
        if len(self.facts) == 1 and not _loops(self.closing, NO_WORDS):
            return self.facts[0]
        known = np.unique(np.concatenate([NO_WORDS, *self.facts]))
        return np.unique(np.concatenate([known, *_loops(self.closing, known)]))

    def followed(self, edges: Words, touched: Sequence[tuple[Words, Mask]]) -> Followed:
        """Return what becomes of edges when touched facts are external, or are not."""
        changes = [
            _changes(known, words, is_external)
            for known, (words, is_external) in zip(self.facts, touched, strict=True)
        ]
        facts = tuple(replace(k, *change) for k, change in zip(self.facts, changes, strict=True))
        after = self._replace(facts=facts)
        if self.closing.has_targets:
            backwards = [tuple(np.sort(swap(each)) for each in change) for change in changes]
            pairs = zip(self.by_target, backwards, strict=True)
            after = after._replace(by_target=tuple(replace(known, *back) for known, back in pairs))
        some = np.unique(np.concatenate([NO_WORDS, *(each for c in changes for each in c)]))
        some = np.unique(np.concatenate([some, *_loops(self.closing, some)]))
        was, is_now = is_among(edges, some), after.are_edges(some)
        return Followed(after, some[was & ~is_now], some[~was & is_now])

    def are_edges(self, words: Words) -> Mask:
        """Return which pairs are external facts of some side, or loops at the ends of one."""
        found = np.zeros(words.size, np.bool_)
        for facts in self.facts:
            found |= is_among(facts, words)
        first, second = unpacked(words)
        for known in (self.facts if self.closing.has_sources else (), self.by_target):
            for facts in known:
                found |= (first == second) & firsts_among(facts, first)
        return found


class Followed(NamedTuple):
    """External facts after a change, and the edges that are lost and gained."""

    sides: SideEdges
    lost: Words
    gained: Words


def _loops(closing: ClosureSpec, words: Words) -> list[Words]:
    """Return the loops at those ends of pairs that a reflexive closure has them at."""
    ends = zip(unpacked(words), (closing.has_sources, closing.has_targets), strict=True)
    return [pack((constants, constants)) for constants, wanted in ends if wanted]


def _changes(known: Words, words: Words, is_external: Mask) -> tuple[Words, Words]:
    """Return which facts are external no longer, and which have become so, sorted."""
    was = is_among(known, words)
    return np.sort(words[was & ~is_external]), np.sort(words[~was & is_external])
