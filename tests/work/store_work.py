"""What an update asks of the file system, however many versions its store has.

    python -m tests.work.store_work --versions 10,100,2000            # all versions stay
    python -m tests.work.store_work --versions 10,100,2000 --keep 3

A line per number of versions: the names that an update lists in folders, the files that it opens,
the files that it makes, how many files the store has, and the milliseconds of the update.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import stratalog as sl

PROGRAM = "".join(
    f"r{i}(?x, ?y) :- e(?x, ?y), ?x >= {i} . s{i}(?y) :- e(?x, ?y) ." for i in range(3)
)
FACTS = 1_500  # more than what is always written anew


@dataclass
class Work:
    """Names listed in folders below a root, and files opened there."""

    listed: int = 0
    opened: int = 0


_counted: list[tuple[str, Work]] = []


def _notice(event: str, args: tuple[Any, ...]) -> None:
    if not _counted or event not in {"os.listdir", "os.scandir", "open"}:
        return
    root, work = _counted[-1]
    if not str(args[0]).startswith(root):
        return
    if event == "open":
        work.opened += 1
        return
    _counted.append(("//", Work()))  # listing it here is not counted
    work.listed += sum(1 for _ in Path(args[0]).iterdir())
    _counted.pop()


@cache
def _listen() -> None:
    sys.addaudithook(_notice)  # for good: hooks cannot be removed


@contextmanager
def counting(root: Path) -> Iterator[Work]:
    """Count what is done below a folder; Arrow opens data files without telling Python."""
    work = Work()
    mapped = pa.memory_map

    def memory_map(*args: Any) -> Any:
        work.opened += 1
        return mapped(*args)

    _listen()
    _counted.append((str(root), work))
    with patch.object(pa, "memory_map", memory_map):
        yield work
    _counted.pop()


def made(path: Path, **options: Any) -> sl.KnowledgeBase:
    """Return a knowledge base of seven relations whose updates touch all of them."""
    edges = [(i, i + 1) for i in range(FACTS)]
    return sl.materialise(PROGRAM, {"e": edges}, engine="columnar", store=path, **options)


def update_until(kb: sl.KnowledgeBase, version: int) -> None:
    """Make versions up to a number, each by a new fact of new constants."""
    while kb.version < version:
        kb.update(insert={"e": [(10_000 + kb.version, f"node {kb.version}")]})


def files_of(path: Path) -> int:
    return sum(each.is_file() for each in path.rglob("*"))


def update_counted(kb: sl.KnowledgeBase, path: Path) -> tuple[Work, int]:
    """Return the work of one more update, and how many files it made or removed."""
    before = {each.name for each in path.rglob("*") if each.is_file()}
    with counting(path) as work:
        update_until(kb, kb.version + 1)
    return work, len({each.name for each in path.rglob("*") if each.is_file()} - before)


def measure(versions: list[int], keep: int | None, write: Callable[[str], object]) -> None:
    """Print a line for each number of versions."""
    options = {} if keep is None else {"keep": keep}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb"
        kb = made(path, **options)
        write("versions  names listed  files opened  files made  files in store  ms\n")
        for number in versions:
            update_until(kb, number)
            times = []
            for _ in range(5):
                begun = time.perf_counter()
                update_until(kb, kb.version + 1)
                times.append(1000 * (time.perf_counter() - begun))
            work, new = update_counted(kb, path)
            row = (number, work.listed, work.opened, new, files_of(path))
            write("{:8} {:13} {:13} {:11} {:15}".format(*row) + f"  {min(times):.1f}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", default="10,100,2000")
    parser.add_argument("--keep", type=int)
    options = parser.parse_args()
    measure([int(n) for n in options.versions.split(",")], options.keep, sys.stdout.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
