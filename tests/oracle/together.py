"""Many random histories as one: renamed apart, so that an engine with dear rounds follows all.

The Spark engine and the columnar engine follow the same history side by side: after each step,
marks and counts of all facts must be the same, and those of the judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import zip_longest
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from stratalog.engine.spark.levels import merged_levels
from stratalog.errors import ProgramError
from stratalog.lang.syntax import TRIPLE, Predicate, Program
from stratalog.plan.rules import Plan, Stratum
from stratalog.reason import seminaive
from stratalog.reason.update import Maintain, update
from tests import naive, updates
from tests.oracle.histories import (
    ColumnarFacts,
    History,
    chosen,
    compare,
    marked,
    without_modules,
)
from tests.oracle.spark_facts import SparkFacts
from tests.signatures import Language
from tests.updates import Update

APART = Language(triples=False)  # triples are one relation, whatever their names
PLAIN = Update(frozenset(), frozenset())
NAMES = ("dred-c", "bf-c", "dred", "rematerialise", "bf", "counting")
MODULAR = ("dred-c", "bf-c", "dred", "rematerialise", "")  # the last: each step by another


KINDS = {
    "histories": st.one_of(updates.of_random_programs(APART), updates.of_layers()),
    "modules": updates.of_modules(),
    "mixed": updates.of_mixed_modules(),
}


@cache
def random_histories(number: int, size: int, kind: str) -> list[updates.Random]:
    """Return so many random histories of a kind, the same ones for the same number."""
    found: list[updates.Random] = []

    @seed(number)
    @settings(
        max_examples=2 * size,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(KINDS[kind])
    def collect(made: updates.Random) -> None:
        if _can_be_judged(made):
            found.append(made)

    collect()
    return found[-size:]  # the first ones are the simplest


def _can_be_judged(made: updates.Random) -> bool:
    try:
        History(*made).judge_all()
    except naive.TooLargeError:
        return False
    except ProgramError as error:
        if error.code != "S303":
            raise
        return False
    return True


def renamed(thing: Any, tag: str) -> Any:
    """Return a program, or a part of it, with other predicates."""
    if isinstance(thing, Predicate):
        if thing == TRIPLE:
            return thing
        is_rdf = thing.name.startswith("<")
        name = f"<http://{tag}.{thing.name[8:]}" if is_rdf else tag + thing.name
        return Predicate(name, thing.arity)
    if is_dataclass(thing) and not isinstance(thing, type):
        given = {f.name: renamed(getattr(thing, f.name), tag) for f in fields(thing) if f.init}
        return replace(thing, **given)
    if isinstance(thing, tuple) and not hasattr(thing, "_fields"):
        return tuple(renamed(each, tag) for each in thing)
    if isinstance(thing, frozenset):
        return frozenset(renamed(each, tag) for each in thing)
    return thing


def together(made: Sequence[updates.Random]) -> tuple[Program, list[Update]]:
    """Return one history that is all of them."""
    parts = [renamed(program, f"k{i}_") for i, (program, _) in enumerate(made)]
    program = Program(
        rules=tuple(rule for part in parts for rule in part.rules),
        facts=tuple(fact for part in parts for fact in part.facts),
    )
    taken = [[renamed(step, f"k{i}_") for step in steps] for i, (_, steps) in enumerate(made)]
    steps = [
        Update(
            frozenset().union(*(step.insert for step in row)),
            frozenset().union(*(step.delete for step in row)),
            "dry run" if number == 1 else "commit",
        )
        for number, row in enumerate(zip_longest(*taken, fillvalue=PLAIN))
    ]
    return program, steps


class Pair:
    """Both engines on the same history."""

    def __init__(self, spark: Any, history: History) -> None:
        self.plan: Plan = history.plan
        self.subjects = (ColumnarFacts(), SparkFacts(spark))
        self.explicit = history.explicit
        self.strata = (self.plan.strata, merged_levels(self.plan.strata))
        for subject, strata in zip(self.subjects, self.strata, strict=True):
            subject.load(naive.as_planned(self.plan, self.explicit))
            seminaive.materialise(subject.engine, strata)
        self.check()

    def check(self, explicit: frozenset[naive.Fact] | None = None) -> None:
        """Fail unless marks and counts of all facts are the same, and as the judge says."""
        now = self.explicit if explicit is None else explicit
        told = marked(self.plan, now, naive.counts(self.plan, now))
        for subject in self.subjects:
            differences = compare(without_modules(subject.state()), told)
            assert not differences, dict(list(differences.items())[:10])

    def follow(self, step: Update, algorithm: str) -> None:
        """Take one step, kept or rolled back."""
        changes = [
            self._take(subject, strata, step, algorithm)
            for subject, strata in zip(self.subjects, self.strata, strict=True)
        ]
        assert changes[0] == changes[1]
        self.check(step.wanted(self.explicit))
        for subject in self.subjects:
            subject.engine.commit() if step.ends == "commit" else subject.engine.roll_back()
        if step.ends != "commit":
            self.check()
        self.explicit = step.after(self.explicit)

    def _take(
        self, subject: Any, strata: Iterable[Stratum], step: Update, algorithm: str
    ) -> tuple[Any, Any]:
        old = naive.as_planned(self.plan, self.explicit)
        new = naive.as_planned(self.plan, step.wanted(self.explicit))
        subject.engine.begin()
        deleted, inserted = subject.batch(old - new), subject.batch(new - old)
        changed = update(subject.engine, strata, deleted, inserted, by(algorithm))
        return subject.facts(changed.removed), subject.facts(changed.added)


def by(name: str) -> Maintain:
    """Return an algorithm that takes any stratum."""

    def maintain(engine: Any, stratum: Stratum, changes: Any) -> Any:
        return chosen(name, stratum)(engine, stratum, changes)

    return maintain


def run(
    spark: Any,
    number: int,
    size: int,
    most: int = 5,
    algorithm: str = "",
    kind: str = "histories",
) -> None:
    """Follow random histories for a number of steps, each by another algorithm if none is named."""
    program, steps = together(random_histories(number, size, kind))
    modules = "off" if kind == "histories" else "auto"
    pair = Pair(spark, History(program, steps, modules=modules))
    for place, step in enumerate(steps[:most]):
        pair.follow(step, algorithm or NAMES[(place + number) % len(NAMES)])
    for subject in pair.subjects[1:]:
        subject.engine.close()
