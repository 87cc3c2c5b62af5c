"""File operations that survive a killed process: flushed files, links that never overwrite, locks.

Nothing here knows what a store is.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from stratalog.errors import StoreError
from stratalog.pipeline.ordinary import open_ordinary

_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_PERMISSION = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
_FLUSHING_THREADS = 8  # a journalling file system serves flushes that arrive together as one


@contextmanager
def failures(path: Path, doing: str) -> Iterator[None]:
    """Turn an operating system error into a T106 that names the file and says what to do.

    An error of a connection, which names no file, comes from the Spark that has the facts.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, ConnectionError) and error.filename is None:
            from stratalog.spark import translate

            raise translate(error, doing) from error
        place = error.filename if isinstance(error.filename, str) else str(path)
        reason = error.strerror or str(error)
        raise StoreError(
            "T106", f"cannot {doing}: {reason}", path=place, help=_advice(error.errno)
        ) from error


def _advice(number: int | None) -> str:
    if number in _NO_SPACE:
        return "free some space, drop old versions, or use a store on another disk"
    if number in _NO_PERMISSION:
        return "check who owns the folder and whether you may write to it"
    if number in _NO_LOCKS:
        return "this file system has no file locks; put the store on a local disk"
    return "check the disk and try again; the versions that were there are unchanged"


def flush_file(path: Path) -> None:
    """Return once the file's content has reached the disk."""
    _flush(path, os.O_RDONLY | os.O_NOFOLLOW)


def flush_folder(path: Path) -> None:
    """Return once the names in the folder have reached the disk."""
    _flush(path, os.O_RDONLY | os.O_DIRECTORY)


def flush_files(paths: Iterable[Path]) -> None:
    """Flush many files, several at a time."""
    with ThreadPoolExecutor(_FLUSHING_THREADS) as pool:
        for _ in pool.map(flush_file, paths):
            pass


def _flush(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        _flush_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _flush_descriptor(descriptor: int) -> None:
    full = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync alone stops at the drive's cache
    if full is not None:
        try:
            fcntl.fcntl(descriptor, full)
        except OSError:  # not every file system there has it
            os.fsync(descriptor)
    else:
        os.fsync(descriptor)


def make_folder(path: Path) -> bool:
    """Create a folder and the folders above it; return False if it was there.

    Their names have reached the disk on return.
    """
    if not path.parent.is_dir():
        make_folder(path.parent)
    try:
        path.mkdir()
        is_new = True
    except FileExistsError:
        path.mkdir(exist_ok=True)  # an error if it is no folder
        is_new = False
    with suppress(PermissionError):  # one may be allowed to use a folder but not to list it
        flush_folder(path.parent)
    return is_new


def reserve_file(path: Path) -> None:
    """Create an empty file; an error if the name is taken."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))


def write_file(path: Path, content: bytes) -> None:
    """Write and flush the whole content of a file that nobody else reads yet."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o666), "wb") as file:  # noqa: PTH123  # a descriptor
        file.write(content)
        file.flush()
        _flush_descriptor(file.fileno())


def link_new(source: Path, target: Path) -> bool:
    """Give a file a second name; False if that name is taken by another file.

    Unlike a rename this never replaces a file, and unlike an exclusive open the name appears with
    its whole content.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        return is_linked(source, target)  # a network file system may lose the answer, not the link
    except OSError as error:
        if error.errno in _NO_HARD_LINKS:
            raise StoreError(
                "T107",
                f"this file system cannot make hard links ({error.strerror})",
                path=str(target.parent),
                help="put the store on a local disk, such as ext4, XFS, Btrfs or APFS",
            ) from error
        raise
    return True


def is_linked(source: Path, target: Path) -> bool:
    """Tell whether both names exist and are one file."""
    try:
        return source.samefile(target)
    except FileNotFoundError:
        return False


@contextmanager
def shared_lock(path: Path) -> Iterator[None]:
    """Hold the lock together with others; wait while somebody has it alone.

    The operating system frees it when the process ends, however it ends.
    """
    descriptor = _open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def lock_alone(path: Path) -> Iterator[bool]:
    """Try to hold the lock alone, without waiting; yield whether that worked."""
    descriptor = _open_lock(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _open_lock(path: Path) -> int:
    return open_ordinary(path, os.O_RDWR | os.O_CREAT)
