"""Run benchmarks: each system, each run in a fresh process, facts compared before times."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stratalog_bench.failures import BenchmarkError
from stratalog_bench.harness.process import Outcome
from stratalog_bench.harness.results import (
    DONE,
    FAILED,
    BenchmarkResult,
    Run,
    SystemResult,
)
from stratalog_bench.harness.task import Task, run_task
from stratalog_bench.systems.base import COMPILED
from stratalog_bench.systems.registry import BY_NAME, system_class
from stratalog_bench.workloads.catalogue import STRATALOG, Benchmark
from stratalog_bench.workloads.inputs import make_input

Told = Callable[[str, str], None]  # what is running, and how far it is
STAGES = {"starting": "starting", "load": "loading", "reason": "running", "count": "counting"}
MEASURE = "harness.one_run:measure"
LIMIT = 300.0  # seconds for a run, if the user names none
TOUCHED = 4 << 30  # bytes of memory that a run finds at hand
WARM = "small"  # the folder, in that of an input, of the same benchmark at small scale


@dataclass(slots=True)
class Settings:
    """What the user has chosen."""

    scale: str = "full"
    runs: int = 3
    limit: float | None = None  # seconds; what is usual for a benchmark, if there is none
    systems: Sequence[str] = tuple(BY_NAME)
    universities: int | None = None
    rules: str | None = None  # text that replaces LUBM's own
    rules_name: str = ""
    data: Path | None = None  # a folder of rules and facts, for maintenance and modules
    sets: Sequence[str] = ()  # data sets of maintenance or modules; all, if there are none
    only: Sequence[str] = ()  # parts of modules; all, if there are none
    told: Told = lambda *_: None
    finished: Callable[[BenchmarkResult, SystemResult], None] = lambda *_: None

    def parameters(self, benchmark: Benchmark, scale: str | None = None) -> dict[str, int | str]:
        """Return the parameters of a benchmark's generator."""
        chosen = benchmark.parameters(scale or self.scale)
        if self.universities is not None and "universities" in chosen and scale is None:
            chosen["universities"] = self.universities
        return chosen


def run_benchmark(benchmark: Benchmark, settings: Settings, into: list[BenchmarkResult]) -> None:
    """Run a benchmark on all chosen systems; the result is in `into` from the beginning."""
    rules = settings.rules if benchmark.generator == "lubm" else None
    parameters = settings.parameters(benchmark)
    named: dict[str, int | str] = {} if rules is None else {"rules": settings.rules_name}
    with tempfile.TemporaryDirectory(prefix="stratalog-bench-") as folder:
        settings.told(benchmark.name, "making facts")
        given = make_input(benchmark.generator, parameters, Path(folder), rules)
        small = make_input(
            benchmark.generator, settings.parameters(benchmark, "small"), Path(folder) / WARM, rules
        )
        result = BenchmarkResult(benchmark.name, parameters | named, given.explicit)
        into.append(result)
        for name in (name for name in benchmark.systems if name in settings.systems):
            if BY_NAME[name].reads_files:
                settings.told(f"{benchmark.name}, {name}", "writing files")
                for each in (given, small):
                    system_class(name).write_files(each)
            found = SystemResult(name)
            try:
                run_system(given.folder, found, settings, benchmark.name, benchmark.task)
            finally:
                if found.runs or found.status != DONE:  # Ctrl-C leaves the runs before it
                    result.systems.append(found)
            settings.finished(result, found)


def progress(stage: str, seconds: float) -> str:
    """Return how far a worker is, in words."""
    return STAGES[stage] + (f", {seconds:.0f} s" if seconds >= 1 else "")


def run_system(folder: str, found: SystemResult, settings: Settings, title: str, task: str) -> None:
    """Run a system as often as wanted, or until a run does not end well."""
    touched = TOUCHED if settings.scale == "full" else 0
    given = {"system": found.system, "task": task, "touched": touched}
    repeats = 0
    while len(found.runs) < settings.runs:
        number = f" {len(found.runs) + 1}" if settings.runs > 1 else ""

        def watch(
            stage: str, seconds: float, label: str = f"{title}, {found.system}{number}"
        ) -> None:
            settings.told(label, progress(stage, seconds))

        outcome = run_task(Task(MEASURE, folder, given), watch, settings.limit or LIMIT)
        if outcome.status == DONE and outcome.answer["figures"].get(COMPILED) and repeats < 1:
            repeats += 1  # what was compiled is kept: the next run need not
            continue
        _note_outcome(outcome, found, title)
        if outcome.status != DONE:
            return


def _note_outcome(outcome: Outcome, found: SystemResult, title: str) -> None:
    if not found.runs:  # what earlier runs have found stands
        found.status, found.detail = outcome.status, outcome.detail
    if outcome.status == FAILED and found.system == STRATALOG:
        raise BenchmarkError(
            "B103",
            f"Stratalog failed in {title}: {outcome.detail}",
            help=f"stratalog bench {title} --scale small tells whether it always fails",
        )
    if outcome.status != DONE:
        return
    answer = dict(outcome.answer)
    counts, figures = answer.pop("counts"), answer.pop("figures")
    if found.runs and counts != found.counts:
        raise _unstable(title, found, counts)
    found.counts, found.figures = counts, figures
    found.runs.append(Run(**answer))


def _unstable(title: str, found: SystemResult, counts: dict[str, int]) -> BenchmarkError:
    name = next(each for each in counts if counts[each] != found.counts.get(each))
    return BenchmarkError(
        "B102",
        f"{title}: two runs of {found.system} found {found.counts.get(name, 0):,}"
        f" and {counts[name]:,} facts of {name}",
        help="a system whose facts differ from run to run cannot be compared",
    )


def differences(result: BenchmarkResult) -> list[str]:
    """Return a sentence for each system and predicate whose facts differ from Stratalog's."""
    done = [each for each in result.systems if each.status == DONE]
    if not done:
        return []
    judge = result.of(STRATALOG) or done[0]
    return [line for each in done for line in _differences(result.name, judge, each)]


def _differences(title: str, judge: SystemResult, other: SystemResult) -> list[str]:
    found = [
        f"{title}: {name} has {judge.counts.get(name, 0):,} facts in {judge.system}"
        f" and {other.counts.get(name, 0):,} in {other.system}"
        for name in sorted({*judge.counts, *other.counts})
        if judge.counts.get(name, 0) != other.counts.get(name, 0)
    ]
    derived, others = (each.figures.get("derivations") for each in (judge, other))
    if derived is not None and others is not None and derived != others:
        found.append(
            f"{title}: {derived:,} derivations in {judge.system} and {others:,} in {other.system}"
        )
    return found


def check_facts(results: Sequence[BenchmarkResult]) -> None:
    """Raise if systems have found different facts."""
    found = [line for result in results for line in differences(result)]
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise BenchmarkError(
            "B102",
            f"systems have found different facts: {found[0]}{more}",
            help="times of different results are not shown; one of the systems is wrong here",
        )
