"""CPU seconds of what comes first, where Stratalog has never run and where kernels are compiled.

Each run is a fresh process with a home of its own; children count, Spark's JVM too. Cold homes are
empty; in the warm one `stratalog warmup` has run. The least of several runs.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from stratalog.kernels.cache import cache_folder
from stratalog_bench.reports import Figures

RUNS = {"full": 3, "small": 1}
PROGRAM = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
EDGES = "a,b\nb,c\nc,d\nb,e\n"
SPARK_START = """
from stratalog import spark
session = spark.session("local[*]")
session.range(10).count()
spark.stop()
"""
IN_PYTHON = """
import json, time
import stratalog as sl
edges = [("a", "b"), ("b", "c"), ("c", "d"), ("b", "e")]
kb = sl.materialise(open("program.dlog").read(), {"edge": edges}, engine="columnar", progress=False)
assert len(kb["path"]) == 8
times = [time.process_time()]
assert kb.query('path("a", ?x)').num_rows == 4
times.append(time.process_time())
kb.update(delete={"edge": [("b", "c")]})
times.append(time.process_time())
print(json.dumps(times))
"""
MATERIALISE = ("materialise", "program.dlog", "edge.csv", "--store", "kb", "--quiet")
ON_SPARK = (*MATERIALISE, "--reader", "spark", "--publish", "published")
QUERY = ("query", "kb", 'path("a", ?where)', "--quiet")
UPDATE = ("update", "kb", "--delete", "edge=gone.csv", "--quiet")
BECOME_SUBREAPER = 36  # of prctl: processes whose parents are gone become children of this one

Seconds = dict[str, float]


def measure(scale: str) -> Figures:
    """Return CPU seconds, cold and warm, of each first thing."""
    _count_grandchildren()
    has_spark = scale == "full" and find_spec("pyspark") is not None
    with _folder() as home:
        begun = time.perf_counter()
        _fill(home, scale)
        filling = time.perf_counter() - begun
        warm = _least(_once(home, has_spark) for _ in range(RUNS[scale]))
    cold = _least(_in_empty_home(has_spark) for _ in range(RUNS[scale]))
    rows = [[name, round(cold[name], 3), round(warm[name], 3), WANTED.get(name)] for name in cold]
    notes = [f"all kernels are compiled in {filling:.1f} s, on {os.cpu_count()} cores"]
    columns = ["what", "cold CPU s", "warm CPU s", "wanted cold"]
    return {"columns": columns, "rows": rows, "notes": notes if scale == "full" else []}


def _fill(home: Path, scale: str) -> None:
    """Compile all kernels; at small scale, take those that are there."""
    if scale == "full":
        _run(home, _stratalog("warmup", "--quiet"))
    else:
        kept = cache_folder()
        shutil.copytree(kept, home / "cache" / "stratalog" / kept.name)


WANTED = {
    "Python: import and first result": 3,
    "Python: first query": 2,
    "Python: first update": 2,
    "command: materialise": 3,
    "command: query": 2,
    "command: update": 2,
}


def _in_empty_home(has_spark: bool) -> Seconds:
    with _folder() as home:
        return _once(home, has_spark)


def _once(home: Path, has_spark: bool) -> Seconds:
    """Return the CPU seconds of each thing; the cache is as it was before each."""
    python = (sys.executable, "-c")
    found = {
        "bare import of NumPy, Numba, Arrow": _cpu(home, *python, "import numpy, numba, pyarrow")
    }
    result, query, update = json.loads(_alone(home, *python, IN_PYTHON)[1])
    found |= {
        "Python: import and first result": result,
        "Python: first query": query - result,
        "Python: first update": update - query,
        "command: materialise": _cpu(home, *_stratalog(*MATERIALISE)),
        "command: query": _cpu(home, *_stratalog(*QUERY)),
        "command: update": _cpu(home, *_stratalog(*UPDATE)),
    }
    if has_spark:
        found["Spark: start and one job"] = _cpu(home, *python, SPARK_START)
        shutil.rmtree(home / "kb")
        found["command: materialise --reader spark"] = _cpu(home, *_stratalog(*ON_SPARK))
        shutil.rmtree(home / "published")
    shutil.rmtree(home / "kb")
    return found


def _cpu(home: Path, *command: str) -> float:
    return _alone(home, *command)[0]


def _alone(home: Path, *command: str) -> tuple[float, str]:
    """Run a command with a copy of the cache; return its CPU seconds and what it printed."""
    cache = home / "cache"
    shutil.rmtree(home / "copy", ignore_errors=True)
    shutil.copytree(cache, home / "copy")
    before = _children()
    printed = _run(home, command, home / "copy")
    with suppress(ChildProcessError):
        while True:  # Spark's JVM, whose parent is gone
            os.waitpid(-1, 0)
    return _children() - before, printed


def _run(home: Path, command: Sequence[str], cache: Path | None = None) -> str:
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(cache or home / "cache")}
    for name in ("STRATALOG_CACHE_DIR", "STRATALOG_KERNELS"):
        environment.pop(name, None)
    done = subprocess.run(  # noqa: S603  # our own commands
        command, cwd=home, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def _stratalog(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "stratalog", *arguments)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _least(runs: Iterator[Seconds]) -> Seconds:
    first, *others = runs
    return {name: min(run[name] for run in (first, *others)) for name in first}


def _count_grandchildren() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a home with a program, facts and an empty cache."""
    with tempfile.TemporaryDirectory(prefix="stratalog-start-") as name:
        home = Path(name)
        (home / "cache").mkdir()
        (home / "program.dlog").write_text(PROGRAM)
        (home / "edge.csv").write_text(EDGES)
        (home / "gone.csv").write_text("b,c\n")
        yield home
