"""Thousands of random programs, histories and lives against the judge, stopped and resumed.

    python -m tests.oracle.long_run --programs 2000 --state long_run.json
    python -m tests.oracle.long_run --histories 1000 --lives 1000 --state long_run.json

Work comes in chunks; chunk n is seeded by n: a failing chunk fails again with `--chunk n`, whatever
ran before it. Each history is followed by every maintenance algorithm and by a mixture of them, of
`--modules` by those that know rule modules, of `--mixed` by those that prove facts of modules. A
life is that of a knowledge base: updates, questions, aborts, edits of rules, reopened stores. With
`--engines spark` the programs or histories of a chunk are renamed apart and run as one.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

from stratalog.lang.syntax import Program
from tests import lives, strategies, updates
from tests.lives import Life
from tests.oracle import test_lives, test_modules
from tests.oracle.test_maintenance import ALGORITHMS, follow
from tests.oracle.test_materialise import agree

CHUNK = 50


def judge_program(engine: str, program: Program) -> None:
    note(strategies.program_text(program))
    agree(program, engine)


def judge_history(engine: str, made: updates.Random) -> None:
    follow(made, engine, ALGORITHMS)


def judge_modules(engine: str, made: updates.Random) -> None:
    for modules in ("auto", "paper"):
        follow(made, engine, test_modules.ALGORITHMS, modules=modules)


def judge_mixed(engine: str, made: updates.Random) -> None:
    for modules in ("auto", "paper"):
        follow(made, engine, test_modules.PROVING, modules=modules)


def judge_life(engine: str, life: Life) -> None:
    test_lives.follow(life, engine)


Judge = Callable[[str, Any], None]
KINDS: dict[str, tuple[st.SearchStrategy[Any], Judge]] = {
    "programs": (strategies.programs(), judge_program),
    "histories": (updates.histories(), judge_history),
    "modules": (updates.of_modules(), judge_modules),
    "mixed": (updates.of_mixed_modules(), judge_mixed),
    "lives": (lives.lives(), judge_life),
    "foreign": (lives.foreign_lives(), judge_life),
}


def run_chunk(kind: str, number: int, engine: str) -> None:
    """Judge fifty of a kind, the same ones each time."""
    made, judge = KINDS[kind]

    @seed(number)
    @settings(
        max_examples=CHUNK,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(made)
    def chunk(example: Any) -> None:
        note(f"{kind}, engine {engine}, chunk {number}")
        judge(engine, example)

    chunk()


def run_together(kind: str, number: int) -> None:
    """Judge fifty of a kind on Spark as one program, a history by each algorithm in turn."""
    from stratalog import spark
    from tests.oracle import together

    session = spark.session()
    if kind == "programs":
        together.run(session, number, CHUNK, most=0)
        return
    for algorithm in together.NAMES if kind == "histories" else together.MODULAR:
        started = time.monotonic()
        together.run(session, number, CHUNK, algorithm=algorithm, kind=kind)
        seconds = time.monotonic() - started
        by = algorithm or "a mixture"
        sys.stdout.write(f"spark: {CHUNK} {kind} by {by} in {seconds:.1f} s\n")
        sys.stdout.flush()


def finished(state: Path) -> dict[str, int]:
    """Return the number of chunks done of each kind with each engine."""
    done: dict[str, int] = json.loads(state.read_text()) if state.exists() else {}
    return done


def run(kind: str, wanted: int, engine: str, state: Path) -> None:
    """Go on where the state says that the last run ended."""
    key = engine if kind == "programs" else f"{engine} {kind}"
    for number in range(finished(state).get(key, 0), -(-wanted // CHUNK)):
        started = time.monotonic()
        if engine == "spark":
            run_together(kind, number)
        else:
            run_chunk(kind, number, engine)
        state.write_text(json.dumps(finished(state) | {key: number + 1}))
        done, seconds = (number + 1) * CHUNK, time.monotonic() - started
        sys.stdout.write(f"{engine}: {done} {kind}, the last {CHUNK} in {seconds:.1f} s\n")
        sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--state", type=Path, default=Path("long_run.json"))
    parser.add_argument("--engines", default="reference,columnar")
    parser.add_argument("--chunk", type=int, help="run this chunk alone")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # of predicates without facts: random programs have many
    wanted = {kind: getattr(options, kind) for kind in KINDS}
    if not any(wanted.values()):
        wanted["programs"] = 2000
    for engine in options.engines.split(","):
        for kind, number in wanted.items():
            if options.chunk is None:
                run(kind, number, engine, options.state)
            elif number:
                run_chunk(kind, options.chunk, engine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
