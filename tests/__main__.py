"""The test command: everything that must hold before a change is taken.

python -m tests                     all parts, in order; stops at the first that fails
python -m tests --fast              format to tests: fewer random programs, no slow tests, no Spark
python -m tests --spark             what needs Spark, and nothing else
python -m tests --only lint,types   some parts
python -m tests -k negation         anything else is passed on to pytest, in the parts tests and
                                    spark; -m "not slow" as well
python -m tests --spark-versions    all releases of PySpark instead; =4.0.0,4.2.0 some of them
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests import spark_versions

ROOT = Path(__file__).parents[1]
SUMMARY = re.compile(r"=* ?((?:\d+ \w+|no tests ran).* in [\d.]+s.*?)[ =]*$")
CHECKED = ("tests/unit/engine", "tests/unit/kernels", "tests/oracle", "tests/schemes")
"""What the bounds part runs: the tests in which kernels do most of the work."""
FORMS = (
    "tests/oracle/test_lives.py",
    "tests/oracle/test_shapes.py",
    "tests/oracle/test_modules.py",
)
ON_SPARK = ("tests/unit/engine/spark", "tests/unit/engine/spark_rules")
MOST_WORKERS = 8  # a worker takes half a gigabyte
MOST_JVMS = 2  # a session of Spark takes two gigabytes, and has threads of its own
NOTHING_SELECTED = 5  # pytest's status


@dataclass
class Run:
    """What was asked for, and what has been learnt so far."""

    fast: bool
    marked: str  # which tests are selected, as pytest's -m says it
    pytest: Sequence[str]  # other arguments for the parts tests and spark
    notes: dict[str, str] = field(default_factory=dict)  # pytest's own summary, by part


class Failed(Exception):  # noqa: N818  # reads as a claim
    """A command of a part ended with another status than 0, or printed something unexpected."""

    def __init__(self, message: str, output: str = "", status: int = 1) -> None:
        super().__init__(message)
        self.output, self.status = output, status


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def call(
    command: Sequence[str | Path], env: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> str:
    """Run a command, show its output while it runs, and return it."""
    words = [str(word) for word in command]
    say("$ " + " ".join(words))
    with subprocess.Popen(
        words,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        lines = []
        for line in process.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    if process.returncode:
        message = f"status {process.returncode} of: {' '.join(words)}"
        raise Failed(message, "".join(lines), process.returncode)
    return "".join(lines)


def workers() -> int:
    """Return how many processes share the tests: one for each core, within what memory allows."""
    return min(os.cpu_count() or 1, MOST_WORKERS)


def python(*words: str | Path, env: Mapping[str, str] | None = None) -> str:
    return call([sys.executable, *words], env)


def run_pytest(run: Run, part: str, words: Sequence[str], env: Mapping[str, str]) -> None:
    """Run pytest and remember its summary line, whether it passes or not."""
    # importlib: two folders may each have a file of the same name
    command = ["-m", "pytest", "--import-mode=importlib", *words]
    # Where Python may write no bytecode, every worker, and every command that a test starts, would
    # translate all sources anew.
    env = {**env, "PYTHONDONTWRITEBYTECODE": ""}
    try:
        output = python(*command, env=env)
    except Failed as failure:
        output = failure.output
        raise
    finally:
        found = [match[1] for line in output.splitlines() if (match := SUMMARY.match(line))]
        run.notes[part] = found[-1] if found else "pytest printed no summary"


def selected(run: Run, marks: str) -> str:
    """Return which tests are run of those with these marks, as pytest's -m says it."""
    chosen = [marks, "not slow" if run.fast else "", f"({run.marked})" if run.marked else ""]
    return " and ".join(filter(None, chosen))


def run_tests(run: Run, part: str, marks: str, *words: str, **env: str) -> None:
    """Run the tests with these marks, among those that were asked for."""
    python("-m", "stratalog", "warmup")  # once, instead of in each worker
    profile = {"HYPOTHESIS_PROFILE": "fast" if run.fast else "ci"}
    run_pytest(run, part, [*words, "-m", selected(run, marks), *run.pytest], profile | env)


