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
from stratalog.pipeline import documents as docs
from stratalog.pipeline.documents import Fields, OddDocumentError
from stratalog.pipeline.ordinary import damaged
from stratalog.plan.triples import is_triple_shaped

FORMAT = 1
PLAIN = "plain"
DELTAS = "deltas"
PACKED = "packed"
JSON = dict[str, Any] | list[Any] | str | int | float | bool | None

MOST_ROWS = 2**32 - 2  # rows have numbers of 32 bits
MOST_COLUMNS = 2**16
MOST_BITS = 15  # of a label word, from 0
NO_MANIFEST = "it is no manifest"

_MOMENT = re.compile(r"[0-9TZ:.+-]{0,40}")
_STREAM = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_DATA_PATH = re.compile(r"data/[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class FilePart:
    """A data file: its path below the store's folder, and what it must look like.

    With `begin` it is a part of a file: `bytes` bytes from there.
    """

    path: str
    bytes: int
    crc32: int
    rows: int = 0
    begin: int | None = None


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
        "dictionary": {
            "scheme": _scheme(manifest.dictionary),
            "files": [_file_fields(f) for f in manifest.dictionary],
        },
        "relations": [_relation_fields(relation) for relation in manifest.relations],
    }
    if manifest.streams:
        fields["streams"] = manifest.streams
    return _seal(fields)


def dropped_bytes(number: int) -> bytes:
    """Return the file that keeps a dropped version's number taken."""
    return _seal({"format": FORMAT, "number": number, "dropped": True})


def _file_fields(file: FilePart) -> dict[str, Any]:
    fields = {"path": file.path, "rows": file.rows, "bytes": file.bytes, "crc32": file.crc32}
    return fields if file.begin is None else {**fields, "begin": file.begin}


def _scheme(files: tuple[FilePart, ...], deltas: tuple[FilePart, ...] = ()) -> str:
    """Return the name that tells readers what they must understand."""
    if any(file.begin is not None for file in files + deltas):
        return PACKED
    return DELTAS if deltas else PLAIN


def _relation_fields(relation: RelationParts) -> dict[str, Any]:
    fields = {
        "name": relation.predicate.name,
        "arity": relation.predicate.arity,
        "scheme": _scheme(relation.files, relation.deltas),
        "rows": relation.rows,
        "facts": relation.facts,
        "explicit": relation.explicit,
        "files": [_file_fields(file) for file in relation.files],
    }
    if relation.deltas:
        fields["deltas"] = [_file_fields(file) for file in relation.deltas]
    return fields


def _seal(fields: dict[str, Any]) -> bytes:
    content = _canonical(fields)  # spelled once: what has a checksum is what is written
    return content[:-1] + b',"crc32":%d}\n' % zlib.crc32(content)


