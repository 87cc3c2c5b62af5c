"""Thousands of random programs against the judge, in chunks that can be stopped and resumed.

    python -m tests.oracle.long_run --programs 2000 --state long_run.json

Chunk n is seeded by n: a failing chunk fails again with `--chunk n`, whatever ran before it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, note, seed, settings

from stratalog.lang.syntax import Program
from tests import strategies
from tests.oracle.test_materialise import agree

CHUNK = 50


def run_chunk(number: int, engine: str) -> None:
    """Judge fifty programs, the same ones each time."""

    @seed(number)
    @settings(
        max_examples=CHUNK,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategies.programs())
    def chunk(program: Program) -> None:
        note(f"engine {engine}, chunk {number}\n{strategies.program_text(program)}")
        agree(program, engine)

    chunk()


def finished(state: Path) -> dict[str, int]:
    """Return the number of chunks done with each engine."""
    done: dict[str, int] = json.loads(state.read_text()) if state.exists() else {}
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--state", type=Path, default=Path("long_run.json"))
    parser.add_argument("--engines", default="reference,columnar")
    parser.add_argument("--chunk", type=int, help="run this chunk alone")
    options = parser.parse_args()
    for engine in options.engines.split(","):
        if options.chunk is not None:
            run_chunk(options.chunk, engine)
            continue
        for number in range(finished(options.state).get(engine, 0), -(-options.programs // CHUNK)):
            started = time.monotonic()
            run_chunk(number, engine)
            options.state.write_text(json.dumps(finished(options.state) | {engine: number + 1}))
            done = (number + 1) * CHUNK
            seconds = time.monotonic() - started
            sys.stdout.write(f"{engine}: {done} programs, the last {CHUNK} in {seconds:.1f} s\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
