"""`stratalog update`: facts and rules come and go, and a store gets a version of what changed."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratalog.cli import options as o
from stratalog.cli import stopped
from stratalog.cli.materialise import keep_rejected, respelled, settings, show_profile
from stratalog.cli.show import answer, note, show_rows
from stratalog.errors import EngineError
from stratalog.knowledge.display.progress import plural

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase
    from stratalog.knowledge.changes import Changes

HELP = """Insert and delete facts, add and remove rules, and keep the store exact.

--insert and --delete take files, folders and globs, in all formats of `materialise`, and may
be repeated; name=PATH feeds the predicate name. A fact that is inserted and deleted is
inserted. Deleting a fact that is not explicit changes nothing and is counted.

The store gets a new version that holds only what changed. Nothing is written if anything
goes wrong, or with --dry-run."""

EXAMPLES = """\b
Examples:
  stratalog update kb --insert parent=born.csv --delete parent=mistakes.csv
  stratalog update kb --delete old.nt --dry-run
  stratalog update kb --add-rules more.dlog --json"""

Paths = list[str] | None
Files = list[Path] | None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("update", help=HELP, epilog=EXAMPLES)(_command)


def _choice(text: str) -> Any:  # noqa: ANN401  # typer's
    return typer.Option(metavar="NAME", help=text)


def _given(text: str, metavar: str = "PATH") -> Any:  # noqa: ANN401  # typer's
    return typer.Option(metavar=metavar, help=f"{text}; may be repeated.")


def _command(  # noqa: PLR0913  # the contract's options
    *,
    store: o.StorePath,
    insert: Annotated[Paths, _given("Facts that become explicit")] = None,
    delete: Annotated[Paths, _given("Facts that are no longer explicit")] = None,
    add_rules: Annotated[Files, _given("Rules to add", "FILE")] = None,
    remove_rules: Annotated[Files, _given("Rules to remove", "FILE")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would change, and write nothing.")
    ] = False,
    keep: o.Keep = None,
    maintenance: Annotated[str | None, _choice(o.MAINTENANCE)] = None,
    engine: Annotated[str | None, _choice("auto, columnar, spark.")] = None,
    threads: o.Threads = None,
    memory: o.Memory = None,
    max_facts: o.MaxFacts = None,
    max_digits: o.MaxDigits = None,
    timeout: o.Timeout = None,
    graphs: Annotated[str | None, _choice("Names of graphs: drop, keep.")] = None,
    header: Annotated[bool, typer.Option("--header", help="Text tables begin with names.")] = False,
    on_bad_input: Annotated[str | None, _choice("error, skip.")] = None,
    rejected: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where --on-bad-input skip writes bad lines."),
    ] = None,
    reader: Annotated[
        str | None, _choice("Who reads files: auto (Spark beyond 64 MB), local, spark.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master; local[*] by default.")
    ] = None,
    conf: Annotated[Paths, _given("A setting of Spark", "KEY=VALUE")] = None,
    as_json: o.AsJson = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Print time, rows and derivations per rule.")
    ] = False,
    progress: o.Progress = False,
    quiet: o.Quiet = False,
) -> None:
    begun = time.perf_counter()
    wish = {
        "insert": insert,
        "delete": delete,
        "add_rules": add_rules,
        "remove_rules": remove_rules,
    }
    if not any(wish.values()):
        raise typer.BadParameter("give --insert, --delete, --add-rules or --remove-rules")
    chosen = {
        "keep": keep,
        "engine": engine,
        "maintenance": maintenance,
        "threads": threads,
        "memory": memory,
        "max_facts": max_facts,
        "max_digits": max_digits,
        "timeout": timeout,
        "graphs": graphs,
        "header": header,
        "on_bad_input": on_bad_input,
        "progress": o.progress_of(progress, quiet=quiet),
        "reader": reader,
        "master": master,
        "conf": settings(conf),
    }
    kb, before, changes = _update(
        store,
        {name: value for name, value in wish.items() if value},
        {name: value for name, value in chosen.items() if value is not None},
        dry_run=dry_run,
    )
    keep_rejected(kb, None if dry_run else store, rejected)
    _answer(changes, as_json=as_json, profile=profile, dry_run=dry_run)
    if not quiet:
        _close(changes, time.perf_counter() - begun, _place(store, kb, before, dry_run=dry_run))


def _update(
    store: Path, wish: dict[str, Any], chosen: dict[str, Any], *, dry_run: bool
) -> tuple[KnowledgeBase, int, Changes]:
    """Return the knowledge base, its version before the update, and what changed."""
    from stratalog.knowledge.stored.open import open_store
    from stratalog.knowledge.update.request import check_spark_is_asked_for

    try:
        kb = open_store(store, **chosen)
        check_spark_is_asked_for(kb, wish.get("insert"), wish.get("delete"))
        before = kb.version
        stopped.will_write_store(store, before)
        changes = (kb.what_if if dry_run else kb.update)(**wish)
    except EngineError as error:
        raise respelled(error, chosen) from None
    return kb, before, changes


def _answer(changes: Changes, *, as_json: bool, profile: bool, dry_run: bool) -> None:
    stats = dict(changes.stats)
    rules = stats.pop("profile")
    sizes = changes.sizes()
    if as_json:
        each = {name: {"added": came, "removed": went} for name, (came, went) in sizes.items()}
        extra = {"profile": rules} if profile else {}
        found = {**stats, "dry_run": dry_run, "changes": each, **extra}
        answer(json.dumps(found, ensure_ascii=False))
        return
    if dry_run:
        rows = [(name, *size) for name, size in sizes.items()]
        show_rows(("predicate", "added", "removed"), rows, sys.stdout)
    if profile:
        show_profile(rules)


def _place(store: Path, kb: KnowledgeBase, before: int, *, dry_run: bool) -> str:
    """Return where the result is."""
    if dry_run:
        return f"{store} stays version {kb.version}: a dry run"
    if kb.version == before:
        return f"{store} stays version {kb.version}"
    return f"{store} version {kb.version}"


def _close(changes: Changes, seconds: float, place: str) -> None:
    """Print the line that ends a run, before it what was asked for in vain."""
    stats = changes.stats
    if stats["not_explicit"]:
        verb = "was" if stats["not_explicit"] == 1 else "were"
        note(f"{plural(stats['not_explicit'], 'fact')} to delete {verb} not explicit")
    note(
        f"+{stats['added']:,} -{stats['removed']:,} facts, {plural(stats['rounds'], 'round')}, "
        f"{plural(stats['derivations'], 'derivation')}, {seconds:.2f} s -> {place}"
    )
