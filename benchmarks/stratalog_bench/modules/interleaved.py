"""A program without modules, with modules wanted and not: the same work, and as much time."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stratalog_bench.maintenance.subject import NOTHING
from stratalog_bench.modules.facts import ModularSubject, facts_digest
from stratalog_bench.systems.base import Told
from stratalog_bench.workloads.inputs import read_input

MODES = ("off", "auto")
ALGORITHM = "dred-c"

Figures = Mapping[str, Any]


def order(turn: int) -> Sequence[str]:
    """Return the modes in the order in which they take a turn: each is first as often."""
    return MODES if turn % 2 else MODES[::-1]


def measure(folder: Path, mode: str, size: int, turn: int, told: Told) -> dict[str, Any]:
    """Return CPU seconds and work of a turn, after another by which all is warm.

    Each turn is a process of its own: where two engines share one, the system finds memory for the
    second more slowly, whatever its mode.
    """
    told("materialising")
    subject = ModularSubject(read_input(folder), float("inf"), modules=mode)
    problems = [f"{mode} has modules"] if subject.modules() else []
    for sample in (0, turn):
        told(f"{mode}, turn {sample}")
        took = _turn(subject, size, sample, problems)
    return {"took": took, "problems": problems}


def compare(turns: Mapping[str, Sequence[Figures]]) -> dict[str, Any]:
    """Return the medians with modules wanted over those without, and whether work is the same."""
    off, auto = ([each["took"] for each in turns[mode]] for mode in MODES)

    def median(taken: Sequence[Figures], what: str) -> float:
        return float(statistics.median(took[what]["cpu"] for took in taken))

    def work(taken: Sequence[Figures]) -> list[dict[str, int]]:
        return [{what: each["work"] for what, each in took.items()} for took in taken]

    return {
        "ratios": {what: median(auto, what) / max(median(off, what), 1e-9) for what in off[0]},
        "is_equal": work(off) == work(auto),
    }


def _turn(
    subject: ModularSubject, size: int, turn: int, problems: list[str]
) -> dict[str, dict[str, float]]:
    """Return CPU seconds and work to materialise, to delete facts and to insert them again."""
    engine, made = subject.afresh(NOTHING)
    if not turn and facts_digest(engine) != subject.start:
        problems.append("materialised twice, with different facts")
    batch = subject.batch(subject.shuffled(turn)[:size])
    deleted = subject.delete(ALGORITHM, batch)
    subject.commit()
    inserted = subject.insert(ALGORITHM, batch)
    subject.commit()
    if deleted is None:
        raise AssertionError("there is no time limit here")
    took = {"materialise": made, "delete": deleted, "insert": inserted}
    return {what: {"cpu": each.cpu, "work": each.work} for what, each in took.items()}
