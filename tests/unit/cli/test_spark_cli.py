"""The command line and Spark: stages, published facts, and what is said when Spark is not there."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow.parquet as pq
import pytest

BLOCKED = """
import sys
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = classmethod(  # as if it were not installed
    lambda _cls, name, *more: None if name.startswith("pyspark") else found(name, *more)
)
from stratalog.knowledge import reader
reader.LARGEST_LOCAL = 4
from stratalog.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def without_pyspark(*arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BLOCKED), *arguments],
        capture_output=True, text=True, check=False, env={**os.environ},
    )  # fmt: skip


@pytest.fixture
def edges(folder):
    """The file's whole path: the session's workers started in another folder."""
    return folder / "edge.csv"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_whole_pipeline_says_what_each_stage_did(command, edges):
    done = command(
        "materialise", "rules.dlog", edges,
        "--reader=spark", "--store=kb", "--publish=published",
    )  # fmt: skip
    assert done.status == 0, done.err
    lines = [re.sub(r"\d+\.\d\d s", "T s", line) for line in done.err.splitlines()]
    assert lines[:3] == [
        "spark: local[2], T s", "read: 12 bytes, T s", "encode: 3 facts, 4 constants, T s"
    ]  # fmt: skip
    assert re.fullmatch(r"reason: 6 derived facts, \d+ rounds, T s", lines[3])
    assert lines[4:6] == [
        "save: kb version 1, T s", "publish: 9 facts in 2 tables -> published version 1, T s"
    ]  # fmt: skip
    assert lines[6].startswith("3 explicit + 6 derived facts")
    assert pq.ParquetFile("published/path/version=1/part-00000.parquet").metadata.num_rows == 6


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_quiet_is_quiet(command, edges):
    done = command("materialise", "rules.dlog", edges, "--reader=spark", "-q", "--json")
    assert (done.status, done.err) == (0, "")
    assert done.json["facts"] == 9


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_bad_line_is_the_same_error_from_both_readers(command, edges):
    edges.write_text("a,b\nb\n")
    found = [command("materialise", "rules.dlog", edges, f"--reader={reader}")
             for reader in ("local", "spark")]  # fmt: skip
    errors = [done.err[done.err.index("D105") :] for done in found]
    assert [done.status for done in found] == [1, 1]
    assert errors[0] == errors[1]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_settings_that_the_running_session_does_not_have_are_refused(command):
    done = command("materialise", "rules.dlog", "edge.csv", "--reader=spark", "--master=local[7]")
    assert done.status == 2
    assert "E206: " in done.err


def test_publishing_needs_no_spark(command):
    done = command("materialise", "rules.dlog", "edge.csv", "--publish", "out", "--store", "kb")
    assert done.status == 0
    stages = [line.partition(":")[0] for line in done.err.splitlines()[:-1]]
    assert stages == ["read", "reason", "save", "publish"]
    assert Path("out/_stratalog.json").exists()


def test_a_missing_path_is_told_before_spark_starts(command):
    done = command("materialise", "rules.dlog", "nowhere.csv", "--reader", "spark")
    assert done.status == 1
    assert done.err.splitlines()[-3:] == [
        "D100: there is no such file or folder",
        "  nowhere.csv",
        "  help: check the name and the current folder",
    ]


@pytest.mark.parametrize("setting", ["spark.ui.port", "=1", "ui.port=1"])
def test_a_bad_setting_is_a_mistake_in_the_command(command, setting):
    done = command("materialise", "rules.dlog", "edge.csv", "--conf", setting)
    assert (done.status, done.err[:5]) == (2, "E206:")
    assert "help: " in done.err


@pytest.mark.usefixtures("folder")
def test_without_pyspark_the_reader_on_spark_says_what_to_install():
    done = without_pyspark("materialise", "rules.dlog", "edge.csv", "--reader", "spark")
    assert (done.returncode, done.stdout) == (4, "")
    assert "E202" in done.stderr
    assert 'pip install "stratalog[spark]"' in done.stderr


@pytest.mark.usefixtures("folder")
def test_without_pyspark_large_files_are_read_here_with_a_warning():
    done = without_pyspark("materialise", "rules.dlog", "edge.csv", "--store", "kb")
    assert done.returncode == 0, done.stderr
    assert "because PySpark 4 is not installed" in done.stderr
    assert "3 explicit + 6 derived facts" in done.stderr
