"""Runs cases with two source trees, in turn: earlier, later, earlier again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stratalog_bench.systems.registry import ONE_THREAD

from .cases import CASES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BEFORE, AFTER, AGAIN = "before", "after", "before again"
COLD = "cold"

Steps = dict[str, dict[str, Any]]
Runs = dict[str, list[Steps]]  # by series: BEFORE, AFTER, AGAIN
Report = Callable[[str], None]


class RunError(Exception):
    """A measured process failed."""


def _none() -> Runs:
    return {BEFORE: [], AFTER: [], AGAIN: []}


@dataclass
class Measured:
    """The runs of a case, those that only count, or why one of them failed."""

    name: str
    runs: Runs = field(default_factory=_none)
    counted: Runs = field(default_factory=_none)
    failure: str = ""


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """Yield a temporary checkout of a revision."""
    with tempfile.TemporaryDirectory(prefix="stratalog-against-") as folder:
        target = Path(folder).resolve() / "tree"
        _git("worktree", "add", "--detach", "--force", str(target), revision)
        try:
            yield target
        finally:
            _git("worktree", "remove", "--force", str(target))


def described(revision: str = "") -> str:
    """Return the commit of a revision; of this tree by default, and whether that has changes."""
    which = [revision] if revision else ["--dirty"]
    return _git("describe", "--always", "--abbrev=40", "--exclude=*", *which)


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise RunError(f"git {arguments[0]} {arguments[1]}: {done.stderr.strip()}")
    return done.stdout.strip()


def order(turn: int) -> Sequence[str]:
    """Return the series in the order of a turn: none is always the first, or after the same."""
    series = (BEFORE, AFTER, AGAIN)
    turned = (*series[turn % 3 :], *series[: turn % 3])
    return turned if turn % 2 == 0 else turned[::-1]


def measure(name: str, folder: Path, trees: dict[str, Path], runs: int, report: Report) -> Measured:
    """Run a case with both trees as often as wanted, after a turn that compiles kernels."""
    measured = Measured(name)
    try:
        if not CASES[name].only_by_name:
            for series in (BEFORE, AFTER):
                report(f"{name}: warming up, {series}")
                run_once(name, folder, trees[series])
        for turn in range(min(runs, CASES[name].runs or runs)):
            for series in order(turn):
                report(f"{name}: {turn + 1} of {runs}, {series}")
                measured.runs[series].append(run_once(name, folder, trees[series]))
        if name != COLD:
            _count(measured, folder, trees, report)
    except RunError as error:
        measured.failure = str(error)
    return measured


def _count(measured: Measured, folder: Path, trees: dict[str, Path], report: Report) -> None:
    """Count with both trees; with the earlier one again if they differ, to see what varies."""
    found = measured.counted
    for series in (BEFORE, AFTER, AGAIN):
        if series != AGAIN or _counts(found[BEFORE]) != _counts(found[AFTER]):
            report(f"{measured.name}: counting, {series}")
            found[series] = [_counted(measured.name, folder, trees[series])]


def _counts(runs: Sequence[Steps]) -> list[dict[str, Any]]:
    return [{name: step["counts"] for name, step in steps.items()} for steps in runs]


def _counted(name: str, folder: Path, tree: Path) -> Steps:
    """Return the counts of each step; those by an algorithm of maintenance say by which."""
    found: Steps = {}
    for what in CASES[name].counted_by:
        for step, values in run_once(name, folder, tree, what).items():
            mine = found.setdefault(step, {"counts": {}, "made of": {}})
            by = "" if what == "counts" else f" by {what}"
            for kind, counts in mine.items():
                counts |= {f"{key}{by}": count for key, count in values[kind].items()}
    return found


def run_once(name: str, folder: Path, tree: Path, what: str = "times") -> Steps:
    """Measure a case once, or count, in a process that imports Stratalog from a tree."""
    paths = os.pathsep.join((str(tree / "src"), str(HERE.parent)))
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"}
    environment["STRATALOG_KERNELS"] = "auto" if name == COLD else "compiled"
    arguments = [sys.executable, "-m", "comparison.tasks", str(folder), str(tree / "src")]
    with tempfile.TemporaryDirectory(prefix="stratalog-against-") as empty:
        if name == COLD:  # kernels are compiled, Python's own files are not
            environment["XDG_CACHE_HOME"] = empty
        done = subprocess.run(
            [*arguments, str(time.monotonic()), what],
            cwd=empty,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise RunError(f"{tree.name}: {lines[-1]}")
    steps: Steps = json.loads(done.stdout.splitlines()[-1])
    return steps
