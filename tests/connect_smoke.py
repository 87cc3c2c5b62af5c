"""Spark Connect, in a process of its own: DataFrames are facts, sessions are refused.

python -m tests.connect_smoke FOLDER   needs pyspark[connect]; ends with status 0 if all is so
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stratalog as sl
from stratalog import spark as sessions

PATHS = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
EDGES = [(1, 2), (2, 3)]


def code_of(call: Callable[[], object]) -> str:
    """Return the code of the error that a call ends with."""
    try:
        call()
    except sl.StratalogError as error:
        return error.code if error.help else "no help"
    return "no error"


def facts_of_frames(session: Any) -> None:
    """Give DataFrames as facts, in a list of facts and in an update."""
    edges = session.createDataFrame(EDGES, "a long, b long")
    kb = sl.materialise(PATHS, [{"edge": edges}, {"edge": [(0, 1)]}])
    assert kb.stats["engine"] == "columnar"
    assert set(kb["path"]) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    kb.update(insert={"edge": session.sql("SELECT 3L AS a, 4L AS b")}, delete={"edge": edges})
    assert set(kb["path"]) == {(0, 1), (3, 4)}


def sessions_refused(session: Any, folder: Path) -> None:
    """Give a session, or leave it to be found, wherever one can be used."""
    facts = {"edge": EDGES}
    store = folder / "kb"
    kb = sl.materialise(PATHS, facts, store=store)
    (folder / "edge.csv").write_text("1,2\n")
    stream = session.readStream.format("rate").load()
    calls = [
        lambda: sl.materialise(PATHS, facts, spark=session),
        lambda: sl.materialise(PATHS, facts, engine="spark"),
        lambda: sl.materialise(PATHS, folder / "edge.csv", reader="spark"),
        lambda: sl.open(store, spark=session),
        lambda: sl.open(store, engine="spark"),
        lambda: kb.frame("path"),
        lambda: kb.frame("path", session),
        lambda: kb.views(session),
        kb.views,
        lambda: kb.stream({"edge": stream}),
        lambda: kb.stream(str(folder / "feed")),
        sessions.session,
        sessions.active,
        lambda: sessions.checked(session),
    ]
    (folder / "feed").mkdir()
    assert [code_of(call) for call in calls] == ["E205"] * len(calls)


def main(folder: str) -> None:
    os.environ["JAVA_HOME"] = str(sessions.java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote("local[1]").getOrCreate()
    try:
        facts_of_frames(session)
        sessions_refused(session, Path(folder))
    finally:
        session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
