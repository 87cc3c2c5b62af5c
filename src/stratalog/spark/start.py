"""One Spark session per process: the user's if there is one, otherwise ours until we stop it."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any

from stratalog.errors import EngineError
from stratalog.spark.java import INSTALL, java_home
from stratalog.spark.settings import (
    check_settings,
    connect_refused,
    default_settings,
    is_local_master,
    settings_of_the_installation,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 10.0
"""Seconds that a JVM has for its own clean-up before it is killed."""


@dataclass(frozen=True)
class _Ours:
    """A session that this process made, with what has to go when it ends."""

    session: SparkSession
    folder: Path
    process: int


_ours: _Ours | None = None
_lock = threading.RLock()


def session(
    master: str | None = None, conf: Mapping[str, object] | None = None
) -> SparkSession:
    """Return the active session if there is one, otherwise a new one on `master` with `conf`."""
    wanted = check_settings(master, conf)
    with _lock:
        if (running := active()) is not None:
            _check_agreement(running, wanted)
            return running
        return _start(wanted)


def active() -> SparkSession | None:
    """Return the session of this process, which nobody but its maker may change or stop."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None and connect.SparkSession.getActiveSession() is not None:
        raise connect_refused()
    if SparkContext._active_spark_context is None:  # noqa: SLF001  # no public way to ask
        return None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def checked(session: object) -> SparkSession:
    """Return `session` if it is one that Stratalog can use, or raise E205 or E120."""
    kind = type(session)
    if kind.__name__ != "SparkSession" or not kind.__module__.startswith("pyspark.sql"):
        raise EngineError(
            "E120", f"spark={session!r} is no SparkSession", help="leave it out for the active one"
        )
    if ".connect." in kind.__module__:
        raise connect_refused()
    return session  # type: ignore[return-value]


def is_local(session: SparkSession) -> bool:
    """Return whether executors share this machine and its files with the driver."""
    return is_local_master(str(session.sparkContext.master))


def stop() -> None:
    """End the session that Stratalog made, its JVM and its files; leave a user's alone."""
    global _ours  # noqa: PLW0603  # there is one session per process
    with _lock:
        ours, _ours = _ours, None
        if ours is None or ours.process != os.getpid():  # a fork does not own the session
            return
        _end(ours)


def _check_agreement(running: SparkSession, wanted: Mapping[str, str]) -> None:
    for key, value in wanted.items():
        current = running.sparkContext.master if key == "spark.master" else running.conf.get(key, None)
        if current != value:
            raise EngineError(
                "E206", f"the running Spark session has {key}={current}, not {value}",
                help="leave the setting out, or stop that session first",
            )  # fmt: skip


def _start(wanted: Mapping[str, str]) -> SparkSession:
    global _ours  # noqa: PLW0603  # there is one session per process
    _check_pyspark()
    folder = Path(tempfile.mkdtemp(prefix="stratalog-spark-"))
    installed = settings_of_the_installation()
    master = wanted.get("spark.master") or installed.get("spark.master") or "local[*]"
    settings = default_settings(master, folder) | installed | wanted
    try:
        with _environment(settings):
            made = _make(settings, folder / "spark.log")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _ours = _Ours(made, folder, os.getpid())
    atexit.register(stop)
    return made


def _check_pyspark() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise EngineError("E202", "PySpark is not installed", help=INSTALL) from None
    if "SPARK_REMOTE" in os.environ or "SPARK_CONNECT_MODE_ENABLED" in os.environ:
        raise connect_refused()


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Set what Spark reads from the environment while it starts, and put back what was there."""
    changes = {"JAVA_HOME": str(java_home())}
    given = {"PYSPARK_PYTHON"} & os.environ.keys() or {"spark.pyspark.python"} & settings.keys()
    if sys.executable and (is_local_master(settings["spark.master"]) or not given):
        changes["PYSPARK_PYTHON"] = sys.executable  # Spark would take `python3` of the PATH
    if sys.executable:
        changes["PYSPARK_DRIVER_PYTHON"] = sys.executable  # Spark's scripts look for it with this
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _make(settings: Mapping[str, str], log: Path) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with warnings.catch_warnings(), log.open("ab") as file:
        warnings.simplefilter("ignore")  # PySpark's own, about pandas and forks
        gateway = launch_gateway(conf, {"stdout": file, "stderr": file})
        context = SparkContext(conf=conf, gateway=gateway)
        return SparkSession(context)


def _end(ours: _Ours) -> None:
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway  # noqa: SLF001  # PySpark keeps its JVM until exit
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a JVM that is gone already
        ours.session.stop()
    if gateway is not None and getattr(gateway, "proc", None) is not None:
        with suppress(Exception):
            gateway.shutdown()
        _end_process(gateway.proc)
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001  # the next one starts anew
    shutil.rmtree(ours.folder, ignore_errors=True)


def _end_process(process: Any) -> None:  # noqa: ANN401  # a Popen
    """Close the JVM's input, which tells it to go, and see that it went."""
    process.stdin.close()
    try:
        process.wait(PATIENCE)
    except TimeoutExpired:
        process.kill()
        process.wait()
