"""`stratalog generate`: data sets for benchmarks, with the rules that they are meant for."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratalog.cli import options as o
from stratalog.cli import stopped
from stratalog.cli.show import note
from stratalog.knowledge.display.progress import plural
from stratalog_bench.generate.catalogue import GENERATORS, Generator

if TYPE_CHECKING:
    from stratalog.knowledge.display.progress import Reporter
    from stratalog_bench.generate.columns import EncodedColumns
    from stratalog_bench.generate.workload import Workload

HELP = """Make a data set for a benchmark: the same one for the same seed, everywhere."""

EXAMPLES = """\b
Examples:
  stratalog generate lubm --universities 5 -o lubm.nt --rules lubm.dlog
  stratalog generate dag --nodes 1000 --edges 5000 -o edge.csv --rules paths.dlog
  stratalog generate pathways --seed 7 -o pathways/ --format parquet"""

LAST_OPTIONS = {
    "seed": (int, 0, typer.Option("--seed", min=0, metavar="N", help="Another data set.")),
    "output": (
        str,
        inspect.Parameter.empty,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|DIR",
            help=".nt, .csv, .tsv or .parquet, or a folder with a file per predicate.",
        ),
    ),
    "data_format": (
        str | None,
        None,
        typer.Option(
            "--format", metavar="FORMAT", help="In a folder: parquet (the default), csv or tsv."
        ),
    ),
    "rules": (
        Path | None,
        None,
        typer.Option("--rules", metavar="FILE", help="Write the rules to FILE."),
    ),
}


def _app() -> typer.Typer:
    """Return the command, with a command of its own for each generator."""
    names = "\n".join(f"  {_dashed(each.name)} {_usage(each)}" for each in GENERATORS)
    group = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        help=f"{HELP}\n\n\b\nParameters and what they are by default:\n{names}",
        epilog=EXAMPLES,
    )
    for generator in GENERATORS:
        group.command(_dashed(generator.name), help=generator.summary)(_command(generator))
    return group


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _usage(generator: Generator) -> str:
    return " ".join(f"--{_dashed(each.name)} {each.default}" for each in generator.parameters)


def _command(generator: Generator) -> Callable[..., None]:
    """Return a function whose signature has the generator's parameters, as typer reads them."""

    def command(**given: Any) -> None:  # noqa: ANN401  # the values of the options
        _run(generator, given)

    options: dict[str, Any] = {
        each.name: Annotated[
            type(each.default), typer.Option(f"--{_dashed(each.name)}", help=each.meaning)
        ]
        for each in generator.parameters
    }
    defaults: dict[str, object] = {each.name: each.default for each in generator.parameters}
    for name, (kind, default, option) in LAST_OPTIONS.items():
        options[name] = Annotated[kind, option]
        defaults[name] = default
    options["quiet"], defaults["quiet"] = o.Quiet, False
    keyword = inspect.Parameter.KEYWORD_ONLY
    command.__annotations__ = {**options, "return": None}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, keyword, default=defaults[name], annotation=annotation)
            for name, annotation in options.items()
        ]
    )
    return command


def _run(generator: Generator, given: dict[str, Any]) -> None:
    from stratalog.knowledge.display.progress import reporter

    begun = time.perf_counter()
    stopped.will_write_file(given["output"])
    parameters = {each.name: given[each.name] for each in generator.parameters}
    parameters["seed"] = given["seed"]
    with reporter(False if given["quiet"] else None) as report:
        count, rules = _write(generator, parameters, given, report)
    if given["rules"] is not None:
        _write_rules(rules, given["output"], given["rules"])
    if not given["quiet"]:
        seconds = time.perf_counter() - begun
        note(f"{plural(count, 'fact')} -> {given['output']}, {seconds:.2f} s")


def _write(
    generator: Generator, parameters: dict[str, Any], given: dict[str, Any], report: Reporter
) -> tuple[int, str]:
    """Write the facts; return how many there are, and the rules for them."""
    from stratalog_bench.generate.files import format_of, write, write_lubm
    from stratalog_bench.generate.lubm_profile import RULES

    output: str = given["output"]
    if format_of(output, given["data_format"]) == "nt" and generator.name == "lubm":
        count = write_lubm(output, **parameters, progress=lambda n: report("facts", f"{n:,}"))
        return count, RULES
    report(generator.name, "making facts")
    made = generator.function()(**parameters)
    report(generator.name, f"writing {plural(made.count, 'fact')}")
    count = write(made, output, given["data_format"])
    if not given["quiet"]:
        _tell_predicate(made, output)
    return count, made.rules


def _tell_predicate(made: Workload | EncodedColumns, output: str) -> None:
    """Say how a file is read whose name is not that of its predicate."""
    from stratalog_bench.generate.files import bare_tables, is_folder

    if is_folder(output):
        return
    (predicate,) = bare_tables(made)
    if Path(output).name.partition(".")[0] != predicate:
        note(f"to the rules this is {predicate}={output}")


def _write_rules(rules: str, output: str, path: Path) -> None:
    from stratalog.cli.output import text_file
    from stratalog_bench.generate.files import rules_for

    with text_file(str(path)) as target:
        target.write(rules_for(rules, output))


app = _app()
