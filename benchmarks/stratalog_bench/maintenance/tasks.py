"""The tasks of maintenance: a row of a table, after a small one by which kernels are compiled."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from stratalog_bench.maintenance import large_deletions, small_deletions, updates
from stratalog_bench.maintenance.small_deletions import Amounts
from stratalog_bench.maintenance.subject import Subject
from stratalog_bench.measure import forget_peak, peak_bytes, resident_bytes, touch_memory
from stratalog_bench.systems.base import Told
from stratalog_bench.workloads.inputs import make_input, read_input

PARTS = {"small": small_deletions.measure, "large": large_deletions.measure}
WARM = {"molecules": 60, "reactions": 100, "cells": 3, "given": 10}


def measure(
    folder: Path, told: Told, part: str, amounts: dict[str, Any], touched: int = 0
) -> dict[str, Any]:
    """Return the figures of a part: "small", "large", or "updates", whose folder is empty."""
    touch_memory(touched)
    if part == "updates":
        return updates.measure(folder, updates.Amounts(**amounts), told)
    return _row(folder, told, part, Amounts(**amounts))


def _row(folder: Path, told: Told, part: str, amounts: Amounts) -> dict[str, Any]:
    warm = make_input("pathways", WARM, folder / "warm")
    for each in PARTS.values():
        each(Subject(warm, 3600.0), Amounts(20, 1, 1), lambda _: None)
    told("materialising")
    subject = Subject(read_input(folder), amounts.limit)
    gc.collect()
    gc.freeze()  # what is there now will stay
    base = resident_bytes()
    forget_peak()
    found = PARTS[part](subject, amounts, told)
    memory = {"base_bytes": base, "peak_bytes": peak_bytes()}
    return {"limit": amounts.limit, **subject.facts_and_rules(), **memory, **found}
