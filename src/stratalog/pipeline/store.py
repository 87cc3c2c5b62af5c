"""A store: a folder that holds versions of a knowledge base, whatever happens to its writers.

    DIR/stratalog.json             says that this is a store, and in which format
    DIR/lock                       held together by writers, alone by a sweep
    DIR/history                    a line per commit, see history.py
    DIR/unfinished/                manifests in the making, or left by a killed writer
    DIR/versions/00000001.json     one manifest per version; the highest number is current
    DIR/data/*.parquet, *.json     what manifests name; never changed once written

A version exists once its manifest has its number as name. See docs/decisions/0003-store-format.md.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from stratalog.errors import StoreError
from stratalog.lang.syntax import Predicate
from stratalog.pipeline import history, layout, parts
from stratalog.pipeline.commit import Draft, Intent
from stratalog.pipeline.documents import OddDocumentError, parse_json, record
from stratalog.pipeline.durable import (
    failures,
    flush_folder,
    link_new,
    make_folder,
    shared_lock,
    write_file,
)
from stratalog.pipeline.history import Seen, VersionInfo
from stratalog.pipeline.manifest import FORMAT, JSON, FilePart, Manifest, check_format
from stratalog.pipeline.ordinary import damaged, read_text
from stratalog.pipeline.retention import kept, mark_dropped, retire, retire_quietly
from stratalog.pipeline.snapshot import Delta, Snapshot, StoredRelation
from stratalog.pipeline.sweep import sweep

__all__ = ["Delta", "Snapshot", "Store", "StoredRelation", "StoredRelations", "VersionInfo"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_SHOWN = 12  # versions in a message
_T = TypeVar("_T")


class Store:
    """Versions of a knowledge base in a folder; any number of processes may read and write it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written = 0  # the last version that `commit` made, also if it was interrupted then
        self._kept: tuple[object, Manifest] | None = None  # the last one committed, or built on

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Store:
        """Return the store in a folder; T101 if there is none."""
        root = _local(path)
        with failures(root, "open the store"):
            if not _is_store(root):
                raise StoreError(
                    "T101",
                    "there is no store here",
                    path=str(root),
                    help="check the path; stratalog materialise PROGRAM --store DIR makes one",
                )
        return cls(root)

    @classmethod
    def create_or_open(cls, path: str | os.PathLike[str]) -> Store:
        """Return the store in a folder, made if there is none; T108 if other files are there."""
        root = _local(path)
        with failures(root, "make a store"):
            if not _is_store(root):
                _create(root)
        return cls(root)

    @property
    def version(self) -> int:
        """The current version's number, looked up every time; 0 if there is none yet."""
        with failures(self.path, "list the store's versions"):
            return layout.current(self.path)

    def check_present(self) -> None:
        """Raise T103 if the newest version has vanished."""
        with failures(self.path, "list the store's versions"):
            layout.current(self.path)

    def numbers(self) -> list[int]:
        """Return the numbers of all versions, in order; no manifest is read."""
        with failures(self.path, "list the store's versions"):
            return layout.existing(self.path)

    def versions(self) -> list[VersionInfo]:
        """Return all versions, the oldest first; of the earlier ones no manifest is read.

        Those of which nothing has been noted are an exception.
        """
        with failures(self.path, "list the store's versions"):
            numbers, noted = layout.numbers(self.path), history.summaries(self.path)
            if numbers:
                noted.pop(numbers[-1], None)  # the newest is read: damage to it is noticed
            found = [self._info(number, noted.get(number)) for number in numbers]
        return [info for info in found if info]

    def _info(self, number: int, noted: tuple[int, VersionInfo] | None) -> VersionInfo | None:
        """Return what is listed of a version; what was noted holds for a manifest of its size."""
        if noted is not None and layout.manifest_bytes(self.path, number) == noted[0]:
            return noted[1]
        manifest = layout.load(self.path, number)
        return history.summary(manifest) if manifest else None

    def statistics(self, version: int | None = None) -> JSON:
        """Return the statistics saved with a version, the current one by default."""
        return self._manifest(version).statistics

    def streams(self, version: int | None = None) -> dict[str, JSON]:
        """Return how far each stream had come with a version, the current one by default."""
        return dict(self._manifest(version).streams)

    def read(
        self, version: int | None = None, predicates: Collection[Predicate] | None = None
    ) -> Snapshot:
        """Return a version, the current one by default; relations are read when asked for."""
        manifest = self._manifest(version)
        program, plan, dictionary = self._guard(
            manifest.number,
            lambda: (
                parts.read_bytes(self.path, manifest.program),
                parts.read_bytes(self.path, manifest.plan),
                parts.read_dictionary(self.path, manifest.dictionary),
            ),
        )
        return Snapshot(
            kinds=list(manifest.kinds),
            dictionary=dictionary,
            relations=StoredRelations(self, manifest, predicates),
            program=_parsed(program, manifest.program, self.path),
            options=manifest.options,
            plan=_parsed(plan, manifest.plan, self.path),
            statistics=manifest.statistics,
            labels=manifest.labels,
            version=manifest.number,
        )

    def commit(
        self,
        snapshot: Snapshot,
        *,
        expected: int,
        note: str = "",
        unchanged: Collection[Predicate] = (),
        changed: Mapping[Predicate, Delta] | None = None,
        extends_dictionary: bool = False,
        streams: Mapping[str, JSON] | None = None,
    ) -> int:
        """Save a version on top of version `expected` and return its number; all or nothing.

        T105 if `expected` is no longer current. The files of `unchanged` relations are used again
        and their tables not looked at; so are those of `changed` ones, with a file of the
        difference, unless differences are so many that the relation is written anew. Constants
        that `expected` stored are not written again; whether the snapshot begins with the same
        ones is checked row by row, unless the caller vouches for it with `extends_dictionary`.
        `streams` says how far some streams have come; others are where they were.
        """
        intent = Intent(
            note, frozenset(unchanged), changed or {}, extends_dictionary, streams or {}
        )
        with failures(self.path, "write to the store"):
            with shared_lock(self.path / layout.LOCK):
                written = self._commit(snapshot, expected, intent)
            self._tidy()
            retire_quietly(self.path, kept(written.options))
        return expected + 1

    def _tidy(self) -> None:
        with suppress(OSError):  # the version exists; leftovers only take space
            if layout.unfinished(self.path):
                sweep(self.path)

    def _commit(self, snapshot: Snapshot, expected: int, intent: Intent) -> Manifest:
        # The lock is held: while a dropped version's number may still be taken by a writer that was
        # overtaken, the number is not set free.
        self.check_current(expected)
        if not layout.is_known(self.path) and layout.unfinished_of_old(self.path):
            layout.ask_for_sweep(self.path, expected)
        before = self._stored(expected) if expected else None
        if expected and before is None:  # overtaken just now, and dropped
            raise self._overtaken(expected)
        draft = Draft(self.path, before, expected + 1)
        self._publish(draft, lambda: draft.write(snapshot, intent))
        return draft.manifest

    def _publish(self, draft: Draft, make: Callable[[], Manifest]) -> None:
        """Make a version exist; the lock is held."""
        try:
            with draft:
                is_published = draft.publish(make())
        finally:
            if draft.is_published:
                self.written = draft.number
        if not is_published:
            raise self._overtaken(draft.number - 1)
        self._kept = layout.stamp(self.path, draft.number), draft.manifest
        info = history.summary(draft.manifest)
        size = layout.manifest_bytes(self.path, draft.number)
        history.note(self.path, Seen(draft.number, layout.changed(self.path)), info, size)

    def check_current(self, expected: int) -> None:
        """Raise T105 unless `expected` is the current version."""
        if self.version != expected:
            raise self._overtaken(expected)

    def predicates(self, version: int) -> set[Predicate]:
        """Return the predicates of the relations that a version holds."""
        with failures(self.path, "read the store"):
            found = self._stored(version)
        if found is None:
            raise self._no_version(version)
        return {relation.predicate for relation in found.relations}

    def drop(self, number: int) -> int:
        """Remove a version that is not current, and the files that no other version names.

        The newest version can be dropped if it has vanished: the one before it goes on under the
        next number. Return the current version's number.
        """
        with failures(self.path, "drop a version"):
            with shared_lock(self.path / layout.LOCK):
                if layout.missed(self.path) == number:
                    self._give_up(number)
                else:
                    self._mark_dropped(number)
            sweep(self.path)
        return self.version

    def drop_older(self, keep: int) -> list[int]:
        """Drop all but the newest `keep` versions; return the numbers of those that went."""
        with failures(self.path, "drop versions"):
            self._manifest(None)  # an error if there is none, or if it has vanished
            gone = retire(self.path, keep)
            self._tidy()
        return gone

    def _mark_dropped(self, number: int) -> None:
        self._manifest(number)
        if number == layout.current(self.path):
            raise StoreError(
                "T109",
                f"version {number} is the current one and cannot be dropped",
                path=str(self.path),
                help="drop an earlier version, or delete the folder to remove the store",
            )
        mark_dropped(self.path, number)

    def _give_up(self, number: int) -> None:
        """Make the newest version that is there current again, after one that has vanished.

        It gets a number that was never used: a process that holds the vanished version must not
        take the next one for its successor.
        """
        found = layout.newest(self.path)
        before = self._manifest(found) if found else None
        if before is None:
            raise history.vanished(self.path, number, found)
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        again = replace(
            before,
            number=number + 1,
            parent=found,
            created=now,
            note=f"version {found}, after version {number} had vanished",
        )
        self._publish(Draft(self.path, before, number + 1), lambda: again)

    def _stored(self, number: int) -> Manifest | None:
        """Return the manifest of a version to build on, None if it was dropped.

        The last one is kept: while its file is the same, it is not read again.
        """
        stamp = layout.stamp(self.path, number)
        if self._kept is not None and self._kept[0] == stamp:
            return self._kept[1]
        manifest = layout.load(self.path, number)
        if manifest is not None:
            self._kept = stamp, manifest
        return manifest

    def _overtaken(self, expected: int) -> StoreError:
        return StoreError(
            "T105",
            f"another process committed first: expected version {expected} to be current, "
            f"found {layout.current(self.path)}; nothing was changed",
            path=str(self.path),
            help="refresh to the current version and apply the update again",
        )

    def _manifest(self, version: int | None) -> Manifest:
        with failures(self.path, "read the store"):
            number = self.version if version is None else version
            manifest = layout.load(self.path, number)
            # Between finding the current version and reading it, it may be overtaken and dropped.
            while version is None and manifest is None and number != self.version:
                number = self.version
                manifest = layout.load(self.path, number)
        if manifest is None:
            raise self._no_version(number)
        return manifest

    def _no_version(self, number: int) -> StoreError:
        present = [str(found) for found in self.numbers()]
        if len(present) > _SHOWN:
            present[_SHOWN - 1 : -1] = ["..."]
        return StoreError(
            "T102",
            f"the store has no version {number}" if number else "the store has no version yet",
            path=str(self.path),
            help=f"there are versions {', '.join(present)}" if present else "save something first",
        )

    def _guard(self, number: int, read: Callable[[], _T]) -> _T:
        """Return what `read` reads of a version, telling a dropped version from a damaged one."""
        try:
            with failures(self.path, "read the store"):
                return read()
        except StoreError as error:
            if error.code == "T103" and layout.load(self.path, number) is None:
                raise self._no_version(number) from error
            raise