def check_format(_: Run) -> None:
    python("-m", "ruff", "format", "--check", ".")


def check_lint(_: Run) -> None:
    python("-m", "ruff", "check", ".")


def check_types(_: Run) -> None:
    python("-m", "mypy")


def check_imports(_: Run) -> None:
    call([Path(sysconfig.get_path("scripts")) / "lint-imports"])


def check_tests(run: Run) -> None:
    """Run the tests that need no Spark; where none listens, one that starts it fails."""
    nobody = {"PYSPARK_GATEWAY_PORT": "1", "PYSPARK_GATEWAY_SECRET": "none"}
    # worksteal: neighbours stay together, and what they share is made once
    words = ["-n", str(workers()), "--dist=worksteal"]
    run_tests(run, "tests", "not spark", *words, **nobody)


def check_spark(run: Run) -> None:
    """Run the tests that need Spark; arguments may have selected none after those without."""
    try:
        run_tests(run, "spark", "spark", "-n", str(min(workers(), MOST_JVMS)))
    except Failed as failure:
        if failure.status != NOTHING_SELECTED or "tests" not in run.notes:
            raise


def check_bounds(run: Run) -> None:
    """Run the kernels' tests with every index checked, tiny blocks, one thread and two.

    The folder of compiled kernels depends on the first two: none without checks is used. Tests on
    Spark are left out: they take minutes, and kernels have no part in what is special to them.
    """
    folders = [folder for folder in CHECKED if any((ROOT / folder).glob("test_*.py"))]
    env = {"NUMBA_BOUNDSCHECK": "1", "STRATALOG_TINY": "1", "HYPOTHESIS_PROFILE": "dev"}
    call([sys.executable, "-m", "stratalog", "warmup"], env)  # once, instead of in each worker
    for threads in ("1", "2"):
        words = ["-n", str(workers()), "--engines=columnar"]
        words += [*(f"--ignore={folder}" for folder in ON_SPARK), *folders]
        run_pytest(run, "bounds", words, env | {"STRATALOG_THREADS": threads})


def check_forms(run: Run) -> None:
    """Run random programs with each kernel call compiled or interpreted, drawn at random.

    Every call may be the one in which work is handed over, since kernels that can stop do so often.
    """
    env = {"NUMBA_BOUNDSCHECK": "1", "STRATALOG_TINY": "1", "HYPOTHESIS_PROFILE": "dev"}
    words = ["-n", str(workers()), "--engines=columnar", *FORMS]
    run_pytest(run, "forms", words, env | {"STRATALOG_KERNELS": "mixed"})


def check_wheel(_: Run) -> None:
    """Build the wheel, install it where nothing else is, and reason there; then the benchmarks."""
    with tempfile.TemporaryDirectory(prefix="stratalog-wheel-") as name:
        folder = Path(name)
        python("-m", "build", "--wheel", "--outdir", folder)
        venv.create(folder / "venv", with_pip=True)
        bin_folder = folder / "venv" / "bin"
        (wheel,) = folder.glob("*.whl")
        call([bin_folder / "pip", "install", "--quiet", wheel], cwd=folder)
        check_benchmarks(folder, bin_folder)
        call([bin_folder / "stratalog", "--version"], cwd=folder)
        (folder / "program.dlog").write_text(
            "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
        )
        (folder / "edge.csv").write_text("a,b\nb,c\nc,d\n")
        stratalog = bin_folder / "stratalog"
        call([stratalog, "materialise", "program.dlog", "edge.csv", "--store", "kb"], cwd=folder)
        listed: list[str | Path] = [
            stratalog,
            "facts",
            "kb",
            "path",
            "--format",
            "csv",
            "--sorted",
            "--quiet",
        ]
        output = call(listed, cwd=folder)
        if output.split() != ["a,b", "a,c", "a,d", "b,c", "b,d", "c,d"]:
            raise Failed("the installed wheel derived other facts", output)


