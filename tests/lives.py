"""Random lives of knowledge bases: facts and rules come and go, some steps fail, stores reopen.

A life has a pool of rules; at any time some of them hold. Each event changes facts, rules or both
by an algorithm of its own, is carried through or stopped, and may be followed by another opening
of the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from stratalog.lang.syntax import Atom, Program, Rule
from tests.strategies import Draw, program_text
from tests.updates import Random, Update, facts, of_closures, of_layers, of_random_programs, sizes

ALGORITHMS = ("auto", "auto", "counting", "dred", "dred-c", "bf", "bf-c", "rematerialise")
STOPPED = ("error", "interrupt", "spent budget", "failing disk")
ENDS = ("commit",) * 8 + ("dry run",) * 2 + STOPPED
OPENINGS = ("stay",) * 4 + ("open", "open", "other writer", "save")


@dataclass(frozen=True)
class Event:
    """What is asked of a knowledge base at a time, and what happens meanwhile and afterwards."""

    update: Update
    rules: frozenset[int]  # those of the pool that hold afterwards
    algorithm: str = "auto"
    ends: str = "commit"  # or "dry run", or one of STOPPED
    fails_at: int = 0  # the call in which it is stopped
    then: str = "stay"  # one of OPENINGS
    as_text: bool = False  # facts are given with rules, as a program

    @property
    def is_kept(self) -> bool:
        """Whether the event changes anything, unless it is stopped too late to be stopped."""
        return self.ends == "commit"


@dataclass(frozen=True)
class Life:
    """A pool of rules, those that hold at first, the facts at first, and what happens."""

    pool: tuple[Rule, ...]
    rules: frozenset[int]
    facts: tuple[Atom, ...]
    events: tuple[Event, ...]
    has_store: bool = True  # from the beginning; otherwise once it is saved

    def program(self, rules: Sequence[int]) -> Program:
        """Return the rules of these numbers as a program without facts."""
        return Program(tuple(self.pool[n] for n in rules))


@st.composite
def lives(draw: Draw) -> Life:
    """Those of a random, layered or closed program, whose updates become events."""
    made: Random = draw(st.one_of(of_random_programs(), of_layers(), of_closures()))
    program, updates = made
    pool = tuple(dict.fromkeys(program.rules))
    first = rules = frozenset(n for n in range(len(pool)) if draw(st.integers(0, 3)))
    events = []
    for update in updates:
        event = draw(events_of(update, rules, len(pool)))
        events.append(event)
        rules = event.rules if event.is_kept else rules
    return Life(pool, first, program.facts, tuple(events), draw(st.booleans()))


@st.composite
def events_of(draw: Draw, update: Update, rules: frozenset[int], pool: int) -> Event:
    """One of three events edits rules: few of them, or as many as there are."""
    edited = rules
    if pool and draw(st.integers(0, 2)) == 0:
        turned = (draw(st.integers(0, pool - 1)) for _ in range(draw(sizes(1, 3))))
        edited = rules ^ frozenset(turned) if draw(st.integers(0, 5)) else rules_of(pool) - rules
    return Event(
        update,
        edited,
        draw(st.sampled_from(ALGORITHMS)),
        draw(st.sampled_from(ENDS)),
        draw(sizes(1, 40)),
        draw(st.sampled_from(OPENINGS)),
        draw(st.booleans()),
    )


def rules_of(pool: int) -> frozenset[int]:
    return frozenset(range(pool))


def show(life: Life) -> str:
    """Return a life as text, for failures."""
    lines = ["pool:", *numbered(life.pool)]
    lines += [f"rules {sorted(life.rules)}, {'in a store' if life.has_store else 'in memory'}"]
    lines += [program_text(Program(facts=life.facts))]
    for event in life.events:
        how = f"{event.ends} (at {event.fails_at}), {event.algorithm}, then {event.then}"
        how += f", rules {sorted(event.rules)}{', facts as text' if event.as_text else ''}"
        update = event.update
        lines += [how, f"  - {facts(update.delete)}", f"  + {facts(update.insert)}"]
    return "\n".join(lines)


def numbered(pool: Sequence[Rule]) -> list[str]:
    return [f"  {n}: {program_text(Program((rule,))).strip()}" for n, rule in enumerate(pool)]
