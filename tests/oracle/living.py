"""Lives of knowledge bases, lived step by step and compared with the judge after each.

The judge knows the rules and the explicit facts, and computes facts and both counts from scratch.
What is stopped must leave the knowledge base of before, in memory and in its store.
"""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

import stratalog as sl
from stratalog.engine.reference import ReferenceEngine
from stratalog.knowledge.update import maintain as maintaining
from stratalog.knowledge.update.rounds import Rounds
from stratalog.lang.syntax import Atom, Predicate, Program
from stratalog.lang.values.terms import python_value
from stratalog.pipeline import commit
from stratalog.reason import auto
from stratalog.runtime.limits import Limits
from tests import lives, naive
from tests.lives import Event, Life
from tests.naive import Fact
from tests.oracle.histories import ColumnarFacts, CutShortError, History, ReferenceFacts, check
from tests.strategies import program_text
from tests.thresholds import lowered

Facts = frozenset[Fact]
Rows = list[tuple[object, ...]]
State = tuple[tuple[int, ...], Facts]
"""The numbers of the rules that hold, in their order, and the explicit facts."""


class Judge:
    """What must be true of a life at any time."""

    def __init__(self, life: Life) -> None:
        self._life = life
        explicit = frozenset(naive.explicit_facts(Program(facts=life.facts)))
        self.first: State = tuple(sorted((*life.rules, *life.twice))), explicit
        ever = self.first[1].union(*(event.update.insert for event in life.events))
        self._predicates = {predicate for predicate, _ in ever}
        self._history = cache(self._made)

    def _made(self, rules: tuple[int, ...]) -> History:
        return History(self._life.program(rules), [], self._predicates, modules="auto")

    @staticmethod
    def wanted(state: State, event: Event) -> State:
        """Return the state that an event asks for."""
        rules, explicit = state
        kept = [n for n in rules if n in event.rules]
        added = sorted(event.rules.difference(rules))
        return (*kept, *added), event.update.wanted(explicit)

    def is_recursive(self, state: State) -> bool:
        """Return whether Counting cannot be used."""
        return any(stratum.recursive for stratum in self._history(state[0]).plan.strata)

    def see_all(self) -> None:
        """Let the judge see every state, so that what is too large or refused is known at once."""
        state = self.first
        self.visible(state)
        for event in self._life.events:
            wanted = self.wanted(state, event)
            self.visible(wanted)
            state = wanted if event.is_kept else state

    def visible(self, state: State) -> set[Fact]:
        """Return the facts that users see: by the rules as they are written, without a plan."""
        rules, explicit = state
        history = self._history(rules)
        planned = naive.visible(history.plan, set(history.judged(explicit)))
        assert planned == naive.materialise(self._life.program(rules), explicit)
        return planned

    def check(self, kb: sl.KnowledgeBase, state: State) -> None:
        """Fail unless labels and counts are the judge's, and so are the numbers that users see."""
        rules, explicit = state
        history = self._history(rules)
        check(stored(kb), history, explicit)
        visible = naive.visible(history.plan, set(history.judged(explicit)))
        assert kb.stats["facts"] == len(visible)
        assert kb.stats["explicit"] == len(explicit)
        assert {p: kb.count(p) for p in kb.visible() if kb.count(p)} == sizes(visible)

    def differences(self, old: State, new: State) -> tuple[dict[Any, int], dict[Any, int]]:
        """Return how many facts of each predicate come and go between two states."""
        before, after = self.visible(old), self.visible(new)
        return sizes(after - before), sizes(before - after)


def sizes(facts: Iterable[Fact]) -> dict[Predicate, int]:
    found: dict[Predicate, int] = defaultdict(int)
    for predicate, _ in facts:
        found[predicate] += 1
    return dict(found)


def stored(kb: sl.KnowledgeBase) -> dict[Fact, tuple[int, int, int]]:
    """Return label and counts of every fact that has any: what should be gone must have none."""
    engine = kb._host.engine
    if kb._host.name == "spark":
        from tests.oracle.spark_facts import SparkFacts

        return dict(SparkFacts(engine=engine).state())
    host: Any = ReferenceFacts if isinstance(engine, ReferenceEngine) else ColumnarFacts
    return dict(host(engine).state())


# ---- What stops an update ----------------------------------------------------------------------


