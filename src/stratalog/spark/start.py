"""One Spark session per process: the user's if there is one, otherwise ours until we stop it."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any

from stratalog.errors import EngineError
from stratalog.spark import internals
from stratalog.spark.failures import explain_start, translate
from stratalog.spark.folder import Folder, make_folder
from stratalog.spark.java import java_home
from stratalog.spark.settings import (
    check_settings,
    connect_refused,
    default_settings,
    is_local_master,
    settings_of_the_installation,
)
from stratalog.spark.versions import INSTALL, check_release

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 10.0
"""Seconds that a JVM has for its own clean-up before it is killed."""


@dataclass(frozen=True)
class _Ours:
    """A session that this process made, with what has to go when it ends."""

    session: SparkSession
    jvm: Any  # a Popen, or None if Spark's own scripts or an earlier session started the JVM
    folder: Folder
    process: int


_ours: _Ours | None = None
_lock = threading.RLock()


def session(master: str | None = None, conf: Mapping[str, object] | None = None) -> SparkSession:
    """Return the active session if there is one, otherwise a new one on `master` with `conf`."""
    wanted = check_settings(master, conf)
    with _lock:
        if _ours is not None and _ours.jvm is not None and _ours.jvm.poll() is not None:
            stop()  # its JVM has crashed
        if (running := active()) is not None:
            _check_agreement(running, wanted)
            return running
        return _start(wanted)


def active() -> SparkSession | None:
    """Return the session of this process, which nobody but its maker may change or stop."""
    if "pyspark" not in sys.modules:
        return None
    check_release()
    from pyspark.sql import SparkSession

    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None and connect.SparkSession.getActiveSession() is not None:
        raise connect_refused()
    if internals.running_context() is None:
        return None
    try:
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    except Exception as error:
        raise translate(error, "asking for the active session") from error


def checked(session: object) -> SparkSession:
    """Return `session` if it is one that Stratalog can use, or raise E205, E207 or E120."""
    kind = type(session)
    if kind.__name__ != "SparkSession" or not kind.__module__.startswith("pyspark.sql"):
        raise EngineError(
            "E120", f"spark={session!r} is no SparkSession", help="leave it out for the active one"
        )
    check_release()
    if ".connect." in kind.__module__:
        raise connect_refused()
    return session  # type: ignore[return-value]


def is_local(session: SparkSession) -> bool:
    """Return whether executors share this machine and its files with the driver."""
    return is_local_master(str(session.sparkContext.master))


def stop() -> None:
    """End the session that Stratalog made, its JVM and its files; leave a user's alone."""
    global _ours  # there is one session per process
    with _lock:
        ours, _ours = _ours, None
        if ours is None or ours.process != os.getpid():  # a fork does not own the session
            return
        _stop_session(ours.session)
        if ours.jvm is not None:
            _end_jvm(ours.jvm)
        ours.folder.remove()


def _stop_session(session: SparkSession) -> None:
    """Stop the session, or make PySpark forget it if its JVM has crashed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a JVM that is gone already
        try:
            session.stop()
        except Exception:  # noqa: BLE001  # of the connection, in all its kinds
            session.sparkContext.stop()  # the second time, it leaves the JVM out
            internals.forget_session(session)


def _check_agreement(running: SparkSession, wanted: Mapping[str, str]) -> None:
    for key, value in wanted.items():
        is_master = key == "spark.master"
        has = running.sparkContext.master if is_master else running.conf.get(key, None)
        if has != value:
            raise EngineError(
                "E206",
                f"the running Spark session has {'no ' + key if has is None else f'{key}={has}'},"
                f" not {value}",
                help="leave the setting out, or stop that session first",
            )


def _start(wanted: dict[str, str]) -> SparkSession:
    global _ours  # noqa: PLW0603  # there is one session per process
    _silence()
    _check_pyspark()
    folder = make_folder()
    installed = settings_of_the_installation()
    master = wanted.get("spark.master") or installed.get("spark.master") or "local[*]"
    settings = default_settings(master, folder.path) | installed | wanted
    log = Path(os.environ.get("STRATALOG_SPARK_LOG") or folder.path / "spark.log")
    jvm = None
    try:
        with _environment(settings):
            jvm = _start_jvm(settings, log)
            made = _make_session(settings, wanted, jvm)
    except BaseException as error:  # noqa: BLE001  # Ctrl-C too must leave nothing behind
        # In words while the JVM is there: an exception of Java's has to be asked for its message.
        why = explain_start(error, log) if isinstance(error, Exception) else error
        if jvm is not None:
            _end_jvm(jvm)
        folder.remove()
        raise why from None
    _ours = _Ours(made, jvm, folder, os.getpid())
    atexit.register(stop)
    return made


def _check_pyspark() -> None:
    check_release()
    if (missing := internals.missing_package()) is not None:
        raise EngineError("E202", f"{missing} is not installed", help=INSTALL)
    if "SPARK_REMOTE" in os.environ or "SPARK_CONNECT_MODE_ENABLED" in os.environ:
        raise connect_refused()


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Set what Spark reads from the environment while it starts, and put back what was there."""
    changes = {"JAVA_HOME": str(java_home())}
    is_chosen = "PYSPARK_PYTHON" in os.environ or "spark.pyspark.python" in settings
    if sys.executable and (is_local_master(settings["spark.master"]) or not is_chosen):
        changes["PYSPARK_PYTHON"] = sys.executable  # Spark would take `python3` of the PATH
    if sys.executable:
        changes["PYSPARK_DRIVER_PYTHON"] = sys.executable  # runs Spark's own start scripts
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _start_jvm(settings: Mapping[str, str], log: Path) -> Any:  # noqa: ANN401  # a Popen
    """Return the process of a new JVM that writes to `log`, None if there is a JVM already."""
    from pyspark import SparkConf

    if internals.has_jvm():
        return None
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with warnings.catch_warnings(), log.open("ab") as file:
        warnings.simplefilter("ignore", DeprecationWarning)  # of the way PySpark forks
        return internals.started_jvm(conf, file)


def _make_session(
    settings: Mapping[str, str], wanted: Mapping[str, str], jvm: object
) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=jvm is None)  # what spark-submit has set goes before our own
    for key, value in settings.items():
        if key in wanted or not conf.contains(key):
            conf.set(key, value)
    return SparkSession(SparkContext(conf=conf))


def _silence() -> None:
    """Keep off stderr what PySpark itself would write there."""
    prints_what_is_raised_too = logging.getLogger("DataFrameQueryContextLogger")
    prints_what_is_raised_too.setLevel(logging.CRITICAL)
    about_pandas = "PySpark does not yet fully support pandas"  # which nothing here uses
    warnings.filterwarnings("ignore", about_pandas, FutureWarning)


def _end_jvm(jvm: Any) -> None:  # noqa: ANN401  # a Popen
    """Close the JVM's input, which tells it to go, and see that it went."""
    gateway = internals.taken_gateway()  # PySpark would keep it until exit
    with suppress(Exception):
        gateway.shutdown()
    with suppress(OSError):
        jvm.stdin.close()
    try:
        jvm.wait(PATIENCE)
    except TimeoutExpired:
        jvm.kill()
        jvm.wait()
