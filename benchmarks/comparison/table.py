"""Before, after and their ratio, beside the ratio of two series of the same code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .run import AFTER, AGAIN, BEFORE, Measured, Steps

ALLOWED = 1.03
SHOWN = ("rounds", "derivations")  # counts that have a column
HEAD = ("case", "step", "before ms", "after ms", "ratio", "again", "wall", "again", *SHOWN)
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

    counts = runs[AFTER][0][step]["counts"]
    differing = _differing(step, runs[BEFORE] + runs[AGAIN], runs[AFTER])
    return Row(measured.name, step, least("cpu"), least("wall"), counts, differing)


def _differing(step: str, before: Sequence[Steps], after: Sequence[Steps]) -> str:
    """Return the counts that were the same in all runs before, and are others now.

    Those that vary from run to run, where `auto` tries algorithms by their times, tell nothing.
    """
    found = []
    for key in after[0][step]["counts"]:
        old, new = ({run[step]["counts"].get(key) for run in runs} for runs in (before, after))
        if None not in old and len(old) == 1 and new != old:
            found.append(f"{key} {_spelled(old)} -> {_spelled(new)}")
    return ", ".join(found)


def _spelled(numbers: Iterable[int | None]) -> str:
    return " or ".join(f"{number:,}" for number in sorted(n for n in numbers if n is not None))


def cells(row: Row) -> tuple[str, ...]:
    """Return what is shown of a row."""
    wall, again = row.wall[1] / row.wall[0], row.wall[2] / row.wall[0]
    marks = " slower" if row.is_slower else ""
    ratios = (row.ratio, row.cpu[2] / row.cpu[0], wall, again)
    times = (f"{1_000 * row.cpu[0]:.3f}", f"{1_000 * row.cpu[1]:.3f}")
    counts = (f"{row.counts[name]:,}" if name in row.counts else "" for name in SHOWN)
    return (row.case, row.step, *times, *(f"{ratio:.3f}" for ratio in ratios), *counts, marks)


def show(rows: Sequence[Row]) -> str:
    """Return the table as text."""
    lines = [(*HEAD, ""), *map(cells, rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEAD))]
    shown = []
    for line in lines:
        texts = [line[place].ljust(widths[place]) for place in range(TEXTS)]
        numbers = [line[place].rjust(widths[place]) for place in range(TEXTS, len(HEAD))]
        shown.append(("  ".join((*texts, *numbers)) + line[-1]).rstrip())
    return "\n".join(shown)


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
