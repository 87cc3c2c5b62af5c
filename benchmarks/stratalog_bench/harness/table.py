"""Results as tables of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stratalog_bench.harness.results import (
    DONE,
    LEFT_OUT,
    OVER_LIMIT,
    BenchmarkResult,
    Report,
    SystemResult,
)
from stratalog_bench.harness.run import differences
from stratalog_bench.workloads.catalogue import STRATALOG

COLUMNS = (
    "benchmark",
    "system",
    "facts",
    "CPU s",
    "wall s",
    "load s",
    "peak MiB",
    "added MiB",
    "times slower",
)
TEXTS = 2  # so many columns at the beginning are aligned to the left


@dataclass(slots=True)
class Table:
    """Rows of text under names; the first `texts` columns are aligned to the left."""

    names: Sequence[str]
    texts: int = 1
    rows: list[list[str]] = field(default_factory=list)
    sections: set[int] = field(default_factory=set)  # rows after which a line is drawn

    def plain(self) -> str:
        """Return the table as aligned text."""
        lines = [list(self.names), *self.rows]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.names))]
        return "".join(f"{self._line(line, widths)}\n" for line in lines)

    def _line(self, cells: list[str], widths: list[int]) -> str:
        padded = [
            cell.ljust(width) if place < self.texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()


def table_of(results: Sequence[BenchmarkResult]) -> Table:
    """Return the main table: a row per benchmark and system."""
    table = Table(COLUMNS, TEXTS)
    for result in results:
        differ = bool(differences(result))
        for each in result.systems:
            name = result.name if each is result.systems[0] else ""
            table.rows.append([name, each.system, *_cells(result, each, differ=differ)])
        table.sections.add(len(table.rows) - 1)
    return table


def _cells(result: BenchmarkResult, each: SystemResult, *, differ: bool) -> list[str]:
    if each.status != DONE:
        detail = f"> {each.detail[2:]}" if each.status == OVER_LIMIT else each.status
        return ["", "-" if each.status == LEFT_OUT else detail, "", "", "", "", ""]
    facts = f"{sum(each.counts.values()):,}"
    if differ:
        return [facts, "facts differ", "", "", "", "", ""]
    seconds = [spelled(each.least(figure)) for figure in ("cpu", "wall", "load_cpu")]
    memory = [f"{size / 2**20:,.0f}" for size in (each.peak_bytes, each.added_bytes)]
    return [facts, *seconds, *memory, _times(result, each)]


def _times(result: BenchmarkResult, each: SystemResult) -> str:
    own = result.of(STRATALOG)
    if own is None or each is own:
        return ""
    return f"{each.least('cpu') / max(own.least('cpu'), 1e-6):.2g}x"


def spelled(seconds: float) -> str:
    """Return seconds with three digits that matter."""
    if seconds >= 100:  # noqa: PLR2004
        return f"{seconds:,.0f}"
    return f"{seconds:.2f}" if seconds >= 1 else f"{seconds:.3f}"


def notes_of(results: Sequence[BenchmarkResult]) -> list[str]:
    """Return why systems have no figures, each reason once."""
    reasons: dict[str, list[str]] = {}
    for result in results:
        for each in result.systems:
            if each.status in {DONE, OVER_LIMIT}:
                continue
            why = f"{each.system}: {each.status} ({each.detail})"
            reasons.setdefault(why, []).append(result.name)
    return [f"{why} in {', '.join(names)}" for why, names in reasons.items()]


def report_table(report: Report) -> Table:
    """Return a report as a table."""
    is_named = bool(report.rows) and isinstance(report.rows[0][0], str)
    table = Table(report.columns, 1 if is_named else 0)
    table.rows = [[_spelled_cell(cell) for cell in row] for row in report.rows]
    return table


def _spelled_cell(cell: object) -> str:
    if isinstance(cell, bool) or cell is None:
        return "" if cell is None else "yes" if cell else "no"
    if isinstance(cell, float):
        return spelled(cell)
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
