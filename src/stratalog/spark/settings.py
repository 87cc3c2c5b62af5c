"""The settings of a session that Stratalog makes, and the checks of those that users give."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from stratalog.errors import EngineError

GIGABYTE = 1 << 30
SHARE_OF_MEMORY = 0.25
"""Of the free memory, for the JVM: Python workers and the columnar engine need the rest."""

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}

MASTERS = re.compile(
    r"local(\[(\*|[1-9]\d*)(\s*,\s*\d+)?\])?|local-cluster\[.+\]|yarn|(spark|k8s)://\S+"
)


def default_settings(master: str, folder: Path) -> dict[str, str]:
    """Return the settings of a new session on `master` that keeps its files under `folder`."""
    settings = {
        "spark.master": master,
        "spark.app.name": "stratalog",
        "spark.driver.memory": _driver_memory(),  # read when the JVM starts; its default is 1 GB
        "spark.driver.maxResultSize": "0",  # columns of any size come to the driver
        "spark.sql.execution.arrow.pyspark.enabled": "true",  # tables cross as columns
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",  # in fewer, larger batches
        "spark.sql.adaptive.enabled": "true",  # few tasks for small input
        "spark.sql.session.timeZone": "UTC",  # facts do not depend on where they are read
        "spark.sql.warehouse.dir": str(folder / "warehouse"),  # no spark-warehouse where one works
        "spark.ui.showConsoleProgress": "false",  # stderr is for our own progress lines
        "spark.log.level": "WARN",  # the level of Spark's own shells
    }
    if is_local_master(master):
        settings |= {
            "spark.ui.enabled": "false",  # a port and a web server that nobody asked for
            "spark.local.dir": str(folder),  # shuffle files end with us, even after a crash
            "spark.driver.host": "localhost",  # a laptop's name may lead nowhere without a network
            "spark.driver.bindAddress": "127.0.0.1",  # nobody else may connect
            "spark.network.timeout": "86400s",  # a laptop that was asleep loses nothing
            "spark.sql.codegen.cache.maxEntries": "1000",  # rounds come back to the same code
        }
    else:  # an executor that has come lately soon gets its share of second copies
        settings["spark.storage.cachedPeersTtl"] = "1000"
    return settings


def is_local_master(master: str) -> bool:
    """Return whether driver and executors are one process on this machine."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def check_settings(master: str | None, conf: Mapping[str, object] | None) -> dict[str, str]:
    """Return what the user asks for as settings, the master among them, or raise E206 or E205."""
    settings = {}
    for key, value in (conf or {}).items():
        if not isinstance(key, str) or not re.fullmatch(r"spark\.\S+", key):
            raise _refused(f"{key!r} is no Spark setting", "their names start with spark.")
        settings[key] = str(value).lower() if isinstance(value, bool) else str(value)
    if master is not None and settings.setdefault("spark.master", master) != master:
        both = f"{master} and {settings['spark.master']}"
        raise _refused(f"two masters are given: {both}", "leave spark.master out of the settings")
    _check_master(settings.get("spark.master"))
    if settings.get("spark.submit.deployMode", "client") != "client":
        raise _refused(
            "the driver is this process, it cannot run inside the cluster",
            "leave spark.submit.deployMode out, or use spark-submit",
        )
    if "spark.remote" in settings or settings.get("spark.api.mode") == "connect":
        raise connect_refused()
    return settings


def _check_master(master: str | None) -> None:
    if master is None or MASTERS.fullmatch(master):
        return
    if master.startswith("sc://"):
        raise connect_refused()
    raise _refused(
        f"{master!r} is no Spark master", "local[*], local[4], spark://host:7077, yarn or k8s://..."
    )


def parse_conf(texts: Iterable[str]) -> dict[str, str]:
    """Return the settings that `key=value` texts give, the last one of a key, or raise E206."""
    settings = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise _refused(f"{text!r} is no setting", "write --conf spark.driver.memory=8g")
        settings[key.strip()] = value.strip()
    return check_settings(None, settings)


def settings_of_the_installation() -> dict[str, str]:
    """Return what `spark-defaults.conf` sets: an administrator's choices go before ours."""
    folder = os.environ.get("SPARK_CONF_DIR")
    if folder is None and (home := os.environ.get("SPARK_HOME")):
        folder = str(Path(home) / "conf")
    path = Path(folder or "") / "spark-defaults.conf"
    if folder is None or not path.is_file():
        return {}
    lines = (line.strip() for line in path.read_text(errors="replace").splitlines())
    pairs = (re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line[:1] not in "#!")
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}  # noqa: PLR2004  # key and value


def bytes_of(text: str | None, otherwise: int) -> int:
    """Return the bytes that a setting of Spark names, as in 1g, 512m or 0, or something else."""
    number = (text or "").strip().lower().removesuffix("b") or "0"
    unit = _UNITS.get(number[-1], 0)
    try:
        return int(number[:-1]) * unit if unit else int(number)
    except ValueError:
        return otherwise


def _driver_memory() -> str:
    """Return a share of what is free, in MB: from 1 GB on, below the size where pointers double."""
    wanted = int(SHARE_OF_MEMORY * _free_memory())
    return f"{min(max(wanted, GIGABYTE), 31 * GIGABYTE) >> 20}m"


def _free_memory() -> int:
    amounts = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        amounts.append(int(fields["MemAvailable"].split()[0]) * 1024)
    else:
        amounts.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    limit = Path("/sys/fs/cgroup/memory.max")
    used = Path("/sys/fs/cgroup/memory.current")
    if limit.exists() and used.exists() and limit.read_text().strip() != "max":
        amounts.append(int(limit.read_text()) - int(used.read_text()))
    return max(0, min(amounts))


def _refused(message: str, advice: str) -> EngineError:
    return EngineError("E206", message, help=advice)


def connect_refused() -> EngineError:
    """Return the error about sessions that are not in reach of this process."""
    return EngineError(
        "E205", "a session of Spark Connect cannot be used: its driver is another process, and"
        " Stratalog keeps facts, blocks and files where the driver is",
        help="make the session without remote(), unset SPARK_REMOTE, or give a master; DataFrames"
        " of Spark Connect can be given as facts",
    )  # fmt: skip
