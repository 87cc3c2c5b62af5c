"""Which releases of PySpark there is support for, and which Java each runs on.

Nothing here imports PySpark: releases that are not supported may fail while they are imported.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from stratalog.errors import EngineError

OLDEST, BEYOND = (4, 0), (5, 0)
INSTALL = 'pip install "stratalog[spark]"'

OLDEST_JAVA = 17
OLDER_HADOOP = (4, 1)
"""The last releases with a Hadoop that asks Java for what went with Java 23 and 24."""
NEWEST_JAVA_THERE = 22

_VERSION = re.compile(r"^__version__(?:: str)? = ['\"]((\d+)\.(\d+)[^'\"]*)['\"]", re.MULTILINE)
_JAR = re.compile(r"spark-core_[\d.]+-((\d+)\.(\d+).*)\.jar")


class Release(NamedTuple):
    """A release of PySpark, 4.3.0 for example."""

    text: str
    number: tuple[int, int]

    @property
    def is_supported(self) -> bool:
        """Whether Stratalog works with it."""
        return OLDEST <= self.number < BEYOND

    @property
    def newest_java(self) -> int | None:
        """The newest Java that it runs on, None if that is not known to end."""
        return NEWEST_JAVA_THERE if self.number <= OLDER_HADOOP else None


def installed() -> Release | None:
    """Return the PySpark that an import would find, None if there is none that has a version."""
    try:
        spec = find_spec("pyspark")
    except ValueError:  # a module without a spec has this name
        return None
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "version.py"
        if path.is_file() and (found := _VERSION.search(path.read_text(errors="replace"))):
            return Release(found[1], (int(found[2]), int(found[3])))
    return None


def has_supported() -> bool:
    """Return whether there is a PySpark that Stratalog works with."""
    release = installed()
    return release is not None and release.is_supported


def check_release() -> Release:
    """Return the installed release, or raise E202 or E207."""
    release = installed()
    if release is None:
        raise EngineError("E202", "pyspark is not installed", help=INSTALL)
    check_supported()
    return release


def check_supported() -> None:
    """Raise E207 if there is a PySpark, or a SPARK_HOME, that Stratalog does not work with."""
    release = installed()
    if release is None:
        return
    if not release.is_supported:
        raise EngineError(
            "E207",
            f"PySpark {release.text} is not supported: Stratalog works with 4.0 and later, below 5",
            help='pip install "pyspark>=4,<5"',
        )
    _check_home(release)


def _check_home(release: Release) -> None:
    """Refuse that PySpark starts the Spark of another release, which SPARK_HOME names."""
    home = os.environ.get("SPARK_HOME")
    jars = sorted(Path(home).glob("jars/spark-core_*.jar")) if home else []
    found = _JAR.fullmatch(jars[0].name) if jars else None
    if found is not None and (int(found[2]), int(found[3])) != release.number:
        raise EngineError(
            "E207",
            f"PySpark {release.text} is installed, and SPARK_HOME={home} has Spark {found[1]}",
            help="unset SPARK_HOME, or install the PySpark of the same release",
        )
