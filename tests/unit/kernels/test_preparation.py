"""What preparing kernels takes is left out of costs."""

from __future__ import annotations

import time

import numpy as np

import stratalog as sl
from stratalog.kernels.preparation import PREPARATION, Preparation, work_time

STEPS = {"edge": [(n, n + 1) for n in range(60)]}
RULES = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."


def _work(seconds: float) -> None:
    begun = time.thread_time()
    while time.thread_time() - begun < seconds:
        np.arange(1000).sum()


def test_nested_blocks_are_counted_once() -> None:
    preparation = Preparation()
    with preparation.measured():
        begun = time.thread_time()
        with preparation.measured():
            _work(0.01)
        passed = time.thread_time() - begun
    assert passed <= preparation.seconds < 2 * passed


def test_an_interpreted_kernel_counts_as_what_a_compiled_one_takes() -> None:
    preparation = Preparation()
    preparation.interpreted(1.0)
    assert preparation.seconds == 0.99


def test_rules_cost_no_more_than_the_work_that_is_left_without_preparation() -> None:
    begun, prepared = time.process_time(), PREPARATION.seconds
    worked = work_time()
    kb = sl.materialise(RULES, STEPS, engine="columnar", progress=False, modules="off")
    worked = work_time() - worked
    passed, prepared = time.process_time() - begun, PREPARATION.seconds - prepared
    assert worked <= passed - prepared + 1e-3
    costs = sum(profile[2] for profile in kb._host.derivations().values())
    assert 0 <= costs <= worked
