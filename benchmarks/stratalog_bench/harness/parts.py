"""What measurements of Stratalog share: a part is a task; what is wrong is told at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stratalog_bench.failures import BenchmarkError
from stratalog_bench.harness.results import DONE, BenchmarkResult, Result
from stratalog_bench.harness.run import TOUCHED, Settings
from stratalog_bench.harness.task import Task, run_task


def run_part(  # what is measured, where, how much
    title: str,
    place: str,
    folder: str | Path,
    part: str,
    amounts: Mapping[str, Any],
    settings: Settings,
) -> dict[str, Any]:
    """Return the figures of a part; an outcome without any is a problem of its own."""

    def watch(stage: str, _: float) -> None:
        settings.told(title, stage)

    touched = TOUCHED if settings.scale == "full" else 0
    given = {"part": part, "amounts": dict(amounts), "touched": touched}
    outcome = run_task(Task(place, folder, given), watch)
    if outcome.status == DONE:
        return outcome.answer
    return {"problems": [f"{outcome.status}: {outcome.detail}"]}


def note_entries(entries: list[BenchmarkResult], settings: Settings, result: Result) -> None:
    """Keep the entries, and tell of the first."""
    result.maintenance += entries
    for entry in entries[:1]:
        for system in entry.systems:
            settings.finished(entry, system)


def raise_if_any(problems: list[str], *, advice: str = "") -> None:
    """Raise if anything was wrong."""
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise BenchmarkError(
            "B109",
            f"{problems[0]}{more}",
            help=f"times of wrong results are not shown{advice}",
        )
