"""Stores of random histories, what is done to them when a fault comes, and what must hold then.

A world is a store before each update of a history, with the facts and counts of all its versions.
"""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

import stratalog as sl
from stratalog.lang.syntax import Program
from stratalog.pipeline.store import Store
from tests import updates
from tests.oracle.living import given
from tests.strategies import Draw

MOST_SECONDS = 20  # of reasoning: some random programs are long


@dataclass(frozen=True)
class Setting:
    """A random history, on which engine, and how many versions stay."""

    history: updates.Random
    engine: str
    keep: int | None
    seed: int  # of the faults


@st.composite
def settings_of_worlds(draw: Draw) -> Setting:
    keep = draw(st.sampled_from((None, None, 1, 2, 3)))
    engine = draw(st.sampled_from(("columnar", "reference")))
    return Setting(draw(updates.histories()), engine, keep, draw(st.integers(0, 2**32)))


@dataclass(frozen=True)
class Step:
    """What is done to a store: an update, or that earlier versions are dropped."""

    start: Path  # the store before it
    before: int
    after: int  # the current version when it is done
    update: updates.Update | None  # None drops all versions but the current one

    def do(self, kb: sl.KnowledgeBase, path: Path) -> None:
        if self.update is None:
            Store.open(path).drop_older(1)
        else:
            apply(kb, self.update)


@dataclass
class World:
    """The stores of a history, and what their versions hold."""

    setting: Setting
    folder: Path
    states: dict[int, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def make(self) -> None:
        """Live the history undisturbed; what cannot be lived is not of interest here."""
        program, taken = self.setting.history
        path = self.folder / "undisturbed"
        options: dict[str, Any] = {} if self.setting.keep is None else {"keep": self.setting.keep}
        try:
            kb = sl.materialise(
                program, engine=self.setting.engine, timeout=MOST_SECONDS, store=path, **options
            )
        except (sl.ProgramError, sl.EngineError):
            assume(condition=False)
        self.states[kb.version] = kb.counts()
        for number, update in enumerate(taken):
            start = self.folder / f"before-{number}"
            shutil.copytree(path, start)
            before = kb.version
            apply(kb, update)
            self.states[kb.version] = kb.counts()
            self.steps.append(Step(start, before, kb.version, update))
            if before > 1 and self.setting.keep != 1:
                self.steps.append(Step(start, before, before, None))
        self.steps = [s for s in self.steps if s.after > s.before or s.update is None]
        assume(self.steps)

    def copy(self, step: Step, name: str) -> Path:
        """Return a store of its own before a step."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(step.start, path)
        return path

    def staying(self, numbers: list[int]) -> list[int]:
        """Return the numbers of the versions that stay."""
        return numbers if self.setting.keep is None else numbers[-self.setting.keep :]

    # -- what must hold

    def check_whole(self, step: Step, path: Path) -> int:
        """Fail unless the store is that before the step or that after it; return its version."""
        store = Store.open(path)
        assert store.version in (step.before, step.after)
        old = Store.open(step.start).numbers()
        new = sorted({*old, store.version})
        least = self.staying(new) if step.update is not None else [store.version]
        numbers = store.numbers()
        assert set(least) <= set(numbers) <= set(new), (least, numbers, new)
        assert [info.number for info in store.versions()] == numbers
        for number in numbers:
            assert sl.open(path, version=number).counts() == self.states[number], number
        return store.version

    def check_going_on(self, step: Step, path: Path) -> None:
        """Fail unless the step and a commit after it can be done, and leave nothing over."""
        kb = sl.open(path)
        if kb.version == step.before:
            step.do(kb, path)
        assert sl.open(path).counts() == kb.counts() == self.states[step.after]
        assert kb.save(path) == step.after + 1
        check_nothing_left(path)
        store = Store.open(path)
        assert len(store.numbers()) == len(self.staying(store.numbers()))
        for number in store.numbers():
            wanted = self.states[min(number, step.after)]
            assert sl.open(path, version=number).counts() == wanted, number


def check_nothing_left(path: Path) -> None:
    """Fail if there are files that no version names."""
    store = Store.open(path)
    named = {file.path for n in store.numbers() for file in store._manifest(n).files}
    assert {f"data/{file.name}" for file in (path / "data").iterdir()} == named
    manifests = {f"{number:08d}.json" for number in store.numbers()}
    assert {file.name for file in (path / "versions").iterdir()} == manifests
    assert not list((path / "unfinished").iterdir())


def apply(kb: sl.KnowledgeBase, update: updates.Update) -> None:
    """Insert and delete facts, given as programs."""
    insert, delete = (Program((), given(some)) for some in (update.insert, update.delete))
    kb.update(add_rules=insert, remove_rules=delete)


def any_of(chosen: random.Random, steps: list[Step]) -> Step:
    """Return a step, an update more often than another."""
    only = [step for step in steps if step.update is not None]
    return chosen.choice(only if only and chosen.random() < 0.8 else steps)


def files_of(path: Path) -> list[Path]:
    return sorted(Path(folder) / name for folder, _, names in os.walk(path) for name in names)
