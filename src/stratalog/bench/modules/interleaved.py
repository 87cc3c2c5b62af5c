"""A program without modules, with modules wanted and not: the same work, and as much time."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from stratalog.bench.inputs import read_input
from stratalog.bench.maintenance.subject import NOTHING
from stratalog.bench.modules.facts import ModularSubject, facts_digest
from stratalog.bench.systems.base import Told

MODES = ("off", "auto")
ALGORITHM = "dred-c"


def measure(folder: Path, size: int, turns: int, told: Told) -> dict[str, Any]:
    """Return median CPU seconds and work of both modes, which take turns."""
    given = read_input(folder)
    subjects = {mode: ModularSubject(given, float("inf"), modules=mode) for mode in MODES}
    problems = [f"{mode} has modules" for mode in MODES if subjects[mode].modules()]
    work: dict[str, dict[str, set[int]]] = {}
    times: dict[str, dict[str, list[float]]] = {}
    for turn in range(turns + 1):
        told(f"turn {turn}")
        for mode in MODES if turn % 2 else reversed(MODES):
            for what, (cpu, done) in _turn(subjects[mode], size, turn, problems).items():
                work.setdefault(what, {}).setdefault(mode, set()).add(done)
                if turn:
                    times.setdefault(what, {}).setdefault(mode, []).append(cpu)
    medians = {
        what: {mode: statistics.median(each) for mode, each in by_mode.items()}
        for what, by_mode in times.items()
    }
    equal = all(by_mode["off"] == by_mode["auto"] for by_mode in work.values())
    start = subjects["off"].start
    return {
        "facts": start.facts,
        "explicit": start.explicit,
        "medians": medians,
        "work": {what: {m: sum(w) for m, w in by_mode.items()} for what, by_mode in work.items()},
        "is_equal": equal,
        "problems": problems,
    }


def _turn(
    subject: ModularSubject, size: int, turn: int, problems: list[str]
) -> dict[str, tuple[float, int]]:
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
    return {what: (each.cpu, each.work) for what, each in took.items()}
