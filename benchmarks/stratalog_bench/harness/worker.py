"""One run of one system in a process of its own.

    python -m stratalog_bench.harness.worker FOLDER SYSTEM TASK BYTES

BYTES of memory are touched before the run, so that the machine has them at hand.
Each line on standard output is a JSON object: {"stage": ...} when a stage begins, at last
{"result": ...} or {"left_out": reason}.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from stratalog_bench import measure
from stratalog_bench.failures import Inexpressible
from stratalog_bench.systems.base import Told
from stratalog_bench.systems.registry import system_class
from stratalog_bench.workloads.inputs import read_input


def main(folder: str, system: str, task: str, touched: str) -> None:
    """Run a system on an input and tell how it went."""
    answers = _private_stdout()

    def tell(**message: Any) -> None:  # noqa: ANN401  # what JSON can hold
        os.write(answers, json.dumps(message).encode() + b"\n")

    tell(stage="prepare")
    try:
        tell(result=run(folder, system, task, lambda stage: tell(stage=stage), int(touched)))
    except Inexpressible as reason:
        tell(left_out=str(reason))
    sys.stderr.flush()
    os._exit(0)  # taking a large heap apart would only cost time


def run(folder: str, system: str, task: str, told: Told, touched: int = 0) -> dict[str, Any]:
    """Return the figures of a run."""
    kind = system_class(system, task)
    if (warm := Path(folder) / "small").exists():
        kind(read_input(warm)).measure(lambda _: None)
    ready = kind(read_input(folder))
    measure.touch_memory(touched)
    base = measure.resident_bytes()
    measure.forget_peak()
    load, reason = ready.measure(told)
    peak = measure.peak_bytes()
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


def _private_stdout() -> int:
    """Return a copy of standard output, and let what systems print go to standard error."""
    copy = os.dup(1)
    os.dup2(2, 1)
    return copy


if __name__ == "__main__":
    main(*sys.argv[1:])
