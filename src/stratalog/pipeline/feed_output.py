"""Derived changes as a change feed, each version's written once, whatever happens to the writer.

    DIR/<name>/part-00000007-3f2a91bc.parquet    what version 7 changed; then the stream's name
    DIR/_stratalog.json                          the predicates of folders
    DIR/_stratalog.lock                          held by the one stream that writes here
    DIR/_pending-<stream>-<token>/               files of a version that may not exist yet

1. Before the version exists, its files are written and flushed, in a folder with a new token.
2. The manifest that makes the version exist names that token, in the same link.
3. The files are renamed to their places, which readers see, and the empty folder goes.

A writer that dies before 2 leaves a folder whose token no manifest names: it is removed, and the
batch is done again. One that dies after 2 leaves a folder with the token of the store's manifest:
whoever comes next renames what is left there. A rename either took place or did not, and the names
follow from version and stream, so doing 3 again changes nothing. Nothing is ever seen in part.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from stratalog.errors import StoreError
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.documents import OddDocumentError
from stratalog.pipeline.durable import (
    failures,
    flush_files,
    flush_folder,
    lock_alone,
    make_folder,
    write_file,
)
from stratalog.pipeline.feed import CHANGE_TYPE, COMMIT_VERSION
from stratalog.pipeline.feed_files import INDEX
from stratalog.pipeline.index_file import read_index
from stratalog.pipeline.naming import plain_names
from stratalog.pipeline.native import TYPE_OF_KIND, kind_of
from stratalog.pipeline.portable import portable
from stratalog.pipeline.publish import LOCK, check_target
from stratalog.pipeline.tables import TYPE_KEY

FORMAT = 1
PENDING = "_pending-"
NAME = 8  # characters of a stream's id in names


@dataclass(frozen=True, slots=True)
class Changed:
    """What a version changes in a predicate: first the facts that went, then those that came."""

    predicate: Predicate
    table: pa.Table
    removed: int  # how many went


@dataclass(slots=True)
class Output:
    """The folder that a stream writes derived changes to."""

    root: Path
    prefixes: Sequence[tuple[str, str]] = ()
    folders: dict[Predicate, str] = field(default_factory=dict)

    def prepare(self, changes: Iterable[Changed], version: int, stream: str) -> str | None:
        """Write a version's changes aside, flushed, and return their token; None if there is none.

        What cannot be written whole is removed.
        """
        found = [each for each in changes if each.table.num_rows]
        if not found:
            return None
        token = secrets.token_hex(8)
        place = self._place(stream, token)
        with failures(self.root, "write the output feed"):
            try:
                place.mkdir()
                self._name_folders(each.predicate for each in found)
                self._write(place, found, version, stream)
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
        return token

    def _write(self, place: Path, changes: Sequence[Changed], version: int, stream: str) -> None:
        import pyarrow.parquet as pq

        paths = []
        for each in changes:
            folder = place / self.folders[each.predicate]
            folder.mkdir()
            path = folder / f"part-{version:08d}-{stream[:NAME]}.parquet"
            pq.write_table(_feed_table(each, version), path, compression="zstd")
            paths.append(path)
        flush_files(paths)
        for folder in {path.parent for path in paths}:
            flush_folder(folder)
        flush_folder(place)
        flush_folder(self.root)

    def forget(self, stream: str, token: str | None) -> None:
        """Remove what was written aside for a version that will not be."""
        if token is not None:
            shutil.rmtree(self._place(stream, token), ignore_errors=True)

    def has_left(self, tokens: Collection[str], streams: Iterable[str]) -> bool:
        """Tell whether a stream has left changes here, of versions that exist."""
        places = [self._place(stream, token) for stream in streams for token in tokens]
        return any(place.is_dir() and not place.is_symlink() for place in places)

    def finish(self, tokens: Collection[str], stream: str | None = None) -> None:
        """Show the changes of versions that exist; remove what else the stream has left."""
        with failures(self.root, "write the output feed"):
            for place in sorted(self.root.glob(f"{PENDING}*-*")):
                owner, _, token = place.name.removeprefix(PENDING).rpartition("-")
                if token in tokens:
                    self._show(place)
                elif stream is not None and owner == stream[:NAME]:
                    shutil.rmtree(place)

    def _show(self, place: Path) -> None:
        for path in sorted(place.glob("*/*.parquet")):
            target = self.root / path.parent.name
            make_folder(target)
            path.replace(target / path.name)
            flush_folder(target)
        shutil.rmtree(place)

    def _place(self, stream: str, token: str) -> Path:
        return self.root / f"{PENDING}{stream[:NAME]}-{token}"

    def _name_folders(self, predicates: Iterable[Predicate]) -> None:
        """Give folders to predicates that have none, in the index too: before files are there."""
        new = [each for each in predicates if each not in self.folders]
        if not new:
            return
        folders = self.folders | plain_names([*self.folders, *new], self.prefixes, self.folders)
        tables = [
            {"predicate": p.name, "arity": p.arity, "folder": name}
            for p, name in sorted(folders.items())
        ]
        content = json.dumps({"format": FORMAT, "feed": True, "tables": tables}, indent=1)
        partial = self.root / f"{PENDING}{secrets.token_hex(8)}.json"
        try:
            write_file(partial, content.encode() + b"\n")
            partial.replace(self.root / INDEX)
        finally:
            partial.unlink(missing_ok=True)
        flush_folder(self.root)
        self.folders = folders


@contextmanager
def opened(
    directory: str | os.PathLike[str],
    store: str | os.PathLike[str],
    prefixes: Sequence[tuple[str, str]] = (),
) -> Iterator[Output]:
    """Give the folder for output, made if there is none, to one stream alone."""
    root = check_target(directory, store).absolute()
    with ExitStack() as stack:
        with failures(root, "open the folder for output"):
            make_folder(root)
            if not stack.enter_context(lock_alone(root / LOCK)):
                raise StoreError(
                    "T114",
                    "another stream writes its output here",
                    path=str(root),
                    help="stop it, or name another folder",
                )
            folders = _load(root / INDEX)
            for partial in root.glob(f"{PENDING}*.json"):
                partial.unlink(missing_ok=True)
        yield Output(root, prefixes, folders)


def _load(path: Path) -> dict[Predicate, str]:
    """Return the folders that predicates have, from the index."""
    try:
        told, entries = read_index(path)
        is_feed = told.get("feed") is True and told.get("format") == FORMAT
        found = {predicate: entry["folder"] for predicate, entry in entries.items()}
    except FileNotFoundError:
        return {}
    except OddDocumentError:
        raise StoreError(
            "T103",
            "the index of the output feed is damaged",
            path=str(path),
            help="write the output to a new folder; the Parquet files here can still be read",
        ) from None
    if not is_feed:
        raise StoreError(
            "T108",
            "this folder holds published facts, or a feed of a newer Stratalog",
            path=str(path.parent),
            help="name another folder for the output",
        )
    return found


def _feed_table(changed: Changed, version: int) -> pa.Table:
    """Return changes as rows of a feed."""
    rows = _typed(portable(changed.table))
    sizes = {"delete": changed.removed, "insert": rows.num_rows - changed.removed}
    words = [pa.repeat(pa.scalar(word), size) for word, size in sizes.items()]
    rows = rows.append_column(CHANGE_TYPE, pa.concat_arrays(words))
    numbers = pa.repeat(pa.scalar(version, pa.int64()), rows.num_rows)
    return rows.append_column(COMMIT_VERSION, numbers)


def _typed(table: pa.Table) -> pa.Table:
    """Return the table with all types in the fields' metadata: given back, facts are the same."""
    fields = [
        each
        if TYPE_KEY in (each.metadata or {})
        else each.with_metadata({TYPE_KEY: TYPE_OF_KIND[kind_of(each.type) or ""].encode()})
        for each in table.schema
    ]
    return table.cast(pa.schema(fields))
