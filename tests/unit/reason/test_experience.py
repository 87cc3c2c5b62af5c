"""What `auto` remembers of earlier updates, and what it lets an algorithm spend."""

from __future__ import annotations

import pytest

from stratalog.lang.syntax import Predicate
from stratalog.reason import auto
from stratalog.reason.cost_history import HALF_LIFE, STOPPED_FACTOR, CostHistories, CostHistory

P = frozenset({Predicate("p", 1)})
COST = 1.0  # seconds of rematerialising


def budget(past: CostHistory, name: str, spent: float = 0.0) -> float:
    return auto._budget(past, name, COST, spent)  # the rule under test


def test_an_algorithm_that_was_never_tried_promises_everything():
    assert CostHistory(100).promised("bf-c") == 0.0
    assert budget(CostHistory(100), "bf-c") == pytest.approx(auto.FIRST_TRIAL_SHARE)


def test_a_second_trial_may_take_what_the_first_has_left():
    assert budget(CostHistory(100), "bf-c", spent=0.2) == pytest.approx(
        auto.VAIN_TRIALS_SHARE - 0.2
    )


def test_an_algorithm_that_was_stopped_takes_longer_than_that():
    past = CostHistory(100)
    past.learn("bf-c", 0.15, None)
    assert past.promised("bf-c") == pytest.approx(STOPPED_FACTOR * 0.15)
    assert past.finished() == []
    assert budget(past, "bf-c") == pytest.approx(auto.VAIN_TRIALS_SHARE)


def test_a_large_budget_waits_until_enough_is_saved():
    past = CostHistory(100)
    past.learn("dred-c", auto.VAIN_TRIALS_SHARE, None)
    assert budget(past, "dred-c") < past.promised("dred-c")
    for _ in range(2):
        past.save(COST, COST, auto.VAIN_TRIALS_SHARE, auto.MAX_TRIAL_SHARE)
    assert budget(past, "dred-c") == pytest.approx(auto.MAX_TRIAL_SHARE)


def test_no_trial_takes_longer_than_the_best_algorithm_that_is_known():
    past = CostHistory(100)
    past.learn("dred-c", 0.05, 0.05)
    assert past.finished() == ["dred-c"]
    assert budget(past, "bf-c") == pytest.approx(0.05)


def test_a_known_algorithm_runs_whatever_was_spent():
    past = CostHistory(100)
    past.learn("dred-c", 0.4, 0.4)
    assert budget(past, "dred-c", spent=5.0) >= STOPPED_FACTOR * 0.4


def test_a_debt_forbids_trials_until_it_is_paid():
    past = CostHistory(100)
    past.save(COST, 1.8 * COST, auto.VAIN_TRIALS_SHARE, auto.MAX_TRIAL_SHARE)
    assert past.saved == pytest.approx(-0.5)
    assert budget(past, "bf-c") == auto.MIN_TRIAL_SECONDS
    for _ in range(2):
        past.save(COST, COST, auto.VAIN_TRIALS_SHARE, auto.MAX_TRIAL_SHARE)
    assert budget(past, "bf-c") > auto.MIN_TRIAL_SECONDS


def test_nobody_saves_more_than_one_large_trial():
    past = CostHistory(100)
    for _ in range(10):
        past.save(COST, 0.01, auto.VAIN_TRIALS_SHARE, auto.MAX_TRIAL_SHARE)
    assert past.saved == pytest.approx(auto.MAX_TRIAL_SHARE - auto.VAIN_TRIALS_SHARE)


def test_a_stop_is_forgotten_by_and_by_and_a_measured_time_is_not():
    past = CostHistory(100)
    past.learn("bf-c", 1.0, None)
    past.learn("dred-c", 1.0, 1.0)
    past.updates += HALF_LIFE
    assert past.promised("bf-c") == pytest.approx(STOPPED_FACTOR / 2)
    assert past.promised("dred-c") == 1.0


def test_times_that_differ_are_averaged():
    past = CostHistory(100)
    past.learn("dred-c", 1.0, 1.0)
    past.learn("dred-c", 3.0, 3.0)
    assert past.promised("dred-c") == 2.0


def test_updates_of_another_size_begin_with_hope():
    pasts = CostHistories()
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
    pasts = CostHistories()
    pasts.of(P, 10, deletes=True).learn("dred-c", 0.2, 0.2)
    assert pasts.of(P, 10, deletes=False).promised("dred-c") == 0.0