class Stop:
    """Raises an error at the chosen call of those that it counts."""

    def __init__(self, chosen: int, error: BaseException) -> None:
        self._chosen = chosen
        self._error = error
        self._made = 0

    def now(self) -> None:
        self._made += 1
        if self._made == self._chosen:
            raise self._error

    def before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call, which may be stopped before its work."""

        def counted(*args: Any, **options: Any) -> Any:
            self.now()
            return call(*args, **options)

        return counted

    def whenever_more_than(self, most: int) -> Callable[..., None]:
        """Return a check of memory that may fail when more is needed than ever before."""

        def check(_: Limits, needed: int, __: str) -> None:
            nonlocal most
            if needed > most:
                self.now()
                most = needed

        return check

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call, which may be stopped before its work or after it."""

        def counted(*args: Any, **options: Any) -> Any:
            self.now()
            result = call(*args, **options)
            self.now()
            return result

        return counted


@contextmanager
def stopped_by(event: Event, kb: sl.KnowledgeBase) -> Iterator[None]:
    """Let what the event tells happen: inside engine calls, their kernels, or the store's calls."""
    with ExitStack() as stack:
        if event.ends in ("error", "interrupt"):
            error = CutShortError() if event.ends == "error" else KeyboardInterrupt()
            stop = Stop(event.fails_at, error)

            class Stopped(Rounds):
                @property
                def engine(self) -> Any:
                    return Calls(self, stop)

            stack.enter_context(patch.object(maintaining, "Rounds", Stopped))
        elif event.ends == "spent budget":
            stop = Stop(event.fails_at, sl.EngineError("E102", "time is up"))
            stack.enter_context(patch.object(Limits, "check_time", stop.before(Limits.check_time)))
            most = getattr(kb._host.engine, "allocated", 0)
            stack.enter_context(patch.object(Limits, "check_memory", stop.whenever_more_than(most)))
        elif event.ends == "failing disk":
            stop = Stop(event.fails_at, OSError(errno.ENOSPC, "No space left on device"))
            for name in ("open", "fsync", "link", "unlink"):
                stack.enter_context(patch.object(os, name, stop.before(getattr(os, name))))
        yield


class Calls:
    """An engine each of whose calls may be stopped."""

    def __init__(self, engine: Any, stop: Stop) -> None:
        self._engine = engine
        self._stop = stop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._stop.around(getattr(self._engine, name))


def is_meant(error: BaseException, event: Event) -> bool:
    """Tell whether the error is the one that the event brings about."""
    if event.ends == "failing disk":
        return isinstance(error, sl.StoreError) and error.code == "T106"
    if event.ends == "spent budget":
        return isinstance(error, sl.EngineError) and error.code == "E102"
    wanted = {"error": CutShortError, "interrupt": KeyboardInterrupt}.get(event.ends)
    return wanted is not None and isinstance(error, wanted)


# ---- Living ------------------------------------------------------------------------------------


