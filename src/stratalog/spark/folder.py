"""The temporary folder of a session: it goes with the session, or else when the next one starts."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from stratalog.runtime.locks import open_lock
from stratalog.runtime.private_folder import fresh_folder

PREFIX = "stratalog-spark-"


@dataclass(frozen=True)
class Folder:
    """A folder that belongs to this process as long as the process holds the lock inside."""

    path: Path
    lock: IO[bytes]

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.lock.close()


def make_folder() -> Folder:
    """Return a new folder, and remove those whose processes are gone."""
    prefix = f"{PREFIX}{os.getuid()}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        _remove_if_left(left)
    path = fresh_folder(prefix)
    lock = _locked(path / "new", os.O_CREAT)
    (path / "new").rename(path / "lock")  # only a lock that is held has this name
    return Folder(path, lock)


def _remove_if_left(path: Path) -> None:
    try:
        found = path.lstat()
        if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
            return  # another user's, who could have put anything there
        with _locked(path / "lock"):
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # in use, being made, or gone already
        return


def _locked(path: Path, flags: int = 0) -> IO[bytes]:
    lock = os.fdopen(open_lock(path, flags), "r+b")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise
    return lock
