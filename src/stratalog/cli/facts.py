"""`stratalog facts`: what a store holds."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratalog.cli import options as o
from stratalog.cli import stopped
from stratalog.cli.output import Form, chosen_format, opened, text_file, write_table, write_to
from stratalog.cli.show import note, show_rows
from stratalog.errors import DataError
from stratalog.knowledge.display.progress import plural

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase

HELP = """Print the facts of a predicate, or of all relations.

Without PREDICATE, the table lists all relations with their sizes; nt and jsonl hold all
facts (nt those that are triples; the others are counted on stderr); csv, tsv and parquet
need a folder, -o DIR/, and write a file per predicate."""

EXAMPLES = """\b
Examples:
  stratalog facts kb
  stratalog facts kb path --limit 10
  stratalog facts kb path --derived --format csv --header -o path.csv
  stratalog facts kb --format nt --sorted | sha256sum"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("facts", help=HELP, epilog=EXAMPLES)(_command)


def _command(  # noqa: PLR0913  # the contract's options
    *,
    store: o.StorePath,
    predicate: Annotated[
        str | None, typer.Argument(metavar="PREDICATE", help="name, p:name, <iri> or name/2.")
    ] = None,
    limit: o.Limit = None,
    data_format: o.Format = None,
    output: o.Output = None,
    in_order: o.Sorted = False,
    explicit: Annotated[bool, typer.Option("--explicit", help="Only given facts.")] = False,
    derived: Annotated[bool, typer.Option("--derived", help="Only facts that rules add.")] = False,
    header: o.Header = False,
    version: o.Version = None,
    quiet: o.Quiet = False,
) -> None:
    from stratalog.knowledge.stored.open import open_store

    if explicit and derived:
        raise typer.BadParameter("--explicit and --derived exclude each other; neither means both")
    only = "explicit" if explicit else "derived" if derived else None
    form = Form(chosen_format(data_format, output), limit, header=header, in_order=in_order)
    stopped.will_write_file(output)
    kb = open_store(store, version)
    count = (
        _write_all(kb, form, output, only)
        if predicate is None
        else _write_one(kb, predicate, form, output, only)
    )
    if not quiet:
        note(plural(count, "fact") + (f" -> {output}" if output else ""))


def _write_one(
    kb: KnowledgeBase, name: str, form: Form, output: str | None, only: str | None
) -> int:
    if form.format == "nt":
        return _write_triples(kb, form, output, only, name)
    early = None if form.in_order else form.shown(output)
    table = kb.facts(name, only=only, limit=early)
    is_cut = early is not None and form.limit is None
    return write_table(table, form, output, kb.count_of(name, only=only) if is_cut else None)


def _write_all(kb: KnowledgeBase, form: Form, output: str | None, only: str | None) -> int:
    if form.format == "nt":
        return _write_triples(kb, form, output, only)
    if form.format == "table":
        return _list_relations(kb, form, output, only)
    if output is not None and _is_folder(output):
        return _write_folder(kb, form, Path(output), only)
    if form.format == "jsonl":
        return write_to(kb.tables(only=only), form, output, named=True)
    raise DataError(
        "D314",
        f"{form.format} holds the facts of one predicate",
        help=f"name a predicate, give a folder for a file per predicate (-o DIR/), or choose"
        f" --format jsonl or nt; predicates: {', '.join(kb.predicates()[:12])}",
    )


def _is_folder(output: str) -> bool:
    return output.endswith("/") or Path(output).is_dir() or not Path(output).suffix


def _write_folder(kb: KnowledgeBase, form: Form, folder: Path, only: str | None) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            "D313", f"the folder cannot be made: {error.strerror}", path=str(folder),
            help="name a folder that can be written to",
        ) from None  # fmt: skip
    count = 0
    for name, table in kb.tables(only=only):
        if form.format == "parquet" and not table.num_columns:
            note(f"{name}: Parquet cannot hold facts without arguments, left out")
            continue
        path = folder / f"{_file_name(name)}.{form.format}"
        count += write_to([(name, table)], form, str(path))
        if path.stem != name:
            note(f"{path.name}: {name}")
    return count


def _file_name(name: str) -> str:
    """Return a name that every file system takes, the predicate's own if it is a bare name."""
    import hashlib

    if re.fullmatch(r"\w+", name):
        return name
    words = re.findall(r"\w+", name) or ["relation"]
    readable = "_".join(words[-2:])[:40]
    return f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _write_triples(
    kb: KnowledgeBase, form: Form, output: str | None, only: str | None, name: str | None = None
) -> int:
    with opened(output, form) as target:
        written = kb.write_triples(target, name, only=only, in_order=form.in_order)
    names = kb.names()
    for predicate, skipped in sorted(written.skipped.items()):
        what = "fact is no triple" if skipped == 1 else "facts are no triples"
        note(f"{names[predicate]}: {skipped:,} {what}, left out")
    return written.facts if form.limit is None else min(form.limit, written.facts)


def _list_relations(kb: KnowledgeBase, form: Form, output: str | None, only: str | None) -> int:
    rows = []
    given = kb.sizes(only="explicit")
    for name, (arity, facts) in kb.sizes().items():
        _, explicit = given[name]
        counts = {None: facts, "explicit": explicit, "derived": facts - explicit}
        if only is None or counts[only]:
            rows.append((name, arity, facts, explicit, facts - explicit))
    rows = rows[: form.limit]
    names = ("predicate", "arity", "facts", "explicit", "derived")
    if output is None:
        show_rows(names, rows, sys.stdout)
    else:
        with text_file(output) as target:
            show_rows(names, rows, target)
    chosen = {None: 2, "explicit": 3, "derived": 4}[only]
    return sum(int(row[chosen]) for row in rows)
