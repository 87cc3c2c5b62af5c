"""Many random lives as one: renamed apart, so that an engine with dear rounds lives all of them.

Each event is one of every life. How it ends and what follows is the same for all: by the number of
the event and of the chunk, so that each algorithm and each way to go on occurs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings

from stratalog.errors import ProgramError
from tests import lives, naive
from tests.lives import NOTHING, Event, Life
from tests.oracle import histories
from tests.oracle.living import Judge, live
from tests.oracle.together import renamed
from tests.signatures import Language
from tests.updates import Update

APART = Language(triples=False, foreign=True)  # triples are one relation, whatever their names
ENDS = ("commit", "commit", "dry run", "commit", "error", "commit", "interrupt")
OPENINGS = ("stay", "open", "stay", "other writer", "stay")
ALGORITHMS = ("auto", "dred-c", "bf-c", "dred", "bf", "rematerialise")
MOST_EVENTS = 6


def random_lives(number: int, size: int) -> list[Life]:
    """Return so many random lives, the same ones for the same number."""
    found: list[Life] = []

    @seed(number)
    @settings(
        max_examples=2 * size,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(lives.foreign_lives(APART))
    def collect(life: Life) -> None:
        if _can_be_judged(life):
            found.append(life)

    collect()
    return found[-size:]  # the first ones are the simplest


def _can_be_judged(life: Life) -> bool:
    try:
        Judge(life).see_all()
    except naive.TooLargeError:
        return False
    except ProgramError as error:
        if error.code != "S303":
            raise
        return False
    return True


def together(made: Sequence[Life], number: int) -> Life:
    """Return one life that is all of them."""
    parts: list[Life] = [_renamed(life, f"k{i}_") for i, life in enumerate(made)]
    begins = [sum(len(part.pool) for part in parts[:i]) for i in range(len(parts))]
    count = min(MOST_EVENTS, max(len(part.events) for part in parts))
    return Life(
        tuple(rule for part in parts for rule in part.pool),
        _moved([part.rules for part in parts], begins),
        tuple(fact for part in parts for fact in part.facts),
        tuple(_event(parts, begins, place, number) for place in range(count)),
        has_store=bool(number % 2),
        twice=_moved([part.twice for part in parts], begins),
        way_in=lives.WAYS_IN[number % len(lives.WAYS_IN)],
    )


def _renamed(life: Life, tag: str) -> Life:
    """Return a life with other predicates; words that say how it is lived stay."""
    renamed_life: Life = renamed(life, tag)
    return renamed_life


def _event(parts: Sequence[Life], begins: Sequence[int], place: int, number: int) -> Event:
    events = [part.events[min(place, len(part.events) - 1)] for part in parts]
    over = [place >= len(part.events) for part in parts]
    updates = [NOTHING if o else e.update for e, o in zip(events, over, strict=True)]
    step = place + number
    return Event(
        Update(
            frozenset().union(*(update.insert for update in updates)),
            frozenset().union(*(update.delete for update in updates)),
        ),
        _moved([event.rules for event in events], begins),
        ALGORITHMS[step % len(ALGORITHMS)],
        ENDS[step % len(ENDS)],
        1 + 7 * step % 40,
        OPENINGS[step % len(OPENINGS)],
        bool(step % 3 == 0),
        _moved([event.again for event in events], begins),
        bool(step % 2),
    )


def _moved(some: Sequence[frozenset[int]], begins: Sequence[int]) -> frozenset[int]:
    """Return numbers of rules of several pools as those of one."""
    return frozenset(
        begin + n for numbers, begin in zip(some, begins, strict=True) for n in numbers
    )


def run(number: int, size: int, engine: str = "spark") -> None:
    """Live as many random lives as one; that they are large together is no matter."""
    life = together(random_lives(number, size), number)
    most: Any = (histories, "MOST_INSTANCES", histories.MOST_INSTANCES * size)
    with patch.object(*most), tempfile.TemporaryDirectory() as folder:
        live(life, engine, Path(folder))
