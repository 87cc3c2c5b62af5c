"""Sets of facts in Spark and in the reference engine, to compare what rules derive from both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import Phase, given, seed, settings

from stratalog.engine.reference import Fact, FactBatch, ReferenceEngine, _meets
from stratalog.engine.spark.rules.rules import Rules
from stratalog.engine.spark.rules.sources import Source
from stratalog.engine.spark.rules.views import local_frame
from stratalog.errors import ProgramError
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Atom, Predicate, Program
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.delta import Role, Version, versions
from stratalog.plan.program import plan_program
from stratalog.plan.rules import PlannedRule
from tests.strategies import programs

Derived = Counter[tuple[int, Fact]]
Planned = tuple[list[PlannedRule], frozenset[Fact]]


@dataclass
class Sets:
    """The arguments of an operator Π[Iᵖ, Iⁿ : Δᵖ, Δⁿ]."""

    pos: frozenset[Fact]
    neg: frozenset[Fact] = frozenset()
    pos_delta: frozenset[Fact] | None = None
    neg_delta: frozenset[Fact] | None = None

    def of(self, role: Role) -> frozenset[Fact]:
        none: frozenset[Fact] = frozenset()
        return {
            Role.FULL: self.pos,
            Role.OLD: self.pos - (self.pos_delta or none),
            Role.DELTA: self.pos_delta or none,
            Role.OUTSIDE: self.neg,
            Role.OUTSIDE_BOTH: self.neg | (self.neg_delta or none),
            Role.NEGATED_DELTA: self.neg_delta or none,
        }[role]


@dataclass
class World:
    """A session, a dictionary and the numbers of predicates."""

    spark: Any
    terms: Dictionary = field(default_factory=Dictionary)
    predicates: list[Predicate] = field(default_factory=list)
    asked: list[Source] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spark = self.spark.newSession()
        for setting in ("spark.sql.adaptive.enabled", "spark.sql.codegen.wholeStage"):
            self.spark.conf.set(setting, "false")  # few rows: planning and compiling is all it does
        self.rules = Rules(self.spark, self.terms, self.number)

    def number(self, predicate: Predicate) -> int:
        if predicate not in self.predicates:
            self.predicates.append(predicate)
        return self.predicates.index(predicate)

    def frame(self, facts: Iterable[Fact], arity: int):
        rows = [
            (self.number(p), *self.terms.encode(args).tolist())
            for p, args in facts
            if len(args) == arity
        ]
        columns = list(zip(*rows, strict=True)) or [()] * (arity + 1)
        named = {"p": np.array(columns[0], np.int32)}
        named |= {f"c{i}": np.array(c, np.int64) for i, c in enumerate(columns[1:])}
        return local_frame(self.spark, named)

    def sources(self, sets: Sets):
        def read(source: Source):
            self.asked.append(source)
            chosen = (f for f in sets.of(source.role) if self.number(f[0]) in source.predicates)
            return self.frame(chosen, source.arity)

        return read

    def sizes(self, sets: Sets):
        return lambda source: sum(
            self.number(f[0]) in source.predicates for f in sets.of(source.role)
        )

    def facts(self, table) -> list[Fact]:
        """Return the facts of an Arrow table with p, c0, ...; nulls are beyond the arity."""
        found = []
        for row in table.to_pylist():
            predicate = self.predicates[row["p"]]
            ids = [row[f"c{i}"] for i in range(predicate.arity)]
            found.append((predicate, tuple(self.terms.decode(np.array(ids, np.uint32)))))
        return found

    def heads(self, asked: Sequence[Version], sets: Sets) -> Derived:
        found: Derived = Counter()
        frames = self.rules.heads(asked, self.sources(sets), self.sizes(sets))
        for arity, frame in frames.items():
            names = ["p", *(f"c{i}" for i in range(arity)), "n", "rule"]
            assert frame.columns == names
            types = ["int", *["bigint"] * (arity + 1), "int"]
            assert [t for _, t in frame.dtypes] == types
            table = frame.toArrow()
            counted = zip(
                self.facts(table), table["rule"].to_pylist(), table["n"].to_pylist(), strict=True
            )
            for fact, rule, n in counted:
                assert n > 0
                found[rule, fact] += n
        return found


def expected(rules: Sequence[PlannedRule], sets: Sets) -> Derived:
    """Return what the definition of the operator derives."""
    engine = engine_of(sets)
    found: Derived = Counter()
    has_delta = sets.pos_delta is not None or sets.neg_delta is not None
    for rule in rules:
        if has_delta and rule.grouping is not None:
            continue
        met = engine.instances(rule, FactBatch(sets.pos), FactBatch(sets.neg))
        if has_delta:
            changes = FactBatch(sets.pos_delta or ()), FactBatch(sets.neg_delta or ())
            met = (b for b in met if _meets(rule, b, *changes))
        found.update((rule.index, head) for head in engine._heads(rule, met))
    return found


def engine_of(sets: Sets) -> ReferenceEngine:
    engine = ReferenceEngine(Dictionary())
    engine.store(sets.pos | sets.neg | (sets.pos_delta or set()) | (sets.neg_delta or set()))
    return engine


def all_versions(rules: Sequence[PlannedRule], sets: Sets) -> list[Version]:
    """Return the versions that an engine evaluates for the sets."""
    if sets.pos_delta is None and sets.neg_delta is None:
        return [Version(rule) for rule in rules]
    return [v for rule in rules if rule.grouping is None for v in versions(rule)]


def planned(text: str) -> Planned:
    """Return the rules and facts of a program's text."""
    return planned_program(parse_program(text))


def planned_program(program: Program) -> Planned:
    plan = plan_program(program)
    return list(plan.rules), frozenset((f.predicate, f.args) for f in program.facts)


def apart(rules: Sequence[PlannedRule], suffix: str, first: int) -> list[PlannedRule]:
    """Return rules whose predicates are renamed and whose numbers begin at `first`."""

    def renamed(atom: Atom) -> Atom:
        return replace(atom, predicate=_suffixed(atom.predicate, suffix))

    return [
        replace(
            rule,
            index=first + place,
            head=renamed(rule.head),
            body=tuple(map(renamed, rule.body)),
            negated=tuple(map(renamed, rule.negated)),
        )
        for place, rule in enumerate(rules)
    ]


def _suffixed(predicate: Predicate, suffix: str) -> Predicate:
    return Predicate(predicate.name + suffix, predicate.arity)


def facts_apart(facts: Iterable[Fact], suffix: str) -> frozenset[Fact]:
    return frozenset((_suffixed(p, suffix), args) for p, args in facts)


def together(parts: Iterable[Planned]) -> Planned:
    """Return the rules and facts of several programs, their predicates apart, as one."""
    rules: list[PlannedRule] = []
    facts: set[Fact] = set()
    for place, (made, given_facts) in enumerate(parts):
        rules += apart(made, f"_{place}", len(rules))
        facts |= facts_apart(given_facts, f"_{place}")
    return rules, frozenset(facts)


def random_parts(count: int, number: int) -> list[Planned]:
    """Return as many random programs as there are of `count` that can be planned."""
    made: list[Planned] = []

    @seed(number)
    @settings(max_examples=count, database=None, phases=[Phase.generate])
    @given(programs())
    def collect(program: Program) -> None:
        with suppress(ProgramError):  # a variable verb can make a program unstratified
            made.append(planned_program(program))

    collect()
    return made
