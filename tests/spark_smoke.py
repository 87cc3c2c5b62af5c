"""What every release of PySpark 4 must do, in the environment of the release.

python -m tests.spark_smoke           all checks
python -m tests.spark_smoke --short   those of the full test run

Needs Stratalog and PySpark, nothing else. The first line that it prints is a JSON object that says
which releases these are; each other line is the outcome of a check: its name, its seconds, and an
error or null. What Spark derives must be what the columnar engine derives, with all counts.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import stratalog as sl
from stratalog import spark as sessions
from stratalog.spark.internals import SETTING

PROGRAM = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
hop(?x, ?y, 1) :- edge(?x, ?y) .
hop(?x, ?z, ?n) :- hop(?x, ?y, ?m), edge(?y, ?z), BIND(?m + 1 AS ?n), FILTER(?n <= 3) .
node(?x) :- edge(?x, ?y) . node(?y) :- edge(?x, ?y) .
apart(?x, ?y) :- node(?x), node(?y), NOT path(?x, ?y) .
degree(?x, ?n) :- AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
busy(?x, ?s) :- degree(?x, ?n), ?n > 1, BIND(CONCAT("n", STR(?n)) AS ?s) .
"""
EDGES = [(n % 17, (5 * n + 3) % 19) for n in range(40)]
SOME, OTHERS = EDGES[::7], [(18, 4), (2, 2), ("a", 1)]
PATHS = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
CYCLES = PATHS + " loop(?x) :- path(?x, ?x) . free(?x) :- edge(?x, ?y), NOT loop(?x) ."
SINGLE = "two(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) . ends(?x) :- two(?x, ?y), NOT edge(?y, ?x) ."
SAME = """
same(?x, ?y) :- link(?x, ?y) . same(?x, ?y) :- same(?y, ?x) .
same(?x, ?z) :- same(?x, ?y), same(?y, ?z) . link(?x, ?y) :- edge(?x, ?y), ?x > ?y .
"""
ALGORITHMS = ("dred", "dred-c", "bf", "bf-c")
STREAM_WAITS = 120


def same(found: sl.KnowledgeBase, expected: sl.KnowledgeBase) -> None:
    """Fail unless both have the same facts with the same counts."""
    assert found._counts() == expected._counts()


def both(session: Any, program: str, **options: Any) -> tuple[sl.KnowledgeBase, sl.KnowledgeBase]:
    """Return what a program derives on Spark and in this process, compared."""
    facts = {"edge": EDGES}
    found = sl.materialise(program, facts, engine="spark", spark=session, **options)
    expected = sl.materialise(program, facts, engine="columnar", **options)
    same(found, expected)
    return found, expected


def rounds(session: Any, _: Path) -> None:
    """Recursion by rounds of joins, negation, aggregates and built-ins, on packed rows."""
    found, _expected = both(session, PROGRAM, modules="off")
    assert found._host.engine.session.can_pack, "rows are not packed: a private method is missing"
    found.close()


def closures(session: Any, _: Path) -> None:
    """Transitive and symmetric relations as closures, listed by executors."""
    found, expected = both(session, PATHS + SAME)
    for kb in (found, expected):
        kb.update(delete={"edge": SOME}, insert={"edge": OTHERS})
    same(found, expected)
    found.close()


def updates(session: Any, _: Path) -> None:
    """Facts that go and come, by every algorithm."""
    for program, algorithms in ((CYCLES, ALGORITHMS), (SINGLE, ("counting",))):
        for algorithm in algorithms:
            kept = {"modules": "off", "maintenance": algorithm}
            found, expected = both(session, program, **kept)
            for kb in (found, expected):
                kb.update(delete={"edge": SOME})
                kb.update(insert={"edge": OTHERS})
            same(found, expected)
            found.close()


def public(session: Any, folder: Path) -> None:
    """The same by public methods of PySpark only."""
    other = session.newSession()
    other.conf.set(SETTING, "off")
    found, expected = both(other, PROGRAM, modules="off")
    assert not found._host.engine.session.can_pack
    for kb in (found, expected):
        kb.update(delete={"edge": SOME}, insert={"edge": OTHERS})
    same(found, expected)
    frames(other, folder)
    found.close()


