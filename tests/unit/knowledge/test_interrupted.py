"""A second Ctrl-C comes through at once; what was being changed is closed, the store is whole."""

from __future__ import annotations

import os
import signal

import pytest

import stratalog as sl
from stratalog.knowledge.adapters import ColumnarHost
from stratalog.runtime import interrupts

RULES = "p(?x) :- q(?x) ."


def _press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_is_held_back_and_the_second_is_not() -> None:
    reached = []

    def press_twice() -> None:
        with interrupts.held():
            _press()
            reached.append("after the first")
            _press()
            reached.append("after the second")

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    assert reached == ["after the first"]
    assert interrupts.was_forced()
    with interrupts.held():
        assert not interrupts.was_forced()


def test_a_second_is_remembered_where_the_first_had_been_let_through() -> None:
    def press_twice() -> None:
        with interrupts.held(), interrupts.delivered(), interrupts.held():
            _press()
            _press()

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    assert interrupts.was_forced()


def test_a_second_is_forgotten_also_where_nothing_hears_it() -> None:
    def press_twice() -> None:
        with interrupts.held():
            _press()
            _press()

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.held():
            assert not interrupts.was_forced()
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_alone_is_not_taken_for_a_second() -> None:
    def press_and_look() -> None:
        with interrupts.held():
            _press()
            interrupts.check()

    with pytest.raises(KeyboardInterrupt):
        press_and_look()
    assert not interrupts.was_forced()


@pytest.fixture
def kb(tmp_path):
    return sl.materialise(RULES, {"q": [("a",)]}, store=tmp_path / "kb", progress=False)


def _interrupted(monkeypatch: pytest.MonkeyPatch, name: str, times: int) -> None:
    """Press Ctrl-C while the engine is in the middle of a change."""
    found = getattr(ColumnarHost, name)

    def stopped(self, *args):
        result = found(self, *args)
        for _ in range(times):
            _press()
        return result

    monkeypatch.setattr(ColumnarHost, name, stopped)


def test_an_update_stopped_twice_closes_the_knowledge_base_and_not_the_store(
    kb, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _interrupted(patch, "store", 2)
        with pytest.raises(KeyboardInterrupt):
            kb.update(insert={"q": [("b",)]})
    for ask in (
        lambda: list(kb["p"]),
        lambda: kb.query("p(?x)"),
        lambda: kb.update(insert={"q": [("c",)]}),
        lambda: kb.facts("p"),
        lambda: kb.save(tmp_path / "other"),
    ):
        with pytest.raises(sl.EngineError, match=r"E107.*second Ctrl-C") as caught:
            ask()
        assert "open its store again" in str(caught.value)
    again = sl.open(tmp_path / "kb")
    assert list(again["p"]) == [("a",)]
    again.update(insert={"q": [("c",)]})
    assert sorted(again["p"]) == [("a",), ("c",)]


def test_an_update_stopped_once_is_undone(kb, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        _interrupted(patch, "store", 1)
        with pytest.raises(KeyboardInterrupt):
            kb.update(insert={"q": [("b",)]})
    assert list(kb["p"]) == [("a",)]
    kb.update(insert={"q": [("c",)]})
    assert sorted(kb["p"]) == [("a",), ("c",)]


@pytest.mark.parametrize("way", ["update", "what_if", "query"])
def test_limits_and_ctrl_c_are_looked_at_while_a_pattern_is_tried(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = '"(a*)*\\\\1c"'
    text = "a" * 3_000 + "b"
    rule = RULES if way == "query" else f"p(?x) :- q(?x), FILTER(REGEX(?x, {pattern})) ."
    kb = sl.materialise(rule, {"q": [(text if way == "query" else "x",)]}, progress=False)
    looked = []
    check = type(kb._host.limits).check_time

    def watched(self, rule: str) -> None:
        looked.append(rule)
        if len(looked) == 50:
            _press()
        check(self, rule)

    monkeypatch.setattr(type(kb._host.limits), "check_time", watched)
    question = f"q(?x), FILTER(REGEX(?x, {pattern}))"
    with pytest.raises(KeyboardInterrupt):
        kb.query(question) if way == "query" else getattr(kb, way)(insert={"q": [(text,)]})
    assert len(looked) == 50
    assert len(kb["p"]) == (1 if way == "query" else 0)