class StoredRelations(Mapping[Predicate, pa.Table]):
    """The relations of a version; each look-up reads the relation's files, nothing is kept."""

    def __init__(
        self, store: Store, manifest: Manifest, predicates: Collection[Predicate] | None
    ) -> None:
        self._store = store
        self._number = manifest.number
        self._parts = {
            relation.predicate: relation
            for relation in manifest.relations
            if predicates is None or relation.predicate in predicates
        }

    def __getitem__(self, predicate: Predicate) -> pa.Table:
        found = self._parts[predicate]
        return self._store._guard(  # noqa: SLF001  # one idea in two classes
            self._number,
            lambda: parts.read_relation(
                self._store.path, predicate.arity, found.files, found.deltas
            ),
        )

    def __contains__(self, predicate: object) -> bool:
        return predicate in self._parts

    def __iter__(self) -> Iterator[Predicate]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def rows(self, predicate: Predicate) -> int:
        """Return how many rows the relation has, without reading them."""
        return self._parts[predicate].rows

    def longest(self, predicate: Predicate) -> int:
        """Return the most rows that its base, or one of its deltas, has."""
        found = self._parts[predicate]
        return max(sum(file.rows for file in found.files), *(f.rows for f in found.deltas), 0)

    def explicit(self) -> int:
        """Return how many facts are explicit, as the manifest says."""
        return sum(found.explicit for found in self._parts.values())

    def check(self) -> None:
        """Refuse files that have not the rows that the manifest says; nothing is unpacked."""
        for predicate, found in self._parts.items():
            self._store._guard(  # noqa: SLF001
                self._number,
                partial(
                    parts.check_relation,
                    self._store.path, predicate.arity, found.files, found.deltas,
                ),
            )  # fmt: skip


