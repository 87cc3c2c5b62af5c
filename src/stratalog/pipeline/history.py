"""What a store notes about its commits, so that finding the current version lists no folder.

    DIR/history     one line of JSON per commit, each with a checksum of its own

A line says which version was the newest, when a name in `versions/` last changed, and what the list
of versions shows. Lines are hints: one that is torn, missing or out of date costs a listing of
`versions/` or the reading of a manifest, and nothing else. But a version that was noted and is no
longer there is missed: a line is written after its version exists, and the newest one is never
dropped.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from stratalog.errors import StoreError
from stratalog.pipeline.durable import write_file
from stratalog.pipeline.manifest import Manifest

HISTORY = "history"

_TAIL_BYTES = 1 << 12  # holds several lines
_MOST_BYTES = 1 << 24  # that are read of it, from its end
_TRIMMED_BYTES = 1 << 16  # beyond this, lines of dropped versions are removed
_MOST_VERSIONS = 1 << 50  # a number beyond this was not written by a commit
_LONGEST_NOTE = 200  # characters; the list of versions finds a longer one in the manifest


@dataclass(frozen=True)
class VersionInfo:
    """A line of the list of versions; `bytes` includes files shared with other versions."""

    number: int
    created: str
    facts: int
    explicit: int
    bytes: int
    note: str
    parent: int


@dataclass(frozen=True)
class Seen:
    """The newest version that was noted, and when a name in `versions/` had last changed then."""

    newest: int
    changed: int  # nanoseconds; -1 says that it is not known


def summary(manifest: Manifest) -> VersionInfo:
    """Return what the list of versions shows of a version."""
    return VersionInfo(
        number=manifest.number,
        created=manifest.created,
        facts=manifest.facts,
        explicit=manifest.explicit,
        bytes=sum(file.bytes for file in manifest.files),
        note=manifest.note,
        parent=manifest.parent,
    )


def note(root: Path, seen: Seen, info: VersionInfo | None = None, size: int = 0) -> None:
    """Add a line: the newest version and, of a new one, what is listed and its manifest's size.

    Whoever calls it holds the store's lock since `seen` was found out. That a line cannot be
    written is no failure.
    """
    line: dict[str, Any] = {"newest": seen.newest, "changed": seen.changed}
    if info is not None and len(info.note) <= _LONGEST_NOTE:
        line |= {"size": size, "version": asdict(info)}
    with suppress(OSError):
        _append(root / HISTORY, _sealed(line))


def last(root: Path) -> Seen | None:
    """Return what the last lines say, None if there are none that can be read."""
    seen = [found for text in _texts(root, _TAIL_BYTES) if (found := _seen(text)) is not None]
    return Seen(max(each.newest for each in seen), seen[-1].changed) if seen else None


@lru_cache(maxsize=256)  # a commit looks at the last lines several times
def _seen(text: bytes) -> Seen | None:
    line = _parsed(text)
    return None if line is None else Seen(line["newest"], line["changed"])


def summaries(root: Path) -> dict[int, tuple[int, VersionInfo]]:
    """Return for each version that was noted the size of its manifest, and what is listed."""
    found = {}
    for text in _texts(root, _MOST_BYTES):
        line = _parsed(text)
        if line is not None and (info := _info(line.get("version"))) is not None:
            found[info.number] = (line.get("size", 0), info)
    return found


def trim(root: Path, numbers: Collection[int], unfinished: Path) -> None:
    """Remove the lines of all other versions once there are many; the lock is held alone.

    The lines that stay are written to `unfinished`, which then takes the place of the others.
    """
    path = root / HISTORY
    with suppress(OSError):
        if path.lstat().st_size <= _TRIMMED_BYTES:
            return
        found = summaries(root)
        kept = [(found[number], number) for number in sorted(numbers) if number in found]
        lines = [
            _sealed({"newest": number, "changed": -1, "size": size, "version": asdict(info)})
            for (size, info), number in kept
        ]
        if sum(map(len, lines)) > path.lstat().st_size // 2:
            return  # so that trimming is rare
        write_file(unfinished, b"".join(lines))
        unfinished.replace(path)


def vanished(root: Path, newest: int, found: int) -> StoreError:
    """Return the error for a store whose newest version is gone and was not dropped."""
    there = f"version {found} is the newest that is there" if found else "no version is there"
    choices = "restore it from a backup together with the files in data"
    if found:
        choices += (
            f", or give it up: stratalog versions {root} --drop {newest} goes on from version "
            f"{found}"
        )
    return StoreError(
        "T103",
        f"version {newest}, the newest, has vanished: its manifest is missing; {there}",
        path=str(root / "versions" / f"{newest:08d}.json"),
        help=choices,
    )


def _append(path: Path, line: bytes) -> None:
    # One call writes it, after what a killed writer may have left of a line.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o666)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.write(descriptor, b"\n" + line)
    finally:
        os.close(descriptor)


def _sealed(line: dict[str, Any]) -> bytes:
    return _spelled({**line, "crc32": zlib.crc32(_spelled(line))}) + b"\n"


def _spelled(line: dict[str, Any]) -> bytes:
    return json.dumps(line, sort_keys=True, separators=(",", ":")).encode()


def _texts(root: Path, most: int) -> list[bytes]:
    """Return the lines, in order, among the last `most` bytes; the first may be a part of one."""
    return [text for text in _end(root / HISTORY, most).split(b"\n") if text]


def _end(path: Path, most: int) -> bytes:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return b""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return b""
        return os.pread(descriptor, most, max(0, found.st_size - most))
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
        if line.pop("crc32") != zlib.crc32(_spelled(line)):
            return None
        is_whole = type(line["changed"]) is type(line["newest"]) is int
        is_whole = is_whole and 0 < line["newest"] < _MOST_VERSIONS
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return line if is_whole else None


def _info(found: object) -> VersionInfo | None:
    """Return what is listed of a version, None unless all of it is there."""
    names = {field.name: str if field.type == "str" else int for field in fields(VersionInfo)}
    if not isinstance(found, dict) or found.keys() != names.keys():
        return None
    is_typed = all(type(found[name]) is kind for name, kind in names.items())
    return VersionInfo(**found) if is_typed else None
