"""What a soaked knowledge base holds: facts of which every version tells whether it is whole.

Each writer has its own constants, and a number of steps that it has taken; all that it wrote
follows from that number. So an answer that no version gave is known by itself: some of its facts
are those of one step, some of another. Constants come again after a while, so that memory has no
reason to grow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

RULES = """
a(?x) :- fed(1, ?x, ?y) .
b(?x) :- fed(2, ?x, ?y) .
edge(?x, ?y) :- fed(3, ?x, ?y) .
step(?x, ?y) :- fed(4, ?x, ?y) .
c(?x) :- a(?x), b(?x) .
d(?x) :- a(?x), NOT b(?x) .
n(?k) :- AGGREGATE(a(?x) BIND COUNT(?x) AS ?k) .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .
"""
FED = "fed"  # the predicate that a stream feeds
KINDS = {"a": 1, "b": 2, "edge": 3, "step": 4}

WINDOW = 256  # facts of a, and of b, by each writer; half of them are in both
LINKS = 16
AROUND = 1_024  # positions, after which the first comes again
STEPS = 4_096  # numbers of steps, likewise
OWN = 10_000  # constants of a writer

Rows = set[tuple[int, ...]]
Facts = dict[str, Rows]


def explicit(writer: int, step: int) -> Facts:
    """Return what a writer has written after so many steps."""
    first = OWN * writer
    places = [first + (step + i) % AROUND for i in range(2 * WINDOW)]
    return {
        "a": {(x,) for x in places[:WINDOW]},
        "b": {(x,) for x in places[WINDOW // 2 : WINDOW // 2 + WINDOW]},
        "edge": set(pairwise(places[: LINKS + 1])),
        "step": {(writer, step % STEPS)},
    }


def derived(writer: int, step: int) -> Facts:
    """Return all facts of a writer's constants, those that follow included."""
    facts = explicit(writer, step)
    chain = [OWN * writer + (step + i) % AROUND for i in range(LINKS + 1)]
    facts["c"] = facts["a"] & facts["b"]
    facts["d"] = facts["a"] - facts["b"]
    facts["path"] = {(x, y) for i, x in enumerate(chain) for y in chain[i + 1 :]}
    return facts


def change(writer: int, step: int) -> tuple[Facts, Facts]:
    """Return what a writer inserts and deletes to take one more step."""
    before, after = explicit(writer, step), explicit(writer, step + 1)
    inserted = {name: after[name] - before[name] for name in after}
    return inserted, {name: before[name] - after[name] for name in before}


def tables(facts: Mapping[str, Iterable[tuple[int, ...]]]) -> dict[str, list[tuple[int, ...]]]:
    """Return facts as updates take them."""
    return {name: sorted(rows) for name, rows in facts.items()}


def fed(facts: Facts) -> Rows:
    """Return facts as rows of the predicate that a stream feeds."""
    return {(KINDS[name], row[0], row[-1]) for name, rows in facts.items() for row in rows}


def begun(writers: Iterable[int], streaming: Iterable[int] = ()) -> dict[str, Any]:
    """Return the facts of all writers before their first step."""
    facts: Facts = {}
    for writer in writers:
        for name, rows in explicit(writer, 0).items():
            facts.setdefault(name, set()).update(rows)
    for writer in streaming:
        facts.setdefault(FED, set()).update(fed(explicit(writer, 0)))
    return {FED: [], **tables(facts)}  # a stream may bring the first facts


class TornError(Exception):
    """An answer that no version gives."""


def steps_of(found: Mapping[str, Rows], writers: int, version: int | None = None) -> list[int]:
    """Return how many steps each writer had taken when this was read; raise TornError.

    `found` has `step` and any of the other predicates. Each version of a store is one step of one
    writer: where the version is known, it tells how many steps there were together.
    """
    steps = dict(sorted(found["step"]))
    if list(steps) != list(range(writers)) or len(found["step"]) != writers:
        raise TornError(f"steps are {sorted(found['step'])}")
    for name, rows in found.items():
        if name == "n":
            wanted: Rows = {(writers * WINDOW,)}
        else:
            wanted = set().union(*(derived(writer, step)[name] for writer, step in steps.items()))
        if rows != wanted:
            more, fewer = sorted(rows - wanted)[:3], sorted(wanted - rows)[:3]
            raise TornError(f"{name} at steps {steps}: {more} too many, {fewer} missing")
    if version is not None and (sum(steps.values()) - (version - 1)) % STEPS:
        raise TornError(f"version {version} has steps {steps}")
    return list(steps.values())


def check_alone(name: str, rows: Rows, writers: int) -> None:
    """Raise TornError unless a relation is that of some step of each writer."""
    parts: dict[int, Rows] = {}
    for row in rows:
        parts.setdefault(row[0] // OWN, set()).add(row)
    if sorted(parts) != list(range(writers)):
        raise TornError(f"{name} has constants of writers {sorted(parts)}")
    for writer, part in parts.items():
        if part != derived(writer, _step_of(name, part))[name]:
            raise TornError(f"{name} of writer {writer} is that of no step: {len(part)} facts")


def _step_of(name: str, rows: Rows) -> int:
    """Return the step at which the first of the rows is where it is."""
    places = {row[0] % OWN for row in rows}
    first = next((place for place in sorted(places) if (place - 1) % AROUND not in places), 0)
    return (first - (WINDOW // 2 if name in ("b", "c") else 0)) % AROUND