def _canonical(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def from_bytes(content: bytes, path: Path) -> Manifest | None:
    """Return what a manifest's file says; None if the version was dropped."""
    try:
        fields = docs.record(docs.parse_json(content), "the manifest")
        check_format(fields.get("format"), path)
        if fields.pop("crc32", None) != zlib.crc32(_canonical(fields)):
            raise damaged(path, "its checksum is wrong")
        return None if fields.get("dropped") is True else _parse(fields, path)
    except (OddDocumentError, ValueError, RecursionError) as error:
        why = f"it is no manifest: {error}" if isinstance(error, OddDocumentError) else NO_MANIFEST
        raise damaged(path, why) from None


def check_format(found: object, path: Path) -> None:
    """Refuse what a newer Stratalog wrote."""
    if type(found) is not int or found < 1:
        raise damaged(path, "it does not say which format it has")
    if found > FORMAT:
        raise newer(path, "another format")


def _parse(fields: Fields, path: Path) -> Manifest:
    dictionary = docs.record(docs.field(fields, "dictionary"), "the dictionary")
    _check_scheme(dictionary, (PLAIN, PACKED), path)
    number = _number(fields, "number", least=1)
    relations = [_parse_relation(each, path) for each in _list(fields, "relations")]
    if len({each.predicate for each in relations}) < len(relations):
        raise OddDocumentError("a relation is named twice")
    return Manifest(
        number=number,
        parent=_number(fields, "parent", most=number - 1),
        created=_moment(_text(fields, "created")),
        note=_text(fields, "note"),
        kinds=tuple(docs.text(kind, "a kind") for kind in _list(fields, "kinds")),
        labels={
            label: docs.whole(bit, "a label", most=MOST_BITS)
            for label, bit in _record(fields, "labels").items()
        },
        options=_record(fields, "options"),
        statistics=docs.field(fields, "statistics"),
        program=_parse_file(docs.field(fields, "program"), path),
        plan=_parse_file(docs.field(fields, "plan"), path),
        dictionary=tuple(_parse_file(file, path) for file in _list(dictionary, "files")),
        relations=tuple(relations),
        streams=_streams(fields.get("streams", {})),
    )


def _parse_relation(value: object, path: Path) -> RelationParts:
    fields = docs.record(value, "a relation")
    _check_scheme(fields, (PLAIN, DELTAS, PACKED), path)
    may_lack = fields["scheme"] == PLAIN or (fields["scheme"] == PACKED and "deltas" not in fields)
    deltas = [] if may_lack else _list(fields, "deltas")
    rows = _number(fields, "rows", most=MOST_ROWS)
    relation = RelationParts(
        predicate=predicate_in([fields.get("name"), fields.get("arity")]),
        rows=rows,
        facts=_number(fields, "facts", most=rows),
        explicit=_number(fields, "explicit", most=rows),
        files=tuple(_parse_file(file, path) for file in _list(fields, "files")),
        deltas=tuple(_parse_file(file, path) for file in deltas),
    )
    base = sum(file.rows for file in relation.files)
    if (base != rows and not relation.deltas) or base > MOST_ROWS:
        raise OddDocumentError(f"the files of {relation.predicate.name!a} have other rows than it")
    return relation


def predicate_in(value: object) -> Predicate:
    """Return the predicate that a list of a name and an arity stands for."""
    pair = docs.entries(value, "a predicate")
    if len(pair) != 2:  # noqa: PLR2004  # a name and an arity
        raise OddDocumentError("a predicate is no pair of name and arity")
    name, arity = pair
    return Predicate(docs.text(name, "a name"), docs.whole(arity, "an arity", most=MOST_COLUMNS))


def _parse_file(value: object, path: Path) -> FilePart:
    fields = docs.record(value, "a file")
    name = _text(fields, "path")
    if not _DATA_PATH.fullmatch(name):
        raise damaged(path, "it names a file outside the store's data")
    rows, size = _number(fields, "rows", most=MOST_ROWS), _number(fields, "bytes")
    begin = _number(fields, "begin") if "begin" in fields else None
    return FilePart(name, size, _number(fields, "crc32", most=2**32 - 1), rows, begin)


def _check_scheme(fields: Fields, known: tuple[str, ...], path: Path) -> None:
    scheme = _text(fields, "scheme")
    if scheme not in known:
        raise newer(path, f"storage scheme {scheme[:40]!a}")


def _streams(value: object) -> dict[str, JSON]:
    streams = docs.record(value, "streams")
    if not all(_STREAM.fullmatch(name) for name in streams):
        raise OddDocumentError("a stream has an odd name")
    return streams


def _moment(value: str) -> str:
    if not _MOMENT.fullmatch(value):
        raise OddDocumentError("created is no date and time")
    return value


def _list(fields: Fields, name: str) -> list[Any]:
    return docs.entries(docs.field(fields, name), name)


def _record(fields: Fields, name: str) -> Fields:
    return dict(docs.record(docs.field(fields, name), name))


def _text(fields: Fields, name: str) -> str:
    return docs.text(docs.field(fields, name), name)


def _number(fields: Fields, name: str, least: int = 0, most: int = docs.MOST) -> int:
    return docs.whole(docs.field(fields, name), name, least, most)


def newer(path: Path, what: str) -> StoreError:
    """Return the error for a store that this Stratalog is too old to read."""
    return StoreError(
        "T104",
        f"the store was written by a newer Stratalog ({what})",
        path=str(path),
        help="upgrade with: pip install --upgrade stratalog",
    )
