"""What a measured process does: `python -m comparison.tasks FOLDER SOURCE STARTED WHAT`.

Only public names of Stratalog are used: the same file measures earlier code. Its answer is a line
of JSON: for each step CPU seconds, elapsed seconds, counts, and what these are made of. `WHAT` is
`times`; or `counts`, where kernel calls are counted, too, which slows the process; or the name of
the algorithm by which updates are counted, for `auto` chooses by times.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .counters import Counts, Crossings, KernelCalls, SparkJobs

TURNS = 3
LONG = 1.0  # seconds
COUNTS = ("facts", "rounds", "derivations", "added", "removed")
TIMES, COUNTS_ONLY = "times", "counts"

Step = dict[str, Any]


def children_seconds() -> float:
    """Return the CPU seconds of this process's children, and of theirs, as far as they are told.

    They compile kernels, and are Spark's Java.
    """
    ended = os.times()
    return ended.children_user + ended.children_system + sum(map(_seconds_of, _children("self")))


def _children(process: str) -> list[str]:
    return [
        child
        for place in Path("/proc").glob(f"{process}/task/*/children")
        for child in place.read_text().split()
    ]


def _seconds_of(process: str) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        below = sum(map(_seconds_of, _children(process)))
    except OSError:  # it has ended
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + below


class Clock:
    """Collects the steps of a case, and asks counters after each."""

    def __init__(self, counters: Mapping[str, Counts] | None = None) -> None:
        self.steps: dict[str, Step] = {}
        self.counters = dict(counters or {})

    def time(self, name: str, work: Callable[[], Any], times: int = 1) -> Any:
        """Do some work and note what it took, the least if it is done again."""
        gc.collect()
        gc.disable()
        for counter in self.counters.values():
            counter.take()
        children = children_seconds()
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            result = work()
        finally:
            took = time.process_time() - cpu, time.perf_counter() - wall
            gc.enable()
        children = children_seconds() - children
        self.note(name, (took[0] + children) / times, took[1] / times)
        return result

    def note(self, name: str, cpu: float, wall: float) -> None:
        """Note what a step took, the least, and what was counted the first time."""
        step = self.steps.setdefault(name, {"cpu": cpu, "wall": wall, "counts": {}, "made of": {}})
        step["cpu"], step["wall"] = min(step["cpu"], cpu), min(step["wall"], wall)
        for title, counter in self.counters.items():
            taken = counter.take()
            step["counts"].setdefault(title, sum(taken.values()))
            step["made of"].setdefault(title, taken)

    def count(self, name: str, stats: Sequence[Mapping[str, Any]]) -> None:
        """Add up the counts of a step, unless that was done before."""
        counts = self.steps[name]["counts"]
        for key in COUNTS:
            if key not in counts and all(key in each for each in stats):
                counts[key] = sum(int(each[key]) for each in stats)


class Given:
    """What `cases.prepare` has written, and how often steps are done."""

    def __init__(self, folder: Path, what: str) -> None:
        self.case = json.loads((folder / "case.json").read_text())
        self.turns = TURNS if what == TIMES else 1
        if what not in (TIMES, COUNTS_ONLY):
            self.case["options"].setdefault("maintenance", what)
        names = self.case["relations"]
        self.tables: dict[str, Any] = {}
        self.chosen: dict[str, Any] = {}
        if names:  # what starts only imports no more than it needs
            self._read(folder, names)

    def _read(self, folder: Path, names: Sequence[str]) -> None:
        import numpy as np
        import pyarrow.parquet as pq

        self.tables = {p: pq.read_table(folder / f"{n}.parquet") for n, p in enumerate(names)}
        self.chosen = {p: np.load(folder / f"{n}.npy") for n, p in enumerate(names)}

    def some(self, begin: int, end: int) -> dict[str, Any]:
        """Return the facts of these places among those that were chosen for updates."""
        found = {}
        for name, rows in self.chosen.items():
            mine = rows[begin:end]
            if (mine >= 0).any():
                found[name] = self.tables[name].take(mine[mine >= 0])
        return found

    def materialise(self, **options: Any) -> Any:
        import stratalog as sl

        chosen = {"engine": "columnar", "progress": False, **self.case["options"], **options}
        return sl.materialise(self.case["rules"], self.tables, **chosen)


def materialise(given: Given, clock: Clock) -> None:
    """Materialise rules and facts, after a time that loads kernels, unless one takes long."""
    begun = time.perf_counter()
    kb = Clock().time("first", given.materialise)
    for _ in range(given.turns if time.perf_counter() - begun < LONG else 1):
        kb = clock.time("materialise", given.materialise)
    clock.count("materialise", [kb.stats])


def update(given: Given, clock: Clock) -> None:
    """Delete and insert single facts, then many, after one turn that is not timed."""
    kb = given.materialise()
    _turns(kb, given, Clock(), 1)
    _turns(kb, given, clock, given.turns)


def _turns(kb: Any, given: Given, clock: Clock, turns: int, what: str = "") -> None:
    single, many = given.case["single"], given.case["many"]
    ones = [given.some(n, n + 1) for n in range(single)]
    for facts, label in ((ones, "1"), ([given.some(single, single + many)], f"{many:,}")):
        for _ in range(turns):
            for way in ("delete", "insert"):
                name = f"{what}{way} {label}"

                def apply(facts: Any = facts, way: str = way) -> list[Any]:
                    return [kb.update(**{way: each}).stats for each in facts]

                clock.count(name, clock.time(name, apply, len(facts)))


def store(given: Given, clock: Clock) -> None:
    """Save, update with a commit each, and open a store."""
    import stratalog as sl

    with tempfile.TemporaryDirectory() as folder:
        kb = given.materialise()
        clock.time("save", lambda: kb.save(Path(folder) / "first"))
        again = clock.time("save again", lambda: kb.save(Path(folder) / "second"))
        assert again == 1
        kb.update(delete=given.some(0, 1))
        kb.update(insert=given.some(0, 1))
        _turns(kb, given, clock, 1, "commit: ")
        for _ in range(given.turns):
            kb = clock.time("open", lambda: sl.open(Path(folder) / "second", engine="columnar"))
        clock.count("open", [{"facts": kb.stats["facts"]}])


def on_spark(given: Given, clock: Clock) -> None:
    """Materialise and update on Spark, in a session that has done both before."""
    from pyspark.sql import SparkSession

    with given.materialise() as kb:
        _turns(kb, given, Clock(), 1)
    clock.counters["jobs"] = SparkJobs(SparkSession.builder.getOrCreate().sparkContext)
    with clock.time("materialise", given.materialise) as kb:
        clock.count("materialise", [kb.stats])
        _turns(kb, given, clock, 1)


SMALL = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."


def start(clock: Clock, started: float) -> None:
    """Run the smallest example from the start of the process: the interpreter's is included."""
    import stratalog as sl

    def note(name: str) -> None:
        cpu, wall = time.process_time(), time.monotonic() - started
        clock.note(name, cpu + children_seconds(), wall)

    kb = sl.materialise(SMALL, {"edge": [(1, 2), (2, 3)]}, engine="columnar", progress=False)
    note("first result")
    assert kb.query("path(1, ?x)").num_rows == 2
    note("first query")
    kb.update(insert={"edge": [(3, 4)]})
    note("first update")


TASKS = {"materialise": materialise, "update": update, "store": store, "spark": on_spark}


def counters_of(task: str, what: str) -> dict[str, Counts]:
    """Return what counts in this process: calls between packages only where they are asked for."""
    if what == TIMES and task != "spark":
        return {}
    counters: dict[str, Counts] = {"kernel calls": KernelCalls()}
    return counters | ({"crossings": Crossings()} if task == "walk" else {})


def main() -> None:
    """Measure the case of a folder with the code of a source tree."""
    folder, source, started = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    what = sys.argv[4]
    import stratalog

    found = Path(stratalog.__file__)
    assert source in found.parents, f"{found} is measured instead of {source}"
    given = Given(folder, what)
    task = given.case["task"]
    clock = Clock(counters_of(task, what))
    if task in TASKS:
        TASKS[task](given, clock)
    else:
        start(clock, started)
    print(json.dumps(clock.steps))


if __name__ == "__main__":
    main()
