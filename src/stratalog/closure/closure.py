"""The closure of a binary relation, before and after a change of its edges, never spelled out.

A pair (x, z) is in the closure of seeds under steps if zero or more steps lead from x to some x'
with a seed (x', z). In a plain transitive closure the edges are both. In a symmetric one, edges
lead both ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from stratalog.closure.bit_rows import BitRows
from stratalog.closure.change import ChangedPairs
from stratalog.closure.components import Components
from stratalog.closure.edges import Columns
from stratalog.closure.nodes import Ids
from stratalog.closure.representation import EdgeKind, TooLargeError
from stratalog.kernels.arrays import zeros
from stratalog.kernels.closure import read as closure_read
from stratalog.kernels.closure.read import GAINED, KEPT, LOST
from stratalog.kernels.sizes import sized

__all__ = ["GAINED", "KEPT", "LOST", "Closure", "TooLargeError"]

BUDGET_BYTES = sized(1 << 30, 1 << 12)  # bytes of rows
BLOCK = sized(1 << 22, 5)  # pairs that are listed at once
ALL = LOST | KEPT | GAINED

_PLAIN = (EdgeKind(0, 0),)
_SEEDS_AND_STEPS = (EdgeKind(0, 1), EdgeKind(0, 0, is_counted=False))
_REVERSED = (EdgeKind(0, 1), EdgeKind(1, 1))
_NO_EDGES: Columns = np.empty(0, np.uint32), np.empty(0, np.uint32)

Change = tuple[list[Columns], list[Columns]]  # edges of each kind that go, and that come


class Closure:
    """All pairs of a closure in two versions; edges change the one that is called `after`."""

    def __init__(
        self, *, symmetric: bool = False, linear: bool = False, budget: int = BUDGET_BYTES
    ) -> None:
        self._budget = budget
        self._is_linear = linear
        self._log: list[Change] = []
        self._forward: BitRows | Components
        self._backward: BitRows | Components | None = None
        if symmetric:
            self._forward = self._backward = Components(budget)
        else:
            self._forward = BitRows(_SEEDS_AND_STEPS if linear else _PLAIN, budget)

    @property
    def descriptor(self) -> npt.NDArray[np.int64]:
        """What kernels read it by; its contents hold until edges change or a change is settled."""
        return self._forward.descriptor

    @property
    def backward_descriptor(self) -> npt.NDArray[np.int64]:
        """The same with first and second constants exchanged."""
        return self._reverse().descriptor

    def turn(self) -> None:
        """Keep the closure by second constants too, from now on, unless that is too large."""
        self._reverse()

    @property
    def nbytes(self) -> int:
        """Bytes of all that is stored."""
        return sum(form.nbytes for form in self._forms())

    def change(
        self,
        lost: Columns,
        gained: Columns,
        lost_steps: Columns | None = None,
        gained_steps: Columns | None = None,
    ) -> None:
        """Take edges from the version after and add others.

        Edges are distinct; those lost are there, those gained are not. Steps are given where seeds
        are not steps too. Where the closure becomes too large, all since the last commit is undone.
        """
        change: Change = ([_copied(lost)], [_copied(gained)])
        if self._is_linear:
            change[0].append(_copied(lost_steps or _NO_EDGES))
            change[1].append(_copied(gained_steps or _NO_EDGES))
        self._apply(change)
        self._log.append(change)

    def _apply(self, change: Change) -> None:
        lost, gained = change
        try:
            self._forward.change(lost, gained)
            if self._backward is not None and self._backward is not self._forward:
                self._backward.change(_turned(lost), _turned(gained))
        except TooLargeError:
            self._log.append(change)  # the edges have changed
            if self._backward is not self._forward:
                self._backward = None  # made anew when it is next needed
            self.roll_back()
            raise

    def commit(self) -> None:
        """Make the version before what that after is."""
        self._log.clear()
        is_symmetric = self._backward is self._forward
        self._forward = _settled(self._forward)
        if is_symmetric:
            self._backward = self._forward
        elif self._backward is not None:
            self._backward = _settled(self._backward)

    def savepoint(self) -> int:
        """Return what `roll_back` takes to come back to this state, until the next commit."""
        return len(self._log)

    def roll_back(self, to: int = 0) -> None:
        """Make the version after what it was at a savepoint, or what that before is."""
        if to > 0:
            while len(self._log) > to:
                lost, gained = self._log[-1]
                self._apply((gained, lost))
                self._log.pop()
        elif self._log:
            lost, gained = _sum_up(self._log)
            self._log.clear()
            self._forward.roll_back(gained, lost)
            if self._backward is not None and self._backward is not self._forward:
                self._backward.roll_back(_turned(gained), _turned(lost))

    def size(self, regions: int) -> int:
        """Return how many pairs there are in some regions."""
        lost, kept, gained = self._forward.sizes()
        chosen = ((LOST, lost), (KEPT, kept), (GAINED, gained))
        return sum(count for region, count in chosen if regions & region)

    def regions_of(self, sources: Ids, targets: Ids) -> npt.NDArray[np.uint8]:
        """Return the region of each pair, 0 where it holds neither before nor after."""
        regions = np.empty(sources.size, np.uint8)
        closure_read.find_regions(self.descriptor, *_ready((sources, targets)), regions)
        return regions

    def pairs(self, regions: int) -> Iterator[Columns]:
        """Yield all pairs of some regions in blocks."""
        left = self.size(regions)
        state = np.zeros(closure_read.SCAN_STATE, np.int64)
        while left > 0:
            count = min(left, BLOCK)
            block = zeros(2 * count, np.uint32)
            sources, targets = block[:count], block[count:]
            closure_read.closure_scan(self.descriptor, regions, state, sources, targets, 0, count)
            yield sources, targets
            left -= count

    def columns(self, regions: int) -> Columns:
        """Return all pairs of some regions."""
        count = self.size(regions)
        block = zeros(2 * count, np.uint32)
        sources, targets = block[:count], block[count:]
        state = np.zeros(closure_read.SCAN_STATE, np.int64)
        closure_read.closure_scan(self.descriptor, regions, state, sources, targets, 0, count)
        return sources, targets

    def frozen(self, regions: int) -> ChangedPairs:
        """Return the pairs that were lost, gained or both, whatever changes later."""
        return self._forward.frozen(regions, self.size(regions))

    @property
    def is_symmetric(self) -> bool:
        """Whether edges lead both ways."""
        return self._backward is self._forward

    @property
    def nodes(self) -> int:
        """How many constants there are in edges, or were."""
        return self._forward.nodes.size

    def forward(self, sources: Ids, regions: int) -> Columns:
        """Return which of some first constants, and the second one, for all pairs of theirs."""
        return _list_pairs(self.descriptor, sources, regions)

    def backward(self, targets: Ids, regions: int) -> Columns:
        """Return which of some second constants, and the first one, for all pairs of theirs."""
        return _list_pairs(self.backward_descriptor, targets, regions)

    def _forms(self) -> list[BitRows | Components]:
        if self._backward is None or self._backward is self._forward:
            return [self._forward]
        return [self._forward, self._backward]

    def _reverse(self) -> BitRows | Components:
        """Return the closure with first and second constants exchanged, made when first needed."""
        if self._backward is None:
            lost, gained = _sum_up(self._log)
            edges = self._forward.spell_edges()
            before = (
                [
                    _without(edge, new, old)
                    for edge, new, old in zip(edges, gained, lost, strict=True)
                ]
                if lost
                else edges
            )
            reverse = BitRows(_REVERSED if self._is_linear else _PLAIN, self._budget)
            reverse.change([_NO_EDGES] * len(edges), _turned(before))
            reverse.commit()
            if lost:
                reverse.change(_turned(lost), _turned(gained))
            self._backward = reverse
        return self._backward


def _settled(form: BitRows | Components) -> BitRows | Components:
    """Commit a form; return it, or one made anew where that is due and not too large."""
    form.commit()
    if not form.is_stale:
        return form
    try:
        return form.renewed()
    except TooLargeError:
        form.keep()
        return form


def _copied(edges: Columns) -> Columns:
    """Return columns that stay as they are, so that they can be gone back over."""
    return np.array(edges[0], np.uint32), np.array(edges[1], np.uint32)


def _ready(edges: Columns) -> Columns:
    """Return columns of the one kind that kernels are compiled for."""
    sources, targets = (np.require(ids, np.uint32, ["C", "W"]) for ids in edges)
    return sources, targets


def _turned(edges: Sequence[Columns]) -> list[Columns]:
    return [(targets, sources) for sources, targets in edges]


def _packed(edges: Columns) -> npt.NDArray[np.uint64]:
    return edges[0].astype(np.uint64) << np.uint64(32) | edges[1]


def _unpacked(edges: npt.NDArray[np.uint64]) -> Columns:
    return (edges >> np.uint64(32)).astype(np.uint32), edges.astype(np.uint32)


def _sum_up(changes: Sequence[Change]) -> Change:
    """Return one change that does the same as several."""
    if not changes:
        return [], []
    if len(changes) == 1:
        return changes[0]
    lost, gained = [], []
    for number in range(len(changes[0][0])):
        edges = [_packed(change[come][number]) for change in changes for come in (0, 1)]
        signs = np.repeat(np.resize(np.array([-1, 1]), len(edges)), [e.size for e in edges])
        distinct, places = np.unique(np.concatenate(edges), return_inverse=True)
        sums = np.bincount(places, signs, distinct.size)
        lost.append(_unpacked(distinct[sums < 0]))
        gained.append(_unpacked(distinct[sums > 0]))
    return lost, gained


def _without(edges: Columns, new: Columns, old: Columns) -> Columns:
    """Return edges without the new ones and with the old ones."""
    stayed = np.setdiff1d(_packed(edges), _packed(new), assume_unique=True)
    return _unpacked(np.concatenate([stayed, _packed(old)]))


def _list_pairs(descriptor: npt.NDArray[np.int64], keys: Ids, regions: int) -> Columns:
    keys, _ = _ready((keys, keys[:0]))
    counts = np.empty(keys.size, np.int64)
    closure_read.count_pairs(descriptor, keys, regions, counts)
    block = zeros(2 * int(counts.sum()), np.uint32)
    origins, found = block[: block.size // 2], block[block.size // 2 :]
    closure_read.list_pairs(descriptor, keys, regions, counts, origins, found)
    return origins, found
