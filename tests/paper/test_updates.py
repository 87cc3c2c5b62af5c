"""The worked examples of 001 (Hu, Motik, Horrocks, Optimised Maintenance of Datalog
Materialisations), followed through the updates that the paper describes, with its counters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stratalog.facts.labels import D
from stratalog.lang.parse import parse_program
from stratalog.lang.values.terms import python_value
from stratalog.reason import seminaive
from stratalog.reason.update import NEW, update
from tests import naive, updates
from tests.oracle import histories

Counts = dict[tuple[Any, ...], tuple[int, int]]
WITH_COUNTS = ("counting", "dred-c")
RECURSIVE = [name for name in histories.ALGORITHMS if name != "counting"]


class Example:
    """A materialised program that watches what an update asks of its engine."""

    def __init__(self, text: str, engine: str) -> None:
        self.history = histories.History(parse_program(text), [])
        self.subject = histories.HOSTS[engine]()
        self.subject.load(self.history.explicit)
        seminaive.materialise(self.subject.engine, self.history.plan.strata)
        self.backward = 0  # facts whose rules were evaluated backwards
        self.overdeleted: set[tuple[Any, ...]] = set()
        self.after_deletion: histories.State | None = None

    def delete(self, text: str, algorithm: str) -> int:
        """Delete facts; return how many rule instances were considered forwards."""
        gone = frozenset(naive.explicit_facts(parse_program(text)))
        strata = self.history.plan.strata
        maintain = histories.maintain_by(algorithm, strata, updates.Update(frozenset(), gone))
        before = self._derivations()
        update(self, strata, self.subject.batch(gone), self.subject.batch(()), maintain)
        histories.check(self.subject.state(), self.history, self.history.explicit - gone)
        return self._derivations() - before

    def counts(self, name: str, state: histories.State | None = None) -> Counts:
        """Return C_nr and C_r by the values of a predicate's facts."""
        found = self.subject.state() if state is None else state
        return {_values(f): (nr, r) for f, (_, nr, r) in found.items() if f[0].name == name}

    def _derivations(self) -> int:
        engine = self.subject.engine
        if isinstance(self.subject, histories.ReferenceFacts):
            return sum(engine.derivations.values())
        return sum(profile.derivations for profile in engine.profile().values())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.subject.engine, name)

        def call(*args: Any, **options: Any) -> Any:
            if name == "bodies_of":
                self.backward += len(args[1])
            elif name == "mark" and args[1] == D:
                self.overdeleted |= {_values(fact) for fact in self.subject.facts(args[0])}
            elif name == "apply" and args[1] == NEW and self.overdeleted:
                self.after_deletion = self.after_deletion or self.subject.state()
            return method(*args, **options)

        return call


def _values(fact: naive.Fact) -> tuple[Any, ...]:
    return tuple(python_value(term) for term in fact[1])


def first_example(n: int) -> str:
    facts = [f'R("a{i}", "b") . R("a{i}", "c{i}") .' for i in range(n)]
    return "S(?y1, ?y2) :- R(?x, ?y1), R(?x, ?y2) ." + " ".join(facts)


@pytest.mark.parametrize("algorithm", histories.ALGORITHMS)
def test_001_example_1(engine: str, algorithm: str):
    n = 5
    example = Example(first_example(n), engine)
    considered = example.delete(" ".join(f'R("a{i}", "c{i}") .' for i in range(n)), algorithm)
    assert example.counts("S") == {("b", "b"): (n, 0)}
    doubtful = 3 * n  # S(b, c_i), S(c_i, b) and S(c_i, c_i)
    if algorithm in WITH_COUNTS:
        # Only instances that no longer fire are considered, and none backwards.
        assert (considered, example.backward) == (doubtful, 0)
    elif algorithm == "dred":
        assert example.backward >= doubtful


def second_example(n: int) -> str:
    some = range(1, n + 1)
    edges = ['B("a", "b1", 1) .', *(f'B("a", "c{i}", 1) .' for i in some)]
    edges += [f'B("b{i}", "d{j}", 1) .' for i in some for j in some]
    rules = """D(?y, ?z) :- B("a", ?y, ?z) .
               D(?y, ?z) :- D(?x, ?z1), B(?x, ?y, ?z2), BIND(?z1 + ?z2 AS ?z) ."""
    return rules + " ".join(edges)


@pytest.mark.parametrize("algorithm", RECURSIVE)
def test_001_example_2(engine: str, algorithm: str):
    n = 4
    example = Example(second_example(n), engine)
    considered = example.delete('B("a", "b1", 1) .', algorithm)
    assert example.counts("D") == {(f"c{i}", 1): (1, 0) for i in range(1, n + 1)}
    if algorithm == "dred-c":
        # D(b1, 1) loses its derivation by rule (6), each D(d_j, 2) its derivation by rule (7).
        assert (considered, example.backward) == (1 + n, 0)
    elif algorithm == "dred":
        assert example.backward >= 1 + n


THIRD_EXAMPLE = """
A(?y) :- A(?x), B(?x, ?y) .
A("a") . A("b") . A("d") . B("a", "c") . B("b", "c") . B("c", "d") . B("d", "e") .
"""
T1 = {"a": (1, 0), "b": (1, 0), "c": (0, 2), "d": (1, 1), "e": (0, 1)}
T2 = {"a": (0, 0), "b": (1, 0), "c": (0, 1), "d": (1, 0), "e": (0, 1)}
T3 = {"a": (0, 0), "b": (1, 0), "c": (0, 1), "d": (1, 1), "e": (0, 1)}
OVERDELETED = {"dred": "acde", "dred-c": "ac", "bf": "a", "bf-c": "a", "rematerialise": "abcde"}


def counters(row: dict[str, tuple[int, int]]) -> Counts:
    """Return a row of Figure 1; a fact that is gone has no counters."""
    return {(name,): pair for name, pair in row.items() if any(pair)}


@pytest.mark.parametrize("algorithm", RECURSIVE)
def test_001_example_3(engine: str, algorithm: str):
    example = Example(THIRD_EXAMPLE, engine)
    assert example.counts("A") == counters(T1)
    example.delete('A("a") .', algorithm)
    assert example.counts("A") == counters(T3)
    assert example.overdeleted == {(name,) for name in OVERDELETED[algorithm]}


def test_001_example_3_counters_after_overdeletion(engine: str):
    example = Example(THIRD_EXAMPLE, engine)
    example.delete('A("a") .', "dred-c")
    found = example.counts("A", example.after_deletion)
    assert {name: found[name,] for name in "abcde"} == T2
    assert example.backward == 0
