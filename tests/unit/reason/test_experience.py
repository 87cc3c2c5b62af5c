"""What `auto` remembers of earlier updates, and what it lets an algorithm spend."""

from __future__ import annotations

import pytest

from stratalog.lang.syntax import Predicate
from stratalog.reason import auto
from stratalog.reason.cost_history import HALF_LIFE, SURELY, Past, Pasts

P = frozenset({Predicate("p", 1)})
COST = 1.0  # seconds of rematerialising


def budget(past: Past, name: str, spent: float = 0.0) -> float:
    return auto._budget(past, name, COST, spent)  # the rule under test


def test_an_algorithm_that_was_never_tried_promises_everything():
    assert Past(100).promised("bf-c") == 0.0
    assert budget(Past(100), "bf-c") == pytest.approx(auto.BUDGET)


def test_a_second_trial_may_take_what_the_first_has_left():
    assert budget(Past(100), "bf-c", spent=0.2) == pytest.approx(auto.ALLOWED - 0.2)


def test_an_algorithm_that_was_stopped_takes_longer_than_that():
    past = Past(100)
    past.learn("bf-c", 0.15, None)
    assert past.promised("bf-c") == pytest.approx(SURELY * 0.15)
    assert past.finished() == []
    assert budget(past, "bf-c") == pytest.approx(auto.ALLOWED)


def test_a_large_budget_waits_until_enough_is_saved():
    past = Past(100)
    past.learn("dred-c", auto.ALLOWED, None)
    assert budget(past, "dred-c") < past.promised("dred-c")
    for _ in range(2):
        past.save(COST, COST, auto.ALLOWED, auto.MOST)
    assert budget(past, "dred-c") == pytest.approx(auto.MOST)


def test_no_trial_takes_longer_than_the_best_algorithm_that_is_known():
    past = Past(100)
    past.learn("dred-c", 0.05, 0.05)
    assert past.finished() == ["dred-c"]
    assert budget(past, "bf-c") == pytest.approx(0.05)


def test_a_known_algorithm_runs_whatever_was_spent():
    past = Past(100)
    past.learn("dred-c", 0.4, 0.4)
    assert budget(past, "dred-c", spent=5.0) >= SURELY * 0.4


def test_a_debt_forbids_trials_until_it_is_paid():
    past = Past(100)
    past.save(COST, 1.8 * COST, auto.ALLOWED, auto.MOST)
    assert past.saved == pytest.approx(-0.5)
    assert budget(past, "bf-c") == auto.LEAST
    for _ in range(2):
        past.save(COST, COST, auto.ALLOWED, auto.MOST)
    assert budget(past, "bf-c") > auto.LEAST


def test_nobody_saves_more_than_one_large_trial():
    past = Past(100)
    for _ in range(10):
        past.save(COST, 0.01, auto.ALLOWED, auto.MOST)
    assert past.saved == pytest.approx(auto.MOST - auto.ALLOWED)


def test_a_stop_is_forgotten_by_and_by_and_a_measured_time_is_not():
    past = Past(100)
    past.learn("bf-c", 1.0, None)
    past.learn("dred-c", 1.0, 1.0)
    past.updates += HALF_LIFE
    assert past.promised("bf-c") == pytest.approx(SURELY / 2)
    assert past.promised("dred-c") == 1.0


def test_times_that_differ_are_averaged():
    past = Past(100)
    past.learn("dred-c", 1.0, 1.0)
    past.learn("dred-c", 3.0, 3.0)
    assert past.promised("dred-c") == 2.0


def test_updates_of_another_size_begin_with_hope():
    pasts = Pasts()
    small = pasts.of(P, 1000, deletes=True)
    small.learn("dred-c", 0.2, 0.2)
    small.correct(estimate=1.0, seconds=0.5)
    assert pasts.of(P, 1001, deletes=True) is small
    large, tiny = pasts.of(P, 100_000, deletes=True), pasts.of(P, 1, deletes=True)
    assert large.promised("dred-c") == pytest.approx(0.2, rel=0.02)
    assert tiny.promised("dred-c") == pytest.approx(0.2 / 1000, rel=0.02)
    assert large.correction == tiny.correction == 0.5
    assert large.finished() == []


def test_deletions_and_insertions_have_pasts_of_their_own():
    pasts = Pasts()
    pasts.of(P, 10, deletes=True).learn("dred-c", 0.2, 0.2)
    assert pasts.of(P, 10, deletes=False).promised("dred-c") == 0.0
