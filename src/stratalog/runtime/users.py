"""Which users and groups are as good as the user who runs this process."""

from __future__ import annotations

import grp
import os
import pwd
from contextlib import suppress
from functools import cache
from pathlib import Path


def is_trusted_owner(user: int) -> bool:
    """Tell whether a folder's owner is this user, or the system, which can do anything anyway."""
    return user in {0, os.geteuid(), _unmapped_user()}


@cache
def has_own_group(group: int) -> bool:
    """Tell whether a group is this user's alone, as on systems that give each user a group."""
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    is_named_alike = user.pw_gid == group and found.gr_name == user.pw_name
    return is_named_alike and set(found.gr_mem) <= {user.pw_name}


@cache
def _unmapped_user() -> int | None:
    """Return who owns the system's folders in a container whose users are not the machine's."""
    with suppress(OSError, ValueError):
        first, _, count = Path("/proc/self/uid_map").read_text().split()[:3]
        if (int(first), int(count)) != (0, 2**32 - 1):
            return int(Path("/proc/sys/kernel/overflowuid").read_text())
    return None