class Living:
    """A knowledge base that lives a life, and the versions that it has left in its store."""

    def __init__(self, life: Life, engine: str, folder: Path) -> None:
        self._life = life
        self._engine = engine
        self._path = folder / "kb"
        self._judge = Judge(life)
        self._state = self._judge.first
        self._versions: dict[int, State] = {}

    def __enter__(self) -> Self:
        """Let small relations have deltas, few of them, and budgets that are soon spent."""
        self._patches = ExitStack()
        for module, name, value in (
            (commit, "_FEW_ROWS", 0),
            (commit, "_FEW_DELTAS", 2),
            (auto, "MIN_TRIAL_SECONDS", 0.0 if self._life.has_store else auto.MIN_TRIAL_SECONDS),
        ):
            self._patches.enter_context(patch.object(module, name, value))
        return self

    def __exit__(self, *error: object) -> None:
        self._patches.close()

    def live(self) -> None:
        """Live to the end, and fail at the first step that is wrong."""
        store = {"store": self._path} if self._life.has_store else {}
        self.kb = sl.materialise(*self._at_first(), engine=self._engine, **store)
        self._check()
        for event in self._life.events:
            self._meet(event)
            self._check()
            getattr(self, "_" + event.then.replace(" ", "_"))()
            self._check()
        self._look_back()

    def _at_first(self) -> tuple[Any, Any]:
        """Return rules and facts as they are given at first."""
        rules, facts = self._life.program(self._state[0]).rules, self._life.facts
        if self._life.way_in == "tables":
            return Program(rules), as_rows(facts)
        program = Program(rules, facts)
        return (program_text(program) if self._life.way_in == "text" else program), None

    def _check(self) -> None:
        self._judge.check(self.kb, self._state)
        if self.kb.version:
            self._versions[self.kb.version] = self._state

    def _meet(self, event: Event) -> None:
        """Let an event happen; whatever is stopped is as it was, or as it was to be."""
        old, new = self._state, self._judge.wanted(self._state, event)
        version = self.kb.version
        try:
            with stopped_by(event, self.kb):
                changes = self._ask(event)
        except (Exception, KeyboardInterrupt) as error:
            if not is_meant(error, event):
                raise
            self._state = new if self.kb.version > version else old
            return
        came, went = self._judge.differences(old, new)
        assert sorted(changes.added.sizes.values()) == sorted(came.values())
        assert sorted(changes.removed.sizes.values()) == sorted(went.values())
        self._state = old if event.ends == "dry run" else new

    def _ask(self, event: Event) -> sl.Changes:
        """Update, or ask what an update would do."""
        rules, _ = self._state
        update = event.update
        turned = event.rules.difference(rules) | event.again & event.rules, set(rules) - event.rules
        more, fewer = (self._life.program(sorted(some)) for some in turned)
        insert, delete = (given(some) for some in (update.insert, update.delete))
        wish: dict[str, Any] = {"maintenance": self._algorithm(event)}
        if event.as_text:
            more, fewer = Program(more.rules, insert), Program(fewer.rules, delete)
        else:
            rows = (as_rows(some, event.rows_twice) for some in (insert, delete))
            wish |= dict(zip(("insert", "delete"), rows, strict=True))
        wish |= {"add_rules": more} if more.rules or more.facts else {}
        wish |= {"remove_rules": fewer} if fewer.rules or fewer.facts else {}
        return (self.kb.what_if if event.ends == "dry run" else self.kb.update)(**wish)

    def _algorithm(self, event: Event) -> str:
        """Return the algorithm that is asked for; Counting only where it can be used."""
        wanted = self._judge.wanted(self._state, event)
        is_unable = event.algorithm == "counting" and self._judge.is_recursive(wanted)
        return "dred-c" if is_unable else event.algorithm

    # -- what follows an event

    def _stay(self) -> None:
        pass

    def _save(self) -> None:
        self.kb.save(self._path)

    def _open(self) -> None:
        """Go on with what the store holds."""
        if not self.kb.version:
            self.kb.save(self._path)
        version = self.kb.version
        self.kb = sl.open(self._path, engine=self._engine)
        assert self.kb.version == version

    def _other_writer(self) -> None:
        """Let another commit first: our update is refused, and a refresh brings theirs."""
        if not self.kb.version:
            return
        other = sl.open(self._path, engine="columnar" if self._engine == "spark" else self._engine)
        rules, explicit = self._state
        gone = frozenset(sorted(explicit)[::2])
        other.update(add_rules=Program(), remove_rules=Program((), given(gone)))
        if other.version == self.kb.version:
            return
        try:
            self.kb.update(remove_rules=Program((), given(explicit)))
        except sl.StoreError as error:
            assert error.code == "T105"  # noqa: PT017  # there is no other way to say it
        else:
            raise AssertionError("two writers made one version")
        self._check_memory()
        self._state = rules, explicit - gone
        assert self.kb.refresh() == other.version

    def _check_memory(self) -> None:
        self._judge.check(self.kb, self._state)

    def _look_back(self) -> None:
        """Open every version that the life has left."""
        if self.kb.version:
            assert [each.number for each in self.kb.versions()] == sorted(self._versions)
        for number, state in self._versions.items():
            self._judge.check(sl.open(self._path, version=number), state)


def given(facts: Iterable[Fact]) -> tuple[Atom, ...]:
    return tuple(Atom(predicate, args) for predicate, args in sorted(facts))


def as_rows(
    facts: Iterable[Atom], twice: bool = False
) -> list[dict[str, list[tuple[object, ...]]]]:
    """Return the facts as a user gives them; a name with two arities tells which is meant."""
    found: dict[Predicate, list[tuple[object, ...]]] = defaultdict(list)
    for fact in facts:
        found[fact.predicate].append(tuple(python_value(term) for term in fact.args))
    return [{f"{p.name}/{p.arity}": values * (1 + twice)} for p, values in found.items()]


def live(life: Life, engine: str, folder: Path) -> None:
    """Live a life in a folder; what the judge finds too large is not lived."""
    with lowered(low=life.low_thresholds), Living(life, engine, folder) as living:
        living.live()


__all__ = ["Judge", "live", "lives"]
