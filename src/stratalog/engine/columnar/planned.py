"""Which versions of rules an `apply` needs, and their plans, kept until sizes change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from stratalog.engine.columnar.compile import Lookup, PlanPiece, compile_steps
from stratalog.engine.columnar.relation import Relation
from stratalog.engine.columnar.starts import Starts
from stratalog.facts.labels import DELTA, DELTA_NEGATED
from stratalog.facts.sets import FactSet
from stratalog.kernels.preparation import work_time
from stratalog.kernels.relation.modes import UNCOUNTED
from stratalog.kernels.sizes import sized
from stratalog.lang.syntax import Argument, Predicate, Variable
from stratalog.lang.terms import Term
from stratalog.plan.delta import Role, Version, versions
from stratalog.plan.lower import expression_variables
from stratalog.plan.order import EXHAUSTIVE, join_order, sizes_changed, visits
from stratalog.plan.rules import Grouping, PlannedRule
from stratalog.plan.shapes import Hop, passing, path_of
from stratalog.plan.steps import Step

if TYPE_CHECKING:
    from stratalog.engine.columnar.engine import ColumnarEngine

LARGE_DELTA_ROWS = sized(
    4096, 2
)  # facts of a delta that need not be read first: work follows smaller ones
REPLAN_GROWTH = 8.0  # how much a relation may grow before rules that read it are planned anew
REPLAN_GROWTH_LARGE_DELTA = 2.0  # the same where a large delta is worth the time
LONG = EXHAUSTIVE + 1  # atoms of a body: planning more takes time
EFFORT = 120  # of planning an atom of a long body, in units of work; it takes longer than others


@dataclass(slots=True, eq=False)
class CompiledVersion:
    """A version of a rule, ready to run."""

    version: Version
    head: Relation
    mode: int  # the count that instances raise
    segments: tuple[PlanPiece, ...]
    sizes: dict[Predicate, float]  # of the body's relations when the join order was chosen
    checked: int  # how often relations had grown when the sizes were last compared
    is_join: bool  # one segment, no aggregate: runs in a kernel together with others
    path: tuple[Hop, ...] | None  # of two or more atoms, if the body is one
    pos: FactSet
    old: FactSet  # pos without the delta
    visits: float  # facts that the plan interpreter meets per fact it starts from, estimated
    first_rows: int  # of the relation it starts from, if that is not a delta

    @property
    def rule(self) -> PlannedRule:
        return self.version.rule


@dataclass(slots=True, eq=False)
class _Plans:
    """The plans of a version, by the class of its delta's size."""

    version: Version
    delta: Relation | None  # of the positive atom that it starts from
    reads_old: bool  # an earlier atom is read from the same relation, without the delta
    is_long: bool  # so that planning it takes time
    by_class: dict[int, CompiledVersion]


class _Order(NamedTuple):
    """A join order, and what it was chosen by."""

    steps: tuple[Step, ...]
    sizes: dict[Predicate, float]
    visits: float


class RuleIndex:
    """The versions of rules by the predicate of their delta: idle rules cost nothing."""

    def __init__(self, rules: Sequence[PlannedRule]) -> None:
        self.rules = rules
        self.is_kept = all(rule.index >= 0 for rule in rules)  # a query's rules have no index
        self.passes = passing(rules)
        self.everything = [Version(rule) for rule in rules]
        self._read = {(atom.predicate, False) for rule in rules for atom in rule.body}
        self._read |= {(atom.predicate, True) for rule in rules for atom in rule.negated}
        self._joined = {a.predicate for r in rules if not _copies(r) for a in (*r.body, *r.negated)}
        self._by_delta: dict[tuple[Predicate, bool], list[Version]] = defaultdict(list)
        for rule in rules:
            for version in versions(rule):
                atoms = rule.negated if version.negative else rule.body
                predicate = atoms[version.start or 0].predicate
                self._by_delta[predicate, version.negative].append(version)

    def asks_for_marks(self, predicate: Predicate) -> bool:
        """Return whether a rule may do more with facts of a predicate than read a list of them."""
        return predicate in self._joined

    def reads(self, predicate: Predicate, *, negated: bool) -> bool:
        """Return whether a rule has an atom of a predicate, negated or not."""
        return (predicate, negated) in self._read

    def meeting(
        self, positive: frozenset[Predicate], negative: frozenset[Predicate]
    ) -> list[Version]:
        """Return the versions that start from one of these predicates."""
        met = [v for p in positive for v in self._by_delta.get((p, False), ())]
        return met + [v for p in negative for v in self._by_delta.get((p, True), ())]


