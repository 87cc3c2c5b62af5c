"""Random lives of knowledge bases whose relations have schemes, compared with Python sets.

What `histories.py` asks of an engine is asked here as users ask it: facts, questions, rules that
follow, `what_if`, changes that are read after the next update, stores that are opened again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import stratalog as sl
from stratalog.facts.labels import E, I
from stratalog.lang.syntax import Predicate
from tests.schemes.histories import Draw, Toggle, places, toggles
from tests.schemes.kinds import PROGRAMS, T
from tests.schemes.model import ALL_PAIRS, CONSTANTS, Facts, Kind, Model, Pair

READERS = """
loop(?x) :- t(?x, ?x) .
after(?y) :- t(1, ?y) .
before(?x) :- t(?x, 3) .
further(?x, ?z) :- given_t(?x, ?y), t(?y, ?z), NOT given_t(?x, ?z) .
triangle(?x, ?y, ?z) :- t(?x, ?y), t(?y, ?z), t(?z, ?x) .
reach(?x, ?n) :- AGGREGATE(t(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
one_way(?x, ?y) :- t(?x, ?y), NOT t(?y, ?x) .
"""
QUESTIONS = {
    "t(?x, ?y)": lambda x, y: (x, y),
    "t(1, ?y)": lambda x, y: (y,) if x == 1 else None,
    "t(?x, 3)": lambda x, y: (x,) if y == 3 else None,
    "t(?x, ?x)": lambda x, y: (x,) if x == y else None,
    "t(2, 4), t(?x, ?x)": None,
    "given_t(?x, ?y), NOT t(?y, ?x)": None,
}
ALGORITHMS = ("auto", "dred", "dred-c", "bf", "bf-c", "rematerialise")
Rows = set[tuple[Any, ...]]
Tables = dict[str, Rows]


def given(predicate: Predicate) -> str:
    """Return the name of the facts from which a rule outside the scheme derives a relation's."""
    return f"given_{predicate.name}"


def program(kind: Kind) -> str:
    names = [predicate.name for predicate in kind.predicates]
    outside = "".join(f"{name}(?x, ?y) :- given_{name}(?x, ?y) . " for name in names)
    return PROGRAMS[kind.name] + outside + READERS


def rows(table: pa.Table) -> Rows:
    return {tuple(row.values()) for row in table.to_pylist()}


class Life:
    """A knowledge base, its stores, and what was taken from it."""

    def __init__(self, kind: Kind, facts: Sequence[Toggle], folder: Path) -> None:
        self.kind = kind
        self.model = Model.of(kind, {})
        self.change(self.model, facts)
        self.model.clean()
        self.kb = sl.materialise(program(kind), self.given_by(self.model), engine="columnar")
        assert self.kb._host.engine.has_views
        self.folder = folder / "kb"
        self.kept: list[tuple[sl.Changes, Tables, Tables]] = []
        self.begun: list[tuple[Iterator[tuple[str, pa.Table]], Tables]] = []
        self.look()

    def given_by(self, model: Model) -> dict[str, list[Pair]]:
        explicit = {p.name: sorted(found) for p, found in model.explicit.items()}
        return explicit | {given(p): sorted(found) for p, found in model.derived.items()}

    def relation(self, place: int) -> Predicate:
        return self.kind.predicates[place % len(self.kind.predicates)]

    def change(self, model: Model, changes: Sequence[Toggle]) -> None:
        for place, pair, is_explicit in changes:
            model.change(self.relation(place), pair, is_explicit=is_explicit)

    # -- updates

    def update(self, draw: Draw) -> None:
        algorithm = draw(st.sampled_from(ALGORITHMS))
        self.follow(draw(toggles), self.kb.update, maintenance=algorithm)
        self.look()

    def what_if(self, draw: Draw) -> None:
        before = self.model
        self.follow(draw(toggles), self.kb.what_if)
        self.model = before
        self.look()

    def edit_what_the_scheme_says(self, _: Draw) -> None:
        """Make rows of a relation, and think better of it."""
        self.kb.what_if(remove_rules=PROGRAMS[self.kind.name])
        assert self.kb._host.engine.has_views
        self.look()

    def follow(self, changes: Sequence[Toggle], do: Any, **how: Any) -> None:
        after = self.model.copy()
        self.change(after, changes)
        after.clean()
        old, new = (
            {(name, row) for name, found in self.given_by(model).items() for row in found}
            for model in (self.model, after)
        )
        done = do(insert=by_name(new - old), delete=by_name(old - new), **how)
        before, self.model = everything(self.model), after
        now = everything(after)
        added = {name: now[name] - before[name] for name in now}
        removed = {name: before[name] - now[name] for name in now}
        assert done.added.sizes == sizes(added)
        assert done.removed.sizes == sizes(removed)
        self.kept.append((done, added, removed))

    def read_changes(self, _: Draw) -> None:
        """Read what updates changed, whatever came afterwards."""
        for done, added, removed in self.kept:
            for found, expected in ((done.added, added), (done.removed, removed)):
                assert {name: rows(found[name]) for name in found} == some(expected)
        self.kept.clear()

    # -- stores

    def save(self, _: Draw) -> None:
        self.kb.save(self.folder)

    def save_and_open(self, draw: Draw) -> None:
        self.save(draw)
        self.kb = sl.open(self.folder, engine="columnar")
        assert self.kb._host.engine.has_views
        self.look()

    # -- reads

    def look(self) -> None:
        """Compare all facts."""
        expected = everything(self.model)
        assert {name: rows(self.kb.facts(name)) for name in expected} == expected
        assert {n: size for n, (_, size) in self.kb.sizes().items()} == {
            name: len(found) for name, found in expected.items()
        }

    def look_closely(self, draw: Draw) -> None:
        predicate = self.relation(draw(places))
        name, expected = predicate.name, self.model.facts(predicate, I)
        assert sorted(self.kb[name]) == sorted(expected)
        assert len(self.kb[name]) == len(expected)
        assert [p in self.kb[name] for p in ALL_PAIRS] == [p in expected for p in ALL_PAIRS]
        for only, described in (("explicit", E & I), ("derived", I - E)):
            chosen = self.model.facts(predicate, described)
            assert rows(self.kb.facts(name, only=only)) == chosen
            assert self.kb.count_of(name, only=only) == len(chosen)

    def look_at_some(self, draw: Draw) -> None:
        predicate, limit = self.relation(draw(places)), draw(st.integers(0, 8))
        expected = self.model.facts(predicate, I)
        found = rows(self.kb.facts(predicate.name, limit=limit))
        assert found <= expected
        assert len(found) == min(limit, len(expected))

    def ask(self, draw: Draw) -> None:
        question = draw(st.sampled_from(sorted(QUESTIONS)))
        assert rows(self.kb.query(question)) == answers(question, self.model)

    def begin_to_read(self, _: Draw) -> None:
        """Take one relation of this version, and leave the others for later."""
        tables, expected = self.kb.tables(), everything(self.model)
        name, table = next(tables)
        assert rows(table) == expected.pop(name)
        self.begun.append((tables, expected))

    def read_on(self, _: Draw) -> None:
        for tables, expected in self.begun:
            assert {name: rows(table) for name, table in tables} == expected
        self.begun.clear()


EVENTS = (Life.update, Life.update, Life.update, Life.what_if, Life.save_and_open, Life.save)
LOOKS = (
    Life.look_closely,
    Life.look_at_some,
    Life.ask,
    Life.begin_to_read,
    Life.read_on,
    Life.read_changes,
    Life.edit_what_the_scheme_says,
)


def answers(question: str, model: Model) -> Rows:
    t, of_rules = model.marks[I][T], model.derived[T]
    chosen = QUESTIONS[question]
    if chosen is not None:
        return {found for pair in t if (found := chosen(*pair)) is not None}
    if "NOT" in question:
        return {(x, y) for x, y in of_rules if (y, x) not in t}
    return {(x,) for x in CONSTANTS if (2, 4) in t and (x, x) in t}


def everything(model: Model) -> Tables:
    """Return all facts by the name of their predicate."""
    t, of_rules = model.marks[I][T], model.derived[T]
    own: Facts = model.marks[I]
    found: Tables = {p.name: set(facts) for p, facts in own.items()}
    found |= {given(p): set(facts) for p, facts in model.derived.items()}
    found["loop"] = {(x,) for x, y in t if x == y}
    found["after"] = {(y,) for x, y in t if x == 1}
    found["before"] = {(x,) for x, y in t if y == 3}
    found["further"] = {(x, z) for x, y in of_rules for u, z in t if y == u} - of_rules
    found["triangle"] = {(x, y, z) for x, y in t for u, z in t if u == y and (z, x) in t}
    found["reach"] = {(x, sum(u == x for u, _ in t)) for x, _ in t}
    found["one_way"] = {(x, y) for x, y in t if (y, x) not in t}
    return found


def by_name(facts: set[tuple[str, Pair]]) -> dict[str, list[Pair]]:
    names = {name for name, _ in facts}
    return {name: sorted(pair for each, pair in facts if each == name) for name in names}


def some(tables: Tables) -> Tables:
    return {name: found for name, found in tables.items() if found}


def sizes(tables: Tables) -> dict[str, int]:
    return {name: len(found) for name, found in some(tables).items()}
