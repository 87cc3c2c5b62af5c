"""Published facts: plain Parquet that Spark, DuckDB, pandas and Polars read without Stratalog.

    DIR/<name>/version=N/part-00000.parquet    decoded facts, columns as declared
    DIR/_stratalog.json                        folders of predicates, versions that are whole
    DIR/_stratalog.lock                        held by the one process that publishes

All files of a version are written beside their place first. Then folders are renamed, and at last
the index names them: what the index does not name is a rest of a killed process, and is replaced.
"""

from __future__ import annotations

import filecmp
import json
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pyarrow as pa

from stratalog.errors import StoreError
from stratalog.lang.syntax import Declaration, Predicate
from stratalog.pipeline.columns import Decoder
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.documents import OddDocumentError
from stratalog.pipeline.durable import (
    failures,
    flush_files,
    flush_folder,
    lock_alone,
    make_folder,
    write_file,
)
from stratalog.pipeline.facts import Ids
from stratalog.pipeline.index_file import read_index
from stratalog.pipeline.layout import MARKER
from stratalog.pipeline.naming import plain_names

INDEX = "_stratalog.json"
LOCK = "_stratalog.lock"
FORMAT = 1
PARTIAL = ".stratalog-"  # what begins so is in the making; readers pass over it
ROW_GROUP = 1 << 18  # rows decoded at once
GROUPS_PER_FILE = 64

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_VERSION = re.compile(r"version=([0-9]+)")


@dataclass(frozen=True, slots=True)
class Relation:
    """What is published of a predicate."""

    predicate: Predicate
    columns: Sequence[Ids]
    size: int
    declaration: Declaration | None = None
    rdf: bool = False


@dataclass(slots=True)
class Published:
    """What was published: the version, and the number of facts by predicate."""

    path: Path
    version: int
    facts: dict[Predicate, int] = field(default_factory=dict)


def publish(
    directory: str | PathLike[str],
    relations: Iterable[Relation],
    dictionary: Dictionary,
    *,
    version: int | None = None,
    prefixes: Sequence[tuple[str, str]] = (),
) -> Published:
    """Write a version of all relations, the next free one by default; all or nothing is named."""
    root = check_target(directory)
    with failures(root, "publish"):
        make_folder(root)
        with _alone(root):
            index = _Index.load(root)
            number = index.next_version() if version is None else version
            draft = _Draft(root, index, number, prefixes)
            try:
                for relation in relations:
                    draft.write(relation, dictionary)
                draft.finish()
            finally:
                draft.clear()
    return Published(root, number, draft.facts)


def check_target(directory: str | PathLike[str], store: str | PathLike[str] | None = None) -> Path:
    """Return the folder to publish in; an error if there cannot be one, or it will be a store."""
    text = fspath(directory)
    if _URL.match(text) and not text.startswith("file:///"):
        raise StoreError(
            "T107",
            "facts are published on a file system, not on an object store",
            path=text,
            help="name a local or mounted folder, and copy it from there",
        )
    root = Path(text.removeprefix("file://"))
    if root.exists() and not root.is_dir():
        raise StoreError(
            "T108", "this is a file, not a folder", path=str(root), help="name a new folder"
        )
    is_store = store is not None and root.resolve() == Path(store).resolve()
    if is_store or (root / MARKER).exists():
        raise StoreError(
            "T108",
            "this folder is a store",
            path=str(root),
            help="publish into another folder",
        )
    return root


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    with lock_alone(root / LOCK) as is_ours:
        if not is_ours:
            raise StoreError(
                "T113",
                "another process is publishing here",
                path=str(root),
                help="wait until it has ended, or publish into another folder",
            )
        for rest in root.glob(f"{PARTIAL}*"):
            shutil.rmtree(rest, ignore_errors=True)
        yield


