"""Near versions of rules applied in the driver: no action, if what they name was looked up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stratalog.engine.columnar.relation import NONE
from stratalog.engine.spark.near import (
    Encoded,
    Ids,
    Instances,
    Near,
    Paths,
    instances,
    near_version,
)
from stratalog.engine.spark.overlay import ABSENT, UNKNOWN
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Predicate
from stratalog.plan.delta import Role, Version

if TYPE_CHECKING:
    from stratalog.engine.columnar.batch import ColumnarBatch
    from stratalog.engine.spark.deriving import Change, Derived, Deriving, Head
    from stratalog.engine.spark.fetching import Fetching
    from stratalog.engine.spark.overlay import Mask, Overlay
    from stratalog.engine.spark.reading import Meaning

MOST = sized(1_000_000, 20)  # facts that instances may name, to be found here


class Nearby:
    """Finds the instances of near versions that begin with facts of the overlay."""

    def __init__(
        self, overlay: Overlay, fetching: Fetching, deriving: Deriving, paths: Paths
    ) -> None:
        self._overlay = overlay
        self._fetching = fetching
        self._deriving = deriving
        self._constant = paths.constant

    def divided(
        self, versions: Sequence[Version], meanings: Mapping[Role, Meaning]
    ) -> tuple[list[Near], list[Version]]:
        """Return the versions that are near, in an update and unless they name much, and others."""
        if not self._fetching.is_updating:
            return [], list(versions)
        found = [near_version(version) for version in versions]
        chosen = [near for near in found if near is not None]
        if sum(len(near.others) * self._rows(near, meanings).size for near in chosen) > MOST:
            return [], list(versions)
        return chosen, [v for v, near in zip(versions, found, strict=True) if near is None]

    def derived(
        self, found: Sequence[Near], meanings: Mapping[Role, Meaning], change: Change
    ) -> Derived:
        """Enter what versions derive, and count it."""
        met = self._met(found, meanings)
        heads = [each.filled(near.head, self._constant) for near, each in met]
        return self._deriving.counted(self._entered(heads), change)

    def proved(
        self, found: Sequence[Near], meanings: Mapping[Role, Meaning]
    ) -> tuple[ColumnarBatch, ColumnarBatch]:
        """Return the starts of versions that have an instance, and the facts that they read."""
        met = self._met(found, meanings)
        starts = [each.filled(near.start, self._constant) for near, each in met]
        read = [each.filled(a, self._constant) for near, each in met for _, a in near.reads]
        return self._fetching.find(starts), self._fetching.find(read)

    def _met(
        self, found: Sequence[Near], meanings: Mapping[Role, Meaning]
    ) -> list[tuple[Near, Instances]]:
        """Return all instances of versions; one action at most."""
        begun = [(near, each) for near in found if (each := self._started(near, meanings)).size]
        self._fetching.know(
            [each.filled(atom, self._constant) for near, each in begun for atom in near.others]
        )
        return [
            (near, each.chosen(kept))
            for near, each in begun
            if (kept := self._holding(near, each, meanings)).any()
        ]

    def _started(self, near: Near, meanings: Mapping[Role, Meaning]) -> Instances:
        """Return the instances whose start is in the delta."""
        rows = self._rows(near, meanings)
        columns = self._overlay.columns_of(near.start.predicate, rows)
        return instances(near.start, columns, rows.size, self._constant)

    def _rows(self, near: Near, meanings: Mapping[Role, Meaning]) -> Ids:
        """Return the rows of the delta that have the start's predicate."""
        relation = self._overlay.relation(near.start.predicate)
        return meanings[near.delta].delta.local.rows.get(relation.number, NONE)

    def _holding(self, near: Near, each: Instances, meanings: Mapping[Role, Meaning]) -> Mask:
        """Return which instances have all their atoms, and none of those they must not have."""
        kept = np.ones(each.size, np.bool_)
        for role, atom in near.reads:
            kept &= self._is_in(each.filled(atom, self._constant), meanings[role])
        for role, atom in near.absent:
            kept &= ~self._is_in(each.filled(atom, self._constant), meanings[role])
        return kept

    def _is_in(self, facts: Encoded, meaning: Meaning) -> Mask:
        """Return which facts are in the set that a role stands for."""
        predicate, columns, size = facts
        described = meaning.described
        if described is None:
            raise TypeError("only a start is read from a delta alone")
        relation = self._overlay.relation(predicate)
        rows = relation.find(columns, size)
        is_here = rows != UNKNOWN
        words = self._fetching.words(facts)
        words[is_here] = relation.labels[rows[is_here]]
        held = (words != ABSENT) & self._overlay.sets.table(described, predicate)[words]
        delta = meaning.delta.local.rows.get(relation.number)
        if delta is not None:
            held[np.isin(rows, delta)] = meaning.sign > 0
        found: Mask = held
        return found

    def _entered(self, heads: Sequence[Encoded]) -> Iterator[Head]:
        """Yield the rows of heads, each once, with how many instances derive it."""
        self._fetching.find(heads, store=True)
        found: dict[Predicate, list[np.ndarray]] = defaultdict(list)
        for predicate, columns, size in heads:
            found[predicate].append(self._overlay.relation(predicate).find(columns, size))
        for predicate, parts in found.items():
            rows, n = np.unique(np.concatenate(parts), return_counts=True)
            yield predicate, rows, n.astype(np.int64)
