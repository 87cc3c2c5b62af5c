"""What a measured process does: `python -m comparison.tasks FOLDER SOURCE STARTED`.

Only public names of Stratalog are used: the same file measures earlier code. Its answer is a line
of JSON: for each step CPU seconds, elapsed seconds and counts.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

TURNS = 3
LONG = 1.0  # seconds
COUNTS = ("facts", "rounds", "derivations", "added", "removed")

Step = dict[str, Any]


class Clock:
    """Collects the steps of a case."""

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}

    def time(self, name: str, work: Callable[[], Any], times: int = 1) -> Any:
        """Do some work and note what it took, the least if it is done again."""
        gc.collect()
        gc.disable()
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            result = work()
        finally:
            took = time.process_time() - cpu, time.perf_counter() - wall
            gc.enable()
        self.note(name, took[0] / times, took[1] / times)
        return result

    def note(self, name: str, cpu: float, wall: float) -> None:
        step = self.steps.setdefault(name, {"cpu": cpu, "wall": wall, "counts": {}})
        step["cpu"], step["wall"] = min(step["cpu"], cpu), min(step["wall"], wall)

    def count(self, name: str, stats: Sequence[Mapping[str, Any]]) -> None:
        """Add up the counts of a step, unless it has any."""
        counts = self.steps[name]["counts"]
        for key in COUNTS if not counts else ():
            if all(key in each for each in stats):
                counts[key] = sum(int(each[key]) for each in stats)


class Given:
    """What `cases.prepare` has written."""

    def __init__(self, folder: Path) -> None:
        self.case = json.loads((folder / "case.json").read_text())
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
    for _ in range(TURNS if time.perf_counter() - begun < LONG else 1):
        kb = clock.time("materialise", given.materialise)
    clock.count("materialise", [kb.stats])


def update(given: Given, clock: Clock) -> None:
    """Delete and insert single facts, then many, after one turn that is not timed."""
    kb = given.materialise()
    _turns(kb, given, Clock(), 1)
    _turns(kb, given, clock, TURNS)


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
        for _ in range(TURNS):
            kb = clock.time("open", lambda: sl.open(Path(folder) / "second", engine="columnar"))
        clock.count("open", [{"facts": kb.stats["facts"]}])


SMALL = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."


def start(_: Given, clock: Clock, started: float) -> None:
    """Run the smallest example from the start of the process: the interpreter's is included."""
    import stratalog as sl

    def note(name: str) -> None:
        clock.note(name, time.process_time(), time.monotonic() - started)

    kb = sl.materialise(SMALL, {"edge": [(1, 2), (2, 3)]}, engine="columnar", progress=False)
    note("first result")
    assert kb.query("path(1, ?x)").num_rows == 2
    note("first query")
    kb.update(insert={"edge": [(3, 4)]})
    note("first update")


def main() -> None:
    """Measure the case of a folder with the code of a source tree."""
    folder, source, started = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    clock = Clock()
    import stratalog

    found = Path(stratalog.__file__)
    assert source in found.parents, f"{found} is measured instead of {source}"
    given = Given(folder)
    task = given.case["task"]
    if task == "start":
        start(given, clock, started)
    else:
        {"materialise": materialise, "update": update, "store": store}[task](given, clock)
    print(json.dumps(clock.steps))


if __name__ == "__main__":
    main()
