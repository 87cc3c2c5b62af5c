"""Options and profiles of the whole suite: which engines run, and how many random programs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"

if (
    str(ROOT) not in sys.path
):  # so that `pytest` finds the package `tests` as `python -m pytest` does
    sys.path.insert(0, str(ROOT))

# A random program is judged by brute force: its time says nothing about a test's health, and
# explaining a failure line by line takes minutes.
COMMON: dict[str, Any] = {
    "deadline": None,
    "phases": [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
settings.register_profile("fast", max_examples=15, **COMMON)
settings.register_profile("dev", max_examples=50, **COMMON)
settings.register_profile("ci", max_examples=150, derandomize=True, print_blob=True, **COMMON)
settings.register_profile("nightly", max_examples=5000, print_blob=True, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engines",
        default="reference,columnar",
        help="engines to test, separated by commas: reference, columnar, spark",
    )


def pytest_configure() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell in the background says so
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", metafunc.config.getoption("--engines").split(","))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets that lies beside the project, on machines that have it."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"needs the data sets of {SHARED_DATA}")
    return SHARED_DATA


SPARK_SETTINGS = {
    "spark.driver.memory": "4g",  # one session for all tests of a process, hundreds of them
    "spark.ui.enabled": "false",  # no port, no web server
    "spark.sql.shuffle.partitions": "1",  # small data: more tasks are only slower
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # code that runs a few times only
    "spark.network.timeout": "86400s",  # a machine that was asleep goes on
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session of two threads for all tests that need Spark; its JVM starts with the first."""
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    from stratalog import spark

    yield spark.session("local[2]", SPARK_SETTINGS)
    spark.stop()


@pytest.fixture(autouse=True)
def _session_of_engine(request: pytest.FixtureRequest) -> None:
    """Let tests of all engines use the tests' own session, if Spark is among them."""
    if (
        getattr(request.node, "callspec", None)
        and request.node.callspec.params.get("engine") == "spark"
    ):
        request.getfixturevalue("spark")


@pytest.fixture(autouse=True)
def _active_session(request: pytest.FixtureRequest) -> None:
    """Make the tests' own session the active one: a test before may have left another."""
    if "spark" in request.fixturenames:
        session = request.getfixturevalue("spark")
        if type(session).getActiveSession() is not session:
            session.createDataFrame([], "a INT")  # which makes it active


RANDOM = tuple(Path(__file__).parent / name for name in ("oracle", "faults", "fuzz"))
"""Tests of random programs, which read predicates without facts, and join what never matches.

`oracle/test_types.py` judges what is told of types; elsewhere it is heard, and not looked at.
"""


def needs_spark(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return bool(
        item.get_closest_marker("spark")
        or "spark" in getattr(item, "fixturenames", ())
        or (callspec and callspec.params.get("engine") == "spark")
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(folder in item.path.parents for folder in RANDOM):
            item.add_marker(pytest.mark.filterwarnings("ignore::stratalog.StratalogWarning"))
        if "shared_data" in getattr(item, "fixturenames", ()):
            # Real rule sets name much that data lacks, and derive owl:sameAs.
            item.add_marker(pytest.mark.filterwarnings("ignore:W301", "ignore:W310"))
        if needs_spark(item):
            item.add_marker("spark")
            # PySpark's own warning, for which nothing can be done here: it needs no pandas.
            item.add_marker(
                pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
            )
