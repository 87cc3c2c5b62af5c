"""Thousands of random programs, histories and lives against the judge, stopped and resumed.

    python -m tests.oracle.long_run --programs 2000 --state long_run.json
    python -m tests.oracle.long_run --histories 1000 --lives 1000 --state long_run.json

Work comes in chunks; chunk n is seeded by n: a failing chunk fails again with `--chunk n`, whatever
ran before it. Each history is followed by every maintenance algorithm and by a mixture of them, of
`--modules` by those that know rule modules, of `--mixed` by those that prove facts of modules. A
life is that of a knowledge base: updates, questions, aborts, edits of rules, reopened stores; a
foreign one has the shapes of strangers' programs. With `--engines spark` the programs, histories or
lives of a chunk are renamed apart and run as one. Several processes may share a run:

    python -m tests.oracle.long_run --foreign 30000 --part 1/2 --state long_run_1.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

from stratalog.errors import StratalogWarning
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
    from tests.oracle import together, together_lives

    session = spark.session()
    if kind in ("lives", "foreign"):
        together_lives.run(number, CHUNK)
        return
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


def run(kind: str, wanted: int, engine: str, state: Path, part: tuple[int, int] = (1, 1)) -> None:
    """Go on where the state says that the last run ended, with the chunks of one part of several.

    Parts are for processes that run at once, each with a state of its own.
    """
    first, parts = part
    key = engine if kind == "programs" else f"{engine} {kind}"
    key += f" {first}/{parts}" if parts > 1 else ""
    mine = range(first - 1, -(-wanted // CHUNK), parts)
    for place in range(finished(state).get(key, 0), len(mine)):
        started = time.monotonic()
        judge_chunk(kind, mine[place], engine)
        state.write_text(json.dumps(finished(state) | {key: place + 1}))
        done, seconds = (place + 1) * CHUNK, time.monotonic() - started
        sys.stdout.write(
            f"{engine}: {done} {kind}, chunk {mine[place]}, the last {CHUNK} in {seconds:.1f} s\n"
        )
        sys.stdout.flush()


def judge_chunk(kind: str, number: int, engine: str) -> None:
    if engine == "spark":
        run_together(kind, number)
    else:
        run_chunk(kind, number, engine)


def a_part(text: str) -> tuple[int, int]:
    """Return which part of how many `1/2` is."""
    first, _, parts = text.partition("/")
    if not 1 <= int(first) <= int(parts):
        raise ValueError(text)
    return int(first), int(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--state", type=Path, default=Path("long_run.json"))
    parser.add_argument("--engines", default="reference,columnar")
    parser.add_argument("--part", type=a_part, default=(1, 1), help="1/2: every second chunk")
    parser.add_argument("--chunk", type=int, help="run this chunk alone")
    options = parser.parse_args()
    warnings.simplefilter("always", StratalogWarning)  # told as in real use, but not printed:
    warnings.showwarning = lambda *_, **__: None  # random programs have predicates without facts
    wanted = {kind: getattr(options, kind) for kind in KINDS}
    if not any(wanted.values()):
        wanted["programs"] = 2000
    for engine in options.engines.split(","):
        for kind, number in wanted.items():
            if options.chunk is None:
                run(kind, number, engine, options.state, options.part)
            elif number:
                judge_chunk(kind, options.chunk, engine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
