"""Opening lock files in folders where other users may have put something else."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def open_lock(path: Path, flags: int = 0) -> int:
    """Return a descriptor of an ordinary file; an OSError, at once, for a link, pipe or device."""
    safe = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, safe | flags, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "this is no ordinary file", str(path))
    return descriptor
