"""Memory and open files of a process: after the first third of a run, and at its end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MEMORY_SHARE, MEMORY_MORE = 1.10, 32 << 20  # of what there was; and bytes
FILES_MORE = 8
EVERY = 0.5  # seconds
LEAST = 48  # samples: a shorter run has not even loaded all code


def resident(process: int | str = "self") -> int:
    """Return the bytes of memory that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def open_files(process: int | str = "self") -> int:
    """Return how many descriptors a process has open."""
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


@dataclass
class Gauge:
    """Samples of a process; the least of many, as what is in use for a moment is no leak."""

    samples: list[tuple[int, int]] = field(default_factory=list)  # bytes, files
    last: float = 0.0

    def look(self, now: Callable[[], float] = time.monotonic) -> None:
        """Take a sample, if the last one is not too recent."""
        if now() - self.last >= EVERY:
            self.last = now()
            self.samples.append((resident(), open_files()))

    def growth(self) -> dict[str, int]:
        """Return the least memory and files in the second third, and in the last sixth."""
        n = len(self.samples)
        early, late = self.samples[n // 3 : -(-2 * n // 3)], self.samples[5 * n // 6 :]
        if n < LEAST:
            return {}
        (memory, files), (memory_late, files_late) = (
            (min(m for m, _ in part), min(f for _, f in part)) for part in (early, late)
        )
        return {
            "memory": memory,
            "memory at the end": memory_late,
            "files": files,
            "files at the end": files_late,
        }


def leaks(growth: dict[str, int]) -> list[str]:
    """Return what has grown beyond bounds."""
    if not growth:
        return []
    found = []
    if growth["memory at the end"] > MEMORY_SHARE * growth["memory"] + MEMORY_MORE:
        found.append(f"memory grew from {growth['memory']:,} to {growth['memory at the end']:,}")
    if growth["files at the end"] > growth["files"] + FILES_MORE:
        found.append(f"open files grew from {growth['files']} to {growth['files at the end']}")
    return found