def check_benchmarks(folder: Path, bin_folder: Path) -> None:
    """Ask for a command of the benchmarks before their wheel is installed, and after."""
    command = [bin_folder / "stratalog", "generate", "chain", "--nodes", "3", "-o", "chain.csv"]
    try:
        call(command, cwd=folder)
    except Failed as failure:
        if "B110" not in failure.output:
            raise
    else:
        raise Failed("the benchmarks are there before they are installed", "")
    python("-m", "build", "--wheel", "--outdir", folder / "benchmarks", "benchmarks")
    (wheel,) = (folder / "benchmarks").glob("*.whl")
    call([bin_folder / "pip", "install", "--quiet", wheel], cwd=folder)
    call(command, cwd=folder)
    call([bin_folder / "stratalog", "bench", "--list"], cwd=folder)


def check_releases(run: Run) -> None:
    """Try the oldest and the newest release of PySpark that there is support for."""
    try:
        outcomes = spark_versions.oldest_and_newest(say)
    except spark_versions.UnreachableError as error:
        raise Failed(f"{error}\n--only leaves this part out") from error
    say(spark_versions.table(outcomes))
    run.notes["releases"] = ", ".join(each.release for each in outcomes)
    if failed := [each.release for each in outcomes if each.has_failed]:
        raise Failed(f"PySpark {' and '.join(failed)}")


def check_spark_versions(releases: str) -> int:
    """Try releases of PySpark, all that there are by default, and return the exit status."""
    try:
        chosen = releases.split(",") if releases else spark_versions.every()
        outcomes = []
        for outcome in spark_versions.tried(chosen, say):
            outcomes.append(outcome)
            say(spark_versions.table([outcome]))
    except spark_versions.UnreachableError as error:
        say(str(error))
        return 1
    say("\n--- summary")
    say(spark_versions.table(outcomes))
    return int(any(each.has_failed for each in outcomes))


PARTS: dict[str, Callable[[Run], None]] = {
    "format": check_format,
    "lint": check_lint,
    "types": check_types,
    "imports": check_imports,
    "tests": check_tests,
    "spark": check_spark,
    "bounds": check_bounds,
    "forms": check_forms,
    "wheel": check_wheel,
    "releases": check_releases,
}
FAST = ("format", "lint", "types", "imports", "tests")


def parse(arguments: Sequence[str]) -> tuple[list[str], Run]:
    """Return the parts to run, and how."""
    parser = argparse.ArgumentParser(
        prog="python -m tests",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--fast", action="store_true", help="leave out what takes minutes")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--only", metavar="PARTS", help=f"some of {','.join(PARTS)}")
    some.add_argument("--spark", dest="only", action="store_const", const="spark")
    parser.add_argument("-m", dest="marked", default="", metavar="MARKS")
    parser.add_argument("--spark-versions", nargs="?", const="", metavar="RELEASES")
    options, rest = parser.parse_known_args(arguments)
    if options.spark_versions is not None:
        sys.exit(check_spark_versions(options.spark_versions))
    everything = FAST if options.fast else PARTS
    chosen = options.only.split(",") if options.only else list(everything)
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    return chosen, Run(options.fast, options.marked, rest)


def main(arguments: Sequence[str]) -> int:
    """Run the parts in order, say how each went, and return the exit status."""
    parts, run = parse(arguments)
    lines = []
    failure: Failed | None = None
    begun = time.monotonic()
    for part in parts:
        say(f"\n--- {part}")
        started = time.monotonic()
        try:
            PARTS[part](run)
        except Failed as error:
            failure = error
        verdict = "failed" if failure else "passed"
        seconds = time.monotonic() - started
        lines.append(f"{part:8} {verdict}  {seconds:6.1f} s  {run.notes.get(part, '')}".rstrip())
        if failure:
            break
    lines += [f"{part:8} not run" for part in parts[len(lines) :]]
    say("\n--- summary")
    say("\n".join(lines))
    total = time.monotonic() - begun
    say(
        f"FAILED after {total:.1f} s: {failure.args[0]}"
        if failure
        else f"all passed in {total:.1f} s"
    )
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
