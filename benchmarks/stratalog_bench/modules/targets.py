"""Figures beside what is wanted of them."""

from __future__ import annotations

from stratalog_bench.harness.results import Report

COLUMNS = ["figure", "value", "unit", "wanted", "met"]
AT_MOST, AT_LEAST = "<=", ">="


class WantedTable:
    """A report with a row per figure."""

    def __init__(self, title: str, into: list[Report]) -> None:
        self.report = Report(f"{title}: figures", COLUMNS, [])
        self._into = into

    def note(self, line: str) -> None:
        """Add a line below the table."""
        self._enter()
        if line not in self.report.notes:
            self.report.notes.append(line)

    def tell(self, name: str, value: float | str, unit: str = "") -> None:
        """Add a figure of which nothing is wanted."""
        self._enter()
        self.report.rows.append([name, value, unit, None, None])

    def holds(self, name: str, *, is_met: bool) -> None:
        """Add what must be so."""
        self._judge(name, "yes" if is_met else "no", "yes", "", is_met=is_met)

    def at_most(self, name: str, value: float, most: float, unit: str) -> None:
        """Add a figure that must not be above a bound."""
        self._judge(name, value, f"{AT_MOST} {most:g}", unit, is_met=value <= most)

    def at_least(
        self, name: str, value: float, least: float, unit: str = "times", *, is_bound: bool = False
    ) -> None:
        """Add a figure that must not be below a bound; it may itself be a lower bound."""
        shown = f"> {value:,.1f}" if is_bound else value
        is_met = True if value >= least else None if is_bound else False
        self._judge(name, shown, f"{AT_LEAST} {least:g}", unit, is_met=is_met)

    def _judge(
        self, name: str, shown: float | str, wanted: str, unit: str, *, is_met: bool | None
    ) -> None:
        self._enter()
        self.report.rows.append([name, shown, unit, wanted, "?" if is_met is None else is_met])

    def _enter(self) -> None:
        """Let the report be seen once it has something to tell."""
        if self.report not in self._into:
            self._into.append(self.report)
