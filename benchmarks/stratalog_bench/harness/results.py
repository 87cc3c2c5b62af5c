"""What benchmarks measured: every run, the best of each system, and the file that keeps it."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from stratalog_bench.failures import BenchmarkError
from stratalog_bench.systems.registry import SYSTEMS

FORMAT = 1
DONE, LEFT_OUT, OVER_LIMIT, OUT_OF_MEMORY, FAILED = (
    "done",
    "left out",
    "over the limit",
    "out of memory",
    "failed",
)


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds and bytes of one run; `base_bytes` is what the process held before it loaded."""

    cpu: float
    wall: float
    load_cpu: float
    load_wall: float
    base_bytes: int
    peak_bytes: int


@dataclass(slots=True)
class SystemResult:
    """How one system did in a benchmark; `detail` says why it has no runs, or fewer."""

    system: str
    status: str = DONE
    detail: str = ""
    runs: list[Run] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)

    def least(self, figure: str) -> float:
        """Return the smallest figure of all runs."""
        return float(min(getattr(run, figure) for run in self.runs))

    @property
    def peak_bytes(self) -> int:
        """The most memory that any run held."""
        return max(run.peak_bytes for run in self.runs)

    @property
    def added_bytes(self) -> int:
        """The most memory that any run added to what its process held before."""
        return max(run.peak_bytes - run.base_bytes for run in self.runs)


@dataclass(slots=True)
class BenchmarkResult:
    """All systems in one benchmark; facts include the explicit ones."""

    name: str
    parameters: dict[str, int | str]
    explicit: int
    systems: list[SystemResult] = field(default_factory=list)

    def of(self, system: str) -> SystemResult | None:
        """Return how a system did, if it was run to the end."""
        return next((s for s in self.systems if s.system == system and s.status == DONE), None)

    @property
    def facts(self) -> int:
        """The number of facts, if any system has found it."""
        found = next((s for s in self.systems if s.status == DONE), None)
        return sum(found.counts.values()) if found else 0


@dataclass(slots=True)
class Report:
    """A table of figures about Stratalog alone."""

    name: str
    columns: list[str]
    rows: list[list[Any]]
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Result:
    """One call of `stratalog bench`."""

    scale: str
    runs: int
    limit: float
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""
    benchmarks: list[BenchmarkResult] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    maintenance: list[BenchmarkResult] = field(default_factory=list)  # algorithms for systems
    format: int = FORMAT

    def note_machine(self) -> None:
        """Write down where and when this is."""
        self.machine = machine()
        self.versions = versions()
        self.date = datetime.now(UTC).isoformat(timespec="seconds")


def machine() -> dict[str, Any]:
    """Return what a reader of figures wants to know of this machine."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory_bytes(),
        "load_average": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Return the versions of all that is installed and matters."""
    found = {"python": platform.python_version()}
    for package in ("numpy", "numba", "pyarrow", *(each.package for each in SYSTEMS)):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def write_result(result: Result, path: Path) -> None:
    """Write a result as JSON."""
    path.write_text(json.dumps(asdict(result), indent=1) + "\n")


def read_result(path: Path) -> Result:
    """Return a result that was written before."""
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except ValueError:
        raise _unreadable(path, "it is not JSON") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _unreadable(path, "it is no result of this version of stratalog bench")
    try:
        return _result(found)
    except (KeyError, TypeError) as error:
        raise _unreadable(path, f"it is damaged ({error})") from None


def _result(found: Mapping[str, Any]) -> Result:
    benchmarks = [_benchmark(each) for each in found["benchmarks"]]
    reports = [Report(**each) for each in found["reports"]]
    maintenance = [_benchmark(each) for each in found.get("maintenance", [])]
    lists = {"benchmarks": benchmarks, "reports": reports, "maintenance": maintenance}
    return Result(**{**found, **lists})


def _benchmark(found: Mapping[str, Any]) -> BenchmarkResult:
    systems = [
        SystemResult(**{**each, "runs": [Run(**run) for run in each["runs"]]})
        for each in found["systems"]
    ]
    return BenchmarkResult(**{**found, "systems": systems})


def _unreadable(path: Path, why: str) -> BenchmarkError:
    return BenchmarkError(
        "B105",
        f"a result cannot be read: {why}",
        path=str(path),
        help="write results with stratalog bench --json FILE",
    )
