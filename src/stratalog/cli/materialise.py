"""`stratalog materialise`: programs and data to a version of a store."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratalog.cli import options as o
from stratalog.cli import stopped
from stratalog.cli.show import answer, note, show_rows, summary
from stratalog.errors import EngineError
from stratalog.knowledge.display.progress import plural

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase

HELP = """Derive every consequence of programs and data, and keep the result in a store.

Arguments that end in .dlog are programs, all others are data: files, folders and globs
(.nt .nq .ttl .trig .rdf .owl .csv .tsv .facts .jsonl .parquet, also .gz .bz2 .zst). A table
feeds the predicate of its file name; name=PATH feeds the predicate name. Folders of Delta Lake and
Iceberg are tables; PATH@v12 is one of their versions.

A store that exists gets a new version. Nothing is written if anything goes wrong.

Small input is read in this process, large or remote input by Spark, which is started here
unless --master names a cluster. --publish writes what Spark, DuckDB, pandas and Polars read."""

EXAMPLES = """\b
Examples:
  stratalog materialise family.dlog parent.csv --store kb
  stratalog materialise rules.dlog triples.nt.gz edge=links.tsv --store kb --profile
  stratalog materialise rules.dlog data/ --memory 4GiB --timeout 600 --json
  stratalog materialise rules.dlog data/ --reader spark --store kb --publish published"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("materialise", help=HELP, epilog=EXAMPLES)(_command)


def _choice(text: str) -> Any:  # noqa: ANN401  # typer's
    return typer.Option(metavar="NAME", help=text)


def _command(  # noqa: PLR0913  # the contract's options
    *,
    inputs: Annotated[
        list[str], typer.Argument(metavar="PROGRAM|DATA", help="Programs (.dlog) and data.")
    ],
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the result there, as a new version.")
    ] = None,
    keep: o.Keep = None,
    engine: Annotated[str | None, _choice("auto, columnar, spark.")] = None,
    maintenance: Annotated[str | None, _choice(o.MAINTENANCE)] = None,
    modules: Annotated[str | None, _choice("auto, off, paper.")] = None,
    schemes: Annotated[str | None, _choice("auto.")] = None,
    equality: Annotated[str | None, _choice("auto, off.")] = None,
    joins: Annotated[str | None, _choice("auto, plan.")] = None,
    threads: o.Threads = None,
    memory: o.Memory = None,
    spill: o.Spill = None,
    max_facts: o.MaxFacts = None,
    max_digits: o.MaxDigits = None,
    timeout: o.Timeout = None,
    graphs: Annotated[str | None, _choice("Names of graphs: drop, keep.")] = None,
    header: Annotated[bool, typer.Option("--header", help="Text tables begin with names.")] = False,
    on_bad_input: Annotated[str | None, _choice("error, skip.")] = None,
    rejected: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where --on-bad-input skip writes bad lines: by default rejected/version-N.jsonl"
            " in the store.",
        ),
    ] = None,
    publish: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write all facts as plain Parquet: DIR/NAME/version=N."),
    ] = None,
    reader: Annotated[
        str | None, _choice("Who reads files: auto (Spark beyond 64 MB), local, spark.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master; local[*] by default.")
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of Spark; may be repeated."),
    ] = None,
    as_json: o.AsJson = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Print time, rows and derivations per rule.")
    ] = False,
    progress: o.Progress = False,
    quiet: o.Quiet = False,
) -> None:
    begun = time.perf_counter()
    chosen = {
        "engine": engine,
        "maintenance": maintenance,
        "modules": modules,
        "schemes": schemes,
        "equality": equality,
        "joins": joins,
        "threads": threads,
        "memory": memory,
        "spill": spill,
        "max_facts": max_facts,
        "max_digits": max_digits,
        "timeout": timeout,
        "graphs": graphs,
        "header": header,
        "on_bad_input": on_bad_input,
        "progress": o.progress_of(progress, quiet=quiet),
        "store": store,
        "keep": keep,
        "publish": publish,
        "reader": reader,
        "master": master,
        "conf": settings(conf),
    }
    programs, data = split_inputs(inputs)
    kb = _materialise(
        programs, data, {k: v for k, v in chosen.items() if v is not None}, quiet=quiet
    )
    place = "" if store is None else f"{store} version {kb.version}"
    keep_rejected(kb, store, rejected)
    _answer(kb, as_json=as_json, profile=profile)
    if not quiet:
        note(summary(kb.stats, time.perf_counter() - begun, place))


