"""Before, after and their ratio, beside the ratio of two series of the same code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .run import AFTER, AGAIN, BEFORE, Measured, Steps

ALLOWED = 1.03
SHOWN = ("rounds", "derivations", "kernel calls", "jobs", "crossings")  # with a column, if any
HEAD = ("case", "step", "before ms", "after ms", "ratio", "again", "wall", "again")
TEXTS = 2  # columns that are no numbers


@dataclass(frozen=True)
class Row:
    """A step: the least CPU and elapsed seconds of each series, and the counts that differ."""

    case: str
    step: str
    cpu: tuple[float, float, float]  # before, after, before again
    wall: tuple[float, float, float]
    counts: Mapping[str, int] = field(default_factory=dict)
    differing: str = ""

    @property
    def ratio(self) -> float:
        """CPU time after to before."""
        return self.cpu[1] / self.cpu[0]

    @property
    def noise(self) -> float:
        """How much two series of the same code differ, at least one."""
        return max(self.cpu[2] / self.cpu[0], self.cpu[0] / self.cpu[2])

    @property
    def is_slower(self) -> bool:
        return self.ratio > max(ALLOWED, self.noise)


def rows_of(measured: Measured) -> list[Row]:
    """Return a row for each step that both trees took."""
    runs = measured.runs
    if measured.failure or not runs[BEFORE]:
        return []
    shared = [step for step in runs[AFTER][0] if step in runs[BEFORE][0]]
    return [_row(measured, step) for step in shared]


def _row(measured: Measured, step: str) -> Row:
    runs = measured.runs
    series = (BEFORE, AFTER, AGAIN)

    def least(unit: str) -> tuple[float, float, float]:
        before, after, again = (min(run[step][unit] for run in runs[name]) for name in series)
        return before, after, again

    counted = _counts(step, measured.counted[AFTER])
    compared = measured.counted if counted else runs
    differing = _differing(step, compared[BEFORE] + compared[AGAIN], compared[AFTER])
    counts = counted | _counts(step, runs[AFTER])
    return Row(measured.name, step, least("cpu"), least("wall"), counts, differing)


def _counts(step: str, runs: Sequence[Steps]) -> dict[str, int]:
    """Return the counts of a step in the first of some runs."""
    return dict(runs[0].get(step, {}).get("counts", {})) if runs else {}


def _differing(step: str, before: Sequence[Steps], after: Sequence[Steps]) -> str:
    """Return the counts that were the same in all runs before, and are others now.

    Those that vary from run to run tell nothing.
    """
    found = []
    for key in _counts(step, after):
        old, new = ({_counts(step, [run]).get(key) for run in runs} for runs in (before, after))
        if None not in old and len(old) == 1 and new != old:
            found.append(f"{key} {_spelled(old)} -> {_spelled(new)}")
    return ", ".join(found)


def _spelled(numbers: Iterable[int | None]) -> str:
    return " or ".join(f"{number:,}" for number in sorted(n for n in numbers if n is not None))


def cells(row: Row, shown: Sequence[str] = SHOWN) -> tuple[str, ...]:
    """Return what is shown of a row."""
    wall, again = row.wall[1] / row.wall[0], row.wall[2] / row.wall[0]
    marks = " slower" if row.is_slower else ""
    ratios = (row.ratio, row.cpu[2] / row.cpu[0], wall, again)
    times = (f"{1_000 * row.cpu[0]:.3f}", f"{1_000 * row.cpu[1]:.3f}")
    counts = ("" if (count := _count(row, name)) is None else f"{count:,}" for name in shown)
    return (row.case, row.step, *times, *(f"{ratio:.3f}" for ratio in ratios), *counts, marks)


def _count(row: Row, name: str) -> int | None:
    """Return a count of the runs that were timed, or by the first algorithm that was counted."""
    found = [row.counts[key] for key in row.counts if key.partition(" by ")[0] == name]
    return row.counts.get(name, found[0] if found else None)


def show(rows: Sequence[Row]) -> str:
    """Return the table as text."""
    shown = [name for name in SHOWN if any(_count(row, name) is not None for row in rows)]
    lines = [(*HEAD, *shown, ""), *(cells(row, shown) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for line in lines:
        cut = [line[place].ljust(widths[place]) for place in range(TEXTS)]
        cut += [line[place].rjust(widths[place]) for place in range(TEXTS, len(line) - 1)]
        texts.append(("  ".join(cut) + line[-1]).rstrip())
    return "\n".join(texts)


def verdict(rows: Sequence[Row], failures: Sequence[str], runs: int) -> tuple[str, bool]:
    """Return what is to be said below the table, and whether nothing is worse."""
    slower = [f"slower: {row.case}, {row.step}: {row.ratio:.3f}" for row in rows if row.is_slower]
    differ = [
        f"counts differ: {row.case}, {row.step}: {row.differing}" for row in rows if row.differing
    ]
    failed = [f"failed: {failure}" for failure in failures]
    noise = max((row.noise for row in rows), default=1.0)
    last = (
        f"{len(rows)} steps, the least of {runs} runs: {len(slower)} slower than {ALLOWED} and than"
        f" the same code again (at most {noise:.3f}), {len(differ)} with other counts,"
        f" {len(failed)} cases failed"
    )
    return "\n".join((*failed, *differ, *slower, last)), not (slower or differ or failed)


def as_json(rows: Sequence[Row], found: Sequence[Measured]) -> dict[str, Any]:
    """Return all that was measured and counted: the table, and every run."""
    table = [
        {**asdict(row), "ratio": row.ratio, "noise": row.noise, "is_slower": row.is_slower}
        for row in rows
    ]
    return {"table": table, "cases": [asdict(measured) for measured in found]}
