"""The manifest of a version: which files hold it. Frozen records, and their JSON."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stratalog.errors import StoreError
from stratalog.lang.syntax import TRIPLE, Predicate
from stratalog.plan.triples import is_triple_shaped

FORMAT = 1
PLAIN = "plain"
DELTAS = "deltas"
JSON = dict[str, Any] | list[Any] | str | int | float | bool | None

_DATA_PATH = re.compile(r"data/[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class FilePart:
    """A data file: its path below the store's folder, and what it must look like."""

    path: str
    bytes: int
    crc32: int
    rows: int = 0


@dataclass(frozen=True, slots=True)
class RelationParts:
    """A relation's facts are the rows of its files, in this order, after its deltas, in theirs.

    A row of a delta stands for an earlier row of the same fact; if its label is 0, the fact is
    gone.
    """

    predicate: Predicate
    rows: int
    facts: int
    explicit: int
    files: tuple[FilePart, ...]
    deltas: tuple[FilePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that a version consists of."""

    number: int
    parent: int
    created: str
    note: str
    kinds: tuple[str, ...]
    labels: dict[str, int]
    options: dict[str, JSON]
    statistics: JSON
    program: FilePart
    plan: FilePart
    dictionary: tuple[FilePart, ...]
    relations: tuple[RelationParts, ...]
    streams: dict[str, JSON] = field(default_factory=dict)  # how far each has come

    @property
    def facts(self) -> int:
        return sum(relation.facts for relation in self._visible)

    @property
    def explicit(self) -> int:
        return sum(relation.explicit for relation in self._visible)

    @property
    def _visible(self) -> list[RelationParts]:
        """The relations that users see: TRIPLE if it holds their facts, not if it has copies."""
        named = [r for r in self.relations if not r.predicate.name.startswith("$")]
        has_copies = any(is_triple_shaped(r.predicate) for r in named)
        return named + [r for r in self.relations if r.predicate == TRIPLE and not has_copies]

    @property
    def files(self) -> list[FilePart]:
        of_relations = [f for relation in self.relations for f in relation.files + relation.deltas]
        return [self.program, self.plan, *self.dictionary, *of_relations]


def to_bytes(manifest: Manifest) -> bytes:
    """Return the manifest's file."""
    fields: dict[str, Any] = {
        "format": FORMAT,
        "number": manifest.number,
        "parent": manifest.parent,
        "created": manifest.created,
        "note": manifest.note,
        "kinds": list(manifest.kinds),
        "labels": manifest.labels,
        "options": manifest.options,
        "statistics": manifest.statistics,
        "program": _file_fields(manifest.program),
        "plan": _file_fields(manifest.plan),
        "dictionary": {"scheme": PLAIN, "files": [_file_fields(f) for f in manifest.dictionary]},
        "relations": [_relation_fields(relation) for relation in manifest.relations],
    }
    if manifest.streams:
        fields["streams"] = manifest.streams
    return _seal(fields)


def dropped_bytes(number: int) -> bytes:
    """Return the file that keeps a dropped version's number taken."""
    return _seal({"format": FORMAT, "number": number, "dropped": True})


def _file_fields(file: FilePart) -> dict[str, Any]:
    return {"path": file.path, "rows": file.rows, "bytes": file.bytes, "crc32": file.crc32}


def _relation_fields(relation: RelationParts) -> dict[str, Any]:
    fields = {
        "name": relation.predicate.name,
        "arity": relation.predicate.arity,
        "scheme": DELTAS if relation.deltas else PLAIN,
        "rows": relation.rows,
        "facts": relation.facts,
        "explicit": relation.explicit,
        "files": [_file_fields(file) for file in relation.files],
    }
    if relation.deltas:
        fields["deltas"] = [_file_fields(file) for file in relation.deltas]
    return fields


def _seal(fields: dict[str, Any]) -> bytes:
    sealed = {**fields, "crc32": zlib.crc32(_canonical(fields))}
    return json.dumps(sealed, indent=1, allow_nan=False).encode() + b"\n"


def _canonical(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def from_bytes(content: bytes, path: Path) -> Manifest | None:
    """Return what a manifest's file says; None if the version was dropped."""
    try:
        fields = json.loads(content)
        check_format(fields["format"], path)
        if fields.pop("crc32") != zlib.crc32(_canonical(fields)):
            raise damaged(path, "its checksum is wrong")
        return None if fields.get("dropped") else _parse(fields, path)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise damaged(path, f"it is no manifest ({type(error).__name__}: {error})") from error


def check_format(found: object, path: Path) -> None:
    """Refuse what a newer Stratalog wrote."""
    if type(found) is not int or found < 1:
        raise damaged(path, f"its format is {found!r}")
    if found > FORMAT:
        raise newer(path, f"format {found}")


def _parse(fields: dict[str, Any], path: Path) -> Manifest:
    dictionary = fields["dictionary"]
    _check_scheme(dictionary["scheme"], (PLAIN,), path)
    return Manifest(
        number=int(fields["number"]),
        parent=int(fields["parent"]),
        created=str(fields["created"]),
        note=str(fields["note"]),
        kinds=tuple(str(kind) for kind in fields["kinds"]),
        labels={str(label): int(bit) for label, bit in fields["labels"].items()},
        options=dict(fields["options"]),
        statistics=fields["statistics"],
        program=_parse_file(fields["program"], path),
        plan=_parse_file(fields["plan"], path),
        dictionary=tuple(_parse_file(file, path) for file in dictionary["files"]),
        relations=tuple(_parse_relation(relation, path) for relation in fields["relations"]),
        streams=dict(fields.get("streams", {})),
    )


def _parse_relation(fields: dict[str, Any], path: Path) -> RelationParts:
    _check_scheme(fields["scheme"], (PLAIN, DELTAS), path)
    deltas = fields["deltas"] if fields["scheme"] == DELTAS else ()
    return RelationParts(
        predicate=Predicate(str(fields["name"]), int(fields["arity"])),
        rows=int(fields["rows"]),
        facts=int(fields["facts"]),
        explicit=int(fields["explicit"]),
        files=tuple(_parse_file(file, path) for file in fields["files"]),
        deltas=tuple(_parse_file(file, path) for file in deltas),
    )


def _parse_file(fields: dict[str, Any], path: Path) -> FilePart:
    if not _DATA_PATH.fullmatch(fields["path"]):
        raise damaged(path, f"it names a file outside the store's data ({fields['path']!r})")
    return FilePart(fields["path"], int(fields["bytes"]), int(fields["crc32"]), int(fields["rows"]))


def _check_scheme(scheme: str, known: tuple[str, ...], path: Path) -> None:
    if scheme not in known:
        raise newer(path, f"storage scheme {scheme!r}")


def newer(path: Path, what: str) -> StoreError:
    """Return the error for a store that this Stratalog is too old to read."""
    return StoreError(
        "T104",
        f"the store was written by a newer Stratalog ({what})",
        path=str(path),
        help="upgrade with: pip install --upgrade stratalog",
    )


def damaged(path: Path, why: str) -> StoreError:
    """Return the error for a file that is not what was written."""
    return StoreError(
        "T103",
        f"a file of the store is damaged: {why}",
        path=str(path),
        help="restore the file from a backup, open another version, or materialise again",
    )
