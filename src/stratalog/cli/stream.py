"""`stratalog stream`: a store follows a change feed, and tells what it derives as another one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratalog.cli import options as o
from stratalog.cli import stopped
from stratalog.cli.materialise import respelled, settings
from stratalog.cli.show import answer, note
from stratalog.errors import EngineError
from stratalog.knowledge.display.progress import plural

if TYPE_CHECKING:
    from stratalog.knowledge.stream.batches import Batch
    from stratalog.knowledge.stream.run import Stream

HELP = """Apply a change feed to a store as it comes, exactly once, until Ctrl-C.

A source is a folder that holds a folder per predicate, or name=DIR for one predicate. New files
in it (Parquet, CSV, TSV, JSON lines) have the predicate's columns and _change_type: insert,
delete, update_preimage or update_postimage. With _commit_version the last change of a fact in a
batch wins; otherwise a fact that is inserted and deleted is inserted. Files may be compressed;
names that begin with . or _ are passed over, so write under such a name and rename.

Each batch is one version of the store. What rules derive from it is appended to --output as a
feed of the same form, which another store can read as its source. Stopped, killed or failed,
the same command goes on where it was: nothing is lost or done twice."""

EXAMPLES = """\b
Examples:
  stratalog stream kb --source feed
  stratalog stream kb --source feed --output derived --interval 10
  stratalog stream kb --source edge=changes/edges --output derived --emit path --once"""

Names = list[str] | None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("stream", help=HELP, epilog=EXAMPLES)(_command)


def _many(metavar: str, text: str) -> Any:  # noqa: ANN401  # typer's
    return typer.Option(metavar=metavar, help=f"{text}; may be repeated.")


def _command(  # noqa: PLR0913  # the contract's options
    *,
    store: o.StorePath,
    source: Annotated[list[str], _many("DIR", "Where changes come from: DIR or name=DIR")],
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where derived changes are appended.")
    ] = None,
    emit: Annotated[Names, _many("NAME", "A predicate for the output; all derived ones")] = None,
    once: Annotated[
        bool, typer.Option("--once", "--available-now", help="End when all that is there is read.")
    ] = False,
    interval: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Time between two looks for files.")
    ] = 1.0,
    max_files: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Files of a source in one batch.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="DIR", help="Spark's position; in the store by default.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Drop all but the last N versions.")
    ] = None,
    maintenance: Annotated[str | None, typer.Option(metavar="NAME", help=o.MAINTENANCE)] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="auto, columnar, spark.")
    ] = None,
    threads: o.Threads = None,
    memory: o.Memory = None,
    max_facts: o.MaxFacts = None,
    max_digits: o.MaxDigits = None,
    timeout: o.Timeout = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master; local[*] by default.")
    ] = None,
    conf: Annotated[Names, _many("KEY=VALUE", "A setting of Spark")] = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    chosen = {
        "engine": engine,
        "threads": threads,
        "memory": memory,
        "max_facts": max_facts,
        "max_digits": max_digits,
        "timeout": timeout,
        "master": master,
        "conf": settings(conf),
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    asked = {
        "output": output,
        "emit": emit,
        "checkpoint": checkpoint,
        "once": once,
        "interval": interval,
        "max_files": max_files,
        "keep": keep,
        "maintenance": maintenance,
    }
    try:
        _run(store, source, given, asked, as_json=as_json, quiet=quiet)
    except EngineError as error:
        raise respelled(error, chosen) from None


def _run(
    store: Path,
    source: list[str],
    given: dict[str, Any],
    asked: dict[str, Any],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from stratalog.knowledge.stored.open import open_store

    begun = time.perf_counter()
    kb = open_store(store, progress=False, **given)
    if not quiet:
        note(f"{', '.join(source)} -> {store} version {kb.version}")
    stopped.will_write_store(store, kb.version)
    stream = kb.stream(source, on_batch=None if quiet else _teller(store), **asked)
    is_stopped = _follow(stream)
    seconds = time.perf_counter() - begun
    if as_json:
        _print_json(stream, kb.version, seconds)
    if not quiet:
        _close(stream, seconds, f"{store} version {kb.version}", is_stopped=is_stopped)


def _follow(stream: Stream) -> bool:
    """Wait for the stream's end; return whether it was Ctrl-C, which ends it after its batch."""
    try:
        stream.wait()
    except KeyboardInterrupt:
        try:
            stream.stop()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "the last batch is done, or will be at the next start"
            ) from None
        return True
    return False


def _teller(store: Path) -> Callable[[Batch], None]:
    """Return what prints a line per batch; Spark calls it in a thread of its own."""
    lock = threading.Lock()

    def tell(batch: Batch) -> None:
        place = f"{store} version {batch.version}"
        told = f"batch {batch.number}: {plural(batch.rows, 'row')}, +{batch.added:,}"
        told += f" -{batch.removed:,} facts, {batch.seconds:.2f} s -> {place}"
        if batch.is_replayed:
            told = f"batch {batch.number}: was done before -> {place}"
        with lock:
            note(told)

    return tell


def _print_json(stream: Stream, version: int, seconds: float) -> None:
    found = {
        "batches": stream.batches,
        "rows": stream.rows,
        "added": stream.added,
        "removed": stream.removed,
        "version": version,
        "seconds": seconds,
    }
    answer(json.dumps(found))


def _close(stream: Stream, seconds: float, place: str, *, is_stopped: bool) -> None:
    """Print the line that ends a run."""
    counted = "1 batch" if stream.batches == 1 else f"{stream.batches:,} batches"
    note(
        f"{'stopped: ' if is_stopped else ''}{counted}, {plural(stream.rows, 'row')}, "
        f"+{stream.added:,} -{stream.removed:,} facts, {seconds:.2f} s -> {place}"
    )