def _parsed(content: pa.Buffer, part: FilePart, root: Path) -> Any:  # noqa: ANN401  # any JSON
    try:
        return parse_json(content.to_pybytes())
    except OddDocumentError as error:
        raise damaged(root / part.path, str(error)) from None


def _local(path: str | os.PathLike[str]) -> Path:
    spelled = os.fspath(path)
    if _URL.match(spelled):
        raise StoreError(
            "T107",
            "a store must be in a folder of a local file system; object stores are not supported",
            path=spelled,
            help="give a path such as /data/kb (without file://), and copy the folder if needed",
        )
    return Path(spelled).absolute()


def _is_store(root: Path) -> bool:
    """Tell whether the folder says it is a store; an error if it is one we cannot read."""
    marker = root / layout.MARKER
    try:
        fields = record(parse_json(read_text(marker)), "it")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OddDocumentError as error:
        raise damaged(marker, str(error)) from None
    check_format(fields.get("format"), marker)
    layout.check_folders(root)
    return True


def _create(root: Path) -> None:
    if not make_folder(root):
        _check_free(root)
    for name in (layout.VERSIONS, layout.DATA, layout.UNFINISHED):
        (root / name).mkdir(exist_ok=True)
    with shared_lock(root / layout.LOCK):
        unfinished = layout.unfinished_path(root, 0, secrets.token_hex(8))
        try:
            write_file(unfinished, json.dumps({"store": "stratalog", "format": FORMAT}).encode())
            link_new(unfinished, root / layout.MARKER)
        finally:
            unfinished.unlink(missing_ok=True)
        flush_folder(root)


def _check_free(root: Path) -> None:
    """Refuse a folder that holds anything else than remains of an attempt to make a store."""
    layout.check_folders(root)
    if foreign := layout.foreign_names(root):
        raise StoreError(
            "T108",
            f"the folder holds other files ({', '.join(foreign[:3])})",
            path=str(root),
            help="name a new or empty folder for the store",
        )
