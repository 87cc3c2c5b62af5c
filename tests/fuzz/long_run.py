"""Thousands of mutated stores, stopped and resumed.

    python -m tests.fuzz.long_run --stores 10000 --state fuzz.json

Each store is made from its number alone: a failing one fails again with `--stores-from N`. Chunks
run in a process of their own with bounded memory, so that a crash, a hang or an allocation without
bounds ends that process, and its last words name the store.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

CHUNK = 250
MEMORY = 3 << 29  # bytes that the cases may take besides what the process has already
PATIENCE = 120  # seconds for one case; most take milliseconds
ROOT = Path(__file__).parents[2]


def run_stores(first: int, count: int) -> None:
    """Mutate so many stores, in this process; print what became of them."""
    from tests.fuzz import store_cases

    with tempfile.TemporaryDirectory(prefix="stratalog-fuzz-", dir=_quick_folder()) as name:
        folder = Path(name)
        for part in ("originals", "cases"):
            (folder / part).mkdir()
        originals = store_cases.Originals(folder / "originals")
        work(first, count, lambda number: store_cases.run(number, originals, folder / "cases"))


KINDS = {"stores": run_stores}
"""What is mutated, and what runs the cases from one number on."""


def work(first: int, count: int, case: Callable[[int], str]) -> None:
    """Run cases with bounded memory and patience; print the last words of each, counted."""
    _bound_memory()
    logging.disable(logging.WARNING)
    became: Counter[str] = Counter()
    for number in range(first, first + count):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        sys.stderr.write(f"\rcase {number}")
        became[case(number).rsplit(": ", 1)[-1]] += 1
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(json.dumps(dict(became.most_common())) + "\n")


def in_process(kind: str, first: int, count: int) -> dict[str, int]:
    """Run cases in a process of their own; return how many were refused with which code."""
    words = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.long_run"]
    words += ["--worker", kind, str(first), str(count)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(
            f"status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    told: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return told


def _bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _quick_folder() -> str | None:
    """Return a folder in memory, where there is one: stores flush what they write."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # a folder in it is ours


def run(kind: str, wanted: int, state: Path) -> None:
    """Go on where the state says that the last run ended."""
    done: dict[str, int] = json.loads(state.read_text()) if state.exists() else {}
    for first in range(done.get(kind, 0), wanted, CHUNK):
        started = time.monotonic()
        became = in_process(kind, first, min(CHUNK, wanted - first))
        done[kind] = first + CHUNK
        state.write_text(json.dumps(done))
        seconds = time.monotonic() - started
        sys.stdout.write(f"{kind}: {min(done[kind], wanted)} in {seconds:.1f} s more: {became}\n")
        sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0)
        parser.add_argument(f"--{kind}-from", type=int, help="run this case alone")
    parser.add_argument("--state", type=Path, default=Path("fuzz.json"))
    parser.add_argument("--worker", nargs=3, metavar=("KIND", "FIRST", "COUNT"))
    options = parser.parse_args()
    if options.worker:
        kind, first, count = options.worker
        KINDS[kind](int(first), int(count))
        return 0
    for kind, case in KINDS.items():
        if (alone := getattr(options, f"{kind}_from")) is not None:
            case(alone, 1)
        elif wanted := getattr(options, kind):
            run(kind, wanted, options.state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
