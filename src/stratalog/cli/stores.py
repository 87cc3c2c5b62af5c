"""`stratalog stats` and `stratalog versions`: what a store says about itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratalog.cli import options as o
from stratalog.cli import stopped
from stratalog.cli.materialise import show_profile
from stratalog.cli.show import answer, note, show_rows
from stratalog.knowledge.display.progress import plural

if TYPE_CHECKING:
    from stratalog.pipeline.store import Store, VersionInfo

STATS_HELP = """Print what a store holds and what making it took."""

STATS_EXAMPLES = """\b
Examples:
  stratalog stats kb
  stratalog stats kb --json | jq .bytes_per_fact
  stratalog stats kb --profile --version 2"""

VERSIONS_HELP = """List the versions of a store, compare two of them, or drop some.

--compare A B prints how many facts of each predicate B has and A has not (added), and the
other way round (removed). --drop N removes version N, --keep N all but the last N versions.
The current version cannot be dropped; but if its manifest has vanished, --drop gives it up, and
the version before it goes on."""

VERSIONS_EXAMPLES = """\b
Examples:
  stratalog versions kb
  stratalog versions kb --compare 1 2
  stratalog versions kb --drop 1
  stratalog versions kb --keep 10"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("stats", help=STATS_HELP, epilog=STATS_EXAMPLES)(_stats)
    app.command("versions", help=VERSIONS_HELP, epilog=VERSIONS_EXAMPLES)(_versions)


def _stats(
    *,
    store: o.StorePath,
    version: o.Version = None,
    as_json: o.AsJson = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Time, rows and derivations per rule, when made.")
    ] = False,
    quiet: o.Quiet = False,
) -> None:
    from stratalog.knowledge.stored.checks import checked_statistics
    from stratalog.pipeline.layout import version_path
    from stratalog.pipeline.store import Store

    opened = Store.open(store)
    number = opened.version if version is None else version
    saved = checked_statistics(opened.statistics(version), version_path(opened.path, number))
    own = {"origins", "prefixes", "profile", "read_as_triples"}  # what opening needs
    stats = {name: told for name, told in saved.items() if name not in own}
    stats["version"] = number
    rules = saved.get("profile", [])
    if as_json:
        extra = {"profile": rules} if profile else {}
        answer(json.dumps({**stats, **extra}, ensure_ascii=False))
    elif profile:
        show_profile(rules)
    else:
        show_rows(("what", "value"), list(_readable(stats)), sys.stdout)
    if not quiet:
        note(f"{stats['facts']:,} facts in version {number} of {store}")


def _readable(stats: dict[str, Any]) -> Any:  # noqa: ANN401  # pairs of texts
    for name, value in stats.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", _shown(each)) for inner, each in value.items())
        elif isinstance(value, list):
            yield name, f"{len(value):,}"
        else:
            yield name, _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _versions(
    *,
    store: o.StorePath,
    compare: Annotated[
        tuple[int, int] | None, typer.Option(metavar="A B", help="Count facts added and removed.")
    ] = None,
    drop: Annotated[int | None, typer.Option(min=1, metavar="N", help="Remove version N.")] = None,
    keep: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Drop all but the last N versions.")
    ] = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    from stratalog.pipeline.store import Store

    if sum(map(bool, (compare, drop, keep))) > 1:
        raise typer.BadParameter("--compare, --drop and --keep exclude each other")
    opened = Store.open(store)
    if drop:
        _drop(opened, drop, store, quiet=quiet)
    elif keep:
        _drop_older(opened, keep, store, quiet=quiet)
    elif compare:
        _compare(store, compare, as_json=as_json, quiet=quiet)
    else:
        _list(opened, as_json=as_json)


def _drop(opened: Store, number: int, store: Path, *, quiet: bool) -> None:
    before = opened.numbers()
    stopped.will_write(lambda: None if opened.numbers() == before else f"version {number} is gone")
    current = opened.drop(number)
    if not quiet:
        note(f"version {number} of {store} is gone")
        if number not in before:
            note(f"the version before it goes on as version {current}")


def _drop_older(opened: Store, keep: int, store: Path, *, quiet: bool) -> None:
    before = opened.numbers()

    def written() -> str | None:
        gone = len(before) - len(opened.numbers())
        return f"{plural(gone, 'version')} had been dropped" if gone > 0 else None

    stopped.will_write(written)
    gone = opened.drop_older(keep)
    if not quiet:
        left = plural(len(before) - len(gone), "version")
        note(f"{plural(len(gone), 'version')} of {store} dropped, {left} left")


def _list(opened: Store, *, as_json: bool) -> None:
    from dataclasses import asdict

    found = opened.versions()
    if as_json:
        answer(json.dumps([asdict(version) for version in found]))
    else:
        _show(found)
    opened.check_present()  # an error, after the list, if the newest version has vanished


def _show(found: list[VersionInfo]) -> None:
    names = ("version", "created", "facts", "explicit", "bytes", "note")
    rows = [(v.number, v.created[:19], v.facts, v.explicit, v.bytes, v.note) for v in found]
    show_rows(names, rows, sys.stdout)


def _compare(store: Path, numbers: tuple[int, int], *, as_json: bool, quiet: bool) -> None:
    from stratalog.knowledge.compare import compare_versions

    changes = compare_versions(store, *numbers)
    if as_json:
        answer(json.dumps(changes, ensure_ascii=False))
    else:
        rows = [(name, c["added"], c["removed"]) for name, c in changes.items()]
        show_rows(("predicate", "added", "removed"), rows, sys.stdout)
    if not quiet:
        added, removed = (sum(c[k] for c in changes.values()) for k in ("added", "removed"))
        note(f"version {numbers[0]} -> {numbers[1]}: +{added:,} -{removed:,} facts")