@dataclass(slots=True)
class _Index:
    """The file that names what is published."""

    path: Path
    tables: dict[Predicate, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def load(cls, root: Path) -> _Index:
        path = root / INDEX
        try:
            content, found = read_index(path)
            is_known = content.get("format") == FORMAT
        except FileNotFoundError:
            return cls(path)
        except OddDocumentError:
            raise StoreError(
                "T103",
                "the index of published facts is damaged",
                path=str(path),
                help="publish into a new folder; the Parquet files here can still be read",
            ) from None
        if not is_known:
            raise StoreError(
                "T104",
                "a newer Stratalog published here",
                path=str(path),
                help="use that version of Stratalog, or publish into a new folder",
            )
        return cls(path, found)

    def next_version(self) -> int:
        """Return the first number that is above all that are there."""
        folders = self.path.parent.glob("*/version=*")
        there = [int(m[1]) for f in folders if (m := _VERSION.fullmatch(f.name))]
        return max(there, default=0) + 1

    def folders(self) -> dict[Predicate, str]:
        """Return the folders of all predicates that were published before."""
        return {predicate: entry["folder"] for predicate, entry in self.tables.items()}

    def names(self, predicate: Predicate, version: int) -> bool:
        """Tell whether a version of a predicate is there and whole."""
        return str(version) in self.tables.get(predicate, {}).get("versions", {})

    def save(self) -> None:
        """Replace the file."""
        entries = [self.tables[predicate] for predicate in sorted(self.tables)]
        content = json.dumps({"format": FORMAT, "tables": entries}, indent=1, ensure_ascii=False)
        partial = self.path.with_name(f"{PARTIAL}{secrets.token_hex(8)}.json")
        write_file(partial, content.encode() + b"\n")
        partial.replace(self.path)
        flush_folder(self.path.parent)


class _Draft:
    """A version in the making."""

    def __init__(
        self, root: Path, index: _Index, version: int, prefixes: Sequence[tuple[str, str]]
    ) -> None:
        self.root = root
        self.index = index
        self.version = version
        self.prefixes = prefixes
        self.place = root / f"{PARTIAL}{secrets.token_hex(8)}"
        self.facts: dict[Predicate, int] = {}
        self.moved: dict[Predicate, Path] = {}
        self.schemas: dict[Predicate, pa.Schema] = {}

    def write(self, relation: Relation, dictionary: Dictionary) -> None:
        """Write the files of a predicate beside their place."""
        folder = self.place / str(len(self.facts))
        folder.mkdir(parents=True)
        decoder = Decoder(relation.columns, dictionary, relation.declaration, rdf=relation.rdf)
        paths = list(_write_parts(folder, decoder, relation.size))
        flush_files(paths)
        flush_folder(folder)
        self.schemas[relation.predicate] = decoder.schema
        self.facts[relation.predicate] = relation.size

    def finish(self) -> None:
        """Move all folders to their places, and name them in the index."""
        folders = plain_names(self.facts, self.prefixes, self.index.folders())
        drafts = {p: self.place / str(place) for place, p in enumerate(self.facts)}
        targets = {p: self.root / folders[p] / f"version={self.version}" for p in self.facts}
        self._check(drafts, targets)
        for predicate, target in targets.items():
            if not self.index.names(predicate, self.version):
                self.moved[predicate] = target
                _move(drafts[predicate], target)
            self._enter(predicate, folders[predicate])
        self.index.save()

    def _check(self, drafts: Mapping[Predicate, Path], targets: Mapping[Predicate, Path]) -> None:
        """Refuse to change a version that readers know."""
        for predicate, draft in drafts.items():
            known = self.index.names(predicate, self.version)
            if known and not _is_same(draft, targets[predicate]):
                raise StoreError(
                    "T112",
                    f"version {self.version} was published before, with other facts",
                    path=str(targets[predicate]),
                    help="publish into another folder, or remove this version",
                )

    def _enter(self, predicate: Predicate, folder: str) -> None:
        schema = self.schemas[predicate]
        entry = self.index.tables.setdefault(predicate, {"versions": {}})
        self.index.tables[predicate] = {
            "predicate": predicate.name,
            "arity": predicate.arity,
            "folder": folder,
            "columns": {each.name: str(each.type) for each in schema},
            "versions": {**entry["versions"], str(self.version): self.facts[predicate]},
        }

    def clear(self) -> None:
        """Remove what was written beside its place, or is in its place but not named."""
        shutil.rmtree(self.place, ignore_errors=True)
        named = _Index.load(self.root)  # an interrupt may come right after it was replaced
        for predicate, target in self.moved.items():
            if not named.names(predicate, self.version):
                shutil.rmtree(target, ignore_errors=True)


def _write_parts(folder: Path, decoder: Decoder, size: int) -> Iterator[Path]:
    """Write the facts in files of bounded row groups; at least one file, which tells the types."""
    import pyarrow.parquet as pq

    rows = ROW_GROUP * GROUPS_PER_FILE
    for place, first in enumerate(range(0, max(size, 1), rows)):
        path = folder / f"part-{place:05d}.parquet"
        with pq.ParquetWriter(path, decoder.schema, compression="zstd") as writer:
            for start in range(first, min(first + rows, size), ROW_GROUP):
                writer.write_table(decoder.rows(start, min(start + ROW_GROUP, size)))
        yield path


def _move(draft: Path, target: Path) -> None:
    """Rename a folder to its place; what a killed process left there goes."""
    make_folder(target.parent)
    if target.exists():
        shutil.rmtree(target)
    draft.rename(target)
    flush_folder(target.parent)


def _is_same(draft: Path, published: Path) -> bool:
    """Tell whether two folders hold the same facts, in whatever order."""
    with suppress(OSError):
        ours, theirs = (sorted(path.name for path in f.iterdir()) for f in (draft, published))
        if ours == theirs and not any(filecmp.cmpfiles(draft, published, ours, shallow=False)[1:]):
            return True
    return _in_order(draft) == _in_order(published)


def _in_order(folder: Path) -> pa.Table | None:
    import pyarrow.parquet as pq

    paths = sorted(folder.glob("*.parquet"))
    if not paths or not all(stat.S_ISREG(path.lstat().st_mode) for path in paths):
        return None
    try:
        table = pa.concat_tables([pq.ParquetFile(path).read() for path in paths])
        return table.sort_by([(name, "ascending") for name in table.schema.names])
    except (pa.ArrowException, OSError):  # not what was published
        return None
