"""CPU time, elapsed time and memory of this process."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


class Lap(NamedTuple):
    """Seconds between two moments: CPU of all threads, user and system; and elapsed."""

    cpu: float
    wall: float


def touch_memory(size: int) -> None:
    """Use so many bytes for a moment.

    A virtual machine takes idle memory back: whoever uses it first waits for it, and would seem
    slow. After this no system is the first.
    """
    np.full(size, 1, np.uint8)


class Clock:
    """Measures one lap after the other."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def lap(self) -> Lap:
        """Return the time since the last lap ended."""
        cpu, wall = time.process_time(), time.perf_counter()
        done = Lap(cpu - self._cpu, wall - self._wall)
        self._cpu, self._wall = cpu, wall
        return done


def resident_bytes() -> int:
    """Return the memory that this process holds now; its peak where that is not known."""
    return _status("VmRSS") or _peak_by_usage()


def peak_bytes() -> int:
    """Return the most memory that this process held since `forget_peak`."""
    return _status("VmHWM") or _peak_by_usage()


def forget_peak() -> None:
    """Let the peak be what is held now, where the system can do that."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return


def _status(field: str) -> int:
    # getrusage tells the parent's peak too: it survives exec
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(field)), 0)


def _peak_by_usage() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
