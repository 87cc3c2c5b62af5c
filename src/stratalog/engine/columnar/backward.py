"""Rules evaluated from their heads, and groups of aggregates recomputed.

Both join what to start from, heads or the keys of groups, to the body of a rule: the start is one
more atom before the body, read as a delta.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.planned import Planned
from stratalog.engine.columnar.relation import Ids, Relation
from stratalog.facts.engine import Bodies, Regrouped
from stratalog.facts.sets import Batch, FactSet
from stratalog.kernels import memory
from stratalog.lang.syntax import Argument, Atom, Predicate, Variable
from stratalog.plan.delta import Version, versions
from stratalog.plan.lower import variables_of
from stratalog.plan.rules import PlannedRule

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

Block = npt.NDArray[np.uint32]
Found = defaultdict[int, list[Ids]]
"""Rows by relation number."""


class Backward:
    """Evaluates rules from their heads on an engine's relations."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._versions: dict[tuple[int, str], tuple[Version, ...]] = {}
        self._plans: dict[tuple[Version, FactSet, FactSet], Planned] = {}

    def bodies_of(
        self,
        rules: Sequence[PlannedRule],
        heads: Batch,
        within: tuple[FactSet, FactSet],
        wanted: FactSet,
        limit: int | None,
    ) -> Bodies:
        """Return the heads that some instance derives, and the wanted facts of their bodies."""
        given = self._engine.predicates_of(heads)
        derived: Found = defaultdict(list)
        bodies: Found = defaultdict(list)
        are_all = True
        for rule in rules:
            if rule.head.predicate in given and rule.grouping is None:
                are_all &= self._instances(rule, heads, within, (derived, bodies), limit)
        return Bodies(_batch(derived), self._engine.settle(_batch(bodies) & wanted), are_all)

    def _instances(
        self,
        rule: PlannedRule,
        heads: Batch,
        within: tuple[FactSet, FactSet],
        found: tuple[Found, Found],
        limit: int | None,
    ) -> bool:
        """List the rows of the heads and of the bodies of a rule's instances; return if of all.

        A probe takes one row for each head in turn, so that the first instances are of all heads.
        """
        version = self._starting(rule, rule.head, "head")
        outputs = tuple(dict.fromkeys(v for a in version.rule.body for v in variables_of(a)))
        batch = _only(self._engine, heads, rule.head.predicate)
        enough = None if limit is None else limit * len(batch)
        met = 0
        with self._engine.deltas(batch):
            plan = self._plan(version, outputs, *within)
            for block in self._engine.blocks(plan, small=limit is not None):
                if enough is not None and met >= enough:
                    return False
                met += block.shape[1]
                columns = dict(zip(outputs, block, strict=True))
                self._find(rule.head, columns, block.shape[1], found[0])
                for atom in rule.body:
                    self._find(atom, columns, block.shape[1], found[1])
        return True

    def _find(self, atom: Atom, columns: dict[Variable, Ids], size: int, found: Found) -> None:
        relation = self._engine.relation(atom.predicate)
        found[relation.number].append(relation.find(self._filled(atom, columns, size), size))

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
    ) -> Planned:
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


def _only(engine: ColumnarEngine, batch: Batch, predicate: Predicate) -> ColumnarBatch:
    relation = engine.relation(predicate)
    return ColumnarBatch({r.number: rows for r, rows in engine.parts(batch) if r is relation})


def _batch(found: Found) -> ColumnarBatch:
    rows = {n: np.unique(np.concatenate(parts)) for n, parts in found.items()}
    stored = {n: r[r != np.uint32(memory.NULL)] for n, r in rows.items()}
    return ColumnarBatch({n: r for n, r in stored.items() if r.size})
