"""Join orders to plans for the interpreter.

A version of a rule becomes *segments*: runs of joins that one kernel call evaluates, divided by
the FILTERs and BINDs that are computed on whole blocks between them. Most rules have a single
segment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.index import Index
from stratalog.engine.columnar.places import Places
from stratalog.engine.columnar.relation import Relation
from stratalog.kernels.plan import steps as k
from stratalog.kernels.relation import lookups
from stratalog.lang.syntax import Argument, Atom, Bind, Filter, Predicate, Variable
from stratalog.lang.terms import Term
from stratalog.plan.delta import Role
from stratalog.plan.lower import variables_of
from stratalog.plan.steps import Compute, Read, Step

Plan = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PlanPiece:
    """Joins evaluated by one kernel, and what is computed on its output before the next segment.

    `inputs` are the variables of the table it starts from (none for the first segment), `outputs`
    those of the blocks it produces; the last segment of a rule produces the head's columns instead.
    """

    plan: Plan
    inputs: tuple[Variable, ...]
    outputs: tuple[Argument, ...]
    computed: tuple[Filter | Bind, ...]
    levels: int
    variables: int
    indexes: tuple[tuple[Relation, Index], ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """What the compiler needs to know about the engine."""

    relation: Callable[[Predicate], Relation]
    constant: Callable[[Term], int]
    table: Callable[[Role, Predicate], int]  # number of the truth table of each role
    is_large: bool  # the plan is for many facts


def compile_steps(
    steps: Sequence[Step], outputs: tuple[Argument, ...], head: int, mode: int, lookup: Lookup
) -> tuple[PlanPiece, ...]:
    """Return the segments of a join order whose last one produces `outputs`."""
    pieces = _split(steps)
    needed = _needed(pieces, outputs)
    segments = []
    known: tuple[Variable, ...] = ()
    for i, (reads, computed) in enumerate(pieces):
        last = i == len(pieces) - 1
        produced = outputs if last else _live_after(pieces[i], known, needed[i])
        compiler = _Compiler(reads, known if i > 0 else None, produced, lookup)
        segments.append(compiler.segment(head if last else -1, mode, computed))
        if not last:
            after = dict.fromkeys(v for v in produced if isinstance(v, Variable))
            after.update(dict.fromkeys(b.variable for b in computed if isinstance(b, Bind)))
            known = tuple(v for v in after if v in needed[i])
    return tuple(segments)


Piece = tuple[list[Read], tuple[Filter | Bind, ...]]


def _split(steps: Sequence[Step]) -> list[Piece]:
    """Return runs of reads, each with the computations that follow it; the last has none."""
    pieces: list[tuple[list[Read], list[Filter | Bind]]] = [([], [])]
    for step in steps:
        if isinstance(step, Compute):
            pieces[-1][1].append(step.builtin)
            continue
        if pieces[-1][1]:
            pieces.append(([], []))
        pieces[-1][0].append(step)
    if pieces[-1][1]:
        pieces.append(([], []))
    return [(reads, tuple(computed)) for reads, computed in pieces]


def _needed(pieces: Sequence[Piece], outputs: tuple[Argument, ...]) -> list[set[Variable]]:
    """Return for each piece the variables that later pieces, or the outputs, need."""
    needed = [{a for a in outputs if isinstance(a, Variable)}]
    for reads, computed in reversed(pieces[1:]):
        more = {v for read in reads for v in variables_of(read.atom)}
        needed.append(needed[-1].union(more, *(variables_of(b) for b in computed)))
    return needed[::-1]


def _live_after(
    piece: Piece, known: tuple[Variable, ...], later: set[Variable]
) -> tuple[Variable, ...]:
    """Return the variables that a piece binds or passes on, and that are needed later."""
    reads, computed = piece
    bound = dict.fromkeys((*known, *(v for read in reads for v in variables_of(read.atom))))
    needed = later.union(*(variables_of(b) for b in computed))
    return tuple(v for v in bound if v in needed)


def _divided(group: list[Read], lookup: Lookup) -> list[list[Read]]:
    """Return a group of atoms to be read together, or apart if one is read from a closure."""
    if all(lookup.relation(read.atom.predicate).view is None for read in group):
        return [group]
    # Each misses the one variable that the first of them binds.
    others = [replace(read, bound=tuple(range(len(read.atom.args)))) for read in group[1:]]
    return [[group[0]], *([read] for read in others)]


class _Compiler:
    """Compiles one segment."""

    def __init__(
        self,
        reads: list[Read],
        inputs: tuple[Variable, ...] | None,
        outputs: tuple[Argument, ...],
        lookup: Lookup,
    ) -> None:
        self._groups: list[list[Read]] = []
        for read in reads:
            self._groups.append([*self._groups.pop(), read] if read.together else [read])
        self._groups = [part for group in self._groups for part in _divided(group, lookup)]
        self._inputs = inputs
        self._outputs = outputs
        self._lookup = lookup
        self._indexes: list[tuple[Relation, Index]] = []
        uses = [{v for read in group for v in variables_of(read.atom)} for group in self._groups]
        self._uses = uses if inputs is None else [set(inputs), *uses]
        self._places = Places(self._uses, [a for a in outputs if isinstance(a, Variable)])

    def segment(self, head: int, mode: int, computed: tuple[Filter | Bind, ...]) -> PlanPiece:
        tasks: list[Callable[[], list[int]]] = [partial(self._group, g) for g in self._groups]
        if self._inputs is not None:
            tasks.insert(0, self._table_step)
        steps: list[list[int]] = []
        for task, bound in zip(tasks, self._uses, strict=True):
            self._places.begin()
            steps.append(task())
            self._places.end(bound)
        steps.append(self._output())
        plan = self._assemble(steps, head, mode)
        return PlanPiece(
            plan,
            self._inputs or (),
            self._outputs,
            computed,
            len(steps),
            max(1, self._places.size),
            tuple(self._indexes),
        )

    def _value(self, argument: Argument) -> tuple[int, int]:
        """Return (is constant, constant or slot)."""
        if isinstance(argument, Variable):
            return 0, self._places.of(argument)
        return 1, self._lookup.constant(argument)

    def _table_step(self) -> list[int]:
        places, inputs = self._places, self._inputs or ()
        needed = [(i, v) for i, v in enumerate(inputs) if places.is_needed(v)]
        binds = [x for i, v in needed for x in (i, places.of(v))]
        return [k.SCAN_TABLE, 0, 0, 0, 0, len(binds) // 2, 0, 0, *binds]

    def _group(self, group: list[Read]) -> list[int]:
        return self._meet(group) if group[1:] else self._step(group[0])

    def _meet(self, group: list[Read]) -> list[int]:
        """Return a step that binds the one variable that all atoms of a group miss."""
        places = self._places
        (variable,) = {v for v in variables_of(group[0].atom) if v not in places.bound}
        copies = places.copies()
        record = [k.MEET, len(group), places.of(variable), 0, 0, 0, 0, len(copies), *copies]
        atoms: list[int] = []
        for read in group:
            record.append(k.LISTS + len(copies) + len(group) + len(atoms))
            atoms += self._met_atom(read, variable)
        return record + atoms

    def _met_atom(self, read: Read, variable: Variable) -> list[int]:
        relation = self._lookup.relation(read.atom.predicate)
        index = relation.index(read.bound)
        index.count(relation, is_large=self._lookup.is_large)
        self._indexes.append((relation, index))
        table = self._lookup.table(read.role, relation.predicate)
        record = [relation.number, index.number, table]
        for argument in read.atom.args:
            record += (lookups.MET, 0) if argument == variable else self._value(argument)
        return record

    def _step(self, read: Read) -> list[int]:
        relation = self._lookup.relation(read.atom.predicate)
        operation, keys, index = self._access(read, relation)
        binds, checks = self._columns(read.atom, set(keys))
        copies = self._places.copies()
        if operation in {k.MEMBER, k.ABSENT}:
            keys, binds, checks = tuple(range(relation.arity)), [], []
        key_values = [x for c in keys for x in self._value(read.atom.args[c])]
        record = [
            operation,
            relation.number,
            index,
            self._lookup.table(read.role, relation.predicate),
        ]
        record += [len(keys), len(binds) // 2, len(checks) // 3, len(copies)]
        return record + key_values + binds + checks + copies

    def _access(self, read: Read, relation: Relation) -> tuple[int, tuple[int, ...], int]:
        """Return the operation, its key columns and the number of the index."""
        if read.role is Role.DELTA and not read.bound:
            return k.SCAN_DELTA, (), 0
        if read.role is Role.NEGATED_DELTA:
            return k.SCAN_NEGATED_DELTA, (), 0
        if read.negated:
            return k.ABSENT, (), 0
        access = relation.access(read.bound)
        if access.index is None:
            return access.operation, access.keys, 0
        self._indexes.append((relation, access.index))
        return access.operation, access.keys, access.index.number

    def _columns(self, atom: Atom, keys: set[int]) -> tuple[list[int], list[int]]:
        """Return which columns bind variables, and which must agree with something."""
        binds: list[int] = []
        checks: list[int] = []
        first: dict[Variable, int] = {}
        for column, argument in enumerate(atom.args):
            if column in keys:
                continue
            if not isinstance(argument, Variable):
                checks += [column, k.CHECK_CONSTANT, self._lookup.constant(argument)]
            elif argument in self._places.bound:
                checks += [column, k.CHECK_VARIABLE, self._places.of(argument)]
            elif argument in first:
                checks += [column, k.CHECK_COLUMN, first[argument]]
            else:
                first[argument] = column
                if self._places.is_needed(argument):
                    binds += [column, self._places.of(argument)]
        return binds, checks

    def _output(self) -> list[int]:
        return [len(self._outputs), *(x for a in self._outputs for x in self._value(a))]

    def _assemble(self, steps: list[list[int]], head: int, mode: int) -> Plan:
        header = [len(steps) - 1, max(1, self._places.size), head, mode]
        at = len(header) + len(steps)
        offsets = []
        for step in steps:
            offsets.append(at)
            at += len(step)
        return np.array(header + offsets + [x for step in steps for x in step], np.int64)
