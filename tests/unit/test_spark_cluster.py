"""On a cluster, facts and counts are those of the columnar engine, also when a worker is lost.

Run as a program, this file plays the driver: a process has one Spark session, and the one of the
other tests is in local mode.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402  # the path is set for the program

import stratalog as sl  # noqa: E402
from stratalog import spark as sessions  # noqa: E402
from tests.cluster import SETTINGS, cluster, end_with_parent, executors  # noqa: E402

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif("STRATALOG_LONG" not in os.environ, reason="minutes: STRATALOG_LONG=1"),
]

PROGRAM = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
node(?x) :- edge(?x, ?y) . node(?y) :- edge(?x, ?y) .
apart(?x, ?y) :- node(?x), node(?y), NOT path(?x, ?y) .
reach(?x, ?n) :- AGGREGATE(path(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
"""
LAYERS, WIDTH = 5, 20
ROUNDS = {"modules": "off"}  # a closure would leave no round to lose a worker in
SITUATIONS = ("materialised", "lost while updating", "lost while materialising")


def edges():
    """Edges from layer to layer, and a cycle."""
    chosen = random.Random(4)
    nodes = [range(layer * WIDTH, (layer + 1) * WIDTH) for layer in range(LAYERS)]
    pairs = pairwise(nodes)
    found = {(chosen.choice(a), chosen.choice(b)) for a, b in pairs for _ in range(60)}
    return [*sorted(found), (1000, 1001), (1001, 1002), (1002, 1000)]


def update(kb):
    kb.update({"edge": [(1002, 3), (5, 2000), (2000, 40)]}, {"edge": edges()[::11]})


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """How facts and counts on a cluster differ from those of the columnar engine."""
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    folder = tmp_path_factory.mktemp("cluster")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=end_with_parent,  # one call of the system
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("situation", SITUATIONS)
def test_facts_and_counts_are_those_of_the_columnar_engine(found, situation):
    assert found[situation] == []


def test_executors_run_the_drivers_python(found):
    assert found["python"] == [sys.executable]


def test_a_worker_was_lost_each_time(found):
    assert found["executors"] == {"before": 2, "lost": 1, "again": 2, "lost again": 1}


class Driver:
    """A session on a cluster, and the columnar engine beside it."""

    def __init__(self, made):
        self.cluster = made
        self.spark = sessions.session(made.url, SETTINGS)
        self.columnar = sl.materialise(PROGRAM, {"edge": edges()}, engine="columnar", **ROUNDS)
        self.begun = self.columnar._counts()
        update(self.columnar)
        self.updated = self.columnar._counts()
        self.doomed = None
        self.told = []

    def materialise(self):
        options = {"spark": self.spark, "progress": self.hear, **ROUNDS}
        return sl.materialise(PROGRAM, {"edge": edges()}, engine="spark", **options)

    def hear(self, stage, detail):
        """Kill a worker in the first job of the third round, if one is to be killed."""
        self.told.append(f"{stage}: {detail}")
        if self.doomed is not None and stage == "reason" and "round 3" in detail:
            threading.Thread(target=self._kill, args=(self.doomed,)).start()
            self.doomed = None

    def _kill(self, number):
        tracker = self.spark.sparkContext.statusTracker()
        while not tracker.getActiveJobsIds():
            time.sleep(0.001)
        self.cluster.kill_worker(number)

    def executors(self):
        """Return how many executors the driver has."""
        context = self.spark.sparkContext._jsc.sc()
        return context.getExecutorMemoryStatus().size() - 1

    def await_executors(self, number):
        """Wait until the driver has so many executors, and return how many it has."""
        end = time.monotonic() + 60
        while self.executors() != number and time.monotonic() < end:
            time.sleep(0.1)
        return self.executors()


def differences(found, expected):
    """Return some of the facts whose counts are not as they should be."""
    return [
        f"{fact}: {found.get(fact)} instead of {expected.get(fact)}"
        for fact in list({**expected, **found})
        if found.get(fact) != expected.get(fact)
    ][:5]


def play(driver):
    seen = {"before": driver.await_executors(2)}
    result = {"executors": seen}
    workers = driver.spark.sparkContext.parallelize(range(2), 2)
    result["python"] = workers.map(lambda _: sys.executable).distinct().collect()
    first, second = driver.cluster.workers
    assert all(len(executors(worker)) == 1 for worker in (first, second))
    kb = driver.materialise()
    result["materialised"] = differences(kb._counts(), driver.begun)
    driver.doomed = first
    update(kb)
    seen["lost"] = driver.await_executors(1)
    result["lost while updating"] = differences(kb._counts(), driver.updated)
    kb.close()
    driver.cluster.add_worker()
    seen["again"] = driver.await_executors(2)
    driver.doomed = second
    kb = driver.materialise()
    seen["lost again"] = driver.await_executors(1)
    result["lost while materialising"] = differences(kb._counts(), driver.begun)
    return result


def main(folder):
    end_with_parent()
    with cluster(Path(folder)) as made:
        driver = Driver(made)
        try:
            result = play(driver)
        finally:
            sys.stderr.write("\n".join(driver.told) + "\n")
            sessions.stop()
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
