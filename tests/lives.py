"""Random lives of knowledge bases: facts and rules come and go, some steps fail, stores reopen.

A life has a pool of rules; at any time some of them hold. Each event changes facts, rules or both
by an algorithm of its own, is carried through or stopped, and may be followed by another opening
of the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from stratalog.lang.syntax import Atom, Program, Rule
from tests.signatures import FOREIGN, Draw, Language, rarely
from tests.strategies import program_text
from tests.updates import Random, Update, facts, of_closures, of_layers, of_random_programs, sizes

ALGORITHMS = ("auto", "auto", "counting", "dred", "dred-c", "bf", "bf-c", "rematerialise")
STOPPED = ("error", "interrupt", "spent budget", "failing disk")
ENDS = ("commit",) * 8 + ("dry run",) * 2 + STOPPED
WAYS_IN = ("program", "program", "text", "tables")
OPENINGS = ("stay",) * 4 + ("open", "open", "other writer", "save")


NOTHING = Update(frozenset(), frozenset())


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
    again: frozenset[int] = frozenset()  # rules that are added though they may hold already
    rows_twice: bool = False  # in tables

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
    twice: frozenset[int] = frozenset()  # of the rules at first: those that are written twice
    way_in: str = "program"  # one of WAYS_IN: how rules and facts are given at first
    low_thresholds: bool = False  # few facts are many

    def program(self, rules: Sequence[int]) -> Program:
        """Return the rules of these numbers as a program without facts."""
        return Program(tuple(self.pool[n] for n in rules))


def lives() -> st.SearchStrategy[Life]:
    """Return those of a random, layered or closed program."""
    return st.one_of(of_random_programs(), of_layers(), of_closures()).flatmap(lives_of)


def foreign_lives(language: Language = FOREIGN) -> st.SearchStrategy[Life]:
    """Return those of programs with shapes that strangers' programs have; some of closures."""
    return st.one_of(*[of_random_programs(language)] * 3, of_layers(), of_closures()).flatmap(
        lives_of
    )


@st.composite
def lives_of(draw: Draw, made: Random) -> Life:
    """Let a history's updates become events; what is tried may be done after all."""
    program, updates = made
    pool = tuple(dict.fromkeys(program.rules))
    twice = frozenset(n for n, rule in enumerate(pool) if program.rules.count(rule) > 1)
    first = rules = frozenset(n for n in range(len(pool)) if draw(st.integers(0, 3)))
    facts = program.facts
    if rarely(draw):  # the rules come later, and all facts with them or after
        first = rules = frozenset()
        facts = facts[: draw(st.sampled_from((0, 0, 1)))]
    events: list[Event] = []
    for update in updates:
        event = draw(events_of(update, rules, len(pool)))
        if not rules and not events:
            event = replace(
                event, rules=rules_of(len(pool)) - event.again, ends="commit", then="stay"
            )
        if event.rules != rules:
            event = event if draw(st.booleans()) else replace(event, update=NOTHING)
            tried = replace(event, ends="dry run", then="stay")
            events += [tried] if draw(st.booleans()) else []
        events.append(event)
        if event.ends == "dry run" and draw(st.booleans()):
            events.append(replace(event, ends="commit", then="stay"))
        rules = events[-1].rules if events[-1].is_kept else rules
    return Life(
        pool,
        first,
        facts,
        tuple(events),
        draw(st.booleans()),
        twice & first,
        draw(st.sampled_from(WAYS_IN)),
        draw(st.booleans()),
    )


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
        frozenset(n for n in range(pool) if draw(st.integers(0, 9)) == 9),
        draw(st.booleans()),
    )


def rules_of(pool: int) -> frozenset[int]:
    return frozenset(range(pool))


def show(life: Life) -> str:
    """Return a life as text, for failures."""
    lines = ["pool:", *numbered(life.pool)]
    lines += [f"rules {sorted(life.rules)}, {'in a store' if life.has_store else 'in memory'}"]
    lines += [f"twice {sorted(life.twice)}, given as {life.way_in}"]
    lines += ["thresholds are low"] if life.low_thresholds else []
    lines += [program_text(Program(facts=life.facts))]
    for event in life.events:
        how = f"{event.ends} (at {event.fails_at}), {event.algorithm}, then {event.then}"
        how += f", rules {sorted(event.rules)}{', facts as text' if event.as_text else ''}"
        how += f", again {sorted(event.again)}{', rows twice' if event.rows_twice else ''}"
        update = event.update
        lines += [how, f"  - {facts(update.delete)}", f"  + {facts(update.insert)}"]
    return "\n".join(lines)


def numbered(pool: Sequence[Rule]) -> list[str]:
    return [f"  {n}: {program_text(Program((rule,))).strip()}" for n, rule in enumerate(pool)]
