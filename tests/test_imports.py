"""`import stratalog` is quick, because nothing heavy is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_SECONDS = 0.3
HEAVY = ("numba", "numpy", "pyarrow", "pyoxigraph", "pandas", "polars", "rich", "lark", "typer")


def python(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout


def test_import_is_quick():
    measure = (
        "import time; t = time.perf_counter(); import stratalog; print(time.perf_counter() - t)"
    )
    assert min(float(python(measure)) for _ in range(5)) < MOST_SECONDS


def test_import_brings_nothing_heavy_along():
    loaded = python("import stratalog, sys; print(*sys.modules)").split()
    assert sorted(set(HEAVY) & set(loaded)) == []


@pytest.mark.parametrize("name", ["IRI", "BNode", "Literal", "StratalogError"])
def test_values_and_errors_need_no_engine(name: str):
    loaded = python(f"import stratalog, sys; stratalog.{name}; print(*sys.modules)").split()
    assert sorted({"numba", "pyarrow"} & set(loaded)) == []


def test_every_public_name_can_be_imported():
    code = "import stratalog; print(*(n for n in stratalog.__all__ if not hasattr(stratalog, n)))"
    assert python(code).split() == []


def test_the_old_name_of_the_generators_works_and_warns():
    code = "from stratalog import generate; print(len(generate.chain(3).facts['edge']))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "2\n"
    assert "W330: stratalog.generate is an old name" in run.stderr
    assert "help: from stratalog_bench import generate" in run.stderr


def test_a_misspelt_name_is_corrected_once():
    run = subprocess.run(
        [sys.executable, "-c", "import stratalog; stratalog.materialize"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr.count("Did you mean: 'materialise'?") == 1


def test_an_unknown_name_is_an_attribute_error():
    code = "import stratalog\ntry: stratalog.nothing\nexcept AttributeError as error: print(error)"
    assert "nothing" in python(code)


def test_the_version_of_the_package_is_that_of_its_metadata():
    own = python("import stratalog; print(stratalog.__version__)").strip()
    assert version("stratalog") == own


def test_the_benchmarks_are_of_the_same_version_and_need_it():
    own = version("stratalog")
    project = tomllib.loads((ROOT / "benchmarks" / "pyproject.toml").read_text())["project"]
    assert project["version"] == own
    assert f"stratalog=={own}" in project["dependencies"]
