"""Mutations of stores under valid checksums: what a stranger may have written.

A mutation changes one field of a document, one column, schema or page of a data file, or what kind
of file lies under a name. Sizes and checksums are made right again afterwards.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ODD: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**32 + 7, 2**63, -(2**63), 10**400, 1.5, 1e308, "", "x", "auto",
    "spark", "../../etc/passwd", "/etc/passwd", "\u202eevil\x1b[31m", "\ud800", [], {}, [[]],
    ["x", 1], {"x": 1}, "p(?x) :- q(?x) .", "(" * 5_000, "data/none.parquet", 7, 2**16, "1",
]  # fmt: skip
NUMBERS = [-1, 0, 1, 2, 7, 2**31 - 1, 2**31, 2**32 + 1, 2**63 - 1, -(2**63), 1023, 4, 1 << 10]


class Mutant:
    """A copy of a store while it is mutated."""

    def __init__(self, path: Path, random: Random) -> None:
        self.path = path
        self.random = random
        self.number = random.choice([1, 2, 2])
        self.manifest_path = path / "versions" / f"{self.number:08d}.json"
        self.fields: dict[str, Any] = json.loads(self.manifest_path.read_bytes())
        self.fields.pop("crc32", None)
        self.is_sealed = True  # the manifest is written when all is done

    @property
    def parts(self) -> list[dict[str, Any]]:
        found = list(self.fields["dictionary"]["files"])
        for relation in self.fields["relations"]:
            found += relation["files"] + relation.get("deltas", [])
        return found

    def seal(self) -> None:
        """Write the manifest with a checksum that is right."""
        if not self.is_sealed:
            return
        canonical = json.dumps(self.fields, sort_keys=True, separators=(",", ":"))
        self.fields["crc32"] = zlib.crc32(canonical.encode())
        self.manifest_path.write_text(json.dumps(self.fields))

    def content(self, part: dict[str, Any]) -> bytes:
        """Return the bytes of a data file, or of a part of one that several tables share."""
        begin = part.get("begin", 0)
        return (self.path / part["path"]).read_bytes()[begin : begin + part["bytes"]]

    def put(self, part: dict[str, Any], content: bytes) -> None:
        """Give a data file another content; what other versions say of it becomes wrong.

        In a file that several tables share, the new content goes behind theirs.
        """
        path = self.path / part["path"]
        if "begin" in part:
            part["begin"] = path.stat().st_size
            path.write_bytes(path.read_bytes() + content)
        else:
            path.write_bytes(content)
        part.update(bytes=len(content), crc32=zlib.crc32(content))


# -- documents


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        found += _places(value[key], (*path, key))
    return found


def _change(document: Any, random: Random) -> None:
    """Change something anywhere in a document."""
    *above, last = random.choice(_places(document))
    holder = document
    for key in above:
        holder = holder[key]
    action = random.randrange(6)
    if action == 0:
        del holder[last]
    elif action == 1 and type(holder[last]) is int:
        holder[last] += random.choice([-1, 1, 2**32])
    elif action == 2 and isinstance(holder, list):
        holder.append(holder[last])
    elif action == 3 and isinstance(holder, dict):
        holder[random.choice(["x", "engine", "conf", "deltas"])] = holder.pop(last)
    else:
        holder[last] = random.choice(ODD)


def manifest_field(mutant: Mutant) -> None:
    for _ in range(mutant.random.choice([1, 1, 2])):
        _change(mutant.fields, mutant.random)


def option(mutant: Mutant) -> None:
    names = ["engine", "master", "conf", "spark", "maintenance", "modules", "schemes", "joins", "x"]
    mutant.fields["options"][mutant.random.choice(names)] = mutant.random.choice(ODD)


def statistics(mutant: Mutant) -> None:
    _change(mutant.fields["statistics"], mutant.random)


def stream(mutant: Mutant) -> None:
    streams = mutant.fields.setdefault("streams", {"s": {"batch": 1, "schemas": {"q/1": []}}})
    _change(streams, mutant.random)


def document(mutant: Mutant) -> None:
    part = mutant.fields[mutant.random.choice(["program", "plan"])]
    told = json.loads(mutant.content(part))
    if mutant.random.random() < 0.5 and isinstance(told, list) and told:
        _change(told, mutant.random)
    elif mutant.random.random() < 0.5 and isinstance(told, str):
        at = mutant.random.randrange(len(told) + 1)
        told = told[:at] + mutant.random.choice(["(", "\x00", "?z", ".", "NOT ", "9"]) + told[at:]
    else:
        told = mutant.random.choice(ODD)
    mutant.put(part, json.dumps(told).encode())


def deep(mutant: Mutant) -> None:
    depth = mutant.random.choice([50, 900, 200_000])
    bomb = b"[" * depth + b"]" * depth
    if mutant.random.random() < 0.5:
        mutant.put(mutant.fields[mutant.random.choice(["program", "plan"])], bomb)
    elif depth < 1_000:
        mutant.fields[mutant.random.choice(["statistics", "note", "more"])] = json.loads(bomb)
    else:
        mutant.manifest_path.write_bytes(b'{"format": 1, "crc32": ' + bomb + b"}")
        mutant.is_sealed = False


def text_of_a_file(mutant: Mutant) -> None:
    path = mutant.random.choice([mutant.manifest_path, mutant.path / "stratalog.json"])
    content = bytearray(path.read_bytes())
    content[mutant.random.randrange(len(content))] = mutant.random.randrange(256)
    path.write_bytes(content)
    mutant.is_sealed = False


# -- data files


def _table(mutant: Mutant, part: dict[str, Any]) -> pa.Table:
    return pq.read_table(pa.BufferReader(mutant.content(part)))


def _put_table(mutant: Mutant, part: dict[str, Any], table: pa.Table, **settings: Any) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **{"compression": "zstd", "store_schema": False, **settings})
    mutant.put(part, sink.getvalue().to_pybytes())


def _cells(mutant: Mutant, column: Any) -> Any:
    """Return a column with a few cells changed."""
    values = column.to_pylist()
    for _ in range(mutant.random.choice([1, 1, 3])):
        if values:
            at = mutant.random.randrange(len(values))
            if isinstance(values[at], str):
                values[at] = mutant.random.choice(["x", "", values[0], "007", "\x00\u202e"])
            else:
                values[at] = mutant.random.choice([None, *NUMBERS, values[0]])
    try:
        return pa.array(values, column.type)
    except (pa.ArrowException, OverflowError):
        return pa.array(values, pa.int64())


def cells(mutant: Mutant) -> None:
    part = mutant.random.choice(mutant.parts)
    table = _table(mutant, part)
    at = mutant.random.randrange(table.num_columns)
    column = _cells(mutant, table.column(at))
    _put_table(
        mutant, part, table.set_column(at, table.column_names[at], column), use_dictionary=False
    )


def schema(mutant: Mutant) -> None:
    part = mutant.random.choice(mutant.parts)
    table = _table(mutant, part)
    at = mutant.random.randrange(table.num_columns)
    name = table.column_names[at]
    action = mutant.random.randrange(5)
    if action == 0:
        table = table.drop_columns([name])
    elif action == 1:
        table = table.append_column("more", table.column(at))
    elif action == 2:
        table = table.rename_columns(["x" if each == name else each for each in table.column_names])
    else:
        types = [
            pa.string(),
            pa.int8(),
            pa.float64(),
            pa.bool_(),
            pa.list_(pa.int64()),
            pa.binary(),
        ]
        size = table.num_rows
        table = table.set_column(at, name, pa.nulls(size, mutant.random.choice(types)))
    _put_table(mutant, part, table)


def rows(mutant: Mutant) -> None:
    part = mutant.random.choice(mutant.parts)
    table = _table(mutant, part)
    size = table.num_rows
    action = mutant.random.randrange(3)
    if action == 0:
        table = table.slice(0, max(0, size - 1))
    elif action == 1:
        table = pa.concat_tables([table, table.slice(0, 1)])
    else:
        order = list(range(size))
        mutant.random.shuffle(order)
        table = table.take(order)
    if mutant.random.random() < 0.7:
        part["rows"] = table.num_rows
        for relation in mutant.fields["relations"]:
            if part in relation["files"] and not relation.get("deltas"):
                relation["rows"] = relation["facts"] = sum(f["rows"] for f in relation["files"])
    _put_table(mutant, part, table, use_dictionary=False)


def not_unicode(mutant: Mutant) -> None:
    part = mutant.random.choice(mutant.fields["dictionary"]["files"])
    table = _table(mutant, part)
    texts = table.column("text").cast(pa.binary()).to_pylist()
    texts[mutant.random.randrange(len(texts))] = b"a\x88\xff"
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    buffers = [None, pa.array(offsets, pa.int32()).buffers()[1], pa.py_buffer(b"".join(texts))]
    column = pa.Array.from_buffers(pa.string(), len(texts), buffers)
    _put_table(mutant, part, table.set_column(1, "text", column), use_dictionary=["kind"])


def encoding(mutant: Mutant) -> None:
    part = mutant.random.choice(mutant.parts)
    settings: dict[str, Any] = mutant.random.choice(
        [
            {"compression": "gzip"},
            {"compression": "none", "use_dictionary": False},
            {"use_dictionary": True},
            {"data_page_version": "2.0"},
            {"row_group_size": 1, "use_dictionary": False},
            {"store_schema": True},
        ]
    )
    _put_table(mutant, part, _table(mutant, part), **settings)


def byte(mutant: Mutant) -> None:
    part = mutant.random.choice([*mutant.parts, mutant.fields["program"], mutant.fields["plan"]])
    content = bytearray(mutant.content(part))
    for _ in range(mutant.random.choice([1, 1, 4])):
        content[mutant.random.randrange(len(content))] = mutant.random.randrange(256)
    if mutant.random.random() < 0.2:
        content = content[: mutant.random.randrange(len(content))]
    mutant.put(part, bytes(content))


# -- what lies under a name


def other_file(mutant: Mutant) -> None:
    names = ["stratalog.json", "versions", "data", "lock", mutant.manifest_path, "part"]
    name = mutant.random.choice(names)
    if name == "part":
        name = mutant.random.choice(mutant.parts)["path"]
    path = mutant.path / name
    spare = mutant.path.parent / f"{mutant.path.name}-spare"
    mutant.is_sealed = False
    action = mutant.random.choice(["link", "fifo", "folder", "nothing", "to a device", "holes"])
    if path.exists():
        if path.is_dir():
            shutil.copytree(path, spare)
            shutil.rmtree(path)
        else:
            shutil.copy(path, spare)
            path.unlink()
    if action == "link":
        path.symlink_to(spare)
    elif action == "fifo":
        os.mkfifo(path)
    elif action == "folder":
        path.mkdir()
    elif action == "to a device":
        path.symlink_to("/dev/zero")
    elif action == "holes":
        with path.open("wb") as file:
            file.truncate(1 << 34)


def more_versions(mutant: Mutant) -> None:
    name = mutant.random.choice(["99999999999999999999", "00000003", "0" * 60 + "3", "00000000"])
    shutil.copy(mutant.manifest_path, mutant.path / "versions" / f"{name}.json")


# -- what changes no meaning


def nothing(mutant: Mutant) -> None:
    """Only what is passed over, or may be otherwise."""
    action = mutant.random.randrange(4 if mutant.number > 1 else 3)  # versions share files
    if action == 0:
        mutant.fields["colour"] = mutant.random.choice(["green", 7, None, [1]])
    elif action == 1:
        mutant.fields["options"]["engine"] = "spark"
        mutant.fields["options"]["schemes"] = "plain"
    elif action == 2:
        mutant.fields["note"] = "another \u202e note"
    else:
        part = mutant.random.choice(mutant.fields["dictionary"]["files"])
        _put_table(mutant, part, _table(mutant, part), use_dictionary=False, compression="none")


Mutation = Callable[[Mutant], None]
HARMLESS: tuple[Mutation, ...] = (nothing,)
MUTATIONS: tuple[Mutation, ...] = (
    manifest_field, manifest_field, option, statistics, stream, document, deep, text_of_a_file,
    cells, cells, cells, schema, rows, not_unicode, encoding, byte, other_file, more_versions,
    *HARMLESS,
)  # fmt: skip