def settings(conf: list[str] | None) -> dict[str, str] | None:
    """Return the settings of Spark, none by default."""
    if not conf:
        return None
    from stratalog.spark import parse_conf

    return parse_conf(conf)


def split_inputs(inputs: list[str]) -> tuple[list[Path], list[str]]:
    """Return the programs and the data among the arguments."""
    programs = [Path(each) for each in inputs if each.endswith(".dlog")]
    if not programs:
        raise typer.BadParameter("name a program: a file whose name ends in .dlog")
    return programs, [each for each in inputs if not each.endswith(".dlog")]


def _materialise(
    programs: list[Path], data: list[str], chosen: dict[str, Any], *, quiet: bool
) -> KnowledgeBase:
    from stratalog.knowledge.build import materialise

    store = chosen.get("store")
    if store is not None:
        stopped.will_write_store(store, stopped.current_version(store))
    stopped.will_write_file(chosen.get("publish"))
    if store is None and not quiet:
        note("note: without --store DIR the result is not kept")
    try:
        kb = materialise(programs, data, **chosen)
    except EngineError as error:
        raise respelled(error, chosen) from None
    if not kb.stats["rules"] and not quiet:
        note("note: the program has no rules, so nothing is derived")
    return kb


def respelled(error: EngineError, chosen: dict[str, Any]) -> EngineError:
    """Return an error about an option as the command line spells it."""
    message = error.message
    for name, value in chosen.items():
        message = message.replace(f"{name}={value!r} ", f"--{name.replace('_', '-')} {value} ")
    return EngineError(error.code, message, path=error.path, line=error.line, help=error.help)


def keep_rejected(kb: KnowledgeBase, store: Path | None, target: Path | None) -> None:
    """Write the lines that were skipped, and say how many there are and where they are."""
    from stratalog.pipeline.layout import rejected_path

    report = kb.report
    if report is None or not report.bad_lines:
        return
    for bad in report.samples:
        place = ":".join(str(part) for part in (bad.path, bad.line) if part)
        note(f"skipped: {bad.reason}\n  {place}")
    is_in_store = target is None and store is not None
    if target is None and store is not None:
        target = rejected_path(store, kb.version)
    shown = f" -> {target}" if target else ""
    note(f"{plural(report.bad_lines, 'bad line')} skipped{shown}")
    if target is not None:
        _write_rejected(report.rejected, target, is_anew=is_in_store)
    if report.rejected_not_kept:
        note(f"{report.rejected_not_kept:,} of them are not in the file, which would be too long")


def _write_rejected(
    rejected: list[tuple[str, int | None, str]], target: Path, *, is_anew: bool
) -> None:
    from stratalog.errors import DataError

    lines = [json.dumps({"path": p, "line": n, "text": t}) + "\n" for p, n, t in rejected]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if is_anew:
            target.unlink(missing_ok=True)  # a stranger's store may have a link or a pipe there
        target.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise DataError(
            "D313",
            f"the rejected lines cannot be written: {error.strerror or error}",
            path=str(target),
            help="all else was done; check the folder and its permissions",
        ) from None


def _answer(kb: KnowledgeBase, *, as_json: bool, profile: bool) -> None:
    rules = kb.profile() if profile else []
    if as_json:
        extra = {"profile": rules} if profile else {}
        answer(json.dumps({**kb.stats, **extra}, ensure_ascii=False))
    elif profile:
        show_profile(rules)


def show_profile(rules: list[dict[str, Any]]) -> None:
    """Print what each rule cost."""
    names = ("seconds", "derivations", "rows", "rule")
    rows = [[f"{r['seconds']:.4f}", r["derivations"], r["rows"], r["rule"]] for r in rules]
    show_rows(names, rows, sys.stdout)
