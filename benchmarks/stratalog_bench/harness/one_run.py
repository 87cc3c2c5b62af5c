"""One run of one system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stratalog_bench import measure as memory
from stratalog_bench.systems.base import Told
from stratalog_bench.systems.registry import system_class
from stratalog_bench.workloads.inputs import read_input


def measure(folder: Path, told: Told, system: str, task: str, touched: int = 0) -> dict[str, Any]:
    """Return the figures of a run, before which so many bytes are touched."""
    kind = system_class(system, task)
    if (warm := folder / "small").exists():
        kind(read_input(warm)).measure(lambda _: None)
    ready = kind(read_input(folder))
    memory.touch_memory(touched)
    base = memory.resident_bytes()
    memory.forget_peak()
    load, reason = ready.measure(told)
    peak = memory.peak_bytes()
    told("count")
    return {
        "cpu": reason.cpu,
        "wall": reason.wall,
        "load_cpu": load.cpu,
        "load_wall": load.wall,
        "base_bytes": base,
        "peak_bytes": peak,
        "counts": ready.counts(),
        "figures": ready.figures(),
    }
