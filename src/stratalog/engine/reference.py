"""The reference engine: Python dictionaries and the operators' definitions, read literally.

Slow and obvious on purpose. It shares no evaluation with the columnar engine: no delta versions,
no join orders, no indexes. An instance belongs to Π[Iᵖ, Iⁿ : Δᵖ, Δⁿ] if its definition says so,
and is met once because every substitution is tried once.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from stratalog.facts.counts import Count
from stratalog.facts.engine import Bodies, BudgetSpentError, Regrouped, WithoutClosures
from stratalog.facts.labels import E, I
from stratalog.facts.sets import Batch, FactSet, Label, Meet, Minus, Over, Supported, Union
from stratalog.facts.terms import Terms
from stratalog.lang import effort
from stratalog.lang.builtins.functions import ExpressionError, evaluate, holds
from stratalog.lang.reductions import reduce_terms
from stratalog.lang.syntax import Atom, Bind, Filter, Predicate, Variable
from stratalog.lang.terms import Term
from stratalog.plan.lower import expression_variables
from stratalog.plan.rules import Grouping, PlannedRule
from stratalog.runtime.limits import Limits

CHECKED = 1 << 10  # substitutions tried, between which limits are looked at

Fact = tuple[Predicate, tuple[Term, ...]]
Binding = dict[Variable, Term]


@dataclass(slots=True)
class Entry:
    """What is stored with a fact."""

    labels: int = 0
    counts: list[int] = field(default_factory=lambda: [0, 0])

    def copy(self) -> Entry:
        return Entry(self.labels, list(self.counts))


Stored = dict[Predicate, dict[tuple[Term, ...], Entry]]


class FactBatch(Batch):
    """Evaluated facts."""

    __slots__ = ("facts",)

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.facts = frozenset(facts)

    def __len__(self) -> int:
        return len(self.facts)


class ReferenceEngine(WithoutClosures):
    """Facts in dictionaries of this process."""

    def __init__(self, terms: Terms, limits: Limits | None = None) -> None:
        self.terms = terms
        self.limits = limits or Limits()
        self.stored: Stored = defaultdict(dict)
        self.before: Stored | None = None  # what was stored at `begin`
        self._moments: list[Stored] = []  # and at each savepoint since
        self._work = 0
        self._most_work: int | None = None
        self._deadline = inf
        self.derivations: dict[int, int] = defaultdict(int)  # by the rule's index

    def load(self, predicate: Predicate, facts: Iterable[tuple[Term, ...]]) -> None:
        """Store explicit facts: marked E, C_nr one higher than before if they were not explicit."""
        for args in facts:
            entry = self.stored[predicate].setdefault(args, Entry())
            if not self.is_in((predicate, args), E):
                entry.labels |= 1 << E.bit
                entry.counts[Count.NONRECURSIVE.value] += 1

    def is_in(self, fact: Fact, described: FactSet) -> bool:
        """Return whether a fact belongs to a set."""
        match described:
            case Label(bit=bit):
                entry = self.stored[fact[0]].get(fact[1])
                return entry is not None and bool(entry.labels >> bit & 1)
            case Over(predicates):
                return fact[0] in predicates
            case Supported(count):
                entry = self.stored[fact[0]].get(fact[1])
                return entry is not None and entry.counts[count.value] > 0
            case FactBatch():
                return fact in described.facts
            case Union(left, right):
                return self.is_in(fact, left) or self.is_in(fact, right)
            case Meet(left, right):
                return self.is_in(fact, left) and self.is_in(fact, right)
            case Minus(left, right):
                return self.is_in(fact, left) and not self.is_in(fact, right)
        raise TypeError(f"no reading of {described!r}")

    def settle(self, described: FactSet) -> FactBatch:
        known = ((p, args) for p, facts in self.stored.items() for args in facts)
        return FactBatch(fact for fact in known if self.is_in(fact, described))

    def store(self, facts: Iterable[Fact]) -> FactBatch:
        """Return the facts as a batch; those that are new are stored without a mark."""
        batch = FactBatch(facts)
        for predicate, args in batch.facts:
            self.stored[predicate].setdefault(args, Entry())
        return batch

    def predicates_of(self, batch: Batch) -> frozenset[Predicate]:
        return frozenset(predicate for predicate, _ in _facts(batch))

    def mark(self, batch: Batch, label: Label) -> None:
        for predicate, args in _facts(batch):
            self.stored[predicate][args].labels |= 1 << label.bit

    def unmark(self, batch: Batch, label: Label) -> None:
        for predicate, args in _facts(batch):
            self.stored[predicate][args].labels &= ~(1 << label.bit)

    def saturate(
        self,
        rules: Sequence[PlannedRule],  # noqa: ARG002  # the protocol's arguments
        pos: FactSet,  # noqa: ARG002
        delta: Batch,  # noqa: ARG002
        *,
        count: Count | None = None,  # noqa: ARG002
    ) -> None:
        """Return None: the reference goes round by round."""
        return

    def apply(  # the operator's own arguments
        self,
        rules: Sequence[PlannedRule],
        pos: FactSet,
        neg: FactSet,
        pos_delta: Batch | None = None,
        neg_delta: Batch | None = None,
        *,
        count: Count | None = None,
        lower: bool = False,
    ) -> FactBatch:
        derived: list[Fact] = []
        has_delta = pos_delta is not None or neg_delta is not None
        for rule in rules:
            if has_delta and rule.grouping is not None:
                continue
            found = self.instances(rule, pos, neg)
            if has_delta:
                found = (b for b in found if _meets(rule, b, pos_delta, neg_delta))
            with effort.checked_by(lambda: self.limits.check_time("the program")):
                heads = list(self._heads(rule, found))
            self.derivations[rule.index] += len(heads)
            derived += heads
        batch = self.store(derived)
        if count is not None:
            self._change(derived, count, -1 if lower else 1)
        self.limits.check_stored(self.facts_stored(), "the program")
        self.limits.check_time("the program")
        return batch

    def facts_stored(self) -> int:
        return sum(map(len, self.stored.values()))

    def chain(self, rule: PlannedRule, start: int, others: FactSet, delta: Batch) -> FactBatch:
        others_or_delta = others | delta
        heads: list[Fact] = []
        for binding in self.instances(rule, others_or_delta, others):
            body = [(atom.predicate, _fill(atom, binding)) for atom in rule.body]
            rest = body[:start] + body[start + 1 :]
            if body[start] in _facts(delta) and all(self.is_in(fact, others) for fact in rest):
                heads.append((rule.head.predicate, _fill(rule.head, binding)))
        self.derivations[rule.index] += len(heads)
        return self.store(heads)

    def connect(self, edges: Batch, spokes: Batch) -> FactBatch:
        old = _components(args for _, args in _facts(spokes))
        new = _components(args for _, args in _facts(edges) | _facts(spokes))
        pairs = ((x, y) for part in new for x in part for y in part)
        known = {(x, y) for part in old for x in part for y in part}
        predicates = self.predicates_of(edges)
        return self.store((p, pair) for pair in pairs if pair not in known for p in predicates)

    def change_count(self, batch: Batch, count: Count, change: int) -> None:
        self._change(_facts(batch), count, change)

    def _change(self, facts: Iterable[Fact], count: Count, change: int) -> None:
        for predicate, args in facts:
            counts = self.stored[predicate][args].counts
            counts[count.value] += change
            assert counts[count.value] >= 0, (predicate, args, count)  # noqa: S101  # an invariant

    def clear_counts(self, batch: Batch) -> None:
        for predicate, args in _facts(batch):
            self.stored[predicate][args].counts = [0, 0]

    def bodies_of(
        self,
        rules: Sequence[PlannedRule],
        heads: Batch,
        pos: FactSet,
        neg: FactSet,
        wanted: FactSet,
        limit: int | None = None,
    ) -> Bodies:
        met: Counter[tuple[int, Fact]] = Counter()
        bodies: set[Fact] = set()
        for rule in rules:
            if rule.grouping is not None:
                continue
            for binding in self.instances(rule, pos, neg):
                head = rule.head.predicate, _fill(rule.head, binding)
                if head in _facts(heads):
                    met[rule.index, head] += 1
                    if limit is None or met[rule.index, head] <= limit:
                        bodies.update((a.predicate, _fill(a, binding)) for a in rule.body)
        derived = FactBatch(head for _, head in met)
        unfinished = (head for (_, head), n in met.items() if limit is not None and n > limit)
        facts = FactBatch(f for f in bodies if self.is_in(f, wanted))
        return Bodies(derived, facts, FactBatch(unfinished))

    def regroup(
        self,
        rules: Sequence[PlannedRule],
        old: FactSet,
        new: FactSet,
        lost: Batch,  # noqa: ARG002  # a faster engine looks only at groups that they are in
        gained: Batch,  # noqa: ARG002
    ) -> Regrouped:
        aggregates = [rule for rule in rules if rule.grouping is not None]
        before = {
            f for rule in aggregates for f in self._heads(rule, self.instances(rule, old, old))
        }
        after = {
            f for rule in aggregates for f in self._heads(rule, self.instances(rule, new, new))
        }
        return Regrouped(FactBatch(before - after), self.store(after - before))

    def begin(self) -> None:
        self.before = _copy(self.stored)
        self._moments = []
        self._most_work = None

    def savepoint(self) -> int:
        self._moments.append(_copy(self.stored))
        return len(self._moments) - 1

    def roll_back(self, to: int | None = None) -> None:
        """Restore marks and counts; facts stored in between are forgotten."""
        assert self.before is not None, "roll_back without begin"  # noqa: S101  # an invariant
        kept = self.before if to is None else _copy(self._moments[to])
        self.stored.clear()
        self.stored.update(kept)
        if to is None:
            self.commit()

    def commit(self) -> None:
        self._most_work = None
        self.before = None
        self._moments = []

    def work(self) -> int:
        return self._work

    def work_time(self) -> float:
        return time.process_time()

    def planning(self) -> float:
        return 0.0

    def limit_work(self, more: int | None, seconds: float = inf) -> None:
        self._most_work = None if more is None else self._work + more
        self._deadline = time.process_time() + seconds

    def _count_work(self) -> None:
        self._work += 1
        if not self._work % CHECKED:
            self.limits.check_time("the program")
        if self._most_work is not None and (
            self._work > self._most_work or time.process_time() > self._deadline
        ):
            raise BudgetSpentError

    def _heads(self, rule: PlannedRule, found: Iterable[Binding]) -> Iterator[Fact]:
        """Yield a head for each instance, or for each group of a rule with an aggregate."""
        if rule.grouping is not None:
            found = list(_groups(rule.grouping, list(found)))
        for binding in found:
            yield rule.head.predicate, _fill(rule.head, binding)

    def instances(self, rule: PlannedRule, pos: FactSet, neg: FactSet) -> Iterator[Binding]:
        """Yield every substitution that satisfies the body."""
        for binding in self._matches(rule.body, {}, pos):
            full = _computed(rule.builtins, binding)
            if full is not None and not any(
                self.is_in((atom.predicate, _fill(atom, full)), neg) for atom in rule.negated
            ):
                yield full

    def _matches(
        self, atoms: tuple[Atom, ...], binding: Binding, pos: FactSet
    ) -> Iterator[Binding]:
        if not atoms:
            yield binding
            return
        atom, *rest = atoms
        for args in list(self.stored[atom.predicate]):
            self._count_work()
            extended = _match(atom, args, binding)
            if extended is not None and self.is_in((atom.predicate, args), pos):
                yield from self._matches(tuple(rest), extended, pos)

    def answers(self, rule: PlannedRule, described: FactSet = I) -> list[tuple[Term, ...]]:
        """Return the distinct heads of a rule that is evaluated but stores nothing."""
        found: dict[tuple[Term, ...], None] = {}
        stored = self.facts_stored()
        with effort.checked_by(lambda: self.limits.check_time("a query")):
            for _, args in self._heads(rule, self.instances(rule, described, described)):
                found[args] = None
                self.limits.check_stored(stored + len(found), "a query")
        return list(found)


def _copy(stored: Stored) -> Stored:
    return {p: {args: e.copy() for args, e in facts.items()} for p, facts in stored.items()}


def _facts(batch: Batch) -> frozenset[Fact]:
    if not isinstance(batch, FactBatch):
        raise TypeError(f"a {type(batch).__name__} of another engine")
    return batch.facts


def _components(pairs: Iterable[tuple[Term, ...]]) -> list[set[Term]]:
    """Return the constants in pairs, those together that pairs connect."""
    found: list[set[Term]] = []
    for pair in pairs:
        touched = [part for part in found if part & set(pair)]
        found = [part for part in found if part not in touched]
        found.append(set(pair).union(*touched))
    return found


def _fill(atom: Atom, binding: Mapping[Variable, Term]) -> tuple[Term, ...]:
    return tuple(binding[a] if isinstance(a, Variable) else a for a in atom.args)


def _match(atom: Atom, args: tuple[Term, ...], binding: Binding) -> Binding | None:
    extended = dict(binding)
    for wanted, constant in zip(atom.args, args, strict=True):
        if isinstance(wanted, Variable):
            if extended.setdefault(wanted, constant) != constant:
                return None
        elif wanted != constant:
            return None
    return extended


def _computed(builtins: Sequence[Filter | Bind], binding: Binding) -> Binding | None:
    """Return the binding with all BINDs, or None if one fails or a FILTER does not hold.

    A BIND whose variable is bound already compares.
    """
    full = dict(binding)
    waiting = [b for b in builtins if isinstance(b, Bind)]
    while waiting:
        bind = next(b for b in waiting if full.keys() >= set(expression_variables(b.expression)))
        waiting.remove(bind)
        try:
            value = evaluate(bind.expression, full)
        except ExpressionError:
            return None
        if full.setdefault(bind.variable, value) != value:
            return None
    filters = (b for b in builtins if isinstance(b, Filter))
    return full if all(holds(f.expression, full) for f in filters) else None


def _meets(
    rule: PlannedRule, binding: Binding, pos_delta: Batch | None, neg_delta: Batch | None
) -> bool:
    """Return whether an instance has a positive atom in Δᵖ or a negative one in Δⁿ."""
    positive = _facts(pos_delta) if pos_delta is not None else frozenset()
    negative = _facts(neg_delta) if neg_delta is not None else frozenset()
    return any((a.predicate, _fill(a, binding)) in positive for a in rule.body) or any(
        (a.predicate, _fill(a, binding)) in negative for a in rule.negated
    )


def _groups(grouping: Grouping, found: list[Binding]) -> Iterator[Binding]:
    groups: dict[tuple[Term, ...], list[Binding]] = defaultdict(list)
    for binding in found:
        groups[tuple(binding[v] for v in grouping.group)].append(binding)
    for key, members in groups.items():
        result = dict(zip(grouping.group, key, strict=True))
        try:
            for r in grouping.reductions:
                terms = [evaluate(r.expression, b) if r.expression else _ONE for b in members]
                result[r.variable] = reduce_terms(r.function, r.distinct, terms)
        except ExpressionError:
            continue
        yield result


_ONE = Term("http://www.w3.org/2001/XMLSchema#integer", "1")  # what COUNT(*) counts
