"""The choice of algorithms keeps facts and counts exact, whoever is stopped by a spent budget."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.reason import auto
from tests import updates
from tests.oracle import histories
from tests.oracle.test_maintenance import SHARE, judged

BUDGETS = st.sampled_from((0, 5, 20, 50, 100, 200, 1000, 10_000))


def chooser(work: int) -> histories.Wrap:
    """Return what lets `auto` choose, each algorithm with a first budget of so much work."""
    cost = work / auto.WORK_PER_SECOND / auto.FIRST_TRIAL_SHARE
    choice = auto.Auto(lambda _: cost)

    def maintain(engine: Any, stratum: Any, changes: Any) -> Any:
        return choice.maintain(engine, stratum, changes)[0]

    return lambda _: maintain


@given(made=updates.histories(), work=BUDGETS)
@settings(max_examples=max(1, settings().max_examples // SHARE))
def test_a_stopped_algorithm_leaves_nothing_behind(engine: str, made: updates.Random, work: int):
    history = judged(made)
    with patch.object(auto, "MIN_TRIAL_SECONDS", 0.0):
        histories.run(history, histories.MIXED, engine, chooser(work))
