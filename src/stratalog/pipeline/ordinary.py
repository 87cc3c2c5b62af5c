"""Files and folders of a store as they are opened: ordinary ones, no links, pipes or devices.

A store may come from a stranger: a link would lead out of it, and a pipe would never end.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from pathlib import Path

import pyarrow as pa

from stratalog.errors import StoreError

_NOT_ORDINARY = "it is no ordinary file"
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LITTLE = 1 << 16  # bytes that are read faster than mapped
_ODD = {errno.ELOOP, errno.ENXIO}  # what opening a link or a socket ends with


def damaged(path: Path, why: str) -> StoreError:
    """Return the error for a file that is not what was written."""
    return StoreError(
        "T103",
        f"a file of the store is damaged: {why}",
        path=str(path),
        help="restore the file from a backup, open another version, or materialise again",
    )


def open_ordinary(path: Path, flags: int = _READING, mode: int = 0o666) -> int:
    """Return a descriptor of an ordinary file; T103 if it is anything else."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno in _ODD:
            raise damaged(path, _NOT_ORDINARY) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise damaged(path, _NOT_ORDINARY)
    return descriptor


def mapped(path: Path, size: int | None = None, begin: int | None = None) -> pa.Buffer:
    """Return a file's content, mapped into memory; T103 if it has not the size it must have.

    With `begin` the content is a part of the file, which begins there. Little is read at once.
    """
    descriptor = open_ordinary(path)
    try:
        found = os.fstat(descriptor).st_size
        first, end = begin or 0, found if size is None else (begin or 0) + size
        if found < end or (begin is None and found > end):
            raise damaged(path, f"it has {found} bytes instead of {end}")
        if end - first <= _LITTLE:
            return _read(descriptor, path, first, end)
        whole = pa.py_buffer(mmap.mmap(descriptor, found, access=mmap.ACCESS_READ))
        return whole.slice(first, end - first)
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: Path, first: int, end: int) -> pa.Buffer:
    """Return some bytes of a file; T103 if it was cut short just now."""
    content = os.pread(descriptor, end - first, first)
    if len(content) != end - first:
        raise damaged(path, f"it has {first + len(content)} bytes instead of {end}")
    return pa.py_buffer(content)


def read_text(path: Path) -> bytes:
    """Return the content of a text file; T103 if it has zero bytes, as a file of holes has."""
    content = mapped(path)
    whole = memoryview(content)
    if content.size and _has_zero(whole):
        raise damaged(path, "it is no text")
    return bytes(whole)


def _has_zero(content: memoryview) -> bool:
    step = 1 << 20
    return any(
        b"\0" in bytes(content[first : first + step]) for first in range(0, len(content), step)
    )


def check_folder(path: Path) -> None:
    """Refuse what is there under the name of a folder and is none, or a link to one."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise damaged(path, "it is no folder")
