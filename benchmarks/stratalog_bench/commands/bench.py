"""`stratalog bench`: workloads, on Stratalog and on the systems beside it."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratalog.cli import options as o
from stratalog.cli.show import note, show_warning
from stratalog.knowledge.display.terminal import is_terminal
from stratalog_bench.failures import BenchmarkError
from stratalog_bench.modules.parts import PARTS
from stratalog_bench.workloads.catalogue import (
    ALL_SYSTEMS,
    BENCHMARKS,
    BY_NAME,
    COMPARED,
    STRATALOG,
    Benchmark,
)

if TYPE_CHECKING:
    from stratalog.knowledge.display.progress import Reporter
    from stratalog_bench.harness.results import BenchmarkResult, Result, SystemResult
    from stratalog_bench.harness.run import Settings
    from stratalog_bench.harness.table import Table

HELP = """Run benchmarks on Stratalog and on other systems that are installed, and print how long
reasoning took. All begin with the same numbers in memory and use one thread; each run is a process
of its own. Facts are counted per predicate, and must be equal, before any time is shown."""

EXAMPLES = """\b
Examples:
  stratalog bench --list
  stratalog bench dag same-generation --runs 5
  stratalog bench lubm --universities 10 --rules rules.dlog --system stratalog --system duckdb
  stratalog bench maintenance --data data/ --json after.json
  stratalog bench modules --data data/ --json modules.json
  stratalog bench modules --scale small --only dag --only clique
  stratalog bench --json after.json --plot after.svg
  stratalog bench --compare before.json after.json"""

SCALES = ("full", "small")


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("bench", help=HELP, epilog=EXAMPLES)
def _command(  # noqa: PLR0913  # its options
    *,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Benchmarks; all by default.")
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option("--system", metavar="NAME", help="Run this system; may be repeated."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs", min=1, metavar="N", help="The least of N runs; 3, at small scale 1."
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            "--limit",
            min=0.001,
            metavar="SECONDS",
            help="End a run after that time: 300, an update of maintenance and modules 60.",
        ),
    ] = None,
    scale: Annotated[str, typer.Option("--scale", metavar="SCALE", help="full, small.")] = "full",
    universities: Annotated[
        int | None,
        typer.Option(
            "--universities", min=1, metavar="N", help="Of lubm, updates, modules, spark."
        ),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", metavar="FILE", help="Rules for lubm, updates, spark.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="FOLDER", help="Rules and facts for maintenance, modules, spark."
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME", help="Of maintenance, modules: this data set; may be repeated."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="PART", help=f"Of modules: {', '.join(PARTS)}; may be repeated."
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all figures to FILE.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.svg", help="Draw the bars.")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare two files of --json: BEFORE AFTER.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="List benchmarks and systems.")] = False,
    quiet: o.Quiet = False,
) -> None:
    if listing:
        _list()
        return
    if compare:
        _compare(names or [])
        return
    from stratalog_bench.harness.run import Settings

    chosen = _benchmarks(names or [])
    settings = Settings(
        scale=_one_of("--scale", scale, SCALES),
        runs=runs or (3 if scale == "full" else 1),
        limit=limit,
        systems=_systems(system or [], quiet=quiet),
        universities=universities,
        rules=_rules(rules),
        rules_name=rules.name if rules else "",
        data=data,
        sets=_sets(sets or [], chosen),
        only=[_one_of("--only", name, PARTS) for name in dict.fromkeys(only or [])],
    )
    _run(chosen, settings, _Files(json_file, plot), quiet=quiet)


def _list() -> None:
    from stratalog_bench.harness.table import Table
    from stratalog_bench.systems.registry import SYSTEMS

    benchmarks = Table(["benchmark", "what it is"], 2)
    benchmarks.rows = [[each.name, each.summary] for each in BENCHMARKS]
    _show(benchmarks)
    systems = Table(["system", "how it is run", "version"], 3)
    systems.rows = [
        [each.name, each.summary, each.version if each.is_installed else "not installed"]
        for each in SYSTEMS
    ]
    print()  # noqa: T201  # between two tables
    _show(systems)


def _benchmarks(names: list[str]) -> list[Benchmark]:
    if not names:
        return [each for each in BENCHMARKS if not each.only_by_name]
    return [BY_NAME[_one_of("benchmark", name, tuple(BY_NAME))] for name in dict.fromkeys(names)]


def _systems(names: list[str], *, quiet: bool) -> list[str]:
    """Return the systems that are installed, of those asked for or of all."""
    from stratalog_bench.systems.registry import BY_NAME as KNOWN
    from stratalog_bench.systems.registry import INSTALL

    wanted = [_one_of("--system", name, ALL_SYSTEMS) for name in names] or list(ALL_SYSTEMS)
    missing = [name for name in wanted if not KNOWN[name].is_installed]
    if missing and (names or not quiet):
        note(f"left out, not installed: {', '.join(missing)}; {INSTALL} brings them")
    if len(missing) == len(wanted):
        raise BenchmarkError(
            "B101", "no system that was asked for is installed", help=f"{INSTALL} brings them"
        )
    return [name for name in wanted if name not in missing]


def _one_of(what: str, given: str, names: tuple[str, ...]) -> str:
    if given not in names:
        raise typer.BadParameter(f"{what}: {given!r} is not one of {', '.join(names)}")
    return given


def _sets(names: list[str], benchmarks: list[Benchmark]) -> list[str]:
    from stratalog_bench.maintenance.datasets import BY_NAME as MAINTAINED
    from stratalog_bench.modules.sets import BY_NAME as TABLED

    is_modules = all(each.task == "modules" for each in benchmarks)
    known = tuple(TABLED if is_modules else MAINTAINED)
    return [_one_of("--set", name, known) for name in names]


def _rules(path: Path | None) -> str | None:
    if path is None:
        return None
    from stratalog.lang.check import check
    from stratalog.lang.parse import parse_file

    program = parse_file(path)
    check(program)
    if program.facts:
        raise BenchmarkError(
            "B104",
            "the rules hold facts",
            path=str(path),
            help="a benchmark's facts are generated: leave rules alone in the file",
        )
    return path.read_text()


@dataclass(frozen=True, slots=True)
class _Files:
    """Where figures and picture go, if they are wanted."""

    json: Path | None
    plot: Path | None

    def write(self, result: Result) -> None:
        from stratalog_bench.harness.plot import draw
        from stratalog_bench.harness.results import write_result

        if self.json is not None:
            write_result(result, self.json)
        if self.plot is not None and (result.benchmarks or result.maintenance):
            self.plot.write_text(draw(result))


def _compare(names: list[str]) -> None:
    from stratalog_bench.harness.compare import compare
    from stratalog_bench.harness.results import read_result

    if len(names) != 2:  # noqa: PLR2004
        raise typer.BadParameter("--compare takes two files, BEFORE.json and AFTER.json")
    found = compare(*(read_result(Path(name)) for name in names))
    _show(found.table)
    for warning in found.warnings:
        show_warning(warning)
    for error in found.errors:
        note(error)
    found.check()


def _run(benchmarks: list[Benchmark], settings: Settings, files: _Files, *, quiet: bool) -> None:
    from stratalog.knowledge.display.progress import reporter
    from stratalog_bench.harness.results import Result
    from stratalog_bench.harness.run import LIMIT, check_facts

    begun = time.perf_counter()
    result = Result(settings.scale, settings.runs, settings.limit or LIMIT)
    result.note_machine()
    try:
        with reporter(False if quiet else None) as report:
            _follow(settings, report, quiet=quiet)
            _run_all(benchmarks, settings, result)
    except KeyboardInterrupt:
        _finish(result, files)
        raise KeyboardInterrupt("what was done before is shown above") from None
    except BenchmarkError:
        _finish(result, files)
        raise
    _finish(result, files)
    check_facts(result.benchmarks)
    if not quiet:
        note(_summary(result, time.perf_counter() - begun))


def _run_all(benchmarks: list[Benchmark], settings: Settings, result: Result) -> None:
    from stratalog_bench.harness.growth import run_growth
    from stratalog_bench.harness.own_reports import run_alone
    from stratalog_bench.harness.run import run_benchmark
    from stratalog_bench.harness.threads import run_threads
    from stratalog_bench.maintenance.run import run_maintenance, run_updates
    from stratalog_bench.modules.run import run_modules
    from stratalog_bench.spark.run import run_on_spark

    special = {"growth": run_growth, "threads": run_threads, "on-spark": run_on_spark}
    maintained = {
        "maintenance": run_maintenance,
        "updates": run_updates,
        "modules": run_modules,
    }
    for benchmark in benchmarks:
        if benchmark.task in COMPARED:
            run_benchmark(benchmark, settings, result.benchmarks)
        elif STRATALOG in settings.systems and benchmark.task in maintained:
            maintained[benchmark.task](benchmark.name, settings, result)
        elif STRATALOG in settings.systems:
            special.get(benchmark.task, run_alone)(benchmark, settings, result.reports)


def _follow(settings: Settings, report: Reporter, *, quiet: bool) -> None:
    """Let a line tell what is running; where nobody watches a terminal, what has ended."""
    settings.told = report

    def finished(benchmark: BenchmarkResult, system: SystemResult) -> None:
        from stratalog_bench.harness.results import DONE

        took = f"{system.least('cpu'):.3f} s" if system.status == DONE else system.status
        note(f"{benchmark.name}, {system.system}: {took}")

    if not quiet and not is_terminal(sys.stderr):
        settings.finished = finished


def _finish(result: Result, files: _Files) -> None:
    """Print and write all that there is."""
    from stratalog_bench.harness.table import notes_of, report_table, table_of

    files.write(result)
    if any(each.systems for each in result.benchmarks):
        _show(table_of(result.benchmarks))
    for report in result.reports:
        print(f"\n{report.name}")  # noqa: T201  # the answer
        _show(report_table(report))
        for line in report.notes:
            print(line)  # noqa: T201  # the answer
    for line in notes_of(result.benchmarks):
        note(line)


def _show(table: Table) -> None:
    if not is_terminal(sys.stdout):
        sys.stdout.write(table.plain())
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table as Ruled
    from rich.text import Text

    ruled = Ruled(box=box.SIMPLE_HEAD, header_style="bold")
    for place, name in enumerate(table.names):
        ruled.add_column(Text(name), justify="left" if place < table.texts else "right")
    for number, row in enumerate(table.rows):
        ruled.add_row(*(Text(cell) for cell in row), end_section=number in table.sections)
    Console().print(ruled)


def _summary(result: Result, seconds: float) -> str:
    where = f"{result.machine['cpu']}, {result.machine['cores']} cores"
    return f"{len(result.benchmarks) + len(result.reports)} benchmarks, {seconds:.0f} s, {where}"
