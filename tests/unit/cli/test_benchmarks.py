"""The commands of stratalog-bench: found where it is installed, a coded error where it is not."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from stratalog.cli.benchmarks import BENCH, GENERATE, GROUP
from stratalog.runtime.benchmarks import INSTALL

HIDDEN = """
import importlib.metadata, sys
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = classmethod(  # as if it were not installed
    lambda _cls, name, *more: None if name == "stratalog_bench" else found(name, *more)
)
importlib.metadata.entry_points = lambda **_: ()
"""


def without_benchmarks(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", HIDDEN + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_distribution_brings_the_commands_that_are_listed():
    assert {each.name for each in entry_points(group=GROUP)} == {BENCH.name, GENERATE.name}


@pytest.mark.parametrize("each", [BENCH, GENERATE], ids=lambda each: each.name)
def test_the_list_of_commands_says_of_each_what_its_own_help_says(command, each):
    shown = " ".join(command(each.name, "--help").out.split())
    assert f"Usage: stratalog {each.name} [OPTIONS]" in shown
    assert each.help in shown


@pytest.mark.parametrize(
    "arguments", [("bench",), ("bench", "dag", "--runs", "5"), ("generate", "--help")]
)
def test_without_the_benchmarks_their_commands_say_what_installs_them(arguments):
    main = "from stratalog.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = without_benchmarks(main, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"B110: stratalog {arguments[0]} is part of stratalog-bench")
    assert f"help: {INSTALL}" in done.stderr


def test_without_the_benchmarks_the_old_import_says_what_installs_them():
    done = without_benchmarks("import stratalog.generate")
    assert done.returncode == 1
    assert "StratalogError: B110: stratalog.generate is part of stratalog-bench" in done.stderr
    assert f"help: {INSTALL}" in done.stderr


def test_without_the_benchmarks_all_commands_are_listed():
    main = "from stratalog.cli.main import main; sys.exit(main(['--help']))"
    done = without_benchmarks(main)
    assert (done.returncode, done.stderr) == (0, "")
    assert BENCH.help[:40] in done.stdout
