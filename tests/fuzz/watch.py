"""Watches this process: no other process, no socket, and files in the folders that it may use only.

    with watched(writable=[store], readable=[data]) as seen:
        ...
    assert not seen, seen

What is not allowed is refused with an error, so that no harm is done, and noted: code may catch the
error. Python tells of what Python opens; files that Arrow's C++ opens by name are not seen.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]  # the project

PROCESSES = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    }
)
NETWORK = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "imaplib.", "telnetlib.")
CHANGES = frozenset(  # events whose first words are paths that are made, changed or removed
    {
        "os.chmod",
        "os.chown",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "shutil.chown",
        "shutil.copyfile",
        "shutil.copymode",
        "shutil.copystat",
        "shutil.copytree",
        "shutil.move",
        "shutil.rmtree",
        "shutil.unpack_archive",
    }
)
TWO_PATHS = frozenset({"os.link", "os.rename", "shutil.move"})
OF_LINKS = frozenset({"os.link", "os.remove", "os.rename", "os.rmdir"})  # not of what they lead to
SECOND_PATH = frozenset({"os.symlink"})  # the first one is only a text
FROM_FIRST = frozenset({"shutil.copyfile", "shutil.copymode", "shutil.copystat", "shutil.copytree"})
LISTINGS = frozenset({"os.listdir", "os.scandir"})
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
ANYBODY_MAY_READ = ("/proc", "/sys", "/usr/share/zoneinfo", "/etc/localtime", "/dev/urandom")


class NotAllowed(Exception):  # noqa: N818  # reads as a claim
    """The process did what the watch does not allow."""


@dataclass
class Watch:
    """What may be written and read, and what else was tried."""

    writable: tuple[str, ...]
    readable: tuple[str, ...]
    seen: list[str] = field(default_factory=list)

    def note(self, event: str, words: tuple[Any, ...]) -> None:
        """Note and refuse an event that is not allowed."""
        wrong = self._wrong(event, words)
        if wrong:
            self.seen.append(wrong)
            raise NotAllowed(wrong)

    def _wrong(self, event: str, words: tuple[Any, ...]) -> str | None:
        if event in PROCESSES or event.startswith(NETWORK):
            return f"{event}: {words}"
        if event == "open":
            path, mode, flags = words
            if self._is_folder_above(path, flags):
                return None
            if isinstance(flags, int) and flags & os.O_NOFOLLOW and not isinstance(path, int):
                path = _in_its_folder(path)
            return self._outside(event, [path], writes=_writes(mode, flags))
        if event in LISTINGS:
            return self._outside(event, [words[0]], writes=False)
        if event in CHANGES:
            return self._changed(event, words)
        return None

    def _is_folder_above(self, path: Any, flags: object) -> bool:
        """Tell whether a folder is opened to flush the name of an allowed one in it."""
        if not isinstance(flags, int) or not flags & os.O_DIRECTORY or isinstance(path, int):
            return False
        real = os.path.realpath(os.fsdecode(path))
        return any(_is_in(folder, real) for folder in self.writable)

    def _changed(self, event: str, words: tuple[Any, ...]) -> str | None:
        if event in FROM_FIRST:
            wrong = self._outside(event, [words[0]], writes=False)
            return wrong or self._outside(event, [words[1]], writes=True)
        if event in SECOND_PATH:
            return self._outside(event, [words[1]], writes=True)
        paths = words[: 1 + (event in TWO_PATHS)]
        if event in OF_LINKS:
            paths = tuple(_in_its_folder(path) for path in paths)
        return self._outside(event, paths, writes=True)

    def _outside(self, event: str, paths: Iterable[Any], *, writes: bool) -> str | None:
        """Return what is wrong with a path; one that is a descriptor was opened before."""
        allowed = self.writable if writes else (*self.writable, *self.readable)
        for path in paths:
            if path is None or isinstance(path, int):
                continue
            real = path if isinstance(path, _Named) else os.path.realpath(os.fsdecode(path))
            if real != os.devnull and not any(_is_in(real, folder) for folder in allowed):
                return f"{event} {'to write' if writes else 'to read'}: {real}"
        return None


class _Named(str):
    """A path whose last name is not followed if it is a link."""

    __slots__ = ()


def _in_its_folder(path: Any) -> _Named:
    named = Path(os.fsdecode(path)).absolute()
    return _Named(named.parent.resolve() / named.name)


_active: list[Watch] = []
_in_hook = threading.local()
_hooked: list[bool] = []


def _hook(event: str, words: tuple[Any, ...]) -> None:
    if not _active or getattr(_in_hook, "busy", False):
        return
    _in_hook.busy = True
    try:
        if not _is_within_shutil(event):
            _active[-1].note(event, words)
    finally:
        _in_hook.busy = False


def _is_within_shutil(event: str) -> bool:
    """Tell whether shutil works by names below an open folder: its own event came before."""
    is_below = sys._getframe(2).f_code.co_filename == shutil.__file__
    return is_below and not event.startswith("shutil.")


@contextmanager
def watched(
    *, writable: Iterable[str | Path], readable: Iterable[str | Path] = ()
) -> Iterator[list[str]]:
    """Watch all threads of this process; give the list of what was done that is not allowed."""
    watch = Watch(_real([*writable, *_caches()]), _real([*readable, *_own_files()]))
    if not _hooked:  # a hook stays as long as the process
        sys.addaudithook(_hook)
        _hooked.append(True)
    _active.append(watch)
    try:
        yield watch.seen
    finally:
        _active.remove(watch)


def _writes(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & WRITING)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _real(paths: Iterable[str | Path]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths))


def _caches() -> list[Path]:
    """Return the folders where compiled kernels are kept."""
    from stratalog.kernels.cache import cache_folder

    tempfile.gettempdir()  # it tries folders out the first time, by writing a file
    return [cache_folder().parent]


def _own_files() -> list[str | Path]:
    """Return where Python, what is installed, and the project are."""
    prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    paths = [path for path in [*sysconfig.get_paths().values(), *sys.path] if path]
    here = ("src", "tests", "pyproject.toml")
    return [*prefixes, *paths, *(ROOT / name for name in here), *ANYBODY_MAY_READ]
