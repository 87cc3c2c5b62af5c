"""What PySpark keeps to itself is used in one file, and each use has a public way beside it."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stratalog as sl
from stratalog.engine.spark.cuts import Written
from stratalog.engine.spark.session import Work
from stratalog.errors import EngineError
from stratalog.pipeline import remote_paths
from stratalog.spark import from_arrow, internals

SOURCES = Path(__file__).parents[3] / "src" / "stratalog"
PRIVATE = re.compile(
    r"\._(?:jvm|jdf|jsc|jc|jconf|jsparkSession|jrdd|jreader|jwrite|jschema|jseq|jmap|jcols|jgd|jq"
    r"|jdataset|sc|gateway|activeSession|instantiatedSession|active_spark_context"
    r"|getJavaStorageLevel|to_java\w*)\b|[\"']_(?:jvm|jdf|jsc|jconf|gateway)[\"']"
    r"|java_gateway|require_minimum_pandas_version"
)


def test_private_names_of_pyspark_stand_in_one_file():
    found = {
        f"{path.relative_to(SOURCES)}:{number}"
        for path in SOURCES.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PRIVATE.search(line)
    }
    assert {place.partition(":")[0] for place in found} == {"spark/internals.py"}


@pytest.fixture
def plain(spark: Any) -> Any:
    """A session with which nothing private is to be used."""
    session = spark.newSession()
    session.conf.set(internals.SETTING, "off")
    with internals.active_session_kept(spark):
        yield session


PROGRAM = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
apart(?x, ?y) :- edge(?x, ?z), edge(?w, ?y), NOT path(?x, ?y) .
"""
EDGES = [(n % 5, (3 * n + 1) % 7) for n in range(12)]


def test_without_private_methods_the_engine_derives_and_updates_the_same(plain: Any):
    made = {"facts": {"edge": EDGES}, "modules": "off", "progress": False}
    found = sl.materialise(PROGRAM, engine="spark", spark=plain, **made)
    expected = sl.materialise(PROGRAM, engine="columnar", **made)
    for kb in (found, expected):
        kb.update(delete={"edge": EDGES[:3]}, insert={"edge": [(6, 6), (6, 0)]})
    assert found._counts() == expected._counts()
    assert not found._host.engine.session.can_pack
    found.close()


def test_rows_are_packed_where_spark_can(spark: Any):
    work = Work(spark)
    written = Written(work, work.spark.range(10))
    written.fill()
    assert (written.rows, work.can_pack) == (10, True)
    assert work.sql(f"SELECT sum(id) AS s FROM {written.view}").collect()[0]["s"] == 45
    written.free()


def test_what_spark_refuses_to_pack_is_kept_as_it_is(spark: Any, monkeypatch: Any):
    def missing(*_: object) -> None:
        raise internals.MissingError

    monkeypatch.setattr(internals, "packed", missing)
    work = Work(spark)
    written = Written(work, work.spark.range(10))
    assert not work.can_pack
    written.fill()
    written.check(10)
    assert work.sql(f"SELECT sum(id) AS s FROM {written.view}").collect()[0]["s"] == 45
    written.free()


@pytest.mark.parametrize("way", ["packed", "checkpointed"])
def test_rows_that_two_attempts_of_a_task_have_counted_are_counted_again(spark: Any, way: str):
    work = Work(spark)
    work.can_pack = way == "packed"
    written = Written(work, work.spark.range(10))
    written.fill()
    written.rows, written._is_exact = 14, False  # as accumulators of older releases have it
    written.check(10)
    assert written.rows == 10
    written.rows, written._is_exact = 14, False
    with pytest.raises(EngineError, match="wrote 14 rows and read 9"):
        written.check(9)
    written.rows, written._is_exact = 14, True
    with pytest.raises(EngineError, match="wrote 14 rows and read 10"):
        written.check(10)
    written.free()


def test_packed_rows_that_were_sorted_are_joined_with_themselves(spark: Any):
    """Releases up to 4.2.0 lose the columns by which such rows are sorted: `key not found`."""
    work = Work(spark)
    written = Written(work, work.sql("SELECT id AS a, id % 3 AS p FROM range(9) SORT BY p"))
    written.fill()
    join = f"SELECT a.a FROM {written.view} a JOIN {written.view} b ON a.a = b.a AND a.p = b.p"
    assert work.can_pack
    assert work.sql(f"{join} UNION ALL {join}").count() == 18
    again = Written(work, work.sql(f"SELECT a AS b FROM ({join})"))
    again.fill()
    assert (written.rows, again.rows, work.can_pack) == (9, 9, True)
    for each in (written, again):
        each.free()


