"""One row of a table, in a process of its own.

    python -m stratalog_bench.maintenance.worker FOLDER PART SETTINGS BYTES

PART is "small" or "large", or "updates", whose FOLDER is empty and filled by the worker. SETTINGS
is a JSON object. BYTES of memory are touched at first. Each line on standard output is a JSON
object: {"stage": ...}, at last {"result": ...}.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stratalog_bench.maintenance import large_deletions, small_deletions, updates
from stratalog_bench.maintenance.small_deletions import Amounts
from stratalog_bench.maintenance.subject import Subject
from stratalog_bench.measure import forget_peak, peak_bytes, resident_bytes, touch_memory
from stratalog_bench.systems.base import Told
from stratalog_bench.workloads.inputs import make_input, read_input

PARTS = {"small": small_deletions.measure, "large": large_deletions.measure}
Measure = Callable[[Path, str, dict[str, Any], Told], dict[str, Any]]
WARM = {"molecules": 60, "reactions": 100, "cells": 3, "given": 10}


def answer(measure: Measure, folder: str, part: str, settings: str, touched: str) -> None:
    """Measure, tell how it went, and end this process."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer

    def tell(**message: Any) -> None:  # noqa: ANN401  # what JSON can hold
        os.write(answers, json.dumps(message).encode() + b"\n")

    tell(stage="starting")
    touch_memory(int(touched))
    found = measure(Path(folder), part, json.loads(settings), lambda stage: tell(stage=stage))
    tell(result=found)
    sys.stderr.flush()
    os._exit(0)  # taking a large heap apart would only cost time


def run(folder: Path, part: str, settings: dict[str, Any], told: Told) -> dict[str, Any]:
    """Return the figures of a row, after a small one by which kernels are compiled."""
    if part == "updates":
        return updates.measure(folder, updates.Amounts(**settings), told)
    warm = make_input("pathways", WARM, folder / "warm")
    for measure in PARTS.values():
        measure(Subject(warm, 3600.0), Amounts(20, 1, 1), lambda _: None)
    told("materialising")
    amounts = Amounts(**settings)
    subject = Subject(read_input(folder), amounts.limit)
    gc.collect()
    gc.freeze()  # what is there now will stay
    base = resident_bytes()
    forget_peak()
    found = PARTS[part](subject, amounts, told)
    memory = {"base_bytes": base, "peak_bytes": peak_bytes()}
    return {"limit": amounts.limit, **subject.facts_and_rules(), **memory, **found}


if __name__ == "__main__":
    answer(run, *sys.argv[1:])
