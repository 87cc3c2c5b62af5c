"""Hundreds of faults on stores of random histories, stopped and resumed.

    python -m tests.faults.long_run --kills 500 --full-disks 400 --interrupts 1000 \
        --corruptions 800 --state faults.json

Work comes in chunks; chunk n is seeded by n: `--kills 1 --chunk n` runs it again, whatever ran
before it (where a fault comes at a time, not at an operation, it may come at another step).
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import tempfile
import time
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given, note, seed

import stratalog as sl
from stratalog.pipeline import commit
from tests import updates
from tests.faults.faults import FAULTS
from tests.faults.worlds import Setting, World, settings_of_worlds

WORLDS = 10  # of a chunk
PER_WORLD = 5  # faults


def run_chunk(kind: str, number: int, worlds: int) -> tuple[int, int]:
    """Bring faults of a kind about, the same ones each time; return how many, and how many came."""
    tried = hits = 0

    @seed(number)
    @hypothesis.settings(
        max_examples=worlds,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(settings_of_worlds())
    def chunk(setting: Setting) -> None:
        nonlocal tried, hits
        note(f"{kind}, chunk {number}, engine {setting.engine}, keep {setting.keep}")
        note(updates.show(setting.history))
        with tempfile.TemporaryDirectory() as folder:
            world = World(setting, Path(folder))
            world.make()
            chosen = random.Random(setting.seed)
            for _ in range(PER_WORLD):
                hits += FAULTS[kind](world, chosen)
                tried += 1

    chunk()
    return tried, hits


def prepare() -> None:
    """Let small relations have deltas, and load all kernels before processes are forked."""
    commit._FEW_ROWS, commit._FEW_DELTAS = 0, 1
    sl.materialise("p(?x, ?z) :- e(?x, ?y), e(?y, ?z) . e(1, 2) .", engine="columnar").counts()


def finished(state: Path) -> dict[str, list[int]]:
    """Return for each kind the chunks done, the faults tried and those that came."""
    done: dict[str, list[int]] = json.loads(state.read_text()) if state.exists() else {}
    return done


def run(kind: str, wanted: int, state: Path, worlds: int) -> None:
    """Go on where the state says that the last run ended, until so many faults have come."""
    while (done := finished(state).get(kind, [0, 0, 0]))[2] < wanted:
        begun = time.monotonic()
        tried, hits = run_chunk(kind, done[0], worlds)
        now = [done[0] + 1, done[1] + tried, done[2] + hits]
        state.write_text(json.dumps(finished(state) | {kind: now}))
        seconds = time.monotonic() - begun
        sys.stdout.write(f"{kind}: {now[2]} of {wanted}, the last {hits} in {seconds:.1f} s\n")
        sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for kind in FAULTS:
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--state", type=Path, default=Path("faults.json"))
    parser.add_argument("--chunk", type=int, help="run this chunk alone")
    parser.add_argument("--worlds", type=int, default=WORLDS, help="stores of a chunk")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # of predicates without facts: random programs have many
    prepare()
    wanted = {kind: getattr(options, kind.replace("-", "_")) for kind in FAULTS}
    for kind, number in wanted.items():
        if options.chunk is None:
            run(kind, number, options.state, options.worlds)
        elif number:
            run_chunk(kind, options.chunk, options.worlds)
    done = finished(options.state)
    came = ", ".join(f"{done.get(k, [0, 0, 0])[2]} {k}" for k in FAULTS)
    sys.stdout.write(f"in all {came}: nothing lost, nothing wrong\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
