"""A measurement as a task for a worker."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stratalog_bench.harness.process import Outcome, Watch, run_worker

WORKER = "stratalog_bench.harness.worker"
ALL_THREADS: Mapping[str, str] = {}
"""The environment of a measurement in which libraries may use as many threads as they like."""


@dataclass(frozen=True, slots=True)
class Task:
    """A function that measures, by its place (`module:function`), and what it is given."""

    place: str
    folder: str | Path
    settings: Mapping[str, Any]

    @property
    def arguments(self) -> list[str]:
        """What follows `python -m`."""
        return [WORKER, self.place, str(self.folder), json.dumps(self.settings)]


def run_task(
    task: Task,
    watch: Watch = lambda *_: None,
    limit: float = math.inf,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Run a task in a process of its own; see `run_worker`."""
    return run_worker(task.arguments, limit, watch, environment)
