"""In which order a shape's atoms are joined, and which side of a join is broadcast.

The delta comes first, then always an atom that shares a variable with what is joined by now; of
several the one most of whose columns are known, and of these the smallest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stratalog.engine.spark.rules.shapes import Read, Shape
from stratalog.kernels.sizes import sized
from stratalog.plan.delta import Role

BROADCAST = sized(200_000, 4)  # rows: more are not sent to every executor
JOINED = sized(1_000_000, 4)  # rows that a join is thought to give, to be sent likewise
FAN_OUT = 64  # facts that may match a binding: rather too many, for they would go to the driver

_STARTS = (Role.DELTA, Role.NEGATED_DELTA)


class Step(NamedTuple):
    """One join: with an atom, or to be outside of a negated one."""

    atom: int
    absent: bool = False
    hint: str = ""
    narrowed: bool = False  # only facts that meet what is joined so far are looked at


class Extents(NamedTuple):
    """About how many rows a shape's table and each of its sources have."""

    rows: int
    reads: tuple[int, ...]
    absent: tuple[int, ...]
    repeats: tuple[int, ...]  # per atom: the most rows of the table that a fact can match


def join_steps(shape: Shape, extents: Extents) -> tuple[Step, ...]:
    """Return the joins of a shape.

    Negated atoms come as soon as their variables are known if what they name is small, else last.
    """
    known: set[int] = set()
    waiting = list(range(len(shape.absent)))
    left = extents.rows
    steps: list[Step] = []
    for place, atom in enumerate(_order(shape.reads, extents.reads)):
        args, size = shape.reads[atom].args, extents.reads[atom]
        if place:
            steps.append(Step(atom, hint=_hint(left, size)))
            left = _joined(left, size, args, known)
        else:
            steps.append(Step(atom, hint="/*+ BROADCAST(l) */"))
            left = size * extents.repeats[atom]
        known.update(args)
        steps += _small_outside(shape, extents, known, waiting)
    return (*steps, *_outside(extents, waiting, left))


def outside_steps(shape: Shape, extents: Extents) -> tuple[Step, ...]:
    """Return the checks of a shape's negated atoms alone."""
    return tuple(_outside(extents, range(len(shape.absent)), extents.rows))


def _order(reads: Sequence[Read], sizes: Sequence[int]) -> list[int]:
    """Return the atoms in the order of their joins."""
    left = list(range(len(reads)))
    order: list[int] = []
    known: set[int] = set()
    while left:
        atom = min(left, key=lambda i: _rank(reads[i], sizes[i], known))
        left.remove(atom)
        order.append(atom)
        known.update(reads[atom].args)
    return order


def _rank(read: Read, size: int, known: set[int]) -> tuple[bool, bool, int, int]:
    """Return what makes an atom a bad next one; sizes count by their order of magnitude."""
    free = {code for code in read.args if code >= 0 and code not in known}
    is_apart = bool(free) and not any(code in known for code in read.args)
    many = len(free) if known else 0
    return read.role not in _STARTS, is_apart, many, size.bit_length() // 3


def _joined(left: int, size: int, args: Sequence[int], known: set[int]) -> int:
    """Return about how many rows there are after a join; rather too many."""
    free = any(code >= 0 and code not in known for code in args)
    if not free:
        return left
    met = any(code in known for code in args)
    return left * (min(size, FAN_OUT) if met else size)


def _hint(left: int, size: int) -> str:
    """Return the hint that sends the smaller side to all, if it is small.

    Otherwise Spark sorts both sides: slower than a hash, but no key has too many facts for it.
    """
    if size <= BROADCAST and size <= left:
        return "/*+ BROADCAST(a) */"
    if left <= JOINED and left < size:
        return "/*+ BROADCAST(l) */"
    return "/*+ BROADCAST(a) */" if size <= BROADCAST else ""


def _small_outside(
    shape: Shape, extents: Extents, known: set[int], waiting: list[int]
) -> list[Step]:
    """Return the checks of small sets whose variables are known; they wait no more."""
    ready = [
        j
        for j in waiting
        if extents.absent[j] <= BROADCAST
        and all(code < 0 or code in known for code in shape.absent[j].args)
    ]
    waiting[:] = [j for j in waiting if j not in ready]
    return _outside(extents, ready, 0)


def _outside(extents: Extents, atoms: Iterable[int], left: int) -> list[Step]:
    """Return the checks of negated atoms for about `left` bindings."""
    steps = []
    for j in atoms:
        is_small = extents.absent[j] <= BROADCAST
        narrowed = not is_small and left <= JOINED
        hint = "/*+ BROADCAST(a) */" if is_small or narrowed else ""
        steps.append(Step(j, absent=True, hint=hint, narrowed=narrowed))
    return steps
