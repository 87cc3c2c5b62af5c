"""What happens at once: each function has one turn, and raises TornError where facts are torn."""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import stratalog as sl
from stratalog.pipeline.store import Store
from tests.soak import world
from tests.soak.world import Rows, TornError, check_alone, steps_of

KEPT = 25  # versions
PAUSE = 0.02  # seconds after what would otherwise leave the interpreter to no other thread
APART = 10_000_000  # nanoseconds between two files: the stream takes them in the order of time
FEW = 12  # files of a feed that may wait
OUTSIDE = 9 * world.OWN  # constants that `what_if` adds, and nothing else


def rows_of(table: pa.Table) -> Rows:
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def whole(kb: sl.KnowledgeBase) -> dict[str, Rows]:
    """Return all relations, of one version."""
    return {name: rows_of(table) for name, table in kb.tables() if name != world.FED}


class Updates:
    """Takes steps of one writer by `update`."""

    def __init__(self, kb: sl.KnowledgeBase, writer: int) -> None:
        self.kb, self.writer, self.step = kb, writer, 0

    def __call__(self) -> None:
        inserted, deleted = world.change(self.writer, self.step)
        done = self.kb.update(insert=world.tables(inserted), delete=world.tables(deleted))
        self.step += 1
        told = rows_of(done.added["c"]), rows_of(done.removed["c"])
        if [len(rows) for rows in told] != [1, 1]:
            raise TornError(f"an update of one step changed c by {told}")


class Feed:
    """Takes steps of one writer by files that a stream follows."""

    def __init__(self, folder: Path, writer: int) -> None:
        self.folder, self.writer, self.step = folder / world.FED, writer, 0
        self.folder.mkdir(parents=True)
        self.applied = 0
        self.written = 0  # when the last file was, in nanoseconds

    def __call__(self) -> None:
        if self.step - self.applied >= FEW:
            time.sleep(0.05)
            return
        inserted, deleted = (world.fed(facts) for facts in world.change(self.writer, self.step))
        rows = [(*row, "insert") for row in inserted] + [(*row, "delete") for row in deleted]
        names = ["c0", "c1", "c2", "_change_type"]
        table = pa.table([list(column) for column in zip(*rows, strict=True)], names=names)
        hidden = self.folder / f".{self.step}.parquet"
        pq.write_table(table, hidden)
        self.written = max(time.time_ns(), self.written + APART)
        os.utime(hidden, ns=(self.written, self.written))
        hidden.rename(self.folder / f"{self.step:08}.parquet")
        self.step += 1

    def note(self, batch: Any) -> None:
        """Take in a batch that the stream has applied; its file is no longer needed."""
        for path in sorted(self.folder.glob("*.parquet")):
            if int(path.stem) < self.applied:
                path.unlink()
        self.applied += not batch.is_replayed

    def untold(self, output: Path) -> Rows:
        """Return how c differs from what the stream's output says of it, change by change."""
        told = world.derived(self.writer, 0)["c"]
        for path in sorted(output.glob("*.parquet"), key=_version_of):
            for x, how, _ in sorted(rows_of(pq.ParquetFile(path).read())):
                is_new = ((x,) in told) == (how == "delete")
                told = told ^ {(x,)} if is_new else told | {(x, -1)}  # which c never has
        return told ^ world.derived(self.writer, self.applied)["c"]


def _version_of(path: Path) -> int:
    return int(pq.ParquetFile(path).read(["_commit_version"]).column(0)[0].as_py())


def ask(kb: sl.KnowledgeBase, writers: int, draws: random.Random) -> Callable[[], None]:
    """Return a turn that asks one of several questions."""

    def alone() -> None:
        name = draws.choice(["a", "b", "c", "d", "edge", "path"])
        check_alone(name, rows_of(kb.facts(name)), writers)

    def together() -> None:
        name = draws.choice(["a", "c", "path"])
        arguments = "?x, ?y" if name == "path" else "?x"
        found = kb.query(f"answer(?w, ?k, {arguments}) :- step(?w, ?k), {name}({arguments}) .")
        rows = rows_of(found)
        steps_of({"step": {row[:2] for row in rows}, name: {row[2:] for row in rows}}, writers)

    def impossible() -> None:
        if kb.query("a(?x), NOT c(?x), NOT d(?x)").num_rows:
            raise TornError("a is not c and d")
        if rows_of(kb.query("n(?k)")) != {(writers * world.WINDOW,)}:
            raise TornError("n is not one number")

    def everything() -> None:
        steps_of(whole(kb), writers)

    def supposed() -> None:
        made = kb.what_if(insert={"a": [(OUTSIDE,)], "b": [(OUTSIDE,)]})
        added = {name: rows_of(table) for name, table in made.added.items()}
        if added.get("c") != {(OUTSIDE,)} or (OUTSIDE,) in kb["a"]:
            raise TornError(f"what_if adds {added}")

    choices = [alone] * 4 + [together] * 4 + [impossible] * 2 + [everything, supposed]

    def turn() -> None:
        draws.choice(choices)()
        time.sleep(PAUSE)

    return turn


def refresh(kb: sl.KnowledgeBase) -> Callable[[], None]:
    """Return a turn that moves on to the current version."""

    def turn() -> None:
        kb.refresh()
        time.sleep(PAUSE)

    return turn


def save(kb: sl.KnowledgeBase, folder: Path, writers: int) -> Callable[[], None]:
    """Return a turn that saves into a new store and opens what was saved."""
    made: list[Path] = []

    def turn() -> None:
        made.append(folder / f"saved-{len(made):06}")
        kb.save(made[-1])
        with sl.open(made[-1], version=1, engine="columnar", progress=False) as saved:
            steps_of(whole(saved), writers)
        for old in made[:-3]:  # the knowledge base is bound to the last one
            shutil.rmtree(old, ignore_errors=True)

    return turn


def publish(kb: sl.KnowledgeBase, folder: Path, writers: int) -> Callable[[], None]:
    """Return a turn that publishes into a new folder and reads that."""
    numbers = iter(range(1 << 30))

    def turn() -> None:
        target = folder / f"published-{next(numbers):06}"
        kb.publish(target)
        found: dict[str, Rows] = {}
        versions = set()
        for path in target.rglob("*.parquet"):
            versions.add(int(re.findall(r"version=(\d+)", str(path))[0]))
            name = path.relative_to(target).parts[0]
            found.setdefault(name, set()).update(rows_of(pq.ParquetFile(path).read()))
        found.pop(world.FED, None)
        if len(versions) != 1:
            raise TornError(f"versions {sorted(versions)} are published at once")
        steps_of(found, writers, versions.pop())
        shutil.rmtree(target)

    return turn


def drop(path: Path) -> Callable[[], None]:
    """Return a turn that drops all versions but the newest ones."""
    store = Store.open(path)

    def turn() -> None:
        for version in store.versions()[:-KEPT]:
            store.drop(version.number)
        time.sleep(0.5)

    return turn


def reopen(path: Path, writers: int, note: Callable[[str], None]) -> Callable[[], None]:
    """Return a turn that opens a store, a version of it now and then, and refreshes."""
    draws = random.Random(0)

    def turn() -> None:
        number = None
        if draws.random() < 0.3:
            number = draws.choice(Store.open(path).versions()).number
        try:
            with sl.open(path, version=number, engine="columnar", progress=False) as kb:
                steps_of(whole(kb), writers, kb.version)
                for _ in range(3):
                    kb.refresh()
                    note("refreshed")
                    steps_of(whole(kb), writers, kb.version)
        except sl.StoreError as error:
            if error.code != "T102":
                raise
            note("found dropped")

    return turn
