"""The figures of all data sets as tables: 001's Table 1, in milliseconds and in work, and 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from stratalog_bench.harness.cells import SIZES, WRONG, add_wrong, growing_reports, mean, seconds
from stratalog_bench.harness.results import FAILED, Report
from stratalog_bench.maintenance.large_deletions import KEPT, LEAST, MOST
from stratalog_bench.maintenance.small_deletions import INSERTION
from stratalog_bench.maintenance.subject import ALGORITHMS

Figures = Mapping[str, Any]
COLUMNS = ("counting", *ALGORITHMS)
TIMES_NOTES = """\
CPU milliseconds of reasoning: mean of random subsets ({subsets}), each the least of several turns \
({turns}); algorithms take turns on the same subsets, each after a run that is not counted
after deleting, facts and both counts equal those of a materialisation from scratch; after \
inserting again, those at first
strata: those with rules, as few as possible"""
WORK_NOTES = "facts visited and derived, the mean of all subsets"
SCRATCH_NOTES = """\
CPU seconds of materialising loaded facts: the least of several turns ({turns})
cost of two: two counts against none"""
LARGE_NOTES = """\
|E-|/|E|: the largest share of the explicit facts that dred-c or bf-c deletes as fast as what is \
left is materialised from scratch, with two counts; times at that share, then auto at 25 %
CPU seconds, the least of several turns ({turns}); first: auto knows no earlier update; \
ratio: auto against scratch"""
QUARTER = ("25 %: auto", "25 %: first", "25 %: scratch", "ratio")


class Tables:
    """Four reports that grow with each data set."""

    def __init__(self, title: str, amounts: Figures, into: list[Report]) -> None:
        self._limit, self._subsets = amounts["limit"], amounts["subsets"]
        report = growing_reports(title, amounts, into)
        small = f"deleting {amounts['facts']:,} facts"
        times = [*SIZES, *COLUMNS, INSERTION, "auto chose"]
        self._times = report(f"{small}, ms", times, TIMES_NOTES)
        self._work = report(f"{small}, work", [*COLUMNS, INSERTION], WORK_NOTES)
        scratch = ["|I|", *KEPT, "cost of two"]
        self._scratch = report("from scratch, s", scratch, SCRATCH_NOTES)
        large = ["|E-|/|E|", *COLUMNS, *KEPT, *QUARTER]
        self._large = report("large deletions, s", large, LARGE_NOTES)

    def note_missing(self, names: list[str]) -> None:
        """Say which data sets are left out, and how to get them in."""
        self._times.notes.append(
            f"left out: {', '.join(names)}; --data FOLDER names a folder with rules and facts"
        )

    def add(self, name: str, figures: Mapping[str, Figures]) -> None:
        """Add a row to each table; wrong results have no times."""
        small, large = figures["small"], figures["large"]
        if small["problems"]:
            add_wrong(name, _what(small), self._times, self._work)
        else:
            cells = small["algorithms"]
            work = [_work(cells.get(each)) for each in (*COLUMNS, INSERTION)]
            self._times.rows.append([name, *self._small(small)])
            self._work.rows.append([name, *work])
            self._note_fewer(name, cells)
        if large["problems"]:
            add_wrong(name, _what(large), self._scratch, self._large)
        else:
            scratch = self._from_scratch(large["scratch"])
            self._scratch.rows.append([name, large["facts"], *scratch])
            self._large.rows.append([name, *self._large_cells(large)])

    def _small(self, small: Figures) -> list[Any]:
        cells = small["algorithms"]
        sizes = [small[name] for name in SIZES.values()]
        times = [self._time(cells.get(each), 1e3) for each in (*COLUMNS, INSERTION)]
        return [*sizes, *times, _chosen(cells["auto"])]

    def _from_scratch(self, cells: Mapping[str, Figures]) -> list[Any]:
        times = [self._time(cells[each]) for each in KEPT]
        none, two = (
            mean(cells["no counts"]["runs"], "cpu"),
            mean(cells["two counts"]["runs"], "cpu"),
        )
        return [*times, f"{two / max(none, 1e-9) - 1:+.0%}"]

    def _large_cells(self, large: Figures) -> list[Any]:
        balance, quarter = large["equilibrium"], large["quarter"]
        times = [self._time(balance["algorithms"].get(each)) for each in COLUMNS]
        times += [self._time(balance["scratch"][each]) for each in KEPT]
        times += [self._time(quarter[each]) for each in ("auto", "first", "scratch")]
        return [_share(large), *times, _ratio(quarter["auto"], quarter["scratch"])]

    def _time(self, cell: Figures | None, unit: float = 1.0) -> float | str | None:
        return None if cell is None else seconds(cell, self._limit, unit)

    def _note_fewer(self, name: str, cells: Mapping[str, Figures]) -> None:
        for algorithm, cell in cells.items():
            if 0 < len(cell["runs"]) < self._subsets:
                self._times.notes.append(
                    f"{name}, {algorithm}: {len(cell['runs'])} of {self._subsets} subsets, for time"
                )


def _what(figures: Figures) -> str:
    """Return what is wrong with figures that have problems."""
    return WRONG if "facts" in figures else FAILED


def _work(cell: Figures | None) -> int | str | None:
    if cell is None:
        return None
    return round(mean(cell["runs"], "work")) if cell["runs"] else "-"


def _chosen(cell: Figures) -> str:
    """Return the algorithms that auto chose, the most frequent first."""
    chosen: Counter[str] = Counter()
    for run in cell["runs"]:
        chosen.update(run["chosen"])
    return ", ".join(name for name, _ in chosen.most_common())


def _share(large: Figures) -> str:
    bound = {"<": LEAST, ">": MOST}.get(large["bound"])
    share = large["share"] if bound is None else bound
    return f"{large['bound']} {share:.{1 if share >= 0.01 else 2}%}".strip()  # noqa: PLR2004


def _ratio(auto: Figures, scratch: Figures) -> float | None:
    if not auto["runs"]:
        return None
    return mean(auto["runs"], "cpu") / max(mean(scratch["runs"], "cpu"), 1e-9)
