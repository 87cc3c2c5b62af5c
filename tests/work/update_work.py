"""The work of each maintenance algorithm on fixed small histories, counted and written down.

    python -m tests.work.update_work --lower   # write down what has become less
    python -m tests.work.update_work --renew   # write down all, also what has become more

Counted are the rule instances that the columnar engine considers, and the rows that it visits,
probes included. Both depend on algorithms and plans, not on the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

from stratalog.kernels.sizes import TINY
from stratalog.knowledge.options import usual_threads
from tests.oracle import histories
from tests.oracle.named_histories import NAMED, history_of, named

USUAL_BLOCKS = pytest.mark.skipif(
    TINY or usual_threads() > 1, reason="rows are counted with blocks of the usual size"
)
KEPT = Path(__file__).with_name("update_work.json")
RENEW = "python -m tests.work.update_work --lower, or --renew if more work is meant"

RING = " ".join(f"e({i}, {(i + 1) % 12}) . e({i}, {(i + 5) % 12}) ." for i in range(12))
CLOSURE = "t(?x, ?y) :- e(?x, ?y) . t(?x, ?z) :- t(?x, ?y), e(?y, ?z) ."
LARGER = {
    "a ring loses and regains an edge": (
        CLOSURE + RING,
        (("e(0, 1) .", ""), ("", "e(0, 1) ."), ("e(3, 4) . e(3, 8) .", "e(3, 3) .")),
    ),
    "negation and groups over a ring": (
        CLOSURE
        + "c(?x, ?n) :- AGGREGATE(e(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) ."
        + "far(?x, ?y) :- t(?x, ?y), c(?x, ?n), ?n > 1, NOT e(?x, ?y) ."
        + RING,
        (("e(0, 1) .", ""), ("e(5, 6) .", "e(0, 1) ."), ("", "e(5, 6) . e(5, 5) .")),
    ),
}
Work = dict[str, dict[str, dict[str, int]]]
"""By history, algorithm and what is counted."""


def history(name: str) -> histories.History:
    if name in LARGER:
        text, steps = LARGER[name]
        return history_of(text, *steps)
    return named(name)


def counted() -> Work:
    """Return the work of all algorithms on all histories, materialising included."""
    return {
        name: {algorithm: _work(name, algorithm) for algorithm in histories.ALGORITHMS}
        for name in (*NAMED, *LARGER)
    }


def _work(name: str, algorithm: str) -> dict[str, int]:
    subject = histories.ColumnarFacts()
    histories.run_on(subject, history(name), algorithm)
    engine = subject.engine
    instances = sum(profile.derivations for profile in engine.profile().values())
    return {"instances": instances, "rows": engine.work()}


def kept() -> Work:
    """Return the work that is written down."""
    found: Work = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return found


def more(new: Work, old: Work) -> list[str]:
    """Return what takes more work than before, or is not written down, as lines."""
    lines = []
    for name, by_algorithm in new.items():
        for algorithm, works in by_algorithm.items():
            before = old.get(name, {}).get(algorithm, {})
            for what, amount in works.items():
                if what not in before or amount > before[what]:
                    lines.append(f"{name}, {algorithm}: {amount} {what}, were {before.get(what)}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lower", action="store_true", help="write down what has become less")
    parser.add_argument("--renew", action="store_true", help="write down everything")
    options = parser.parse_args()
    new = counted()
    grown = more(new, kept())
    sys.stdout.write("".join(f"{line}\n" for line in grown))
    if options.renew or (options.lower and not grown):
        KEPT.write_text(json.dumps(new, indent=1, sort_keys=True) + "\n")
        return 0
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