def test_the_active_session_stays_what_it_was_without_private_methods(spark: Any, plain: Any):
    spark.createDataFrame([], "a INT")  # makes it active
    before = type(spark).getActiveSession()
    assert from_arrow(plain, pa.table({"a": [1]})).count() == 1
    assert type(spark).getActiveSession() is before


def test_memory_and_sizes_are_unknown_without_private_methods(spark: Any, plain: Any):
    known = internals.memory_of_jvm(spark)
    assert known is not None
    assert known.most >= known.taken > 0
    assert internals.memory_of_jvm(plain) is None
    assert internals.expected_bytes(spark.range(10)) == 80
    assert internals.expected_bytes(plain.range(10)) == internals.UNKNOWN_SIZE
    internals.collect_garbage(plain)


def test_a_large_frame_of_unknown_size_gives_the_same_facts(plain: Any):
    edges = plain.createDataFrame(EDGES, "a long, b long")
    found = sl.materialise(PROGRAM, {"edge": edges})
    assert set(found["path"]) == set(sl.materialise(PROGRAM, {"edge": EDGES})["path"])
    assert found.frame("path", plain).count() == len(found["path"])


def test_a_context_that_was_stopped_has_ended_whatever_pyspark_tells():
    class Stopped:
        @property
        def applicationId(self) -> str:  # noqa: N802  # PySpark's
            raise AttributeError("'NoneType' object has no attribute 'sc'")

    class Running:
        applicationId = "local-1"  # noqa: N815  # PySpark's

    assert internals.has_ended(Stopped())  # type: ignore[arg-type]
    assert not internals.has_ended(Running())  # type: ignore[arg-type]


def tree(path: Any) -> Any:
    return {each.name: tree(each) for each in path.iterdir()} if path.is_dir() else path.suffixes


def test_spark_lists_folders_and_patterns_as_hadoop_tells_of_them(
    spark: Any, plain: Any, tmp_path: Path
):
    for name in ("a.csv", "b.nt.gz", "t/k=1/part-0.parquet", "t/k=2/part-0.parquet", "x[1].csv"):
        place = tmp_path / "top" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("1,2\n")
    top = f"file://{tmp_path}/top"
    for path in (top, f"{top}/", f"{top}/*", f"{top}/*.csv", f"{top}/t/k=1", f"{top}/x[1].csv"):
        sizes: list[dict[str, int]] = [{}, {}]
        told = remote_paths.matching(spark, path, sizes[0])
        listed = remote_paths.matching(plain, path, sizes[1])
        assert told, path
        assert [(each.name, tree(each)) for each in listed] == [
            (each.name, tree(each)) for each in told
        ], path
        assert set(sizes[1].values()) == {4}
    assert remote_paths.matching(plain, f"{top}/none", {}) == []
    assert remote_paths.matching(spark, f"{top}/none", {}) == []


def test_the_beginning_of_a_remote_file_is_the_same_either_way(
    spark: Any, plain: Any, tmp_path: Path
):
    path = tmp_path / "a[b].tsv"
    path.write_bytes(b"a\tb\nc\xff\td\n")
    for session in (spark, plain):
        assert remote_paths.beginning(session, f"file://{path}", 7) == b"a\tb\nc\xff\t"


def test_jobs_with_a_description_are_told_with_their_stages(spark: Any):
    spark.sparkContext.setJobDescription("counted for a test")
    spark.range(4).count()
    spark.sparkContext.setLocalProperty("spark.job.description", None)
    found = internals.jobs_with_stages(spark.sparkContext)
    stages = [job.stages for job in found if job.description == "counted for a test"]
    assert stages  # Spark forgets stages of old jobs
    assert min(stages) > 0


def test_threads_take_turns_in_making_a_session_active_for_a_moment(spark: Any):
    with internals.active_session_kept(spark), ThreadPoolExecutor(1) as other:
        assert not other.submit(internals._ACTIVE.acquire, blocking=False).result()
