"""Relations that are held as closures: read in every way, changed, stored, and spelled out."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

import stratalog as sl
from stratalog.closure import closure as closures
from stratalog.engine.columnar import engine
from stratalog.knowledge.describe import describe
from stratalog.lang.syntax import Predicate
from stratalog.runtime.limits import Limits

TRANSITIVE = "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) . "
SYMMETRIC = TRANSITIVE + "t(?x, ?y) :- t(?y, ?x) . "
TURNED = TRANSITIVE + "t(?x, ?y) :- r(?y, ?x) . r(?x, ?y) :- t(?y, ?x) . "
REFLEXIVE = TRANSITIVE + "t(?x, ?x) :- t(?x, ?y) . t(?y, ?y) :- t(?x, ?y) . "
LEFT = "t(?x, ?z) :- e(?x, ?y), t(?y, ?z) . t(?x, ?y) :- e(?x, ?y) . "
RIGHT = "t(?x, ?z) :- t(?x, ?y), e(?y, ?z) . t(?x, ?y) :- e(?x, ?y) . "
SHAPES = [TRANSITIVE, SYMMETRIC, TURNED, REFLEXIVE, LEFT, RIGHT]

READERS = """
loop(?x) :- t(?x, ?x) .
after(?y) :- t(1, ?y) .
before(?x) :- t(?x, 3) .
far(?x, ?z) :- e(?x, ?y), t(?y, ?z), NOT e(?x, ?z) .
triangle(?x, ?y, ?z) :- t(?x, ?y), t(?y, ?z), t(?z, ?x) .
reach(?x, ?n) :- AGGREGATE(t(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
no(?x, ?y) :- e(?x, ?y), NOT t(?y, ?x) .
"""
NAMES = ("t", "loop", "after", "before", "far", "triangle", "reach", "no")
PAIRS = sorted(product(range(6), range(6)))


def facts(kb: sl.KnowledgeBase, name: str) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in kb.facts(name).to_pylist()}


def everything(kb: sl.KnowledgeBase) -> dict[str, set[tuple[Any, ...]]]:
    return {name: facts(kb, name) for name in NAMES}


def is_held(kb: sl.KnowledgeBase) -> bool:
    return bool(kb._host.engine.has_views)


def both(rules: str, given: dict[str, Any]) -> tuple[sl.KnowledgeBase, sl.KnowledgeBase]:
    """Return the same with relations held as closures, and with rules like all others."""
    made = [sl.materialise(rules, given, engine="columnar", modules=m) for m in ("auto", "off")]
    assert is_held(made[0])
    assert not is_held(made[1])
    return made[0], made[1]


@pytest.mark.parametrize("shape", SHAPES)
def test_rules_and_questions_read_closures_in_every_way(shape: str):
    chance = random.Random(shape)
    held, plain = both(
        shape + READERS, {"e": chance.sample(PAIRS, 9), "t": chance.sample(PAIRS, 4)}
    )
    for _ in range(6):
        assert everything(held) == everything(plain)
        assert len(held["t"]) == len(plain["t"])
        assert [pair in held["t"] for pair in PAIRS] == [pair in plain["t"] for pair in PAIRS]
        for only in ("explicit", "derived"):
            assert held.sizes(only=only) == plain.sizes(only=only)
            ours, theirs = (rows(kb.facts("t", only=only)) for kb in (held, plain))
            assert ours == theirs
        asked = "t(?x, ?y), e(?y, ?z), t(?z, 2)"
        assert held.query(asked).num_rows == plain.query(asked).num_rows
        insert = {"e": chance.sample(PAIRS, 2), "t": chance.sample(PAIRS, 1)}
        delete = {"e": chance.sample(PAIRS, 12), "t": chance.sample(PAIRS, 12)}
        changes = [kb.update(insert=insert, delete=delete) for kb in (held, plain)]
        assert changes[0].sizes() == changes[1].sizes()


@pytest.mark.parametrize("shape", [TRANSITIVE, SYMMETRIC, TURNED])
def test_changes_are_listed_when_somebody_reads_them_even_much_later(shape: str):
    chance = random.Random(shape)
    given = chance.sample(PAIRS, 10)
    held, plain = both(shape, {"t": given})
    done = []
    for number in range(6):
        turn = {"delete": {"t": given[number : number + 2]}, "insert": {"t": [PAIRS[number * 5]]}}
        done.append([kb.update(**turn) for kb in (held, plain)])
    for ours, theirs in done:
        for side in ("added", "removed"):
            mine, other = getattr(ours, side), getattr(theirs, side)
            assert mine.sizes == other.sizes
            assert {n: rows(mine[n]) for n in mine} == {n: rows(other[n]) for n in other}


def rows(table: pa.Table) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in table.to_pylist()}


@pytest.mark.parametrize(
    ("shape", "column"), [(TRANSITIVE, 0), (LEFT, 0), (RIGHT, 1), (SYMMETRIC, None)]
)
def test_a_closure_is_kept_in_one_direction_until_it_is_read_in_the_other(shape, column):
    line = [(x, x + 1) for x in range(20)]
    kb = sl.materialise(shape, {"e": line, "t": line}, engine="columnar")
    closure = kb._host.engine.relation(Predicate("t", 2)).view.closure
    once = closure.nbytes
    assert (1, 20) in kb["t"]
    assert (1, 30) not in kb["t"]
    assert len(facts(kb, "t")) == len(kb["t"])
    assert kb.query("t(?x, ?y), NOT t(?y, ?x)").num_rows == (0 if column is None else 210)
    questions = ["t(1, ?y)", "t(?x, 19)"]
    if column is not None:
        assert kb.query(questions.pop(column)).num_rows == 19
        assert closure.nbytes == once
    for question in questions:
        assert kb.query(question).num_rows == (21 if column is None else 19)
    assert (closure.nbytes > once) == (column is not None)


def test_a_change_of_a_large_component_lists_nothing():
    chain = [(n, n + 1) for n in range(100)]
    kb = sl.materialise(SYMMETRIC, {"t": chain}, engine="columnar")
    assert len(kb["t"]) == 101**2
    before = kb._host.engine.work()
    changes = kb.update(delete={"t": chain[50:51]})
    assert changes.removed.sizes == {"t": 2 * 51 * 50}
    assert kb._host.engine.work() - before < 100
    assert kb._host.engine.relations[kb._predicate("t")].rows == 100


@pytest.mark.parametrize("shape", SHAPES)
def test_a_store_has_all_facts_and_is_opened_as_closures(shape: str, tmp_path):
    chance = random.Random(shape)
    given = {"e": chance.sample(PAIRS, 9), "t": chance.sample(PAIRS, 4)}
    held, plain = both(shape + READERS, given)
    held.save(tmp_path / "kb")
    for _ in range(3):
        insert, delete = {"t": chance.sample(PAIRS, 2)}, {"e": chance.sample(PAIRS, 12)}
        opened = sl.open(tmp_path / "kb")
        assert is_held(opened)
        assert everything(opened) == everything(plain)
        opened.update(insert=insert, delete=delete)
        plain.update(insert=insert, delete=delete)
    spelled = sl.open(tmp_path / "kb", engine="reference")
    assert everything(spelled) == everything(plain)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_too_large_is_spelled_out(shape: str, tmp_path, monkeypatch):
    chance = random.Random(shape)
    held, plain = both(
        shape + READERS, {"e": chance.sample(PAIRS, 4), "t": chance.sample(PAIRS, 2)}
    )
    held.save(tmp_path / "kb")
    monkeypatch.setattr(closures.Closure, "_apply", too_large)
    more = {"e": chance.sample(PAIRS, 9), "t": chance.sample(PAIRS, 3)}
    held.update(insert=more)
    plain.update(insert=more)
    assert not is_held(held)
    assert everything(held) == everything(plain)
    opened = sl.open(tmp_path / "kb")
    assert not is_held(opened)
    opened.update(insert=more)
    assert everything(opened) == everything(plain)
    fresh = sl.materialise(shape + READERS, more, engine="columnar")
    assert not is_held(fresh)
    monkeypatch.undo()
    assert everything(fresh) == everything(both(shape + READERS, more)[1])


@pytest.mark.parametrize("shape", SHAPES)
def test_a_closure_that_fails_half_way_is_the_one_of_before(shape: str, monkeypatch):
    chance = random.Random(shape)
    given = {"e": chance.sample(PAIRS, 9), "t": chance.sample(PAIRS, 4)}
    held, plain = both(shape + READERS, given)
    fill = closures.Closure._apply

    def fails_once(self: Any, change: Any) -> None:
        fill(self, change)
        monkeypatch.undo()
        raise MemoryError

    monkeypatch.setattr(closures.Closure, "_apply", fails_once)
    turn = {"insert": {"t": chance.sample(PAIRS, 3)}, "delete": {"e": given["e"][:4]}}
    with pytest.raises(sl.EngineError, match="E101"):
        held.update(**turn)
    assert is_held(held)
    assert everything(held) == everything(plain)
    assert held.update(**turn).sizes() == plain.update(**turn).sizes()
    assert everything(held) == everything(plain)


EDITS = {"remove_rules": TRANSITIVE, "add_rules": "t(?x, ?y) :- t(?y, ?x), e(?x, ?y) ."}


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_a_closure_that_was_spelled_out_in_vain_is_held_again(shape: str, monkeypatch):
    """Wherever an edit of its rules is stopped, nothing has changed."""
    chance = random.Random(shape)
    given = {"e": chance.sample(PAIRS, 9), "t": chance.sample(PAIRS, 4)}
    held, plain = both(shape + READERS, given)
    check, size = Limits.check_time, held._host.engine.allocated
    for last in range(1, 200):
        left = iter(range(last))

        def stops(self: Limits, rule: str, left: Any = left) -> None:
            check(self, rule)
            if next(left, None) is None:
                raise sl.EngineError("E102", "time is up")

        monkeypatch.setattr(Limits, "check_time", stops)
        try:
            held.update(**EDITS)
        except sl.EngineError:
            monkeypatch.undo()
        else:
            break
        assert is_held(held)
        assert everything(held) == everything(plain)
        turn = {"e": chance.sample(PAIRS, 2), "t": chance.sample(PAIRS, 2)}
        for kb in (held, plain):
            kb.update(insert=turn)
            kb.update(delete=turn)
        assert everything(held) == everything(plain)
    monkeypatch.undo()
    assert last > 3
    plain.update(**EDITS)
    assert everything(held) == everything(plain)
    assert held._host.engine.allocated < 4 * size


@pytest.fixture
def room(monkeypatch):
    """Let closures be as large as usual, in tests with tiny sizes too."""
    monkeypatch.setattr(engine, "BUDGET_BYTES", 1 << 30)


@pytest.mark.usefixtures("room")
def test_an_edit_that_nobody_keeps_gives_the_room_of_spelled_out_pairs_back():
    chain = [(n, n + 1) for n in range(1000)]
    kb = sl.materialise(TRANSITIVE, {"t": chain}, engine="columnar")
    size = kb._host.engine.allocated
    assert kb.what_if(remove_rules=TRANSITIVE).sizes() == {"t": (0, 499_500)}
    assert is_held(kb)
    assert kb._host.engine.allocated <= size
    assert len(kb["t"]) == 500_500
    assert kb.update(delete={"t": [(500, 501)]}).sizes() == {"t": (0, 250_500)}


@pytest.mark.usefixtures("room")
def test_a_closure_that_there_is_no_room_to_spell_out_stays():
    chain = [(n, n + 1) for n in range(1000)]
    kb = sl.materialise(TRANSITIVE, {"t": chain}, engine="columnar", memory=4_000_000)
    with pytest.raises(sl.EngineError, match="E101") as caught:
        kb.update(remove_rules=TRANSITIVE)
    assert "spelling out the closure t" in str(caught.value)
    assert len(kb["t"]) == 500_500
    assert kb.update(insert={"t": [(1000, 1001)]}).sizes() == {"t": (1001, 0)}


def too_large(*_: object) -> None:
    raise closures.TooLargeError


def test_rules_that_come_and_go_make_a_closure_something_else():
    kb = sl.materialise(TRANSITIVE, {"t": [(1, 2), (2, 3)], "e": [(3, 4)]}, engine="columnar")
    kb.update(add_rules="t(?x, ?z) :- t(?x, ?y), e(?y, ?z) .")
    assert facts(kb, "t") == {(1, 2), (2, 3), (1, 3), (1, 4), (2, 4)}
    kb.update(remove_rules=TRANSITIVE)
    assert facts(kb, "t") == {(1, 2), (2, 3), (2, 4)}


def test_the_plan_says_what_rules_make_of_their_relations():
    said = {
        rule["module"]
        for rules in SHAPES
        for stratum in describe(rules)["strata"]
        for rule in stratum["rules"]
        if rule["module"]
    }
    assert said == {
        "t/2 is transitive",
        "t/2 is symmetric and transitive",
        "r/2 is transitive, and t/2, turned, is the same",
        "t/2 is transitive and reflexive",
        "t/2 follows steps of e/2 on the left",
        "t/2 follows steps of e/2 on the right",
    }
