"""The releases of PySpark that there is support for: each installed, and each tried.

Every release gets an environment of its own, made by pip as a user makes one, and no Java but the
one that comes along. What is downloaded and built stays in pip's cache, an environment only as long
as its checks run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAJOR = 4
OLDEST = "4.0.0"
FULL_RELEASE = re.compile(r"\d+\.\d+\.\d+")
PROGRAMS = ("/usr/local/bin", "/usr/bin", "/bin")


class UnreachableError(Exception):
    """Packages cannot be had."""


@dataclass
class Outcome:
    """How the checks of a release went."""

    release: str
    java: str = ""
    seconds: dict[str, float] = field(default_factory=dict)  # by check, or phase
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def has_failed(self) -> bool:
        return bool(self.errors) or not self.seconds


def offered() -> list[str]:
    """Return the releases that there are, newest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", "pyspark"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    listed = re.search(r"Available versions: (.*)", done.stdout)
    if listed is None:
        raise UnreachableError(f"pip finds no releases of pyspark:\n{done.stderr.strip()}")
    return [each for each in listed[1].split(", ") if FULL_RELEASE.fullmatch(each)]


def newest_of_each(releases: Iterable[str]) -> list[str]:
    """Return the newest release of each 4.x, oldest first."""
    newest: dict[tuple[int, ...], str] = {}
    for release in releases:
        minor = tuple(map(int, release.split(".")[:2]))
        if minor[0] == MAJOR and number(release) > number(newest.get(minor, "0.0.0")):
            newest[minor] = release
    return [newest[minor] for minor in sorted(newest)]


def number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def every() -> list[str]:
    """Return the releases that a change has to work with: of each 4.x the newest."""
    return newest_of_each(offered())


def tried(releases: Sequence[str], say: Callable[[str], None]) -> Iterator[Outcome]:
    """Yield how each release fares, one after the other."""
    for release in releases:
        say(f"--- pyspark {release}")
        with environment(release) as python:
            yield smoke(release, python, short=False)


def oldest_and_newest(say: Callable[[str], None]) -> list[Outcome]:
    """Return how the oldest release fares in short, and the one that is installed here.

    The former is installed while the latter is tried.
    """
    here = version("pyspark")
    say(f"installing pyspark {OLDEST}, trying {here}")
    with ThreadPoolExecutor(1) as pool, ExitStack() as held:
        python = pool.submit(held.enter_context, environment(OLDEST))
        newest = smoke(here, Path(sys.executable), short=True)
        return [smoke(OLDEST, python.result(), short=True), newest]


@contextmanager
def environment(release: str) -> Iterator[Path]:
    """Yield the Python of a new environment with this tree and a release of PySpark."""
    with tempfile.TemporaryDirectory(prefix=f"stratalog-spark-{release}-") as name:
        venv.create(name, with_pip=True)
        python = Path(name) / "bin" / "python"
        wanted = [f"pyspark[connect]=={release}", "--editable", f"{ROOT}[spark]"]
        command = [python, "-m", "pip", "install", "--quiet", *wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UnreachableError(f"pip cannot install pyspark {release}:\n{done.stderr.strip()}")
        yield python


def smoke(release: str, python: Path, *, short: bool) -> Outcome:
    """Return how the checks go in an environment, on the Java that pip has brought."""
    words = ["-m", "tests.spark_smoke", *(["--short"] if short else [])]
    outcome = Outcome(release)
    with tempfile.TemporaryDirectory(prefix="stratalog-programs-") as folder:
        env = without_java(Path(folder))
        done = subprocess.run(
            [python, *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
    for line in done.stdout.splitlines():
        read(json.loads(line), outcome)
    if done.returncode:
        outcome.errors["session"] = done.stderr.strip()
    return outcome


def read(told: Mapping[str, object], outcome: Outcome) -> None:
    """Enter what a line of the checks tells."""
    name = str(told.get("check", "session"))
    outcome.seconds[name] = float(str(told["seconds"]))
    outcome.java = str(told.get("java", outcome.java))
    if told.get("pyspark", outcome.release) != outcome.release:
        outcome.errors[name] = f"PySpark {told['pyspark']} was started"
    if told.get("error"):
        outcome.errors[name] = str(told["error"])


def without_java(folder: Path) -> dict[str, str]:
    """Return an environment whose PATH has all programs of this machine but Java."""
    for place in map(Path, PROGRAMS):
        for program in place.iterdir() if place.is_dir() else ():
            link = folder / program.name
            if program.name != "java" and not os.path.lexists(link):
                link.symlink_to(program)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAVA_HOME")}
    kept.pop("SPARK_HOME", None)
    return {**kept, "PATH": str(folder), "PYTHONPATH": str(ROOT / "src")}


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as lines, a release each: seconds, or that a check has failed."""
    checks = list(
        dict.fromkeys(name for each in outcomes for name in (*each.seconds, *each.errors))
    )
    rows = [["pyspark", "java", *checks]]
    rows += [
        [each.release, each.java or "-", *(cell(each, name) for name in checks)]
        for each in outcomes
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    told = [
        f"\n{each.release}, {name}:\n{error}"
        for each in outcomes
        for name, error in each.errors.items()
    ]
    return "\n".join([*lines, *told])


def cell(outcome: Outcome, name: str) -> str:
    if name in outcome.errors:
        return "FAILED"
    seconds = outcome.seconds.get(name)
    return "-" if seconds is None else f"{seconds:.1f} s"
