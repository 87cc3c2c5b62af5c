"""Rules evaluated from their heads, and groups of aggregates recomputed.

Both join what to start from, heads or the keys of groups, to the body of a rule: the start is one
more atom before the body, read as a delta.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.planned import CompiledVersion
from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.facts.engine import Bodies, Regrouped
from stratalog.facts.sets import Batch, FactSet
from stratalog.kernels import memory
from stratalog.kernels.plan import interpreter as k
from stratalog.lang.syntax import Argument, Atom, Predicate, Variable
from stratalog.plan.delta import Version, versions
from stratalog.plan.lower import variables_of
from stratalog.plan.rules import PlannedRule

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

EXAMINED = 8  # instances per head to choose from, on average, where only some are asked for

Block = npt.NDArray[np.uint32]
Places = npt.NDArray[np.signedinteger[Any]]
Found = defaultdict[int, list[Ids]]
"""Rows by relation number."""


@dataclass(frozen=True, slots=True)
class _Search:
    """What is looked for backwards, and the rows found so far."""

    within: tuple[FactSet, FactSet]
    wanted: FactSet
    limit: int | None
    derived: Found = field(default_factory=lambda: defaultdict(list))
    facts: Found = field(default_factory=lambda: defaultdict(list))
    unfinished: Found = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True)
class _Instances:
    """Instances of a rule that derive given heads: the row of the head, and of each body atom."""

    heads: Ids
    bodies: tuple[tuple[Relation, Ids], ...]
    are_all: bool


class Backward:
    """Evaluates rules from their heads on an engine's relations."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._versions: dict[tuple[int, str], tuple[Version, ...]] = {}
        self._plans: dict[tuple[Version, FactSet, FactSet], CompiledVersion] = {}

    def forget(self, which: Callable[[PlannedRule], bool]) -> None:
        """Let go of the plans of some rules."""
        self._plans = {key: p for key, p in self._plans.items() if not which(key[0].rule)}

    def bodies_of(
        self,
        rules: Sequence[PlannedRule],
        heads: Batch,
        within: tuple[FactSet, FactSet],
        wanted: FactSet,
        limit: int | None,
    ) -> Bodies:
        """Return the heads that some instance derives, and the wanted facts of their bodies."""
        search = _Search(within, wanted, limit)
        for relation, rows in self._engine.parts(heads):
            for rule in rules:
                if rule.head.predicate == relation.predicate and rule.grouping is None:
                    self._examine(rule, relation, rows, search)
        facts = self._engine.settle(_batch(search.facts) & wanted)
        return Bodies(_batch(search.derived), facts, _batch(search.unfinished))

    def _examine(self, rule: PlannedRule, relation: Relation, heads: Ids, search: _Search) -> None:
        """Find instances of a rule that derive one of the heads.

        With a limit, heads are taken a block at a time: only within a block does the interpreter
        go from head to head before it looks for a second instance.
        """
        size = heads.size if search.limit is None else k.BLOCK
        for begin in range(0, heads.size, size):
            some = heads[begin : begin + size]
            found = self._instances(rule, ColumnarBatch({relation.number: some}), search)
            if search.limit is not None:
                order, place = self._ranked(found, search)
                others = found.heads[order[place == search.limit]] if found.are_all else some
                search.unfinished[relation.number].append(others)
                found = _only(found, order[place < search.limit])
            search.derived[relation.number].append(found.heads)
            for body, rows in found.bodies:
                search.facts[body.number].append(rows)

    def _instances(self, rule: PlannedRule, heads: ColumnarBatch, search: _Search) -> _Instances:
        """Return the instances that derive the heads: all, or enough of them."""
        version = self._starting(rule, rule.head, "head")
        outputs = tuple(dict.fromkeys(v for a in version.rule.body for v in variables_of(a)))
        enough = None if search.limit is None else max(search.limit, EXAMINED) * len(heads)
        body = [a for a in dict.fromkeys(rule.body) if self._is_wanted(a.predicate, search)]
        atoms = rule.head, *body
        found: list[list[Ids]] = [[np.empty(0, np.uint32)] for _ in atoms]
        met = 0
        are_all = True
        with self._engine.deltas(heads):
            plan = self._plan(version, outputs, *search.within)
            for block in self._engine.blocks(plan, small=enough is not None and plan.is_join):
                if enough is not None and met >= enough:
                    are_all = False
                    break
                met += block.shape[1]
                columns = dict(zip(outputs, block, strict=True))
                for atom, rows in zip(atoms, found, strict=True):
                    rows.append(self._rows_of(atom, columns, block.shape[1]))
        of_head, *of_body = (np.concatenate(rows) for rows in found)
        relations = (self._engine.relation(atom.predicate) for atom in body)
        return _Instances(of_head, tuple(zip(relations, of_body, strict=True)), are_all)

    def _is_wanted(self, predicate: Predicate, search: _Search) -> bool:
        """Return whether a fact of a predicate can be among those that are wanted."""
        return bool(self._engine.sets.table(search.wanted, predicate).any())

    def _ranked(self, found: _Instances, search: _Search) -> tuple[Places, Places]:
        """Return the instances by head, those first that promise most; and the place of each.

        Rows are numbered as they come: what a fact first followed from is older than the fact, so
        the instance of the oldest facts leads into no cycle. Facts that are not wanted come last.
        """
        ages = np.zeros(found.heads.size)
        for relation, rows in found.bodies:
            is_wanted = self._engine.sets.table(search.wanted, relation.predicate)
            age = np.where(is_wanted[relation.labels[rows]], rows / max(1, relation.rows), 1.0)
            np.maximum(ages, age, out=ages)
        order = np.lexsort((ages, found.heads))
        heads = found.heads[order]
        begins = np.flatnonzero(np.concatenate([[True], heads[1:] != heads[:-1]]))
        sizes = np.diff(np.append(begins, heads.size))
        return order, np.arange(heads.size) - np.repeat(begins, sizes)

    def _rows_of(self, atom: Atom, columns: dict[Variable, Ids], size: int) -> Ids:
        relation = self._engine.relation(atom.predicate)
        return relation.find(self._filled(atom, columns, size), size)

    def _filled(self, atom: Atom, columns: dict[Variable, Ids], size: int) -> Block:
        """Return the arguments of an atom for each binding."""
        block = np.empty((len(atom.args), size), np.uint32)
        for place, arg in enumerate(atom.args):
            block[place] = columns[arg] if isinstance(arg, Variable) else self._engine.constant(arg)
        return block

    def _starting(self, rule: PlannedRule, start: Atom, kind: str) -> Version:
        """Return the rule with one more atom, to start from; kept, for its plans are."""
        key = rule.index, kind
        if key not in self._versions:
            self._versions[key] = (Version(replace(rule, body=(start, *rule.body)), 0),)
        return self._versions[key][0]

    def _plan(
        self, version: Version, outputs: tuple[Argument, ...], pos: FactSet, neg: FactSet
    ) -> CompiledVersion:
        key = version, pos, neg
        known = self._plans.get(key)
        if known is None or self._engine.planner.is_outdated(known):
            known = self._plans[key] = self._engine.planner.for_bindings(version, outputs, pos, neg)
        return known

    # -- aggregates

    def regroup(
        self,
        rules: Sequence[PlannedRule],
        old: FactSet,
        new: FactSet,
        lost: Batch,
        gained: Batch,
    ) -> Regrouped:
        """Return the facts of aggregates that changed, and those that hold instead."""
        changed = self._engine.predicates_of(lost) | self._engine.predicates_of(gained)
        before: Found = defaultdict(list)
        after: Found = defaultdict(list)
        for rule in rules:
            reads = {atom.predicate for atom in (*rule.body, *rule.negated)}
            if rule.grouping is not None and changed & reads:
                keys = self._keys(rule, ((old, lost, gained), (new, gained, lost)))
                head = self._engine.relation(rule.head.predicate)
                before[head.number].append(self._stored(rule, keys, old))
                after[head.number].append(self._recomputed(rule, keys, new))
        old_facts, new_facts = _batch(before), _batch(after)
        settle = self._engine.settle
        return Regrouped(settle(old_facts - new_facts), settle(new_facts - old_facts))

    def _keys(
        self, rule: PlannedRule, changes: Iterable[tuple[FactSet, Batch, Batch]]
    ) -> tuple[Atom, ColumnarBatch]:
        """Return an atom whose facts are the groups with an instance that came or went."""
        group = rule.grouping.group if rule.grouping else ()
        keys = Atom(Predicate(f"$keys {rule.index}", len(group)), group)
        found: Found = defaultdict(list)
        for described, positive, negative in changes:
            with self._engine.deltas(positive, negative) as met:
                for version in self._ungrouped(rule):
                    atoms = version.rule.negated if version.negative else version.rule.body
                    if atoms[version.start or 0].predicate not in met[version.negative]:
                        continue
                    plan = self._plan(version, group, described, described)
                    for block in self._engine.blocks(plan):
                        batch = self._engine.store(keys.predicate, block, block.shape[1])
                        for number, rows in batch.rows.items():
                            found[number].append(rows)
        return keys, _batch(found)

    def _ungrouped(self, rule: PlannedRule) -> tuple[Version, ...]:
        key = rule.index, "ungrouped"
        if key not in self._versions:
            self._versions[key] = versions(replace(rule, grouping=None))
        return self._versions[key]

    def _stored(self, rule: PlannedRule, keys: tuple[Atom, ColumnarBatch], old: FactSet) -> Ids:
        """Return the rows of the groups' facts so far."""
        atom, batch = keys
        key = rule.index, "stored"
        if key not in self._versions:
            looked_up = PlannedRule(rule.index, rule.head, (atom, rule.head))
            self._versions[key] = (Version(looked_up, 0),)
        return self._rows(self._versions[key][0], rule.head, batch, old)

    def _recomputed(self, rule: PlannedRule, keys: tuple[Atom, ColumnarBatch], new: FactSet) -> Ids:
        """Return the rows of the groups' facts from now on, stored."""
        atom, batch = keys
        return self._rows(self._starting(rule, atom, "groups"), rule.head, batch, new)

    def _rows(self, version: Version, head: Atom, start: ColumnarBatch, described: FactSet) -> Ids:
        """Return the rows of the heads of instances that begin with one of the facts."""
        relation: Relation = self._engine.relation(head.predicate)
        found = [np.empty(0, np.uint32)]
        with self._engine.deltas(start):
            for block in self._engine.blocks(self._plan(version, head.args, described, described)):
                batch = self._engine.store(relation.predicate, block, block.shape[1])
                found += batch.rows.values()
        return np.concatenate(found)


def _only(found: _Instances, chosen: Places) -> _Instances:
    bodies = tuple((relation, rows[chosen]) for relation, rows in found.bodies)
    return _Instances(found.heads[chosen], bodies, found.are_all)


def _batch(found: Found) -> ColumnarBatch:
    rows = {n: np.unique(np.concatenate(parts)) for n, parts in found.items()}
    stored = {n: r[r != np.uint32(memory.NULL)] for n, r in rows.items()}
    return ColumnarBatch({n: r for n, r in stored.items() if r.size})
