"""Writing a version: data files that nobody knows of, and at last the link that makes it exist."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import StoreError
from stratalog.lang.syntax import Predicate
from stratalog.pipeline import parts
from stratalog.pipeline.durable import (
    flush_files,
    flush_folder,
    is_linked,
    link_new,
    write_file,
)
from stratalog.pipeline.layout import (
    DATA,
    VERSIONS,
    reserve_unfinished,
    unfinished_path,
    version_path,
)
from stratalog.pipeline.manifest import JSON, FilePart, Manifest, RelationParts, to_bytes
from stratalog.pipeline.packs import MOST_ROWS, Pack
from stratalog.pipeline.snapshot import DICTIONARY_SCHEMA, Delta, Snapshot, StoredRelation
from stratalog.runtime import interrupts

_FEW_PARTS = 4  # so many dictionary files stay as they are, and twice as many until some merge
_FEW_DELTAS = 4  # of a relation, likewise
_FEW_ROWS = 1_000  # up to here a relation is written anew, which takes no more than a delta


@dataclass(frozen=True)
class Intent:
    """What the caller of a commit asks for besides the content."""

    note: str = ""
    unchanged: Collection[Predicate] = ()
    changed: Mapping[Predicate, Delta] = field(default_factory=dict)
    extends_dictionary: bool = False
    streams: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def builds_on_stored(self) -> bool:
        """Whether files of the version before are used again."""
        return bool(self.unchanged or self.changed)


class Draft:
    """A version in the making; on leaving it, the version exists or its files are gone."""

    def __init__(self, root: Path, before: Manifest | None, number: int) -> None:
        self.root = root
        self.before = before
        self.number = number
        self.token = secrets.token_hex(8)
        self.written: list[Path] = []
        self.manifest: Manifest  # there once it has been published
        self.pack = Pack(root, root / DATA / f"pack-{self.token}.pack")
        self.is_packing = False
        self.is_published = False
        self.manifest_path = version_path(root, number)
        self.unfinished = unfinished_path(root, number, self.token)

    def __enter__(self) -> Self:
        reserve_unfinished(self.unfinished)
        return self

    def __exit__(self, *error: object) -> None:
        # An interrupt may come right after the link, before we know that it was made.
        self.is_published |= is_linked(self.unfinished, self.manifest_path)
        if self.is_published:
            return
        for path in [*self.written, self.unfinished]:
            self._forget(path)

    def write(self, snapshot: Snapshot, intent: Intent) -> Manifest:
        """Write all data files, flush them, and return the manifest that names them."""
        self.is_packing = intent.builds_on_stored  # what is saved as a whole others read as it is
        dictionary = self._write_dictionary(snapshot, intent)
        relations = self._write_relations(snapshot, intent)
        manifest = Manifest(
            number=self.number,
            parent=self.before.number if self.before else 0,
            created=datetime.now(UTC).isoformat(timespec="microseconds"),
            note=intent.note,
            kinds=tuple(snapshot.kinds),
            labels=dict(snapshot.labels),
            options=self._options(snapshot),
            statistics=snapshot.statistics,
            program=self._write_document("program", snapshot.program),
            plan=self._write_document("plan", snapshot.plan),
            dictionary=dictionary,
            relations=relations,
            streams={**(self.before.streams if self.before else {}), **intent.streams},
        )
        self._write_pack()
        flush_files(self.written)
        flush_folder(self.root / DATA)
        return manifest

    def _options(self, snapshot: Snapshot) -> dict[str, JSON]:
        """Return the options to save; how many versions stay is said once for all of them."""
        keep = {} if self.before is None else {"keep": self.before.options.get("keep")}
        return {**{k: v for k, v in keep.items() if v is not None}, **snapshot.options}

    def publish(self, manifest: Manifest) -> bool:
        """Make the version exist; False if its number was taken meanwhile."""
        self.manifest = manifest
        write_file(self.unfinished, to_bytes(manifest))
        self.is_published = link_new(self.unfinished, self.manifest_path)
        if not self.is_published:
            return False
        try:
            flush_folder(self.root / VERSIONS)
        except OSError as error:
            raise StoreError(
                "T106",
                f"version {self.number} was written, but the disk did not confirm it: {error}",
                path=str(self.manifest_path),
                help="check the disk, then open the store again to see its current version",
            ) from error
        self._forget(self.unfinished)
        return True

    @staticmethod
    def _forget(path: Path) -> None:
        with suppress(OSError):  # what cannot be removed now is swept later
            path.unlink(missing_ok=True)

    def _write_relations(self, snapshot: Snapshot, intent: Intent) -> tuple[RelationParts, ...]:
        stored = {
            found.predicate: found for found in (self.before.relations if self.before else ())
        }
        kept = {p: stored[p] for p in intent.unchanged if p in stored}
        known = any(p in stored for p in intent.changed)
        if (kept or known) and self.before and self.before.labels != snapshot.labels:
            raise ValueError("relations cannot be left unchanged when the labels' bits change")
        missing = set(intent.unchanged) - set(kept) - set(snapshot.relations)
        if missing:
            raise ValueError(f"unchanged, but stored nowhere: {sorted(missing)}")
        for p, delta in intent.changed.items():
            if p in stored and (extended := self._write_delta(stored[p], delta)):
                kept[p] = extended
        predicates = sorted(set(kept) | set(snapshot.relations))
        return tuple(kept.get(p) or self._write_relation(p, snapshot) for p in predicates)

    def _write_delta(self, before: RelationParts, delta: Delta) -> RelationParts | None:
        """Write what a relation differs in; None if it is better written anew."""
        rows = sum(file.rows for file in before.files)
        pending = delta.table.num_rows + sum(file.rows for file in before.deltas)
        if rows <= _FEW_ROWS or 2 * pending > rows:
            return None
        table = StoredRelation(before.predicate, delta.table).as_stored()
        kept, merged = _to_merge(before.deltas, table.num_rows, _FEW_DELTAS)
        if merged:
            try:
                table = parts.read_merged(self.root, before.predicate.arity, merged, table)
            except StoreError:  # a damaged file; all that it says is in memory
                return None
        file = self._write_table(f"{slug(before.predicate)}-delta", table)
        return replace(
            before,
            rows=before.rows + delta.facts,
            facts=before.facts + delta.facts,
            explicit=before.explicit + delta.explicit,
            deltas=(*kept, file),
        )

    def _write_relation(self, predicate: Predicate, snapshot: Snapshot) -> RelationParts:
        table = StoredRelation(predicate, snapshot.relations[predicate]).as_stored()
        rows = table.num_rows
        files = (self._write_table(slug(predicate), table),) if rows else ()
        labels = snapshot.labels
        facts = _labelled(table, labels["I"]) if "I" in labels else rows
        explicit = _labelled(table, labels["E"]) if "E" in labels else 0
        return RelationParts(predicate, rows, facts, explicit, files)

    def _write_dictionary(self, snapshot: Snapshot, intent: Intent) -> tuple[FilePart, ...]:
        table = snapshot.dictionary.select(DICTIONARY_SCHEMA.names).cast(DICTIONARY_SCHEMA)
        kept: list[FilePart] = []
        if any(column.null_count for column in table.itercolumns()):
            raise ValueError("a dictionary has no nulls")
        if self._is_extended(snapshot.kinds, table, intent):
            kept = list(self.before.dictionary) if self.before else []
        elif intent.builds_on_stored:
            raise ValueError("relations cannot be left unchanged when constants get other ids")
        pending = table.num_rows - sum(file.rows for file in kept)
        if pending < 0:
            raise ValueError("a dictionary only grows, this one lost constants")
        if pending == 0:
            return tuple(kept)
        stay, merged = _to_merge(tuple(kept), pending, _FEW_PARTS)
        pending += sum(file.rows for file in merged)
        added = table.slice(table.num_rows - pending)
        return (*stay, self._write_table("dictionary", added))

    def _is_extended(self, kinds: list[str], table: pa.Table, intent: Intent) -> bool:
        """Tell whether all stored constants keep their ids."""
        if self.before is None:
            return True
        if list(self.before.kinds) != kinds[: len(self.before.kinds)]:
            return False
        return intent.extends_dictionary or self._begins_with_stored(table, self.before.dictionary)

    def _begins_with_stored(self, table: pa.Table, files: tuple[FilePart, ...]) -> bool:
        first = 0
        for file in files:
            given = table.slice(first, file.rows)
            if given.num_rows < file.rows:
                return False
            if not parts.read_dictionary(self.root, (file,)).equals(given):
                return False
            first += file.rows
        return True

    def _write_table(self, name: str, table: pa.Table) -> FilePart:
        interrupts.check()
        if self.is_packing and table.num_rows <= MOST_ROWS:
            return self.pack.add(table)
        path = self._new_path(name, "parquet")
        parts.write_table(path, table)
        return parts.describe(self.root, path, table.num_rows)

    def _write_pack(self) -> None:
        if self.pack:
            self.written.append(self.pack.path)
            self.pack.write()

    def _write_document(self, name: str, content: JSON) -> FilePart:
        """Write JSON to a file of its own, or name the one that has it already."""
        encoded = json.dumps(content, allow_nan=False).encode()
        stored = getattr(self.before, name, None)
        if isinstance(stored, FilePart) and stored.bytes == len(encoded):
            with suppress(StoreError):  # a damaged file is written anew
                if parts.read_bytes(self.root, stored) == encoded:
                    return stored
        path = self._new_path(name, "json")
        path.write_bytes(encoded)
        return parts.describe(self.root, path)

    def _new_path(self, name: str, suffix: str) -> Path:
        path = self.root / DATA / f"{name}-{self.token}.{suffix}"
        self.written.append(path)
        return path


def _to_merge(
    files: tuple[FilePart, ...], rows: int, few: int
) -> tuple[tuple[FilePart, ...], tuple[FilePart, ...]]:
    """Return which files stay, and which at the end are merged with new rows.

    A file is merged if it has at most twice the rows that are to be written with it: there are
    never many more than twice a few and the logarithm of the rows, and each row is written about
    as often. What was merged leaves room for files to come, so that most commits merge nothing.
    """
    first = len(files)
    if first < 2 * few:
        return files, ()
    while first > few and files[first - 1].rows <= 2 * rows:
        first -= 1
        rows += files[first].rows
    return files[:first], files[first:]


def _labelled(table: pa.Table, bit: int) -> int:
    marked = pc.not_equal(pc.bit_wise_and(table["label"], pa.scalar(1 << bit, pa.int32())), 0)
    return int(pc.sum(marked).as_py() or 0)


def slug(predicate: Predicate) -> str:
    """Return the start of a file name: readable, safe everywhere, another for each predicate."""
    words = re.findall(r"[A-Za-z0-9_]+", predicate.name)
    readable = words[-1][:32] if words else "relation"
    spelled = f"{predicate.arity} {predicate.name}".encode("utf-8", "surrogatepass")
    return f"{readable}-{predicate.arity}-{hashlib.sha256(spelled).hexdigest()[:16]}"
