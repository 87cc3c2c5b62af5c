"""Two results, before and after: facts and derivations must stay, times may only be told."""

from __future__ import annotations

from dataclasses import dataclass, field

from stratalog_bench.failures import BenchmarkError
from stratalog_bench.harness.results import DONE, BenchmarkResult, Result, SystemResult
from stratalog_bench.harness.table import Table, spelled

COLUMNS = ("benchmark", "system", "before s", "after s", "after / before", "peak MiB", "after MiB")
SLOWER = 1.3  # differences below are noise


@dataclass(slots=True)
class Comparison:
    """A row per benchmark and system of both results; errors are what may not happen."""

    table: Table = field(default_factory=lambda: Table(COLUMNS, 2))
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Raise if facts differ or derivations rose."""
        if self.errors:
            more = f" (and {len(self.errors) - 1} more)" if len(self.errors) > 1 else ""
            raise BenchmarkError(
                "B106",
                f"{self.errors[0]}{more}",
                help="facts must stay the same and derivations may not rise; times only warn",
            )


def compare(before: Result, after: Result) -> Comparison:
    """Return the comparison of all benchmarks that both results have, with equal parameters."""
    found = Comparison()
    _compare_all(before.benchmarks, after.benchmarks, found)
    _compare_all(before.maintenance, after.maintenance, found)
    if not found.table.rows:
        raise BenchmarkError(
            "B107",
            "the two results have no benchmark and system in common",
            help="; ".join(found.warnings) or "run the same benchmarks and systems for both",
        )
    return found


def _compare_all(
    before: list[BenchmarkResult], after: list[BenchmarkResult], found: Comparison
) -> None:
    later = {each.name: each for each in after}
    for old in before:
        new = later.get(old.name)
        if new is None:
            found.warnings.append(f"{old.name} is only in the first result")
        elif (new.parameters, new.explicit) == (old.parameters, old.explicit):
            _compare_benchmark(old, new, found)
        elif "share" not in old.parameters:  # which is found anew by each run
            found.warnings.append(f"{old.name} was run with other parameters or rules")


def _compare_benchmark(old: BenchmarkResult, new: BenchmarkResult, found: Comparison) -> None:
    first = True
    for each in old.systems:
        other = new.of(each.system)
        if each.status != DONE or other is None:
            continue
        name = old.name if first else ""
        found.table.rows.append([name, each.system, *_cells(each, other)])
        first = False
        _judge(f"{old.name}, {each.system}", each, other, found)
    found.table.sections.add(len(found.table.rows) - 1)


def _cells(old: SystemResult, new: SystemResult) -> list[str]:
    before, after = old.least("cpu"), new.least("cpu")
    memory = [f"{each.peak_bytes / 2**20:,.0f}" for each in (old, new)]
    return [spelled(before), spelled(after), f"{after / max(before, 1e-9):.2f}", *memory]


def _judge(title: str, old: SystemResult, new: SystemResult, found: Comparison) -> None:
    for name in sorted({*old.counts, *new.counts}):
        before, after = old.counts.get(name, 0), new.counts.get(name, 0)
        if before != after:
            found.errors.append(f"{title}: {name} had {before:,} facts and has {after:,}")
    work, later = (each.figures.get("work") for each in (old, new))
    if work and later and later > SLOWER * work:
        found.warnings.append(f"{title} does {later / work:.2f} times the work of before")
    derived, now = (each.figures.get("derivations") for each in (old, new))
    if derived is not None and now is not None and now > derived:
        found.errors.append(f"{title}: derivations rose from {derived:,} to {now:,}")
    ratio = new.least("cpu") / max(old.least("cpu"), 1e-9)
    if ratio > SLOWER:
        found.warnings.append(f"{title} takes {ratio:.2f} times as long as before")