def _copies(rule: PlannedRule) -> bool:
    """Return whether a rule reads all facts of one predicate, and nothing else."""
    if len(rule.body) != 1 or rule.negated:
        return False
    return all(isinstance(argument, Variable) for argument in rule.body[0].args)


class Planner:
    """Chooses join orders from statistics, compiles them and remembers both."""

    def __init__(self, engine: ColumnarEngine) -> None:
        self._engine = engine
        self._plans: dict[tuple[FactSet, FactSet, int], dict[int, _Plans]] = defaultdict(dict)
        self._orders: dict[int, tuple[Version, dict[int, _Order]]] = {}  # of long versions
        self._paths: dict[int, tuple[PlannedRule, tuple[Hop, ...] | None]] = {}
        self._constants: dict[Term, int] = {}
        self.effort = 0  # of planning long versions so far, in units of work
        self.seconds = 0.0  # that it took

    def planned(
        self, versions: Sequence[Version], pos: FactSet, neg: FactSet, mode: int
    ) -> list[CompiledVersion]:
        """Return plans of versions, chosen anew where a size changed by an order of magnitude."""
        plans = self._plans[pos, neg, mode]
        growths = self._engine.directory.growths
        starts = Starts(self.constant)
        delta: Relation | None = None
        size_class = 0
        found = []
        for version in versions:
            known = plans.get(id(version))
            if known is None or known.version is not version:
                known = plans[id(version)] = self._plans_of(version)
            if known.delta is not delta:  # versions of the same delta follow each other
                delta = known.delta
                size_class = _size_class(delta)
            if size_class and known.reads_old and _is_everything(delta):
                continue
            if known.is_long and not starts.may_meet(version, self._engine.relation):
                continue
            planned = known.by_class.get(size_class)
            much = REPLAN_GROWTH_LARGE_DELTA if size_class else REPLAN_GROWTH
            if planned and planned.checked != growths and self.is_outdated(planned, much):
                del known.by_class[size_class]
                planned = None
            if planned is None:
                rows = float(delta.delta_size(negated=False)) if delta and size_class else None
                plan = partial(self._plan, version, version.rule.head.args, pos, neg, mode, rows)
                planned = self._plan_long(version.rule, plan) if known.is_long else plan()
                known.by_class[size_class] = planned
            found.append(planned)
        return found

    def _plans_of(self, version: Version) -> _Plans:
        is_long = len(version.rule.body) + len(version.rule.negated) > LONG
        if version.start is None or version.negative:
            return _Plans(version, None, reads_old=False, is_long=is_long, by_class={})
        body = version.rule.body
        predicate = body[version.start].predicate
        before = range(0 if version.is_chain else version.start)
        reads_old = predicate in {body[place].predicate for place in before}
        delta = self._engine.relation(predicate)
        return _Plans(version, delta, reads_old=reads_old, is_long=is_long, by_class={})

    def forget(self, which: Callable[[PlannedRule], bool]) -> None:
        """Let go of the plans of some rules."""
        for plans in self._plans.values():
            for key in [key for key, known in plans.items() if which(known.version.rule)]:
                del plans[key]
        self._orders = {key: o for key, o in self._orders.items() if not which(o[0].rule)}
        self._paths = {key: p for key, p in self._paths.items() if not which(p[0])}

    def forget_terms(self, size: int) -> None:
        """Let go of constants whose ids are `size` or more."""
        self._constants = {term: i for term, i in self._constants.items() if i < size}

    def for_answers(self, rule: PlannedRule, described: FactSet) -> CompiledVersion:
        """Return the plan of all instances of a rule whose head is not stored."""
        return self._plan(Version(rule), rule.head.args, described, described, UNCOUNTED)

    def for_bindings(
        self, version: Version, outputs: tuple[Argument, ...], pos: FactSet, neg: FactSet
    ) -> CompiledVersion:
        """Return the plan of a version whose bindings, not its heads, are asked for."""
        return self._plan(version, outputs, pos, neg, UNCOUNTED)

    def is_outdated(self, planned: CompiledVersion, factor: float = REPLAN_GROWTH) -> bool:
        """Return whether sizes have changed so much that another join order may be better."""
        growths = self._engine.directory.growths
        if planned.checked == growths:
            return False
        planned.checked = growths
        return sizes_changed(planned.sizes, self._engine.statistics, factor)

    def _plan_long(self, rule: PlannedRule, plan: Callable[[], CompiledVersion]) -> CompiledVersion:
        """Return the plan of a version with many atoms, unless no more work is allowed."""
        self._engine.running = rule_text(rule)
        self._engine.check()
        begun = work_time()
        planned = plan()
        self.seconds += work_time() - begun
        self.effort += EFFORT * (len(rule.body) + len(rule.negated))
        return planned

    def _plan(
        self,
        version: Version,
        outputs: tuple[Argument, ...],
        pos: FactSet,
        neg: FactSet,
        mode: int,
        delta_rows: float | None = None,
    ) -> CompiledVersion:
        engine, rule = self._engine, version.rule
        order = self._order(version, delta_rows)
        if rule.grouping is not None:
            outputs = _group_inputs(rule.grouping)
        head = engine.relation(rule.head.predicate)
        is_large = version.start is None or delta_rows is not None
        lookup = Lookup(engine.relation, self.constant, self._tables(pos, neg), is_large)
        segments = compile_steps(order.steps, outputs, head.number, mode, lookup)
        first = max((engine.statistics.rows(a.predicate) for a in rule.body), default=0.0)
        return CompiledVersion(
            version,
            head,
            mode,
            segments,
            order.sizes,
            engine.directory.growths,
            len(segments) == 1 and rule.grouping is None,
            self._path(rule),
            pos,
            pos - DELTA,
            order.visits,
            int(first),
        )

    def _order(self, version: Version, delta_rows: float | None) -> _Order:
        """Return the join order of a version; a long one is kept for all sets that it reads."""
        rule = version.rule
        atoms = len(rule.body) + len(rule.negated)
        if atoms <= LONG:
            return self._ordered(version, delta_rows)
        size_class = 0 if delta_rows is None else class_of(int(delta_rows))
        known, orders = self._orders.setdefault(id(version), (version, {}))
        if known is not version:
            orders = {}
            self._orders[id(version)] = version, orders
        order = orders.get(size_class)
        if order is None or sizes_changed(
            order.sizes, self._engine.statistics, REPLAN_GROWTH_LARGE_DELTA
        ):
            order = orders[size_class] = self._ordered(version, delta_rows)
        return order

    def _ordered(self, version: Version, delta_rows: float | None) -> _Order:
        statistics, body = self._engine.statistics, version.rule.body
        steps = join_order(version, statistics, delta_rows)
        sizes = {a.predicate: max(1.0, statistics.rows(a.predicate)) for a in body}
        return _Order(steps, sizes, visits(steps, statistics, delta_rows))

    def _path(self, rule: PlannedRule) -> tuple[Hop, ...] | None:
        """Return the body as a path, if it is one of two or more atoms that have rows."""
        if len(rule.body) <= 1:
            return None
        known = self._paths.get(id(rule))
        if known is None or known[0] is not rule:
            known = self._paths[id(rule)] = rule, path_of(rule)
        path = known[1]
        relation = self._engine.relation
        has_rows = path and all(relation(atom.predicate).view is None for atom in rule.body)
        return path if has_rows else None

    def constant(self, term: Term) -> int:
        """Return the number of a constant."""
        known = self._constants.get(term)
        if known is None:
            known = self._constants[term] = int(self._engine.terms.encode([term])[0])
        return known

    def _tables(self, pos: FactSet, neg: FactSet) -> Callable[[Role, Predicate], int]:
        """Return a function that gives the number of the truth table of a role."""
        described = {
            Role.FULL: pos,
            Role.OLD: pos - DELTA,
            Role.DELTA: DELTA,
            Role.OUTSIDE: neg,
            Role.OUTSIDE_BOTH: neg | DELTA_NEGATED,
            Role.NEGATED_DELTA: DELTA_NEGATED,
        }
        number = self._engine.sets.number
        return lambda role, predicate: number(described[role], predicate)


def rule_text(rule: PlannedRule) -> str:
    """Return the text of the user's rule that a planned rule comes from."""
    return rule.origin.text if rule.origin else f"(hidden rule for {rule.head.predicate.name})"


def _size_class(delta: Relation | None) -> int:
    """Return 0 for a delta that plans must start from, and how large it is otherwise."""
    rows = 0 if delta is None else delta.delta_size(negated=False)
    return class_of(rows) if rows >= LARGE_DELTA_ROWS else 0


def class_of(rows: int) -> int:
    """Return the class of a delta's size: one for all sizes that differ by less than four."""
    return rows.bit_length() // 2


def _is_everything(delta: Relation | None) -> bool:
    """Return whether all facts of a relation are in its delta."""
    return delta is not None and delta.view is None and delta.delta_rows.size == delta.rows


def _group_inputs(grouping: Grouping) -> tuple[Variable, ...]:
    """Return the variables that an aggregate looks at; there is a row per match of all."""
    expressions = [r.expression for r in grouping.reductions if r.expression is not None]
    used = (v for expression in expressions for v in expression_variables(expression))
    return tuple(dict.fromkeys((*grouping.group, *used)))
