"""Folders for files that are executed or trusted when they are read again.

Compiled kernels are unpickled and Java's start script is run, so that whoever can write to their
folder can run commands as this user. A folder is used only if it belongs to this user, is no link,
cannot be written to by others, holds only such files, and no folder above it lets others replace
it. Otherwise there is a fresh one, which is removed when the process ends.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from stratalog.errors import StratalogError, StratalogWarning
from stratalog.runtime.users import has_own_group, is_trusted_owner

CHOSEN = "STRATALOG_CACHE_DIR"


def private_folders(name: str) -> Iterator[Path]:
    """Yield folders of this name in which files may be kept, best first, at last a fresh one.

    E130 if the user has chosen a folder that others can write to.
    """
    return (folder for _, folder in _places(name))


def kept_folder(name: str, kept: str) -> Path:
    """Return the best folder of this name; warn if it is not where `kept` would be kept for good.

    E130 if the user has chosen a folder that others can write to.
    """
    chosen = os.environ.get(CHOSEN)
    wanted = Path(chosen) if chosen else _usual_roots()[0]
    root, folder = next(_places(name))
    if root != wanted and not _is_brought(wanted):
        where = "and are gone when this process ends" if root is None else f"but in {root}"
        warnings.warn(
            StratalogWarning(
                "E141",
                f"{kept} cannot be kept in {wanted}, {where}",
                help=f"set {CHOSEN} to a folder of your own that can be written to",
            ),
            stacklevel=2,
        )
    return folder


def _places(name: str) -> Iterator[tuple[Path | None, Path]]:
    """Yield roots with their folder of this name, best first, at last a fresh one of no root."""
    chosen = os.environ.get(CHOSEN)
    if chosen and not _is_brought(Path(chosen)) and (folder := _prepared(Path(chosen), name)):
        yield Path(chosen), folder
    for root in _usual_roots():
        with suppress(StratalogError):
            if folder := _prepared(root, name):
                yield root, folder
    fresh = fresh_folder("stratalog-") / name
    fresh.mkdir()
    yield None, fresh


def brought_folder(name: str) -> Path | None:
    """Return the folder of this name in the chosen one, where that can be read only.

    An image or an administrator may have filled it: it is as good as the system's own files if
    they belong to this user or to the system, and others cannot write to them.
    """
    chosen = os.environ.get(CHOSEN)
    if not chosen or not _is_brought(Path(chosen)):
        return None
    folder = Path(chosen).resolve() / name
    with suppress(OSError), os.scandir(folder) as entries:
        if _is_irreplaceable(folder) and all(map(_is_trusted_file, entries)):
            return folder
    return None


def _is_brought(folder: Path) -> bool:
    """Return whether a folder cannot be written to by this user, nor by others."""
    try:
        return not os.access(folder, os.W_OK) and _is_irreplaceable(folder.resolve())
    except OSError:  # it is not there
        return False


def _is_trusted_file(entry: os.DirEntry[str]) -> bool:
    found = entry.stat(follow_symlinks=False)
    is_trusted = stat.S_ISREG(found.st_mode) and is_trusted_owner(found.st_uid)
    return is_trusted and not _others_may_write(found)


def fresh_folder(prefix: str, inside: str | None = None) -> Path:
    """Make a new folder, for this user alone, that is removed when this process ends."""
    if inside is None and not _is_irreplaceable(Path(tempfile.gettempdir()).resolve()):
        raise _unsafe(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=inside))
    atexit.register(_remove, folder, os.getpid())
    return folder


def _usual_roots() -> list[Path]:
    # unlike Path's, this `expanduser` does not fail for users who have no home
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    roots = [Path(home) / "stratalog"] if Path(home).is_absolute() else []
    return [*roots, Path(tempfile.gettempdir()) / f"stratalog-{os.getuid()}"]


def _prepared(root: Path, name: str) -> Path | None:
    """Return the folder `name` in `root`, made if it is missing; None if there can be none.

    E130 if there is one and others could have written to it.
    """
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        root = root.parent.resolve() / root.name
        if not (_is_private(root.lstat()) and _is_irreplaceable(root.parent)):
            raise _unsafe(root)
        folder = root / name
        folder.mkdir(exist_ok=True, mode=0o700)
        if not _holds_only_private_files(folder, is_closed=_is_closed(root)):
            raise _unsafe(folder)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _holds_only_private_files(folder: Path, *, is_closed: bool) -> bool:
    """Tell whether a folder and all that is in it are this user's own, with no link among them.

    Others must not be able to write; in a closed folder, which they cannot enter, they cannot.
    """
    if not _is_private(folder.lstat(), is_closed=is_closed):
        return False
    is_closed = is_closed or _is_closed(folder)
    with os.scandir(folder) as entries:
        return all(_is_private_entry(entry, is_closed=is_closed) for entry in entries)


def _is_private_entry(entry: os.DirEntry[str], *, is_closed: bool) -> bool:
    try:
        if entry.is_dir(follow_symlinks=False):
            return _holds_only_private_files(Path(entry), is_closed=is_closed)
        return _is_private(entry.stat(follow_symlinks=False), is_closed=is_closed)
    except FileNotFoundError:  # a temporary file of another process, which is gone
        return True


def _is_private(found: os.stat_result, *, is_closed: bool = False) -> bool:
    is_plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    is_own = is_plain and found.st_uid == os.geteuid()
    return is_own and (is_closed or not _others_may_write(found))


def _is_closed(folder: Path) -> bool:
    return not folder.lstat().st_mode & (stat.S_IXGRP | stat.S_IXOTH)


def _is_irreplaceable(folder: Path) -> bool:
    """Tell whether no other user can put another folder in the place of one in `folder`."""
    for above in (folder, *folder.parents):
        found = above.stat()
        if not is_trusted_owner(found.st_uid):
            return False
        if _others_may_write(found) and not found.st_mode & stat.S_ISVTX:
            return False
    return True


def _others_may_write(found: os.stat_result) -> bool:
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not has_own_group(found.st_gid)


def _unsafe(folder: Path) -> StratalogError:
    return StratalogError(
        "E130",
        "files that are executed cannot be kept here: other users can write to the folder, to one"
        " above it, or to what is in it",
        path=str(folder),
        help=f"chmod -R go-w it, or set {CHOSEN} to a folder of your own",
    )


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # and not in a forked worker
        shutil.rmtree(folder, ignore_errors=True)
