"""Every kind of scheme that an engine has; the suite runs each of them."""

from __future__ import annotations

from stratalog.facts.scheme_spec import ClosureSide, ClosureSpec
from stratalog.lang.syntax import Predicate
from tests.schemes.model import Kind

E, R, S, T = (Predicate(name, 2) for name in "erst")

PLAIN = ClosureSpec((ClosureSide(T),), is_plain=True)
SEVERAL = (ClosureSide(R), ClosureSide(S, is_turned=True), ClosureSide(T))


def of_steps(*, is_turned: bool, are_turned: bool) -> Kind:
    """Return a relation that follows steps of rows."""
    steps = ClosureSide(E, is_turned=are_turned)
    spec = ClosureSpec((ClosureSide(T, is_turned=is_turned),), steps=steps)
    sides = ("_turned" if is_turned else "") + ("_by_turned" if are_turned else "_by")
    return Kind(f"follows{sides}_steps", (E,), (spec,))


def of_closure(name: str, *sides: ClosureSide, **said: bool) -> Kind:
    return Kind(name, (), (ClosureSpec(sides, **said),))


KINDS = (
    Kind("rows", (R, T)),
    Kind("transitive", (), (PLAIN,)),
    of_closure("symmetric", ClosureSide(T), is_symmetric=True, is_plain=True),
    of_closure("sources", ClosureSide(T), has_sources=True),
    of_closure("targets", ClosureSide(T), has_targets=True),
    of_closure("reflexive", ClosureSide(T), has_sources=True, has_targets=True),
    of_closure("one_turned", ClosureSide(R), ClosureSide(T, is_turned=True)),
    of_closure("several", *SEVERAL),
    of_closure("several_and_sources", *SEVERAL, has_sources=True),
    of_closure("several_and_reflexive", *SEVERAL, has_sources=True, has_targets=True),
    of_closure("several_symmetric", ClosureSide(R), ClosureSide(T), is_symmetric=True),
    of_steps(is_turned=False, are_turned=False),
    of_steps(is_turned=False, are_turned=True),
    of_steps(is_turned=True, are_turned=False),
    of_steps(is_turned=True, are_turned=True),
    Kind(
        "follows_steps_of_a_closure",
        (),
        (PLAIN, ClosureSpec((ClosureSide(R, is_turned=True),), steps=ClosureSide(T))),
    ),
    Kind(
        "follows_steps_of_components",
        (),
        (
            ClosureSpec((ClosureSide(T),), is_symmetric=True, is_plain=True),
            ClosureSpec((ClosureSide(R),), steps=ClosureSide(T, is_turned=True)),
        ),
    ),
)

TRANSITIVE = "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) . "
COPIES = "r(?x, ?y) :- t(?x, ?y) . s(?y, ?x) :- r(?x, ?y) . t(?y, ?x) :- s(?x, ?y) . "
SOURCES = "t(?x, ?x) :- t(?x, ?y) . "
TARGETS = "t(?y, ?y) :- t(?x, ?y) . "
SYMMETRIC = "t(?x, ?y) :- t(?y, ?x) . "

PROGRAMS = {
    "transitive": TRANSITIVE,
    "symmetric": TRANSITIVE + SYMMETRIC,
    "sources": TRANSITIVE + SOURCES,
    "targets": TRANSITIVE + TARGETS,
    "reflexive": TRANSITIVE + SOURCES + TARGETS,
    "one_turned": TRANSITIVE + "t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?y, ?x) .",
    "several": TRANSITIVE + COPIES,
    "several_and_sources": TRANSITIVE + COPIES + SOURCES,
    "several_and_reflexive": TRANSITIVE + COPIES + SOURCES + TARGETS,
    "several_symmetric": TRANSITIVE + "t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?x, ?y) .",
    "follows_by_steps": "t(?x, ?z) :- e(?x, ?y), t(?y, ?z) .",
    "follows_by_turned_steps": "t(?x, ?z) :- e(?y, ?x), t(?y, ?z) .",
    "follows_turned_by_steps": "t(?x, ?z) :- t(?x, ?y), e(?z, ?y) .",
    "follows_turned_by_turned_steps": "t(?x, ?z) :- t(?x, ?y), e(?y, ?z) .",
    "follows_steps_of_a_closure": TRANSITIVE + "r(?x, ?z) :- r(?x, ?y), t(?z, ?y) .",
    "follows_steps_of_components": TRANSITIVE + SYMMETRIC + "r(?x, ?z) :- t(?y, ?x), r(?y, ?z) .",
}
"""Recursive rules that say what each kind is."""
