"""Rule modules keep the facts and both counts of the judge, whatever else derives their relations.

The layers of `updates` say of two relations that they are transitive, of one that it is symmetric,
and have other rules that derive and consume them in the same recursion. The rules of
`updates.MIXED` do so in every program: many facts there only support each other.
"""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.reason import auto
from stratalog.reason.modules.closure_relation import or_by
from tests import updates
from tests.oracle import histories
from tests.oracle.named_histories import history_of
from tests.oracle.test_auto import BUDGETS, chooser
from tests.oracle.test_maintenance import follow, judged

ALGORITHMS = ["dred-c", "bf-c", "dred", "rematerialise", histories.MIXED]
PROVING = ["bf-c", "bf", histories.MIXED]


@pytest.mark.parametrize("modules", ["auto", "paper"])
@given(made=updates.of_modules())
def test_modules_among_other_rules_are_maintained(engine: str, modules: str, made: updates.Random):
    follow(made, engine, ALGORITHMS, modules=modules)


@given(made=updates.of_random_programs())
@settings(max_examples=max(1, settings().max_examples // 4))
def test_random_programs_with_modules_are_maintained(engine: str, made: updates.Random):
    follow(made, engine, ALGORITHMS, modules="auto")


@pytest.mark.parametrize("modules", ["auto", "paper"])
@given(made=updates.of_mixed_modules())
def test_facts_of_modules_are_proved_among_other_rules(
    engine: str, modules: str, made: updates.Random
):
    follow(made, engine, PROVING, modules=modules)


@given(made=updates.of_mixed_modules(), work=BUDGETS, modules=st.sampled_from(("auto", "paper")))
@settings(max_examples=max(1, settings().max_examples // 4))
def test_an_algorithm_with_modules_that_is_stopped_leaves_nothing_behind(
    engine: str, made: updates.Random, work: int, modules: str
):
    history = judged(made, modules=modules)
    choose = chooser(work)
    with patch.object(auto, "MIN_TRIAL_SECONDS", 0.0):
        histories.run(history, histories.MIXED, engine, lambda m: or_by(choose(m)))


@given(made=updates.of_closures(), room=st.sampled_from((0, 64, 256)))
@settings(max_examples=max(1, settings().max_examples // 4))
def test_closures_that_are_or_become_too_large_are_spelled_out(
    engine: str, made: updates.Random, room: int
):
    with patch.object(ColumnarEngine, "closure_budget", lambda _: room):
        follow(made, engine, ALGORITHMS, modules="auto")


TRANSITIVE = (
    "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) . t(?x, ?y) :- s(?x), k(?x, ?y) . s(?x) :- t(?x, ?x) ."
)
NAMED: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    # t(0, 9) follows from t(0, 1) and t(1, 9) when the other rule comes to it: it is not external.
    # After the first step t(0, 1) rests on t(0, 5), and that on t(0, 9), which must be by then.
    "a fact that has proved another is external in the next update": (
        TRANSITIVE
        + "t(?x, ?y) :- t(?x, ?z), m(?z, ?y) ."
        + "s(0) . k(0, 9) . t(0, 1) . t(1, 9) . t(9, 5) . t(1, 5) . m(5, 1) .",
        (("t(0, 1) .", ""), ("t(9, 5) .", "")),
    ),
    "what is given no longer and still derived is external no longer": (
        TRANSITIVE + "t(0, 1) . t(1, 2) . t(0, 2) . t(2, 3) .",
        (("t(0, 2) .", ""), ("t(0, 1) .", ""), ("", "t(0, 2) .")),
    ),
    "a component falls apart, and one of its parts stays together": (
        TRANSITIVE
        + "t(?x, ?y) :- t(?y, ?x) ."
        + "t(0, 1) . t(1, 2) . t(2, 3) . t(3, 1) . s(4) . k(4, 3) . t(4, 4) .",
        (("t(0, 1) .", ""), ("t(2, 3) .", ""), ("t(4, 4) .", ""), ("k(4, 3) .", "t(0, 4) .")),
    ),
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("modules", ["auto", "paper"])
@pytest.mark.parametrize("name", NAMED)
def test_a_small_history_of_a_module_is_followed(
    engine: str, name: str, modules: str, algorithm: str
):
    text, steps = NAMED[name]
    histories.run(history_of(text, *steps, modules=modules), algorithm, engine)