def reading(session: Any, folder: Path) -> None:
    """Files that Spark reads, a store, and published facts that Spark reads again."""
    edges, triples = folder / "edge.csv", folder / "more.nt"
    edges.write_text("".join(f"{x},{y}\n" for x, y in EDGES))
    triples.write_text('<http://e/a> <http://e/p> "d" .\n')
    given = {"reader": "spark", "spark": session, "progress": False}
    store, published = folder / "kb", folder / "published"
    kb = sl.materialise(PATHS, [edges, triples], store=store, publish=published, **given)
    local = sl.materialise(PATHS, [edges, triples], reader="local")
    same(kb, local)
    same(sl.open(store, engine="spark", spark=session), local)
    rows = session.read.parquet(str(published / "path" / "version=1")).collect()
    assert {tuple(row) for row in rows} == set(local["path"])


def frames(session: Any, _: Path) -> None:
    """DataFrames in and out, and views."""
    edges = session.createDataFrame(EDGES, "a long, b long")
    kb = sl.materialise(PATHS, {"edge": edges})
    assert kb.frame("path", session).count() == len(kb["path"])
    name = kb.views(session, prefix="smoke_")["path"]
    (row,) = session.sql(f"SELECT count(*) FROM {name}").collect()
    assert row[0] == len(kb["path"])


def stream(session: Any, folder: Path) -> None:
    """Two batches of a change feed."""
    kb = sl.materialise(PATHS, {"edge": [(1, 2), (2, 3)]}, store=folder / "followed")
    for number, change in enumerate([(3, 4, "insert", 1), (1, 2, "delete", 2)]):
        names = ["c0", "c1", "_change_type", "_commit_version"]
        place = folder / "feed" / "edge"
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table([[each] for each in change], names), place / f"{number}.parquet")
        time.sleep(0.05)  # Spark takes the older file first
    given = {"spark": session, "max_files": 1, "once": True}
    running = kb.stream(str(folder / "feed"), **given)
    assert running.wait(STREAM_WAITS)
    assert running.batches == 2, f"{running.batches} batches"
    assert sorted(kb["path"]) == [(2, 3), (2, 4), (3, 4)]


def large(session: Any, _: Path) -> None:
    """So many facts that they go to Spark as files and that its statements are compiled."""
    numbers = np.random.default_rng(1).integers(0, 60_000, (2, 150_000))
    facts = {"edge": pa.table({"a": numbers[0], "b": numbers[1]})}
    program = SINGLE + " degree(?x, ?n) :- AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) ."
    found = sl.materialise(program, facts, engine="spark", spark=session)
    expected = sl.materialise(program, facts, engine="columnar")
    assert found.sizes() == expected.sizes()
    for name in ("two", "ends", "degree"):
        mine, yours = (table_of(kb, name) for kb in (found, expected))
        assert mine.equals(yours), name
    assert found.stats["derivations"] == expected.stats["derivations"]
    found.close()


def connect(_session: Any, folder: Path) -> None:
    """Spark Connect, which is of another process, as is its session."""
    command = [sys.executable, "-m", "tests.connect_smoke", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-4000:]


def table_of(kb: sl.KnowledgeBase, name: str) -> pa.Table:
    """Return the facts of a predicate, sorted."""
    table = kb.facts(name)
    return table.sort_by([(column, "ascending") for column in table.column_names])


Check = Callable[[Any, Path], None]
SHORT: tuple[Check, ...] = (rounds, closures, reading, frames, stream)
ALL: tuple[Check, ...] = (*SHORT, updates, public, large, connect)


def tell(**told: object) -> None:
    sys.__stdout__.write(json.dumps(told) + "\n")
    sys.__stdout__.flush()


def run(check: Check, session: Any, folder: Path) -> None:
    """Tell how a check went."""
    folder.mkdir()
    begun, error = time.monotonic(), None
    try:
        check(session, folder)
    except Exception:  # noqa: BLE001  # whatever it is, it is told
        error = traceback.format_exc()
    tell(check=check.__name__, seconds=time.monotonic() - begun, error=error)


def main(arguments: list[str]) -> None:
    checks = SHORT if "--short" in arguments else ALL
    begun = time.monotonic()
    session = sessions.session(
        "local[2]",
        {
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        },
    )
    properties = session.sparkContext._jvm.System
    tell(
        pyspark=session.version,
        java=str(properties.getProperty("java.version")),
        home=str(properties.getProperty("java.home")),
        python=platform.python_version(),
        seconds=time.monotonic() - begun,
    )
    with tempfile.TemporaryDirectory() as name, redirect_stdout(sys.stderr):
        for check in checks:
            run(check, session, Path(name) / check.__name__)
    sessions.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
