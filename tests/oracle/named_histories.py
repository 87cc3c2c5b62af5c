"""Small histories that each show one thing, by the name of what is true of them."""

from __future__ import annotations

from functools import cache

from stratalog.lang.parse import parse_program
from tests.naive import Fact, explicit_facts
from tests.oracle.histories import History
from tests.updates import Update

CYCLE = "a(?y) :- a(?x), e(?x, ?y) . a(?x) :- s(?x) ."
RING = "e(0, 1) . e(1, 2) . e(2, 1) . e(2, 0) ."

NAMED: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "facts that only support each other go": (
        CYCLE + RING + "s(0) .",
        (("s(0) .", ""),),
    ),
    "a cycle with a second entry stays": (
        CYCLE + RING + "s(0) . s(2) .",
        (("s(0) .", ""), ("s(2) .", "s(1) ."), ("e(1, 2) .", "")),
    ),
    # Backwards from d(1) lies c(1), which is proved by checking b(1) before anyone asks for it.
    "a fact proved before it is checked stays": (
        """b(?x) :- p(?x) . b(?x) :- q(?x) . b(?x) :- d(?x), r(?x) .
           c(?x) :- b(?x) .
           d(?x) :- c(?x) . d(?x) :- d(?x), p(?x) . d(?x) :- p(?x) .
           p(1) . q(1) . r(1) .""",
        (("p(1) .", ""), ("q(1) .", "p(1) .")),
    ),
    "an explicit fact that is derived too keeps either support": (
        "a(?x) :- e(?x) . b(?x) :- a(?x), NOT g(?x) . e(1) . a(1) . a(2) .",
        (("a(1) .", ""), ("e(1) .", "a(1) . e(2) ."), ("a(2) .", "g(2) ."), ("a(1) .", "")),
    ),
    "a group changes, appears and vanishes": (
        """c(?x, ?n) :- AGGREGATE(e(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
           big(?x) :- c(?x, ?n), ?n > 1 .
           far(?x) :- big(?x) . far(?y) :- far(?x), e(?x, ?y), NOT c(?y, 1) .
           e(0, 1) . e(0, 2) . e(1, 3) . e(2, 3) . e(2, 4) .""",
        (
            ("e(0, 2) .", ""),
            ("", "e(0, 2) . e(1, 1) ."),
            ("e(2, 3) . e(2, 4) .", "e(3, 3) ."),
        ),
    ),
    # The instance a(0), e(0, 1), NOT g(1) is gone for two reasons, and lost once.
    "an instance that fails twice is taken back once": (
        "a(?x) :- s(?x) . a(?y) :- a(?x), e(?x, ?y), NOT g(?y) . s(0) . e(0, 1) . e(1, 2) .",
        (("s(0) .", "g(1) ."), ("g(1) .", "s(0) .")),
    ),
    # t(1) goes and comes back in its stratum: the instance a(0), e(0, 1), t(1) held throughout.
    "a fact that comes back in an earlier stratum stands": (
        """t(?x) :- p(?x) . t(?x) :- q(?x) .
           a(?x) :- s(?x) . a(?y) :- a(?x), e(?x, ?y), t(?y) .
           p(1) . s(0) . e(0, 1) .""",
        (("p(1) . s(0) .", "q(1) ."), ("q(1) .", "p(1) . s(0) .")),
    ),
    "a self-join meets an instance once": (
        """t(?x, ?z) :- t(?x, ?y), t(?y, ?z) . t(?x, ?y) :- e(?x, ?y) .
           e(0, 0) . e(0, 1) . e(1, 0) .""",
        (("e(0, 0) .", ""), ("e(0, 1) . e(1, 0) .", "e(0, 0) ."), ("e(0, 0) .", "e(1, 1) .")),
    ),
    "a product is counted": (
        "h() :- p(?x), q(?y) . g() :- p(?x), NOT h() . p(0) . p(1) . q(0) . q(1) .",
        (("p(0) .", ""), ("q(0) . q(1) .", ""), ("p(1) .", "q(1) .")),
    ),
}


@cache
def named(name: str) -> History:
    """Return a history; the steps' texts are what is deleted and what is inserted."""
    text, steps = NAMED[name]
    return history_of(text, *steps)


def history_of(text: str, *steps: tuple[str, str], modules: str = "off") -> History:
    """Return the history of a program whose steps delete and insert the facts of two texts."""
    made = [Update(insert=facts_of(insert), delete=facts_of(delete)) for delete, insert in steps]
    return History(parse_program(text), made, modules=modules)


def facts_of(text: str) -> frozenset[Fact]:
    return frozenset(explicit_facts(parse_program(text)))
