"""A real Spark cluster on this machine: a standalone master and workers, each a process of its own.

They listen on the loopback interface only, on free ports, keep their files in one folder, and end
with the process that has started them, however that ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stratalog.spark.java import java_home

PATIENCE = 120.0  # seconds that a process has to begin; a busy machine takes long
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
SETTINGS = {  # of a session on such a cluster
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.cores.max": "2",
    "spark.ui.enabled": "false",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # begin with all executors
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE:.0f}s",
}

END_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_libc = ctypes.CDLL(None)


def end_with_parent() -> None:
    """Let this process be killed when the one that has started it ends."""
    _libc.prctl(END_WITH_PARENT, signal.SIGKILL)


class Cluster:
    """A master and its workers; `workers` are the process ids of those that were not killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = ""
        self.workers: list[int] = []

    def start(self, workers: int) -> None:
        """Start all; when it returns, every worker has been registered."""
        _, told = self._run("master", [MASTER], r"Starting Spark master at (spark://\S+)")
        self.url = told
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> int:
        """Start another worker and return its process id."""
        name = f"worker-{len(self._processes)}"
        place = str(self._folder / name)
        command = [WORKER, "--cores", "1", "--memory", "600m", "--work-dir", place, self.url]
        number, _ = self._run(name, command, "Successfully registered with (master)")
        self.workers.append(number)
        return number

    def _run(self, name: str, command: list[str], awaited: str) -> tuple[int, str]:
        """Start a process and return its id, and what it says when it has begun."""
        main, *others = command
        log = self._folder / f"{name}.log"
        where = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        with log.open("wb") as file:
            process = subprocess.Popen(
                [str(_spark_home() / "bin" / "spark-class"), main, *where, *others],
                stdout=file,
                stderr=file,
                env=self._environment(),
                preexec_fn=end_with_parent,  # noqa: PLW1509  # one call of the system
                start_new_session=True,  # Ctrl-C is for the test
            )
        self._processes.append(process)
        return process.pid, _await(log, awaited, process)

    def _environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
        local = self._folder / "local"
        local.mkdir(exist_ok=True)
        return {
            **kept,
            "JAVA_HOME": str(java_home()),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_HOME": str(_spark_home()),
            "SPARK_CONF_DIR": str(self._folder),  # nobody else's settings
            "SPARK_LOCAL_DIRS": str(local),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
        }

    def kill_worker(self, number: int) -> None:
        """Kill a worker and its executor at once, as a machine that fails does."""
        kill_tree(number)
        self.workers.remove(number)

    def stop(self) -> None:
        """Kill all processes that were started here, and their children."""
        for process in reversed(self._processes):
            if process.poll() is None:
                kill_tree(process.pid)
            process.wait()
        self._processes = []


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster for a while; its files and logs are in the folder."""
    made = Cluster(folder)
    try:
        made.start(workers)
        yield made
    finally:
        made.stop()


def kill_tree(number: int) -> None:
    """Kill a process and all that it has started, whatever group they are in."""
    for each in (number, *_descendants(number)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def executors(number: int) -> list[int]:
    """Return the executors of a worker."""
    return [each for each in _descendants(number) if b"CoarseGrained" in _command(each)]


def _command(number: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{number}/cmdline").read_bytes()
    return b""


def _descendants(number: int) -> list[int]:
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
    found = [number]
    for each in found:  # it grows
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def _await(log: Path, awaited: str, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(awaited, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(
        f"{log.name}: no '{awaited}' in\n{log.read_text(errors='replace')[-3000:]}"
    )


def _spark_home() -> Path:
    import pyspark

    module: Any = pyspark
    return Path(module.__file__).parent
