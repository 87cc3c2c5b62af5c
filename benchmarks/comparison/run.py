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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BEFORE, AFTER, AGAIN = "before", "after", "before again"
COLD = "cold"

Steps = dict[str, dict[str, Any]]
Runs = dict[str, list[Steps]]  # by series: BEFORE, AFTER, AGAIN
Report = Callable[[str], None]


class RunError(Exception):
    """A measured process failed."""


@dataclass
class Measured:
    """The runs of a case, or why one of them failed."""

    name: str
    runs: Runs = field(default_factory=lambda: {BEFORE: [], AFTER: [], AGAIN: []})
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


def _git(*arguments: str) -> None:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise RunError(f"git {arguments[0]} {arguments[1]}: {done.stderr.strip()}")


def order(turn: int) -> Sequence[str]:
    """Return the series in the order of a turn: none is always the first, or after the same."""
    series = (BEFORE, AFTER, AGAIN)
    turned = (*series[turn % 3 :], *series[: turn % 3])
    return turned if turn % 2 == 0 else turned[::-1]


def measure(name: str, folder: Path, trees: dict[str, Path], runs: int, report: Report) -> Measured:
    """Run a case with both trees as often as wanted, after a turn that compiles kernels."""
    measured = Measured(name)
    try:
        if name != COLD:
            for series in (BEFORE, AFTER):
                report(f"{name}: warming up, {series}")
                run_once(name, folder, trees[series])
        for turn in range(runs):
            for series in order(turn):
                report(f"{name}: {turn + 1} of {runs}, {series}")
                measured.runs[series].append(run_once(name, folder, trees[series]))
    except RunError as error:
        measured.failure = str(error)
    return measured


def run_once(name: str, folder: Path, tree: Path) -> Steps:
    """Measure a case once, in a process that imports Stratalog from a tree."""
    paths = os.pathsep.join((str(tree / "src"), str(HERE.parent)))
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"}
    environment["STRATALOG_KERNELS"] = "auto" if name == COLD else "compiled"
    arguments = [sys.executable, "-m", "comparison.tasks", str(folder), str(tree / "src")]
    with tempfile.TemporaryDirectory(prefix="stratalog-against-") as empty:
        if name == COLD:  # kernels are compiled, Python's own files are not
            environment["XDG_CACHE_HOME"] = empty
        done = subprocess.run(
            [*arguments, str(time.monotonic())],
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
