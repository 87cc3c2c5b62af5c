"""How fast N-Triples become numbers: million triples per CPU second, all processes together.

Spark's reader, the local reader, and the bare parser with the text of each term, which does less:
it numbers nothing.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox

from stratalog import spark as sessions
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.local import read_paths
from stratalog.pipeline.spark_read import read_spark
from stratalog_bench.generate.files import write_lubm
from stratalog_bench.reports import Figures

UNIVERSITIES = {"full": 15, "small": 1}
REPEATS = {"full": 3, "small": 1}
WANTED = 1 / 3
"""Of the bare parser's rate, what the reader on Spark must reach."""


def measure(scale: str) -> Figures:
    """Return the rates of all ways to read one file of universities."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/lubm.nt"
        triples = write_lubm(path, universities=UNIVERSITIES[scale])
        spark = sessions.session("local[2]")
        ways: dict[str, Callable[[], object]] = {
            "pyoxigraph": lambda: _parse(path),
            "local": lambda: read_paths([path], dictionary=Dictionary()),
            "spark": lambda: read_spark(spark, [path], dictionary=Dictionary()),
        }
        best = {name: _best(way, triples, REPEATS[scale]) for name, way in ways.items()}
        sessions.stop()
    share = best["spark"][0] / best["pyoxigraph"][0]
    notes = [f"{triples:,} triples; Spark at {share:.2f} of the bare parser, wanted {WANTED:.2f}"]
    columns = ["reader", "M triples per CPU s", "CPU s", "wall s"]
    return {
        "columns": columns,
        "rows": [[name, *figures] for name, figures in best.items()],
        "notes": notes,
    }


def _best(way: Callable[[], object], triples: int, repeats: int) -> tuple[float, float, float]:
    """Return rate, CPU and wall of the best of several runs, after one that is not counted."""
    way()
    found = []
    for _ in range(repeats):
        cpu, begun = _cpu_seconds(), time.perf_counter()
        way()
        wall = time.perf_counter() - begun
        cpu = max(_cpu_seconds() - cpu, 0.01)  # the system counts in hundredths
        found.append((round(triples / cpu / 1e6, 3), round(cpu, 2), round(wall, 2)))
    return max(found)


def _parse(path: str) -> None:
    """Parse with pyoxigraph and spell every term."""
    for quad in ox.parse(path=path, format=ox.RdfFormat.N_TRIPLES):
        str(quad.subject), str(quad.predicate), str(quad.object)


def _cpu_seconds() -> float:
    """Return the CPU time of this process and all its descendants, those that ended included."""
    times: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        times[int(folder.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    ours = {os.getpid()}
    while more := {p for p, (parent, _) in times.items() if parent in ours} - ours:
        ours |= more
    return sum(times[p][1] for p in ours) / os.sysconf("SC_CLK_TCK")
